"""What other tools released with differential privacy: counted, charged, and never above what is enumerated."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.accounting import Accountant
from bnpriv.core.accounting.total import Entry
from bnpriv.errors import BudgetError, LedgerError, ParameterError, RefusedError
from bnpriv.kind import notion_of
from bnpriv.ledger.counted import CountedAccount
from bnpriv.ledger.external import ExternalRelease
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.session import LedgerPage
from bnpriv.text import upper_text
from tests.later import Later

dp = Later("opendp.prelude")
external = bp.from_differential_privacy

HOSPITAL, DATA = bp.example("hospital"), bp.example_data("hospital")


def framework(records: int, apart: int, tables: Mapping[str, list[list[float]]]) -> bp.DatasetAttributePrivacy:
    """A column for each table, whose law depends on the class alone: a row for each value, a column for each class."""
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], **tables},
        states={"s": [0, 1], **{name: list(range(len(table))) for name, table in tables.items()}},
        parents={name: ["s"] for name in tables},
        level="records",
    )
    columns = {"s": bp.Integer(0, 1), **{name: bp.Integer(0, len(table) - 1) for name, table in tables.items()}}
    secret = bp.Secret(bp.count(bp.col("s") == 1), bp.apart(at_most=apart))
    return bp.DatasetAttributePrivacy(
        network, bp.Schema(records=records, columns=columns), {"s": secret}, source="invented"
    )


def worst(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The most that an epsilon-private reading of one record tells of its class: over sets of cells, both ways."""
    most = 0.0
    for chosen in itertools.product((0, 1), repeat=len(one)):
        a, b = (1 + math.expm1(epsilon) * float(np.dot(chosen, law)) for law in (one, other))
        most = max(most, abs(math.log(a / b)))
    return most


# what is promised


def test_a_stated_epsilon_means_what_was_typed() -> None:
    plain = external(0.1, ["ward"])
    assert (plain.epsilon, plain.delta, plain.columns) == (Fraction(1, 10), 0, {"ward"})
    assert plain == external(0.1, "ward")
    twice = external(0.1, ["ward"], "add or remove one", delta=1e-6)
    assert twice.epsilon == Fraction(1, 5)
    assert 0 <= float(twice.delta) / ((1 + math.exp(0.1)) * 1e-6) - 1 < 1e-14
    assert external(0, ["ward"]).epsilon == 0
    assert external(Fraction(1, 3), ["ward"]).epsilon >= Fraction(1, 3)
    assert repr(external(1, ["ward"], name="Tumult")) == "ExternalRelease(Tumult: epsilon 1, replace one; reads {ward})"
    assert twice.text.startswith("another tool: epsilon 0.1, delta 0.000001, add or remove one; reads {ward}.")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"epsilon": -1.0}, "epsilon must be at least 0"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"epsilon": None}, "epsilon must be a number"),
        ({"delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"delta": 0.4, "unit": "add or remove one"}, "delta must stay below 1 for replacing one record"),
        ({"epsilon": 800.0, "delta": 1e-320, "unit": "add or remove one"}, "delta must stay below 1"),
        ({"unit": "add one user"}, "unit must be one of replace one, add or remove one"),
        ({"columns": []}, "a release reads at least one column"),
        ({"columns": 3}, "a release reads at least one column"),
        ({"columns": ["ward", " "]}, "the name of a column must be a non-empty string"),
        ({"name": 3}, "name must be a non-empty string"),
    ],
)
def test_what_promises_nothing_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        external(**{"epsilon": 1.0, "columns": ["ward"], **asked})


def test_a_measurement_of_opendp_says_its_own_epsilon() -> None:
    dp.enable_features("contrib")
    texts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counted = dp.t.make_count(*texts) >> dp.m.then_laplace(3.0)
    found = external(counted, ["ward"])
    assert (found.epsilon, found.delta) == (Fraction(counted.map(2)), 0)
    assert found.provenance == "OpenDP: epsilon 0.6667, replace one; reads {ward}"
    bounded = dp.vector_domain(dp.atom_domain(T=float, bounds=(0.0, 1.0), nan=False), size=10)
    summed = dp.t.make_metric_unbounded(bounded, dp.change_one_distance()) >> dp.t.then_sum() >> dp.m.then_laplace(1.0)
    assert external(summed, ["days"]).epsilon == Fraction(summed.map(1))
    normal = dp.t.make_count(*texts) >> dp.m.then_gaussian(3.0)
    with pytest.raises(RefusedError, match="make_fix_delta"):
        external(normal, ["ward"])
    fixed = external(dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(normal), 1e-6), ["ward"])
    assert (float(fixed.epsilon), float(fixed.delta)) == (pytest.approx(3.31864, rel=1e-5), 1e-6)
    with pytest.raises(RefusedError, match="needs one of the metrics ChangeOneDistance"):
        external(dp.m.make_randomized_response_bool(0.75), ["smoker"])
    with pytest.raises(ParameterError, match="epsilon must be a number; found a Transformation"):
        external(dp.t.make_count(*texts), ["ward"])
    for asked in ({"delta": 1e-6}, {"unit": "add or remove one"}):
        with pytest.raises(ParameterError, match="a measurement says itself what it promises"):
            external(counted, ["ward"], **asked)


def test_an_event_of_dp_accounting_is_converted_by_its_own_accountant() -> None:
    events = pytest.importorskip("dp_accounting")
    normal = events.GaussianDpEvent(2.0)
    one = external(normal, ["ward"], delta=1e-6)
    assert one.provenance == "dp-accounting: epsilon 4.887, delta 0.000001, replace one; reads {ward}"
    two = external(normal, ["ward"], "add or remove one", 1e-6, name="Opacus")
    accountant = events.pld.PLDAccountant(events.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(normal)
    assert float(two.epsilon) == pytest.approx(2 * accountant.get_epsilon(1e-6), rel=1e-12)
    assert float(two.epsilon) >= 2 * accountant.get_epsilon(1e-6)
    # what their accountant computed is rounded by it, and here up
    replaced = events.pld.PLDAccountant(events.NeighboringRelation.REPLACE_ONE).compose(normal)
    assert one.epsilon > Fraction(float(replaced.get_epsilon(1e-6)))
    assert float(two.delta) == pytest.approx((1 + math.exp(accountant.get_epsilon(1e-6))) * 1e-6)
    with pytest.raises(RefusedError, match="none at delta 0"):
        external(normal, ["ward"])
    with pytest.raises(RefusedError, match="must know the event, replace one; found LaplaceDpEvent"):
        external(events.LaplaceDpEvent(1.0), ["ward"], delta=1e-6)


# what it counts as


def test_an_entry_keeps_what_is_promised_for_one_record() -> None:
    release = external(0.5, ["ward", "days"], "add or remove one", 1e-6, name="count(days > 3)")
    entry = release.entry_for(HOSPITAL)
    assert (entry.family, entry.record, entry.mechanism) == (
        "records",
        (release.epsilon, release.delta),
        "differential privacy",
    )
    assert entry.columns == {"ward", "days"}
    assert entry.query is None  # a name is no question
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))).to_json() == entry.to_json()
    with pytest.raises(ParameterError, match=r"the columns that it reads must be among .* found height"):
        external(0.5, ["height"]).entry_for(HOSPITAL)


@pytest.mark.parametrize("name", ["student", "activity", "clinic"])
def test_secrets_that_no_theorem_counts_are_refused(name: str) -> None:
    with pytest.raises(RefusedError, match=r"numbers of independent records; found .* Protect a count of the table"):
        external(0.5, ["height"]).entry_for(bp.example(name))


TABLES = {"x": [[0.4, 0.6], [0.7, 0.3]], "y": [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]}
"""Of every column its law given the other class, and given the one that is counted."""


def by_class(tables: Mapping[str, list[list[float]]]) -> tuple[np.ndarray, np.ndarray]:
    """The laws of all columns together given that a record counts, and not."""
    laws = [np.ones(1), np.ones(1)]
    for table in tables.values():
        laws = [np.outer(law, row).ravel() for law, row in zip(laws, table, strict=True)]
    return laws[1], laws[0]


def model(records: int, apart: int, names: str = "xy") -> bp.DatasetAttributePrivacy:
    return framework(records, apart, {name: np.array(TABLES[name]).T.tolist() for name in names})


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("names", ["x", "y", "xy"])
def test_the_report_says_the_most_that_any_such_release_tells(epsilon: float, names: str) -> None:
    told = external(epsilon, list(names)).report(model(500, 10)).guarantee.epsilon
    exact = 10 * worst(*by_class({name: TABLES[name] for name in names}), epsilon)
    assert exact <= told <= exact * (1 + 1e-9)
    part = float(np.abs(np.subtract(*by_class({name: TABLES[name] for name in names}))).sum() / 2)
    assert told <= 10 * math.log1p(part * math.expm1(epsilon)) * (1 + 1e-9)


def test_what_reads_all_costs_its_epsilon_for_every_record_and_no_more() -> None:
    """In exact numbers, so that it fits into a budget of that size."""
    for columns in (["disease"], list(HOSPITAL.schema.columns)):
        found = external(0.1, columns).report(HOSPITAL)
        assert found.counted.records[0].total == 10
        assert "epsilon 10 for secrets 100 records apart; 10 whatever it reads" in found.text


def test_the_report_in_words() -> None:
    found = external(1.0, ["x"], name="OpenDP").report(model(500, 2, "x"))
    exact = 2 * math.log((0.4 + 0.6 * math.e) / (0.7 + 0.3 * math.e))
    assert found.guarantee.epsilon == pytest.approx(exact, rel=1e-9)
    text = found.text
    assert text.startswith("OpenDP (epsilon 1, replace one) moves the odds on s by at most 1.8 times")
    assert f"About s: epsilon {upper_text(exact)} for secrets 2 records apart; 2 whatever it reads" in text
    assert "sees this release, the odds between the two secrets of a protected pair move by at most" in text
    assert "This rests on what is promised for single records: epsilon 1, replace one." in text
    data = found.to_dict()["data"]
    assert (data["columns"], data["epsilon"]) == (["x"], found.guarantee.epsilon)
    assert data["attributes"] == [{"protected": "s", "records_apart": 2, "epsilon": found.guarantee.epsilon}]
    assert repr(found).startswith("ExternalReport(OpenDP: epsilon 0.58")
    assert "<h1" in found.to_html()


def test_a_release_with_a_delta_needs_one_for_the_secrets() -> None:
    release = external(1.0, ["x"], delta=1e-6)
    with pytest.raises(RefusedError, match=r"found nothing at delta 0\. Ask for a larger delta"):
        release.report(model(500, 2, "x"))
    found = release.report(model(500, 2, "x"), delta=1e-4)
    assert found.guarantee.epsilon == pytest.approx(2 * math.log1p(0.3 * math.expm1(1)), rel=1e-9)
    assert "1.8" not in found.text
    assert ", except with probability 1 in 5,000." in found.text  # for twice as many times, by twice that delta


def computation(rng: np.random.Generator, size: int, records: int) -> dict[tuple[int, ...], np.ndarray]:
    """Return a random computation on three records: an exponential mechanism, or whether a noisy count is large."""
    epsilon, every = float(rng.uniform(0.1, 2)), list(itertools.combinations_with_replacement(range(size), records))
    if rng.random() < 0.5:
        scores = rng.uniform(0, epsilon / 2, size=(size, 3))
        made = {each: np.exp(sum(scores[value] for value in each)) for each in every}
        return {each: weights / weights.sum() for each, weights in made.items()}
    counted, limit = rng.integers(0, 2, size), float(rng.integers(0, records + 1))
    steps, share = np.arange(-80, 81), math.exp(-epsilon)
    masses = (1 - share) / (1 + share) * share ** np.abs(steps)
    above = {each: masses[sum(counted[v] for v in each) + steps > limit].sum() for each in every}
    return {each: np.array([chance, 1 - chance]) for each, chance in above.items()}


def private(made: Mapping[tuple[int, ...], np.ndarray]) -> float:
    """The exact epsilon of a computation for replacing one record."""
    return max(
        float(np.abs(np.log(made[a] / made[b])).max())
        for a, b in itertools.combinations(made, 2)
        if sum((Counter(a) - Counter(b)).values()) == 1
    )


def test_enumerated_computations_never_tell_more_than_the_report_and_reach_it() -> None:
    rng, records, closest = np.random.default_rng(29), 3, 0.0
    for _ in range(100):
        size = int(rng.integers(2, 4))
        one, other = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])), 2)
        made = computation(rng, size, records)
        fits = framework(records, records, {"x": np.array([other, one]).T.tolist()})
        share = external(private(made) * (1 + 1e-12), ["x"]).report(fits).counted.records[0]
        laws = []
        for many in range(records + 1):
            total = 0.0
            for values in itertools.product(range(size), repeat=records):
                chance = math.prod((one if k < many else other)[value] for k, value in enumerate(values))
                total = total + chance * made[tuple(sorted(values))]
            laws.append(total)
        for low, high in itertools.combinations(range(records + 1), 2):
            real, told = float(np.abs(np.log(laws[high] / laws[low])).max()), share.one * (high - low)
            assert real <= told * (1 + 1e-9) + 1e-12
            closest = max(closest, real / told) if told > 1e-9 else closest
    assert closest > 0.999


def test_two_releases_count_by_all_that_both_read() -> None:
    """Two fair bits, each independent of the class, whose exclusive or is the class: alone they tell nothing."""
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "a": [0.5, 0.5], "b": [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]},
        states={"s": [0, 1], "a": [0, 1], "b": [0, 1]},
        parents={"b": ["s", "a"]},
        level="records",
    )
    schema = bp.Schema(records=50, columns={name: bp.Integer(0, 1) for name in "sab"})
    secret = bp.Secret(bp.count(bp.col("s") == 1), bp.apart(at_most=3))
    hidden = bp.DatasetAttributePrivacy(network, schema, {"s": secret}, source="invented")
    one, other = external(1.0, ["a"]), external(1.0, ["b"])
    assert max(each.report(hidden).guarantee.epsilon for each in (one, other)) < 1e-9
    both = Accountant(hidden).record(one).record(other).epsilon
    # each answers by randomized response for every record: P(answers agree | s)
    keep = math.e / (1 + math.e)
    agree = keep**2 + (1 - keep) ** 2
    assert both >= 3 * math.log(agree / (1 - agree))
    assert both == pytest.approx(3 * 2.0)  # of what reads both columns nothing is hidden
    assert Accountant(hidden).record(one).record(external(1.0, ["a"])).epsilon < 1e-9


def test_it_stands_beside_a_vector_of_answers() -> None:
    count, fits = bp.count(bp.col("x") == 1), model(500, 4)
    made = bp.TightMechanism().calibrate(fits, count, epsilon=0.5)
    release = external(0.1, ["y"])
    alone, together = release.report(fits).guarantee.epsilon, Accountant(fits).record(made).record(release).epsilon
    assert max(0.5, alone) < together <= 0.5 + 4 * 0.1 + 1e-9
    assert Accountant(fits).record(release).record(made).epsilon == pytest.approx(together)
    column = bp.ColumnMechanism().calibrate(fits, count, epsilon=0.2)
    assert Accountant(fits).record(release).record(column).epsilon == pytest.approx(alone + 0.2)


# what it is charged


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_a_session_charges_it_once_for_a_key(place: Path) -> None:
    release = external(0.01, ["ward"], name="Tumult")
    with bp.Session(HOSPITAL, DATA, budget=2.0, ledger=place) as session:
        mark = session.record_external(release, key="wards")
        assert (mark.number, mark.head, mark.budget) == (1, session.head, 2.0)
        assert session.spent == mark.total == pytest.approx(release.report(HOSPITAL).guarantee.epsilon)
        assert session.record_external(release, key="wards") == mark
        with pytest.raises(LedgerError, match="another release under this key"):
            session.record_external(external(0.02, ["ward"]), key="wards")
        assert session.spent == mark.total
        assert session.record_external(release).number == 2
        assert "Tumult: epsilon 0.01, replace one; reads {ward}" in session.text
        assert " 0.01 per record " in session.text
        assert session.text.count("Per record: what another tool promises for single records") == 1
        assert str(mark).startswith("Release 1 of the account 'data'; together epsilon ")
        assert mark.head in str(mark)
        spent = session.spent
    with bp.Session(HOSPITAL, DATA, ledger=place) as again:
        assert again.spent == spent
        assert again.record_external(release, key="wards") == mark
    page = LedgerPage.of(Ledger.open(place))
    assert page.accounts[0].unanswered == 0  # it has no answer here
    assert Ledger.open(place).verify(seen=[mark.head]).charges == 2
    with pytest.raises(ParameterError, match="a session must be open"):
        again.record_external(release)


def test_what_the_budget_does_not_hold_is_not_charged(place: Path) -> None:
    with bp.Session(HOSPITAL, DATA, budget=0.5, ledger=place) as session:
        with pytest.raises(BudgetError, match=r"within the budget of epsilon 0\.5"):
            session.record_external(external(3.0, ["disease"]))
        with pytest.raises(RefusedError, match=r"must have a delta, .* ask for a release with delta 0"):
            session.record_external(external(1e-4, ["ward"], delta=1e-9))
        with pytest.raises(ParameterError, match=r"what another tool released; found a float\. Pass what"):
            session.record_external(1.0)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="must be among"):
            session.record_external(external(0.1, ["height"]))
        assert session.spent == 0
        assert len(session.history) == 0


def test_a_budget_with_a_delta_holds_one_with_a_delta(place: Path) -> None:
    budget = bp.types.Budget(2.0, 1e-4)
    with bp.Session(HOSPITAL, DATA, budget=budget, ledger=place) as session:
        release = external(1e-3, ["ward"], delta=1e-9)
        total = session.record_external(release).total
        assert total == pytest.approx(release.report(HOSPITAL, delta=1e-4).guarantee.epsilon)


def test_parameters_are_refused_before_anything_is_charged(place: Path) -> None:
    account = CountedAccount.opened(bp.example("student"), place, 2.0, "data")
    with pytest.raises(RefusedError, match="Protect a count of the table"):
        account.record_external(external(0.5, ["height"]), None)
    assert account.charges == ()


def test_it_is_a_value() -> None:
    assert isinstance(external(1.0, "ward"), ExternalRelease)
    assert len({external(1.0, "ward"), external(1, ("ward",)), external(2.0, "ward")}) == 2
    assert external(1.0, "ward").to_dict()["data"] == {
        "name": "another tool",
        "promise": "epsilon 1, replace one",
        "epsilon_records": 1.0,
        "delta_records": 0.0,
        "columns": ["ward"],
    }


def test_what_another_process_recorded_meanwhile_under_the_key_is_given(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the key and the charge: a new key would charge it twice."""
    release = external(0.01, ["ward"])
    with bp.Session(HOSPITAL, DATA, budget=1.0, ledger=place) as session:
        other = bp.Session(HOSPITAL, DATA, ledger=place)
        charge, marks = Ledger.charge, list[Any]()

        def late(*given: Any, **named: Any) -> Any:
            if not marks:
                marks.append(None)
                marks[0] = other.record_external(release, key="wards")
            return charge(*given, **named)

        monkeypatch.setattr(Ledger, "charge", late)
        assert session.record_external(release, key="wards") == marks[0]
        assert len(session.accountant.entries) == 1


def test_no_more_than_epsilon_8_is_counted_with_delta() -> None:
    """Theorem 5 is proved so far; of 100 records the sum would be 20."""
    release = external(0.2, list(HOSPITAL.schema.columns), delta=1e-14)
    with pytest.raises(RefusedError, match="nothing at delta"):
        release.report(HOSPITAL, 1e-3)
    assert external(0.05, list(HOSPITAL.schema.columns), delta=1e-14).report(HOSPITAL, 1e-3).guarantee.epsilon < 8


def test_what_may_fail_is_not_bounded_without_a_delta() -> None:
    together = notion_of(HOSPITAL).together(HOSPITAL)
    pure, failing = (external(0.01, ["ward"], delta=delta).entry_for(HOSPITAL) for delta in (0.0, 1e-9))
    assert together.total([pure]).epsilon is not None
    assert together.total([pure, failing]).epsilon is None
