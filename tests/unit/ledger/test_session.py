"""A session: charges before it answers, says prices without spending, and shares one budget between processes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry
from bnpriv.core.distributions import Atoms
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import BudgetError, DataError, FrameworkError, LedgerError, ParameterError, QueryError, RefusedError
from bnpriv.ledger import values as ledger_chain
from bnpriv.ledger.counted import CountedAccount, table_fingerprint
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.prices import questions_text, questions_within, refuse_useless
from bnpriv.ledger.values import Budget
from tests.later import Later
from tests.ledgers import at_step

pd = Later("pandas")

STUDENT, DATA = bp.example("student"), bp.example_data("student")
SAT = bp.mean("sat")

ANYHOW: dict[str, bool] = {"even_if_useless": True}
"""Many tests ask for answers that are useless: what is counted is what matters."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def session(place: Path) -> Iterator[bp.Session]:
    with bp.Session(STUDENT, DATA, budget=2.0, ledger=place) as opened:
        yield opened


def test_a_release_is_charged_and_says_where_it_stands(session: bp.Session) -> None:
    released = session.release(SAT, epsilon=0.5, **ANYHOW)
    mark = released.mark
    assert mark is not None
    assert (mark.account, mark.number, mark.budget) == ("data", 1, 2.0)
    assert mark.head == session.head
    assert mark.total == pytest.approx(0.5)
    assert session.remaining == pytest.approx(1.5)
    for shown in (released.text, released.to_json(), released.to_html()):
        assert mark.head in shown


def test_what_if_says_what_a_release_then_costs(session: bp.Session) -> None:
    session.release(SAT, epsilon=0.5, **ANYHOW)
    price = session.what_if(SAT, epsilon=0.25)
    assert session.remaining == pytest.approx(1.5)  # nothing is spent by asking
    before = session.remaining
    session.release(price, **ANYHOW)
    assert before - session.remaining == pytest.approx(price.epsilon, abs=1e-12)
    assert session.remaining == pytest.approx(price.remaining, abs=1e-12)


def test_ask_gives_the_least_epsilon_that_is_accurate_enough(session: bp.Session) -> None:
    query = bp.linear({"height": 0.001, "sat": 0.001})
    price = session.ask(query, error=5.0, probability=0.9)
    assert price.calibration.quantile(0.9) <= 5.0
    mechanism, epsilon = price.calibration.mechanism, price.calibration.epsilon
    assert mechanism.calibrate(STUDENT, query, epsilon=epsilon * (1 - 1e-4)).quantile(0.9) > 5.0
    assert "90 % probability" in price.text
    released = session.release(query, error=5.0, probability=0.9, **ANYHOW)
    assert released.calibration.epsilon == epsilon


def test_an_accuracy_that_nothing_reaches_is_refused(session: bp.Session) -> None:
    with pytest.raises(RefusedError, match="larger error"):
        session.ask(SAT, error=1e-6, mechanism=ColumnMechanism())


def test_same_key_same_answer_and_no_charge(session: bp.Session) -> None:
    first = session.release(SAT, epsilon=0.5, key="week 1", **ANYHOW)
    spent = session.remaining
    again = session.release(SAT, epsilon=0.5, key="week 1", **ANYHOW)
    assert (again.values, again.labels, again.missing_rule) == (first.values, first.labels, first.missing_rule)
    assert again.mark == first.mark
    assert session.remaining == spent
    assert session.release(SAT, epsilon=0.5, **ANYHOW).values != first.values  # without a key: a new release


def test_a_key_of_another_question_is_refused(session: bp.Session) -> None:
    session.release(SAT, epsilon=0.5, key="week 1", **ANYHOW)
    with pytest.raises(LedgerError):
        session.release(SAT, epsilon=0.4, key="week 1", **ANYHOW)
    assert len(session.history) == 1


def test_a_key_gives_the_same_answer_whatever_was_released_since(session: bp.Session) -> None:
    first = session.release(bp.linear({"height": 0.001, "sat": 0.5}), error=5.0, key="week 1")
    session.release(SAT, epsilon=0.1, **ANYHOW)
    account = session._account
    assert [len(account.before(key).entries) for key in ("week 1", None, "week 2")] == [0, 2, 2]
    again = session.release(bp.linear({"height": 0.001, "sat": 0.5}), error=5.0, key="week 1")
    assert again.values == first.values
    assert len(session.history) == 2


def test_ten_identical_releases_cost_less_than_ten_times_one(place: Path) -> None:
    query = bp.linear({"height": 0.001, "sat": 0.5})
    session = bp.Session(STUDENT, DATA, budget=30.0, ledger=place)
    one = MarkovQuiltMechanism().calibrate(STUDENT, query, epsilon=2.0)
    for _ in range(10):
        mark = session.release(one).mark
        assert mark is not None
        spent = session.history.spent
        assert 0 <= Fraction(mark.total) - spent < Fraction(1, 10**12)
        assert 0 <= 30 - spent - Fraction(session.remaining) < Fraction(1, 10**12)
    assert session.history.releases[0].added == pytest.approx(2.0)
    assert float(session.history.spent) < 10 * 2.0 * 0.7


def test_what_passes_the_budget_is_refused_and_nothing_is_charged(session: bp.Session) -> None:
    session.release(SAT, epsilon=1.5, **ANYHOW)
    with pytest.raises(BudgetError, match=r"found 2\.5 with this one, 1\.5 before it"):
        session.release(SAT, epsilon=1.0, mechanism=ColumnMechanism(), **ANYHOW)
    assert len(session.history) == 1


def test_row_24_three_releases_of_a_tenth_fit_into_three_tenths(place: Path) -> None:
    session = bp.Session(STUDENT, DATA, budget=0.3, ledger=place)
    for _ in range(3):
        session.release(SAT, epsilon=0.1, mechanism=ColumnMechanism(), **ANYHOW)
    assert session.remaining == 0.0
    assert session.history.spent == Fraction(3, 10)
    with pytest.raises(RefusedError):
        session.release(SAT, epsilon=1e-8, mechanism=ColumnMechanism(), **ANYHOW)


def test_row_19_an_exception_after_the_charge_stays_charged(session: bp.Session) -> None:
    class Broken:
        def laplace(self, *_: object) -> tuple[float, ...]:
            raise ArithmeticError

    with pytest.raises(ParameterError, match="withheld") as caught:
        session.release(SAT, epsilon=0.5, key="a", sampler=Broken(), **ANYHOW)  # type: ignore[arg-type]
    assert "was charged, and stays so" in caught.value.__notes__[-1]
    assert session.remaining == pytest.approx(1.5)
    assert session.history.releases[0].key == "a"
    # an answer may have been seen: no new noise under the same key
    with pytest.raises(LedgerError) as again:
        session.release(SAT, epsilon=0.5, key="a", **ANYHOW)
    assert not getattr(again.value, "__notes__", ())


def test_threads_that_look_at_a_session_make_no_release_cheaper(
    session: bp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another thread counted last, which may be older, is put there between any two steps of a release."""
    empty = session.accountant
    monkeypatch.setattr(CountedAccount, "_last", property(lambda _: empty, lambda *_: None), raising=False)
    monkeypatch.setattr(CountedAccount, "_accountant", property(lambda _: empty, lambda *_: None), raising=False)
    for _ in range(4):
        session.release(SAT, epsilon=0.5, mechanism=ColumnMechanism(), **ANYHOW)
    with pytest.raises(BudgetError):
        session.release(SAT, epsilon=0.5, mechanism=ColumnMechanism(), **ANYHOW)
    assert [float(made.total) for made in session.history.releases] == [0.5, 1.0, 1.5, 2.0]


def test_an_answer_that_was_stored_is_shown_though_the_ledger_is_gone(session: bp.Session, place: Path) -> None:
    """Nothing is read from the ledger between the commit of an answer and its showing."""
    with at_step("9 answer committed", place.unlink):
        released = session.release(SAT, epsilon=0.5, **ANYHOW)
    assert released.mark is not None
    assert released.mark.number == 1


def test_the_first_release_of_an_account_says_what_is_not_counted(session: bp.Session) -> None:
    """Row 25: a ledger that was lost or forgotten gives a second budget."""
    words = "It is the first of this account: what was released of the table before, with another ledger"
    shown = " ".join(session.release(SAT, epsilon=0.5, **ANYHOW).text.split())
    assert words in shown
    assert ".;" not in shown
    assert words not in " ".join(session.release(SAT, epsilon=0.5, **ANYHOW).text.split())


def test_an_answer_too_long_for_a_ledger_is_refused_before_it_is_charged(
    session: bp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_chain, "MOST_LETTERS", 6_000)
    wide = bp.histogram("sat", list(range(410, 1600, 10)))
    with pytest.raises(LedgerError, match="Ask for fewer numbers at once"):
        session.release(wide, epsilon=0.5, mechanism=ColumnMechanism(), **ANYHOW)
    assert len(session.history) == 0
    session.release(bp.histogram("sat", [400, 1000, 1600]), epsilon=0.5, mechanism=ColumnMechanism(), **ANYHOW)


def test_order_is_validate_charge_compute_store_show(session: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    charged, evaluate = map(import_module, ("bnpriv.ledger.charged", "bnpriv.tables.evaluate"))

    steps: list[str] = []

    def recorded(owner: object, name: str, step: str) -> None:
        plain = getattr(owner, name)

        def call(*arguments: object, **named: object) -> object:
            steps.append(step)
            return plain(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    recorded(charged, "check_rows", "validate")
    recorded(charged, "refuse_learned", "learned")
    recorded(Ledger, "charge", "charge")
    recorded(evaluate, "evaluate_many", "compute")
    recorded(Ledger, "store", "store")
    session.release(SAT, epsilon=0.5, **ANYHOW)
    assert steps == ["validate", "learned", "charge", "compute", "store"]


def test_an_answer_that_cannot_be_stored_is_not_shown(session: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise LedgerError("the ledger must be writable", found="a full disk", remedy="Make room.")

    monkeypatch.setattr(Ledger, "store", full)
    with pytest.raises(LedgerError, match="full disk"):
        session.release(SAT, epsilon=0.5, **ANYHOW)
    assert session.remaining == pytest.approx(1.5)


@pytest.mark.parametrize("rows", [9_999, 10_001, 0])
def test_row_13_another_row_count_is_refused_before_anything_is_charged(session: bp.Session, rows: int) -> None:
    table = pd.DataFrame({"height": [170.0] * rows, "sat": [1000.0] * rows})
    before = len(session.history)
    with pytest.raises(DataError, match="row count is not the declared n") as refused:
        bp.release(MarkovQuiltMechanism().calibrate(STUDENT, SAT, 0.5), table, ledger=session._account, **ANYHOW)
    assert not any(part in str(refused.value) for part in (str(rows), f"{rows:,}"))
    assert len(session.history) == before


def test_a_missing_column_is_refused_before_anything_is_charged(session: bp.Session) -> None:
    table = pd.DataFrame({"height": [170.0] * STUDENT.schema.records})
    with pytest.raises(DataError, match="one column 'sat'"):
        bp.release(MarkovQuiltMechanism().calibrate(STUDENT, SAT, 0.5), table, ledger=session._account, **ANYHOW)
    assert len(session.history) == 0


def test_a_wrong_table_makes_no_ledger(place: Path) -> None:
    with pytest.raises(DataError):
        bp.Session(STUDENT, pd.DataFrame({"sat": [1.0]}), budget=1.0, ledger=place)
    assert not place.exists()


def test_laws_without_a_query_are_refused_before_anything_is_charged(place: Path) -> None:
    laws = bp.DistributionPrivacy([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))], source="made up")
    table = pd.DataFrame({"x": [1]})
    with pytest.raises(QueryError, match="a query is needed"):
        bp.Session(laws, table, budget=1.0, ledger=place)
    with pytest.raises(QueryError, match="a query is needed"):
        bp.release(bp.plan(laws, None, 1.0).best, table, ledger=place, budget=1.0)
    assert not place.exists()


def test_a_framework_with_a_query_of_its_own(place: Path) -> None:
    framework = bp.DistributionPrivacy(
        [(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))],
        query=bp.count(bp.col("x") == 1),
        schema=bp.Schema(records=1, columns={"x": bp.Integer(0, 1)}),
        source="made up",
    )
    session = bp.Session(framework, pd.DataFrame({"x": [1]}), budget=2.0, ledger=place)
    assert session.what_if(None, epsilon=1.0).epsilon == 1.0
    session.release(epsilon=1.0)
    assert session.remaining == 1.0
    with pytest.raises(RefusedError, match="of some use"):  # what alone adds to anything is useless here
        session.plan([bp.count(bp.col("x") == 1)])
    beside = ColumnMechanism().calibrate(framework, bp.count(bp.col("x") == 1), epsilon=1.0)
    assert "No other release can follow" not in session.what_if(beside).text


def test_after_a_release_by_its_own_law_the_rest_is_ranked_by_what_it_adds(place: Path) -> None:
    session = bp.Session(bp.example("clinic"), bp.example_data("clinic"), budget=9.0, ledger=place)
    session.release(bp.count(bp.col("antiviral") == 1), epsilon=1.0, mechanism=bp.TightMechanism())
    price = session.what_if(bp.linear({"visits": 60, "infection": 4}), epsilon=1.0)
    assert isinstance(price.calibration.mechanism, MarkovQuiltMechanism)
    assert price.cost.keeps_epsilon


def test_a_calibration_of_another_framework_is_refused(session: bp.Session) -> None:
    other = ColumnMechanism().calibrate(replace(STUDENT, source="somewhere else"), SAT, epsilon=0.5)
    with pytest.raises(RefusedError, match="framework"):
        session.release(other, **ANYHOW)
    assert len(session.history) == 0


def test_two_sessions_share_one_budget(place: Path) -> None:
    one = bp.Session(STUDENT, DATA, budget=1.0, ledger=place)
    other = bp.Session(STUDENT, DATA, ledger=place)  # the account is there: its budget is known
    one.release(SAT, epsilon=0.6, mechanism=ColumnMechanism(), **ANYHOW)
    assert other.remaining == pytest.approx(0.4)
    with pytest.raises(RefusedError):
        other.release(SAT, epsilon=0.6, mechanism=ColumnMechanism(), **ANYHOW)
    other.release(SAT, epsilon=0.4, mechanism=ColumnMechanism(), **ANYHOW)
    assert one.remaining == 0.0
    assert [made.number for made in one.history.releases] == [1, 2]


def test_release_with_a_ledger_and_a_session_share_the_account(place: Path) -> None:
    calibration = ColumnMechanism().calibrate(STUDENT, SAT, epsilon=0.5)
    first = bp.release(calibration, DATA, ledger=place, budget=1.0, key="a", **ANYHOW)
    assert bp.release(calibration, DATA, ledger=place, key="a").values == first.values
    assert bp.Session(STUDENT, DATA, ledger=place).remaining == 0.5


def test_two_tables_with_two_names_have_two_budgets(place: Path) -> None:
    one = bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name="north")
    other = bp.Session(STUDENT, DATA, budget=2.0, ledger=place, name="south")
    one.release(SAT, epsilon=0.5, **ANYHOW)
    assert (round(one.remaining, 9), other.remaining) == (0.5, 2.0)


def test_one_name_stands_for_one_framework_table_and_budget(place: Path) -> None:
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place)
    with pytest.raises(LedgerError):
        bp.Session(STUDENT, DATA, budget=2.0, ledger=place)
    with pytest.raises(LedgerError):
        bp.Session(replace(STUDENT, source="somewhere else"), DATA, budget=1.0, ledger=place)


def test_a_new_account_needs_a_budget_and_an_old_one_its_ledger(place: Path) -> None:
    with pytest.raises(LedgerError):
        bp.Session(STUDENT, DATA, ledger=place)
    assert not place.exists()
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name="north")
    with pytest.raises(LedgerError, match="budget"):
        bp.Session(STUDENT, DATA, ledger=place, name="south")


@pytest.mark.parametrize("budget", [math.nan, -1.0, 0.0, math.inf, "2", True])
def test_a_budget_that_is_none_is_refused(place: Path, budget: object) -> None:
    with pytest.raises(ParameterError):
        bp.Session(STUDENT, DATA, budget=budget, ledger=place)  # type: ignore[arg-type]
    assert not place.exists()


def test_what_is_no_framework_is_refused(place: Path) -> None:
    with pytest.raises(FrameworkError):
        bp.Session(STUDENT.network, DATA, budget=1.0, ledger=place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": 0.5, "error": 1.0},
        {"epsilon": math.nan},
        {"error": math.nan},
        {"error": -1.0},
        {"error": 1.0, "probability": 1.0},
        {"epsilon": 0.5, "key": " "},
        {"epsilon": 0.5, "mechanism": "laplace"},
        {"error": 5.0, "mechanism": "laplace"},
        {"epsilon": 0.5, "mechanism": MarkovQuiltMechanism},
    ],
)
def test_arguments_that_are_none_are_refused_and_nothing_is_charged(
    session: bp.Session, arguments: dict[str, float]
) -> None:
    with pytest.raises(ParameterError):
        session.release(SAT, **arguments, **ANYHOW)  # type: ignore[arg-type]
    assert len(session.history) == 0


@pytest.mark.parametrize(
    "arguments",
    [{"epsilon": 0.1}, {"error": 5.0}, {"delta": 1e-6}, {"mechanism": ColumnMechanism()}, {"epsilon": math.nan}],
)
def test_what_is_released_as_it_is_takes_nothing_beside_it(session: bp.Session, arguments: dict[str, float]) -> None:
    price = session.what_if(SAT, epsilon=0.5)
    for given in (price, price.calibration):
        with pytest.raises(ParameterError, match="released as it is"):
            session.release(given, **arguments)  # type: ignore[arg-type]
        if "error" not in arguments:
            with pytest.raises(ParameterError, match="released as it is"):
                session.what_if(given, **arguments)  # type: ignore[arg-type]
    assert len(session.history) == 0
    session.release(price, **ANYHOW)
    assert session.what_if(price).total == pytest.approx(2 * price.total)  # counted anew, after a release


def test_refusals_name_what_was_found_and_what_to_do(session: bp.Session, place: Path) -> None:
    for call, words in (
        (lambda: session.plan("mean(sat)"), 'in a list; found one text. Pass for example ["mean(height)"'),
        (lambda: session.release(SAT, 0.1, mechanism="laplace", **ANYHOW), "found a str. Pass for example mechanism="),  # type: ignore[arg-type]
        (lambda: session.release(SAT, 0.1, key=" ", **ANYHOW), "found a text that is blank"),
        (lambda: bp.plan(STUDENT, SAT, 0.5, session="ledger.db"), "session must be a session; found a str"),  # type: ignore[arg-type]
        (lambda: bp.Session(STUDENT, DATA, budget=-1.0, ledger=place), "must be above 0; found -1"),
        (lambda: bp.Session(STUDENT, DATA, budget=3.0, ledger=place), "epsilon 3 in place of budget of epsilon 2"),
        (lambda: bp.Session(STUDENT, DATA, ledger=place.with_name("none.db")), "by a first release with a budget"),
    ):
        with pytest.raises((ParameterError, LedgerError)) as refused:
            call()
        assert words in str(refused.value)


def test_tables_of_every_engine_can_be_asked(place: Path) -> None:
    """A table is opened before any query is known: no column of it is chosen then."""
    import duckdb
    import polars as pl

    frame = pl.read_parquet(DATA)
    frame.write_csv(text := place.with_suffix(".csv"))
    lazy = (frame.lazy(), pl.scan_parquet(DATA), duckdb.read_parquet(str(DATA)))
    tables = (frame, *lazy, frame.to_arrow(), frame.to_pandas(), DATA)
    found: set[tuple[float, float]] = set()
    for number, table in enumerate((*tables, text)):
        with bp.Session(STUDENT, table, budget=1.0, ledger=place, name=f"table {number}", new_name=True) as session:
            exact = session.release(bp.mean("height"), epsilon=0.5)
        found.add((exact.calibration.scale, exact.value))
    assert len(found) == 1


def test_a_closed_session_releases_nothing(place: Path) -> None:
    with bp.Session(STUDENT, DATA, budget=1.0, ledger=place) as session:
        session.release(SAT, epsilon=0.5, **ANYHOW)
    with pytest.raises(ParameterError, match="open"):
        session.release(SAT, epsilon=0.1, **ANYHOW)
    assert session.remaining == pytest.approx(0.5)  # what is in the ledger can be read
    with pytest.raises(ParameterError, match="open"), session:
        pass


def test_budget_and_key_are_refused_without_a_ledger() -> None:
    calibration = ColumnMechanism().calibrate(STUDENT, SAT, epsilon=0.5)
    with pytest.raises(ParameterError, match="ledger"):
        bp.release(calibration, DATA, budget=1.0)
    with pytest.raises(ParameterError, match="ledger"):
        bp.release(calibration, DATA, key="a")


def test_the_best_mechanism_shares_quilts_where_errors_are_equal(session: bp.Session) -> None:
    assert isinstance(session.what_if(SAT, epsilon=0.5).calibration.mechanism, MarkovQuiltMechanism)


def test_a_mechanism_that_costs_more_later_is_not_taken_by_itself(place: Path) -> None:
    """TightMechanism has less noise, but noise counts by its scale once another release follows."""
    session = bp.Session(bp.example("clinic"), bp.example_data("clinic"), budget=20.0, ledger=place)
    query = bp.count(bp.col("infection") >= 1)
    tight = session.what_if(query, epsilon=8.0, mechanism=bp.TightMechanism())
    price = session.what_if(query, epsilon=8.0)
    assert tight.calibration.scale < price.calibration.scale
    assert tight.epsilon == pytest.approx(8.0)
    assert not tight.cost.keeps_epsilon
    assert price.cost.keeps_epsilon


def test_the_fingerprint_of_a_table_is_of_public_facts_alone() -> None:
    schema = STUDENT.schema
    same = bp.Schema(records=schema.records, columns=dict(reversed(schema.columns.items())))
    assert table_fingerprint(schema, "data") == table_fingerprint(same, "data")
    others = [
        table_fingerprint(schema, "other"),
        table_fingerprint(bp.Schema(records=schema.records + 1, columns=schema.columns), "data"),
        table_fingerprint(bp.Schema(records=schema.records, columns={**schema.columns, "x": bp.Real(0, 1)}), "data"),
    ]
    assert len({table_fingerprint(schema, "data"), *others}) == 4


def test_delta_counts_against_the_delta_of_the_budget(place: Path) -> None:
    session = bp.Session(STUDENT, DATA, budget=Budget(0.5, delta=1e-6), ledger=place)
    with pytest.raises(RefusedError):
        session.release(SAT, epsilon=0.5, delta=1e-5, mechanism=ColumnMechanism(noise="gaussian"), **ANYHOW)
    released = session.release(SAT, epsilon=0.5, delta=1e-6, mechanism=ColumnMechanism(noise="gaussian"), **ANYHOW)
    assert session.remaining == 0.0
    assert released.mark is not None
    assert released.mark.to_json()["delta"] == 1e-6
    assert "of a budget of 0.5 with delta 1e-06" in " ".join(released.text.split())


HOSPITAL, PATIENTS = bp.example("hospital"), bp.example_data("hospital")
OLD = bp.count(bp.col("age_group") == "old")


@pytest.fixture
def ward(place: Path) -> Iterator[bp.Session]:
    with bp.Session(HOSPITAL, PATIENTS, budget=1.0, ledger=place) as opened:
        yield opened


def test_row_54_a_useless_answer_is_refused_before_anything_is_charged(session: bp.Session, place: Path) -> None:
    useless = ColumnMechanism().calibrate(STUDENT, SAT, epsilon=0.5)
    other = place.with_name("other.db")
    for ask in (
        lambda: session.release(SAT, epsilon=0.5),
        lambda: session.release(useless, key="a"),
        lambda: bp.release(useless, DATA, ledger=place),
        lambda: bp.release(useless, DATA, ledger=other, budget=1.0),
    ):
        with pytest.raises(RefusedError, match="error of 7,190 in 95 % of releases, beside a range from 400 to 1,600"):
            ask()
    assert (len(session.history), other.exists()) == (0, False)
    with pytest.raises(ParameterError, match="even_if_useless must be True or False"):
        session.release(useless, even_if_useless="yes")  # type: ignore[arg-type]
    first = session.release(useless, key="a", **ANYHOW)
    assert session.release(useless, key="a").values == first.values  # what was answered is opened
    assert len(session.history) == 1


@pytest.mark.parametrize(
    ("framework", "query", "mechanism"),
    [(STUDENT, SAT, None), (HOSPITAL, OLD, ColumnMechanism()), (HOSPITAL, OLD, bp.TightMechanism())],
)
def test_a_refusal_of_a_useless_answer_says_which_epsilon_is_enough(
    framework: bp.types.Framework, query: bp.types.Query, mechanism: bp.types.Mechanism | None
) -> None:
    tried = mechanism or MarkovQuiltMechanism()
    with pytest.raises(RefusedError) as refused:
        refuse_useless(tried.calibrate(framework, query, epsilon=0.004))
    said = re.search(r"useful from about epsilon ([\d.]+) on", str(refused.value))
    assert said is not None
    enough = float(said[1])
    assert bp.plan(framework, query, enough).best.useful.verdict in ("useful", "exact")
    assert bp.plan(framework, query, 0.9 * enough).best.useful.verdict in ("coarse", "useless")


def test_a_refusal_of_a_useless_stack_says_how_many_fewer_and_names_the_table_that_was_made() -> None:
    parts = [bp.mean("sat"), *(bp.count(bp.col("sat") > k) for k in (500, 600, 700))]
    useless = ColumnMechanism().calibrate(STUDENT, bp.stack(*parts), epsilon=12.0)
    kept = int(4 / 2 / useless.useful.share)
    assert 0 < kept < 4
    with pytest.raises(RefusedError, match=f"about {4 - kept} fewer of the 4 questions: session.workload"):
        refuse_useless(useless)
    table = Entry.of(useless)
    with pytest.raises(RefusedError, match=r"table\.answer") as refused:
        refuse_useless(useless, [replace(table, mechanism="PrivateTable")])
    assert "even_if_useless=True" in str(refused.value)


def test_of_independent_records_the_mechanism_of_least_error_is_chosen(ward: bp.Session) -> None:
    assert isinstance(ward.what_if(OLD, epsilon=0.5).calibration.mechanism, bp.TightMechanism)
    asked = ward.ask(OLD, error=300)
    assert isinstance(asked.calibration.mechanism, bp.TightMechanism)
    assert 250 < asked.calibration.quantile(0.95) <= 300
    ward.release(OLD, epsilon=0.5)
    second = ward.release('count(smoker == "yes")', epsilon=0.5)
    # together they tell a little more than apart, for which there is a little more noise
    assert 0.499 < second.calibration.epsilon < 0.5
    assert 0 <= ward.remaining < 1e-5


def test_an_accuracy_that_composes_nowhere_within_the_budget_is_asked_of_the_others(place: Path) -> None:
    framework = bp.example("activity")
    session = bp.Session(framework, bp.example_data("activity"), budget=1.0, ledger=place)
    price = session.ask('count(activity == "running")', error=800)
    assert price.fits
    assert str(price.calibration.mechanism).startswith("MarkovChainMechanism")
    assert "No other release can follow it within the budget" in price.text


def test_as_many_useful_answers_fit_as_are_told() -> None:
    number, least = questions_within(HOSPITAL, OLD, 1.0)
    assert least is not None
    assert number == 1 // least
    at_least, below = (bp.TightMechanism().calibrate(HOSPITAL, OLD, float(least) * k) for k in (1.001, 0.98))
    assert (at_least.useful.verdict, below.useful.verdict) == ("useful", "coarse")
    accountant = Accountant(HOSPITAL)
    for query in list(map(bp.parse_query, QUESTIONS))[: int(number)]:
        accountant = accountant.record(bp.TightMechanism().calibrate(HOSPITAL, query, float(least)))
    assert accountant.epsilon <= 1.05  # different questions: about, not exactly, the sum


QUESTIONS = [
    *(f'count(ward == "{ward}")' for ward in ("surgery", "internal", "lungs", "children", "other")),
    *(f'count(age_group == "{age}")' for age in ("old", "child")),
    'count(smoker == "yes")',
    'count(inhaler == "yes")',
    *(f"count(days > {days})" for days in (2, 3, 4, 5, 7)),
]


@pytest.mark.parametrize(
    ("example", "query", "text"),
    [
        ("hospital", OLD, "about 14 questions like this one within epsilon 1"),
        ("student", SAT, "no question like this one within epsilon 1: a useful answer takes epsilon 1.8"),
        ("student", bp.count(bp.col("gender") == "m"), "any number of questions like this one within epsilon 1"),
        ("activity", bp.count(bp.col("activity") == "running"), "one useful release within epsilon 1, or one stack"),
        ("four-people", bp.count(bp.col("x1") >= 1), "no question like this one within epsilon 1"),
    ],
)
def test_how_many_useful_questions_there_are_in_words(example: str, query: bp.types.Query, text: str) -> None:
    assert questions_text(bp.example(example), query, 1.0).startswith(text)


def test_a_budget_that_is_no_epsilon_of_one_release_is_shown_as_well(place: Path) -> None:
    session = bp.Session(HOSPITAL, PATIENTS, budget=500.0, ledger=place)
    for shown in (session, session.release(OLD, epsilon=0.5)):
        assert "Useful questions: about 7," in shown.text
    session = bp.Session(HOSPITAL, PATIENTS, budget=1e-9, ledger=place, name="little")
    assert "Useful questions: no question like" in session.text


def test_a_session_and_a_release_say_how_many_useful_questions_there_are(ward: bp.Session) -> None:
    assert "Useful questions: about " in ward.text
    assert 'questions like count(ward == "lungs")' not in ward.text
    released = ward.release('count(ward == "lungs")', epsilon=0.2)
    number = int(questions_within(HOSPITAL, bp.parse_query('count(ward == "lungs")'), 1.0)[0])
    assert f"Useful questions: about {number} questions like this one within epsilon 1" in released.text
    assert f'about {number} questions like count(ward == "lungs") within the whole budget of epsilon 1' in ward.text
    assert "if 95 % of answers err by at most 1,000; about " in ward.text
    assert int(re.search(r"1,000; about (\d+) of them in what is left", ward.text)[1]) < number
    assert "One record changes sides after the other" in ward.text
    assert ward.to_dict()["data"]["properties"][0]["distance"] == 100


def test_the_price_of_overlap_speaks_of_records_where_records_are_counted(ward: bp.Session) -> None:
    ward.release('count(ward == "surgery")', epsilon=0.2)
    price = ward.what_if('count(ward == "internal")', epsilon=0.2).text
    assert "Alone it would cost epsilon 0.2. All answers are counted together by what they tell of one record" in price
    assert "paid once" not in price


def test_a_slip_of_a_name_without_a_budget_is_told_the_name(place: Path) -> None:
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name="survey 1")
    with pytest.raises(LedgerError, match=r"Did you mean 'survey 1'\? Else pass budget=\.\.\. \(--budget\)"):
        bp.Session(STUDENT, DATA, ledger=place, name="survey")
    with pytest.raises(LedgerError, match=r"in the ledger\. Pass budget=\.\.\. \(--budget\)"):
        bp.Session(STUDENT, DATA, ledger=place, name="census")


@pytest.mark.parametrize("name", ["Survey 1", "survey1", "survey", "survey 12", "suvrey 1", "survey 2"])
def test_a_slip_of_a_name_opens_no_second_budget(place: Path, name: str) -> None:
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name="survey 1")
    with pytest.raises(LedgerError, match=r"one slip from that of another; found .* beside 'survey 1'"):
        bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name=name)
    assert len(Ledger.open(place).accounts()) == 1
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name=name, new_name=True)
    for known in ("survey 1", name):  # both are there now, and are found by their names alone
        assert bp.Session(STUDENT, DATA, ledger=place, name=known).remaining == 1.0
    bp.Session(STUDENT, DATA, budget=1.0, ledger=place, name="another")
