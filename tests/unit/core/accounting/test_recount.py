"""What is counted is what is stored: prices, charges and totals agree for every question, mechanism and network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.queries.asked import Weighted, as_query
from bnpriv.core.queries.base import Output, Power, Query
from bnpriv.errors import BnprivError, BudgetError, RefusedError
from bnpriv.ledger.counted import CountedAccount, spent_of, total_of
from bnpriv.ledger.history import cost_of
from bnpriv.ledger.values import Budget
from bnpriv.mechanisms.plan import STANDARD
from tests.kinds import KINDS, Kind
from tests.later import Later
from tests.seeds import seeds

pd = Later("pandas")

COLUMNS = ("income", "school", "sat")
CHAIN = bp.DiscreteNetwork.from_tables(
    {"income": [0.5, 0.5], "school": [[0.9, 0.2], [0.1, 0.8]], "sat": [[0.6, 0.5], [0.4, 0.5]]},
    states={name: ["low", "high"] for name in COLUMNS},
    parents={"school": ["income"], "sat": ["school"]},
)
SCHEMA = bp.Schema(records=10, columns={name: bp.Real(0, 10) for name in COLUMNS})
THREE = bp.DistributionalAttributePrivacy(CHAIN, SCHEMA, "income", source="invented")


def own(*names: str, **declared: Any) -> bp.types.Query:
    """Return a caller's own function of some columns; by default each moves it by another number."""
    declared.setdefault("sensitivity", {name: 1.0 + 3.7 * k for k, name in enumerate(names)})
    return bp.custom(lambda table: 0.0, columns=names, **declared)


LONG = Fraction(10**1200 + 7, 10**1200)  # a text with five of them is too long to be read again

QUESTIONS: dict[str, Callable[[], bp.types.Query]] = {
    "mean": lambda: bp.mean("sat"),
    "total": lambda: bp.total("school"),
    "count": lambda: bp.count((bp.col("sat") > 5) & (bp.col("school") <= 2.5)),
    "proportion": lambda: bp.proportion(bp.col("income") > 5),
    "linear": lambda: bp.linear({"income": Fraction(1, 3), "school": 1, "sat": 0.1}),
    "stack": lambda: bp.stack(bp.mean("income"), bp.count(bp.col("sat") > 5)),
    "moments": lambda: bp.moments(["income", "sat"]),
    "histogram": lambda: bp.histogram("sat", [0, 2, 5, 10]),
    "crossed": lambda: as_query("crosstab(income [0, 5, 10], sat [0, 5, 10])"),
    "quantile": lambda: bp.quantile("school", [0.25, 0.5], [0, 2, 5, 10]),
    "median": lambda: bp.median("sat", [0, 5, 10]),
    "variance": lambda: bp.variance("school"),
    "covariance": lambda: bp.covariance("school", "sat"),
    "long": lambda: bp.stack(*[bp.linear({"sat": LONG, "school": k * LONG}) for k in (1, 3, 5)]),
    "own, one number": lambda: own("income", "sat", sensitivity=7.0),
    "own, by column": lambda: own("income", "sat"),
    "own, decimals": lambda: own(*COLUMNS, sensitivity={"income": 0.1, "school": 0.2, "sat": 0.3}),
    "own, several numbers": lambda: own("school", "sat", dimension=3, name="mean(sat)"),
}

NOISES = [
    MarkovQuiltMechanism(),
    MarkovQuiltMechanism(common_quilt=True),
    MarkovQuiltMechanism(large_delta=True),
    MarkovQuiltMechanism(noise="gaussian", large_delta=True),
    ColumnMechanism(),
    ColumnMechanism(noise="gaussian", large_delta=True),
]


def asked(framework: Any, query: bp.types.Query, mechanism: Any, epsilon: float, delta: float) -> Calibration | None:
    """Return a calibration, or None where the mechanism does not serve the question."""
    try:
        return mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
    except BnprivError:
        return None


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_entry_is_what_is_stored_of_it(name: str) -> None:
    query, evidence = QUESTIONS[name](), influences(THREE)
    assert isinstance(evidence, Influences)
    shaped = [MarkovQuiltMechanism(weights=each) for each in ((1.0, 4.0), (0.25, 1.0, 2.0, 8.0))]
    made = [asked(THREE, query, each, 1.0, delta) for each in (*NOISES, *shaped) for delta in (0.0, 0.01)]
    kept = [Entry.of(each) for each in made if each is not None]
    assert len(kept) >= 4
    for entry in kept:
        again = Entry.from_json(entry.to_json())
        fields = [entry.__dict__[each] for each in Entry.__dataclass_fields__]
        assert [again.__dict__[each] for each in Entry.__dataclass_fields__] == fields
        assert (again.key, again.adds, str(again.query)) == (entry.key, entry.adds, str(entry.query))
        for near in near_sets(entry.columns):
            assert again.moves(evidence, near) == entry.moves(evidence, near)


def test_a_charge_counts_what_is_stored_even_where_storing_loses_something(tmp_path: Path, monkeypatch: Any) -> None:
    stored = Entry.to_json
    monkeypatch.setattr(Entry, "to_json", lambda entry: {**stored(entry), "epsilon": str(2 * entry.epsilon)})
    account = CountedAccount.opened(THREE, tmp_path / "ledger.db", 3.0, "table")
    made = ColumnMechanism().calibrate(THREE, bp.mean("sat"), epsilon=1.0)
    assert account.charge(made, None).charge.total == 2
    assert account.accountant.total_at(Fraction(0)) == 2


def near_sets(columns: frozenset[str]) -> Iterator[frozenset[str]]:
    for place in range(2 ** len(columns)):
        yield frozenset(name for k, name in enumerate(sorted(columns)) if place >> k & 1)


def agree(account: CountedAccount, calibration: Calibration) -> bool:
    """Release once, and check that price, charge, live total and recounted total are one number; say if it was made."""
    before = account.accountant
    price, spent = cost_of(before, calibration, account.budget), total_of(before, account.budget)
    if not price.fits:
        with pytest.raises(BudgetError if price.after is not None else RefusedError):
            account.charge(calibration, None)
        return False
    charged = account.charge(calibration, None).charge.total
    assert price.before == spent
    again = CountedAccount(framework=account.framework, ledger=account.ledger, account=account.account)
    live = before.record(calibration)
    read = Accountant(account.framework, entries=tuple(Entry.from_json(each.entry) for each in account.charges))
    for counted in (account.accountant, again.accountant, live, read):
        assert total_of(counted, account.budget) == charged == price.after
    return True


@pytest.mark.parametrize("name", QUESTIONS)
def test_price_charge_and_total_agree_for_every_question(tmp_path: Path, name: str) -> None:
    query, made = QUESTIONS[name](), 0
    for k, budget in enumerate((Budget(6.0), Budget(9.0, 0.1))):
        account = CountedAccount.opened(THREE, tmp_path / f"{k}.db", budget, "data")
        for mechanism in NOISES:
            delta = 0.02 if getattr(mechanism, "large_delta", False) and budget.delta else 0.0
            calibration = asked(THREE, query, mechanism, 0.5, delta)
            made += 0 if calibration is None else sum(agree(account, calibration) for _ in range(2))
    assert made >= 8


@pytest.mark.parametrize("block", seeds(2, slow=6))
def test_price_charge_and_total_agree_for_random_transcripts(tmp_path: Path, block: int) -> None:
    rng, made, named = np.random.default_rng([56, block]), 0, list(QUESTIONS)
    for k in range(6):
        budget = Budget(8.0, 0.0 if k % 2 else 0.2)
        account = CountedAccount.opened(THREE, tmp_path / f"{k}.db", budget, "data")
        for _ in range(6):
            query = QUESTIONS[named[int(rng.integers(len(named)))]]()
            mechanism = (*NOISES, *STANDARD)[int(rng.integers(len(NOISES) + len(STANDARD)))]
            delta = float(rng.choice([0.0, 0.01])) if budget.delta else 0.0
            calibration = asked(THREE, query, mechanism, float(rng.uniform(0.1, 1)), delta)
            made += calibration is not None and agree(account, calibration)
    assert made >= 5


def questions_of(kind: Kind) -> Iterator[bp.types.Query]:
    """Give the question of a kind, and, where columns are known, functions of the caller's own."""
    yield kind.query
    columns = sorted(kind.framework.schema.columns)[:2]
    yield own(*columns)
    yield own(*columns, sensitivity=3.0, dimension=2)
    if all(isinstance(kind.framework.schema[name], bp.Real) for name in columns):
        yield bp.stack(*(bp.mean(name) for name in columns))


@pytest.mark.parametrize("name", KINDS)
def test_price_charge_and_total_agree_for_every_kind_of_network(tmp_path: Path, name: str) -> None:
    kind, made = KINDS[name](), 0
    account = CountedAccount.opened(kind.framework, tmp_path / "ledger.db", Budget(9.0, kind.delta), "data")
    for query in questions_of(kind):
        for mechanism in (MarkovQuiltMechanism(), ColumnMechanism(), bp.mechanisms.TightMechanism()):
            calibration = asked(kind.framework, query, mechanism, 0.5, 0.0)
            made += calibration is not None and agree(account, calibration)
    assert made >= 2


def test_a_session_tells_one_number_for_what_is_spent(tmp_path: Path) -> None:
    """The caller's own function several times, with a column release among them."""
    where, query, table = tmp_path / "ledger.db", own("income", "sat"), pd.DataFrame(dict.fromkeys(COLUMNS, [0.0] * 10))
    session, spent = bp.Session(THREE, table, budget=4.5, ledger=where), 0.0
    for mechanism in (MarkovQuiltMechanism(), MarkovQuiltMechanism(), ColumnMechanism(), None):
        price = session.what_if(query, epsilon=0.5, mechanism=mechanism)
        mark = session.release(price).mark
        assert mark is not None
        again = bp.Session(THREE, table, ledger=where)
        spent += price.epsilon
        assert mark.total == price.total == session.spent == again.spent == rounded_up(again.history.spent)
        assert spent == pytest.approx(mark.total, rel=1e-12)
        assert (repr(again), again.remaining) == (repr(session), price.remaining)
        assert f"remaining={session.history.remaining}" in repr(again)


def test_what_its_text_does_not_say_counts_in_the_norm_of_its_noise() -> None:
    query, evidence = QUESTIONS["long"](), influences(THREE)
    assert isinstance(evidence, Influences)
    gaussian = MarkovQuiltMechanism(noise="gaussian", large_delta=True)
    for mechanism, norm, delta in ((MarkovQuiltMechanism(), 1, 0.0), (gaussian, 2, 0.01)):
        entry = Entry.of(mechanism.calibrate(THREE, query, epsilon=1.0, delta=delta))
        counted = Weighted(asked=query, weights=entry.weights) if entry.weights else query
        assert entry.query is None
        assert entry.moved == evidence.sensitivity(counted, query.columns, norm).upper
        alone = {name: evidence.sensitivity(counted, frozenset({name}), norm).upper for name in query.columns}
        assert dict(entry.steps) == alone


def test_steps_of_columns_bound_a_change_of_several() -> None:
    evidence = influences(THREE)
    assert isinstance(evidence, Influences)
    made = MarkovQuiltMechanism().calibrate(THREE, QUESTIONS["own, decimals"](), epsilon=1.0)
    entry = Entry.of(made)
    assert entry.steps == (("income", 0.1), ("sat", 0.3), ("school", 0.2))
    assert entry.moves(evidence, frozenset({"sat"})) == 0.3
    both = entry.moves(evidence, frozenset({"income", "school", "other"}))
    assert Fraction(0.1) + Fraction(0.2) <= Fraction(both) <= Fraction(0.3) + Fraction(1, 10**15)
    assert entry.moves(evidence, entry.columns) == entry.moved >= 0.6
    joint = Entry.of(MarkovQuiltMechanism().calibrate(THREE, QUESTIONS["own, one number"](), epsilon=1.0))
    assert [joint.moves(evidence, near) for near in near_sets(joint.columns)] == [0.0, 7.0, 7.0, 7.0]
    assert (entry.adds, joint.adds) == (True, False)


def test_a_record_of_an_earlier_version_counts_all_columns_for_each() -> None:
    evidence = influences(THREE)
    assert isinstance(evidence, Influences)
    entry = Entry.of(MarkovQuiltMechanism().calibrate(THREE, QUESTIONS["own, by column"](), epsilon=1.0))
    record = dict(entry.to_json())
    assert record.pop("steps") == {"income": (1.0).hex(), "sat": (4.7).hex()}
    old = Entry.from_json(record)
    assert old.moves(evidence, frozenset({"income"})) == entry.moved == pytest.approx(5.7)
    assert math.isclose(old.moves(evidence, old.columns), entry.moved)
    plain = Entry.of(MarkovQuiltMechanism().calibrate(THREE, bp.mean("sat"), epsilon=1.0))
    assert "steps" not in plain.to_json()


@pytest.mark.parametrize(
    "steps", [{"income": "0x1p+0"}, {"income": "0x1p+0", "sat": "inf"}, {"income": 1, "sat": 2}, []]
)
def test_steps_that_are_none_are_refused(steps: object) -> None:
    entry = Entry.of(MarkovQuiltMechanism().calibrate(THREE, QUESTIONS["own, by column"](), epsilon=1.0))
    with pytest.raises(bp.errors.LedgerError, match="stored release"):
        Entry.from_json({**entry.to_json(), "steps": steps})


def test_what_nothing_bounds_has_spent_all() -> None:
    made = ColumnMechanism(noise="gaussian", large_delta=True).calibrate(THREE, bp.mean("sat"), epsilon=1.0, delta=0.01)
    accountant = Accountant(THREE).record(made)
    assert spent_of(accountant, Budget(9.0)) == 9
    assert spent_of(accountant, Budget(9.0, 0.01)) == 1
    assert spent_of(Accountant(THREE), Budget(9.0)) == 0


@dataclass(frozen=True)
class Doubled(Query):
    """Twice a mean, under the text of the mean itself."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({"sat"})

    def outputs(self, schema: bp.Schema) -> tuple[Output, ...]:
        return (Output("twice", ((Fraction(2), Power("sat")),), averaged=True),)

    def __str__(self) -> str:
        return "mean(sat)"


def test_a_text_that_says_another_query_is_not_what_is_counted() -> None:
    evidence = influences(THREE)
    assert isinstance(evidence, Influences)
    for query, moved in ((bp.mean("sat"), 10.0), (Doubled(), 20.0)):
        entry = Entry.of(MarkovQuiltMechanism().calibrate(THREE, query, epsilon=1.0))
        assert entry.text == "mean(sat)"
        assert Entry.from_json(entry.to_json()).moves(evidence, entry.columns) == moved


def test_what_does_not_fit_beside_earlier_releases_is_priced_so(tmp_path: Path) -> None:
    account = CountedAccount.opened(THREE, tmp_path / "ledger.db", Budget(0.7), "data")
    half = ColumnMechanism().calibrate(THREE, bp.mean("sat"), epsilon=0.5)
    assert [agree(account, half) for _ in range(2)] == [True, False]
    assert cost_of(account.accountant, half, account.budget).epsilon == 0.5
