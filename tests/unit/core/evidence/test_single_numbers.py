"""A density gives single numbers probability 0, but tables hold them: missing values, and what is out of range."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

import bnpriv as bp
from bnpriv.core.column_laws import column_law
from bnpriv.core.evidence.laws import laws, network_record_law
from bnpriv.errors import Refusal
from tests.later import Later

stats = Later("scipy.stats")

AGES = bp.Binned([0, 20, 40, 60], labels=["a", "b", "c"])
MIXED = bp.Binned(
    [0, 20, 40, 60],
    labels=["a", "b", "c"],
    within={"a": "uniform", "b": {20: 0.5, 30: 0.25, 35.5: 0.25}, "c": "uniform"},
)
SEX = bp.Categorical(["f", "m"])


def of_records(age: bp.Binned, secret: str = "count(sex == 'm')") -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"sex": [0.5, 0.5], "age": [[0.2, 0.3], [0.3, 0.3], [0.5, 0.4]]},
        states={"sex": ["f", "m"], "age": ["a", "b", "c"]},
        parents={"age": ["sex"]},
        level="records",
    )
    schema = bp.Schema(records=20, columns={"sex": SEX, "age": age})
    protected = "sex" if "sex" in secret else "age"
    hidden = {protected: bp.Secret(bp.parse_query(secret), pairs=bp.apart(at_most=2))}
    return bp.DatasetAttributePrivacy(network, schema, hidden, source="made up")


def of_parameters(column: bp.Real | bp.Integer) -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"age": [0.5, 0.5]}, states={"age": ["young", "old"]}, parents={}, level="parameters"
    )
    declared = {"age": {"young": stats.norm(25, 8), "old": stats.norm(35, 8)}}
    schema = bp.Schema(records=20, columns={"age": column})
    return bp.DistributionalAttributePrivacy(network, schema, "age", source="made up", laws=declared)


ALONE = ["age == 30", "age != 30", "age in [7, 30.5]", "age >= 30 & age <= 30", "~(age < 30) & ~(age > 30)"]
RANGES = ["age >= 30", "age < 30 | age >= 45", "age >= 20 & age < 30.5", "age == 77", "age in [-1, 60.5]", "age <= 30"]
OUTER = ["age >= 60", "age <= 0", "age < 60", "age > 0", "age == 60"]


@pytest.mark.parametrize("condition", ALONE + OUTER)
def test_a_number_alone_is_refused_inside_a_bin_with_a_density_and_at_its_outer_edges(condition: str) -> None:
    found = laws(of_records(AGES), bp.parse_query(f"count({condition})"))
    assert isinstance(found, Refusal)
    assert "must not tell a single number apart" in found.required
    for chosen in (bp.TightMechanism(), bp.WassersteinMechanism()):
        assert chosen.supports(of_records(AGES), f"count({condition})", epsilon=1.0) is not None


@pytest.mark.parametrize("condition", ALONE)
def test_how_many_are_missing_is_not_released_without_noise(condition: str) -> None:
    """A missing age counts as 30, which a normal law says never occurs."""
    framework = of_parameters(bp.Real(0, 60))
    best = bp.plan(framework, f"count({condition})", epsilon=1.0).best
    assert best.scale > 0
    assert best.scale == bp.ColumnMechanism().calibrate(framework, f"count({condition})", epsilon=1.0).scale


@pytest.mark.parametrize("condition", RANGES)
@pytest.mark.parametrize("of", [lambda: of_records(AGES), lambda: of_parameters(bp.Real(0, 60))])
def test_ranges_are_not_refused(of, condition: str) -> None:
    assert not isinstance(laws(of(), bp.parse_query(f"count({condition})")), Refusal)


@pytest.mark.parametrize("condition", OUTER)
def test_what_is_clamped_has_a_probability_where_the_law_is_a_distribution(condition: str) -> None:
    assert not isinstance(laws(of_parameters(bp.Real(0, 60)), bp.parse_query(f"count({condition})")), Refusal)


@pytest.mark.parametrize("condition", [*ALONE[:2], *OUTER])
def test_whole_numbers_have_probabilities(condition: str) -> None:
    whole = bp.Binned([0, 20, 40, 60], labels=["a", "b", "c"], within="whole numbers")
    for framework in (of_records(whole), of_parameters(bp.Integer(0, 60))):
        assert not isinstance(laws(framework, bp.parse_query(f"count({condition})")), Refusal)


@pytest.mark.parametrize(
    ("number", "refused"), [(0, True), (7, True), (20, False), (30, False), (39, False), (40, True), (60, True)]
)
def test_a_number_of_a_bin_that_declares_its_numbers_may_stand_alone(number: float, refused: bool) -> None:
    """An edge belongs to the bin above it, the last one to the last bin."""
    assert isinstance(laws(of_records(MIXED), bp.count(bp.col("age") == number)), Refusal) == refused


def test_what_the_property_and_the_answer_tell_together_counts() -> None:
    framework = of_records(AGES, "count(age >= 30)")
    assert isinstance(laws(framework, bp.parse_query("count(age <= 30)")), Refusal)
    assert not isinstance(laws(framework, bp.parse_query("count(age < 30)")), Refusal)
    assert isinstance(laws(of_records(AGES, "count(age == 30)"), bp.parse_query("count(sex == 'm')")), Refusal)


def test_no_answer_that_is_left_differs_at_a_number_from_both_its_sides() -> None:
    """All pairs of comparisons with three numbers: what is not refused falls on one side of each."""
    left, framework = 0, of_records(AGES)
    operators = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}
    for (one, a), (two, b) in product(product(operators, (0.0, 30.0, 60.0)), repeat=2):
        query = bp.parse_query(f"stack(count(age {one} {a}), count(age {two} {b}))")
        if isinstance(laws(framework, query), Refusal):
            continue
        left += 1
        for cut in (a, b):
            sides = [x for x in (math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf)) if 0 <= x <= 60]
            here, *beside = ((operators[one](x, a), operators[two](x, b)) for x in (cut, *sides))
            assert here in beside
    # at 30 a pair of one side, or one comparison there; at the outer edges those that all numbers, or none, meet
    assert left == 4 * 4 + 2 * 4 * 4 + 2 * 4


@pytest.mark.parametrize(
    "framework",
    [
        lambda: of_records(AGES, "total(age)"),
        lambda: bp.DistributionPrivacy(
            [(of_records(AGES).network,) * 2], bp.parse_query("total(age)"), of_records(AGES).schema, source="made up"
        ),
    ],
)
def test_a_plan_says_why_laws_of_densities_are_not_known(framework) -> None:
    """A sum on a fine grid has no exact law; noise that needs no law is planned all the same."""
    query = "count(sex == 'm')" if isinstance(framework(), bp.DatasetAttributePrivacy) else "total(age)"
    plan = bp.plan(framework(), query, epsilon=1.0)
    assert type(plan.best.mechanism) is bp.ColumnMechanism
    assert "needs a grid of at most 1,000 steps" in str(plan.refusals)


def test_a_value_that_is_always_0_has_a_law_whatever_its_weight() -> None:
    """All numbers lie in the lowest step of the grid, of a width with hundreds of digits in its denominator."""
    age = bp.Binned([1e-290, 1e-280, 1.0], labels=["a", "b"], steps=2)
    network = bp.DiscreteNetwork.from_tables(
        {"age": [1.0, 0.0]}, states={"age": ["a", "b"]}, parents={}, level="records"
    )
    low = bp.Binned([1e-290, 1e-280, 1.0], labels=["a", "b"], within={"a": {1e-290: 1}, "b": {1e-280: 1}}, steps=2)
    for column in (age, low):
        one = network_record_law(network, bp.Schema(records=2, columns={"age": column}), bp.variance("age"))
        assert one.log_mass([0, 0]) == pytest.approx(0.0, abs=1e-12)


def test_probabilities_of_bins_are_divided_by_their_sum() -> None:
    """They may sum to one to within 1e-9 only, which is more than the error that is told."""
    bins = bp.Binned([0, 2, 4], labels=["a", "b"])
    given = {"a": 0.25, "b": 0.75 + 8e-10}
    found = column_law(given, bins).cells([], lambda value: value < 2)
    exact = Fraction(0.25) / (Fraction(0.25) + Fraction(given["b"]))
    assert abs(found.logs[0] - math.log(exact)) <= found.error + 1e-15
    assert found.error < 1e-13
