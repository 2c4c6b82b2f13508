"""What is kept of a release: noise as it counts, weights, and what it is told apart by."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant, RunningCost
from bnpriv.core.accounting.total import Entry, FixedSets, NoiseCosts, gaussian_epsilon
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.noise import Laplace
from bnpriv.errors import Refusal
from bnpriv.mechanisms.directional import DirectionalLaplace

FRAMEWORK = bp.example("student")
BOTH = bp.stack(bp.mean("sat"), bp.mean("weight"))


def both_with(noise: object) -> Entry:
    made = MarkovQuiltMechanism(weights=(1.0, 1.0)).calibrate(FRAMEWORK, BOTH, epsilon=1.0)
    return Entry.of(dataclasses.replace(made, noise=noise))


def test_a_number_without_noise_leaves_the_answer_without_noise() -> None:
    along = DirectionalLaplace(scale=5.0, directions=((1.0, 0.0),), limits=(1e6,), dithers=(0.5, 0.0))
    assert both_with(along).noise is None
    every = dataclasses.replace(along, dithers=(0.5, 0.25))
    assert (both_with(every).noise, both_with(every).scale) == ("laplace", 0.25)


@pytest.mark.parametrize("scale", [3.0, 0.1, 5e-324, 2.2250738585072014e-308, 1.7e308, 7.0, 1.0])
def test_what_a_unit_of_noise_costs_is_rounded_up(scale: float) -> None:
    laplace = dataclasses.replace(both_with(Laplace(scale=5.0, dimension=2)), scale=scale)
    (_, rate), *_ = NoiseCosts(evidence=influences(FRAMEWORK)).plus(laplace).terms.values()
    assert rate is not None
    least = 1 / Fraction(scale)
    assert least <= rate <= least * (1 + Fraction(1, 2**89))


def test_weighted_answers_move_by_the_sum_of_weighted_moves() -> None:
    evidence = influences(FRAMEWORK)
    assert isinstance(evidence, Influences)
    alone = [evidence.sensitivity(bp.mean(name), frozenset({name}), 1).upper for name in ("sat", "weight")]
    entry, plain = both_with(Laplace(2.0, 2, (4.0, 1.0))), both_with(Laplace(2.0, 2))
    assert entry.moves(evidence, BOTH.columns) == pytest.approx(4 * alone[0] + alone[1], rel=1e-9)
    assert plain.moves(evidence, BOTH.columns) == pytest.approx(sum(alone), rel=1e-9)
    assert entry.key != plain.key
    assert plain.key == both_with(Laplace(7.0, 2)).key


def test_a_text_that_is_not_that_of_its_query_is_not_read_as_one() -> None:
    record = both_with(Laplace(2.0, 2)).to_json()
    assert Entry.from_json(record).query == BOTH
    assert Entry.from_json({**record, "query": str(record["query"]).replace(" ", "  ")}).query is None


def test_own_laws_are_refused_beside_others_whatever_came_first() -> None:
    column = Entry.of(ColumnMechanism().calibrate(FRAMEWORK, bp.mean("sat"), epsilon=1.0))
    quilt = Entry.of(MarkovQuiltMechanism().calibrate(FRAMEWORK, bp.mean("sat"), epsilon=1.0))
    own = dataclasses.replace(quilt, family="own law", alone="a channel")
    for first, second in ((own, quilt), (quilt, own), (own, own)):
        tally = RunningCost()
        for entry in (column, first, column):
            found = tally.plus(entry)
            assert not isinstance(found, Refusal)
            tally = found
        assert isinstance(tally.plus(second), Refusal)


def test_gaussian_releases_of_columns_that_were_not_fixed_are_not_counted() -> None:
    rare = MarkovQuiltMechanism(large_delta=True).calibrate(FRAMEWORK, bp.mean("sat"), epsilon=1.0, delta=0.01)
    normal = ColumnMechanism(noise="gaussian", large_delta=True).calibrate(
        FRAMEWORK, bp.mean("weight"), epsilon=1.0, delta=0.01
    )
    other = dataclasses.replace(Entry.of(normal), family="quilt", moved=100.0)
    fixed, declared = Accountant(FRAMEWORK), Accountant(FRAMEWORK, columns=["sat", "weight"])
    totals = [each.record(rare).with_entry(other) for each in (fixed, declared)]
    first, second = (each for each in totals if not isinstance(each, Refusal))
    assert math.isinf(first.epsilon_at(0.05))
    assert second.epsilon_at(0.05) < math.inf


def test_epsilons_and_deltas_of_gaussian_releases_add() -> None:
    mechanism = MarkovQuiltMechanism(noise="gaussian", large_delta=True)
    made = mechanism.calibrate(FRAMEWORK, bp.mean("sat"), epsilon=1.0, delta=0.01)
    one = Accountant(FRAMEWORK, columns=["sat"]).record(made)
    evidence, entry = influences(FRAMEWORK), one.entries[0]
    assert isinstance(evidence, Influences)
    each = gaussian_epsilon(entry.moves(evidence, entry.columns) / entry.scale, 0.01)
    three = one.record(made).record(made)
    assert three.epsilon_at(0.1) == pytest.approx(3 * each, rel=1e-6)
    assert one.record(made).epsilon_at(0.1) == pytest.approx(2 * each, rel=1e-6)
    assert math.isinf(three.epsilon_at(0.0299))


@pytest.mark.parametrize(
    ("noise", "first", "delta", "told"),
    [
        ("gaussian", "1/100", "1/10", "1/100"),
        ("gaussian", "1/100", "3/200", "3/400"),
        ("laplace", "1/100", "1/10", "1/20"),
        ("laplace", "1/100", "3/200", "1/100"),
        ("laplace", "1/100", "1/200", "1/200"),
        ("laplace", "0", "1/10", "0"),
    ],
)
def test_the_first_release_divides_delta(noise: str, first: str, delta: str, told: str) -> None:
    made = both_with(Laplace(2.0, 2))
    entry = dataclasses.replace(made, noise=noise, delta=Fraction(first))  # pyright: ignore
    fixed = FixedSets(columns=entry.columns, near=(), first=entry, tells=True)
    assert fixed.told(Fraction(delta)) == Fraction(told)
    assert dataclasses.replace(fixed, tells=False).told(Fraction(delta)) == 0
