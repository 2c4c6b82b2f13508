"""Stacks of parts in different units, with weights: the exact joint law of what is released never passes the claim.

Everything is enumerated: parameters, records, and the corners of the grid of all coordinates, which decide.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.mechanisms.weights as shape_module
from bnpriv.core.distributions import Normal
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.evidence.structural import influences
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.noise import Laplace
from bnpriv.core.queries.asked import Weighted
from tests import normal_tables, oracles
from tests.contract.test_law_mechanisms import CASES, SLACK, Law, Pair, cases, claim_holds, law_loss

UNITS = (2.0**-20, 1e-3, 0.1, 0.3, 1.0, 7.0, 1e3, 2.0**30)
"""What one number of a stack may be counted in."""


def stacked_cases(seed: int, count: int) -> Iterator[tuple[oracles.Case, list[tuple[str, float]]]]:
    """Yield frameworks of one record, a stack of columns of zeros and ones, and the unit of each number."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        case = oracles.random_case(rng)
        if isinstance(influences(case.framework), bp.errors.Refusal):
            continue
        found += 1
        numbers = [*case.queried, *rng.choice(case.queried, size=1)] if len(case.queried) < 3 else list(case.queried)
        rows = [(str(name), float(rng.choice(UNITS))) for name in numbers]
        yield replace(case, query=bp.stack(*(bp.linear({name: unit}) for name, unit in rows))), rows


def pairs_of(case: oracles.Case, rows: Sequence[tuple[str, float]]) -> Iterator[Pair]:
    """Yield the exact laws of the answer under the two secrets of every pair that is a constraint."""
    cells = list(itertools.product((0, 1), repeat=len(case.queried)))
    answers = [tuple(unit * cell[case.queried.index(name)] for name, unit in rows) for cell in cells]
    for model in range(case.framework.network.models):
        joint = oracles.joint(case.framework.network, model)
        for protected, chosen in case.framework.secrets.items():
            for pair in chosen:
                sides = [
                    _answer_law(case, joint, protected, side, cells, answers) for side in (pair.first, pair.second)
                ]
                if sides[0] is not None and sides[1] is not None:
                    yield sides[0], sides[1]


def _answer_law(case, joint, protected, side, cells, answers) -> Law | None:
    parameters = oracles.conditional(case.framework.network, joint, case.queried, protected, side)
    if parameters is None:
        return None
    law: Law = {}
    for cell, answer in zip(cells, answers, strict=True):
        mass = parameters
        for name, value in zip(case.queried, cell, strict=True):
            mass = np.tensordot(case.emission[name][:, value], mass, axes=(0, 0))
        if float(mass) > 0:
            law[answer] = law.get(answer, 0.0) + float(mass)
    return law


def loss(case: oracles.Case, rows: Sequence[tuple[str, float]], scales: Sequence[float]) -> float:
    """Return the exact loss of the released numbers, each with Laplace noise of its own scale."""
    return max((law_loss(f, g, scales) for f, g in pairs_of(case, rows)), default=0.0)


def holds(case: oracles.Case, rows: Sequence[tuple[str, float]], mechanism: bp.types.Mechanism) -> bool:
    noise = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon).noise
    return loss(case, rows, noise.scales) <= case.epsilon * SLACK


def chosen(rng: np.random.Generator, parts: int) -> tuple[float, ...]:
    return tuple(float(2.0**k) for k in rng.integers(-12, 13, size=parts))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_structural_mechanisms_never_pass_the_claim(seed: int) -> None:
    rng, weighted = np.random.default_rng(seed), 0
    for k, (case, rows) in enumerate(stacked_cases(seed, 60)):
        for mechanism in (
            bp.MarkovQuiltMechanism(),
            bp.MarkovQuiltMechanism(weights=chosen(rng, len(rows))),
            bp.ColumnMechanism(),
            bp.ColumnMechanism(weights=chosen(rng, len(rows))),
        ):
            calibration = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon)
            assert loss(case, rows, calibration.noise.scales) <= case.epsilon * SLACK, (k, mechanism)
            weighted += len(set(calibration.noise.scales)) > 1
    assert weighted > 100


@pytest.mark.parametrize("kind", CASES)
def test_mechanisms_on_laws_never_pass_the_claim(kind: str) -> None:
    rng, served = np.random.default_rng(8), 0
    for k, case in enumerate(cases(kind, 21, 25, numbers=2)):
        size = len(shape_module.parts_of(case.query, case.framework.schema))
        for mechanism in (bp.TightMechanism, bp.WassersteinMechanism):
            weighted = mechanism(weights=chosen(rng, size))
            if weighted.supports(case.framework, case.query, epsilon=case.epsilon) is None:
                served += 1
                assert claim_holds(case, weighted), (k, weighted)
    assert served >= 20


def test_noise_of_whole_numbers_never_passes_the_claim() -> None:
    rng, served = np.random.default_rng(9), 0
    for k, case in enumerate(cases("dataset", 22, 40, numbers=2)):
        parts = len(shape_module.parts_of(case.query, case.framework.schema))
        mechanism = bp.TightMechanism(noise="discrete_laplace", weights=chosen(rng, parts))
        if mechanism.supports(case.framework, case.query, epsilon=case.epsilon) is None:
            served += 1  # whole numbers are among the outputs of noise without gaps
            assert claim_holds(case, mechanism), k
    assert served >= 5


def test_gaussian_noise_hides_the_weighted_distance() -> None:
    """Two points m standard deviations apart need delta(m): the farthest pair, each number in its own deviations."""
    for k, (case, rows) in enumerate(stacked_cases(5, 60)):
        mechanism = bp.ColumnMechanism(noise="gaussian", large_delta=True)
        noise = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon, delta=1e-3).noise
        cells = itertools.product((0, 1), repeat=len(case.queried))
        points = [[unit * cell[case.queried.index(name)] for name, unit in rows] for cell in cells]
        far = max(
            math.hypot(*((x - y) / scale for x, y, scale in zip(a, b, noise.scales, strict=True)))
            for a, b in itertools.combinations(points, 2)
        )
        assert far <= gaussian_mu(case.epsilon, 1e-3) * SLACK, k


def test_a_stack_over_a_chain_never_passes_the_claim() -> None:
    table, start, steps = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0.6, 0.4]), 5
    chain = bp.types.MarkovChain(table.tolist(), "stationary", steps, states=[0, 1])
    schema = bp.Schema(records=steps, columns={"x": bp.Integer(0, 1)})
    framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
    query = bp.stack(bp.total("x"), bp.linear({"x": 0.001}))
    for weights in (None, (1, 1), (1, 2**14), (2**6, 1)):
        noise = bp.mechanisms.MarkovChainMechanism(weights=weights).calibrate(framework, query, epsilon=1.0).noise
        for step in range(steps):
            laws: list[Law] = [{}, {}]
            for path in itertools.product((0, 1), repeat=steps):
                p = start[path[0]] * math.prod(table[a, b] for a, b in itertools.pairwise(path))
                answer = (float(sum(path)), 0.001 * sum(path) / steps)
                laws[path[step]][answer] = laws[path[step]].get(answer, 0.0) + float(p)
            first, second = ({key: p / math.fsum(law.values()) for key, p in law.items()} for law in laws)
            assert law_loss(first, second, noise.scales) <= SLACK, (weights, step)


def relative(noise: bp.noise.Noise, rows: Sequence[tuple[str, float]]) -> float:
    return math.fsum(scale / unit for scale, (_, unit) in zip(noise.scales, rows, strict=True))


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_stacks_never_err_more_than_with_equal_weights(count: int) -> None:
    gains = 0
    for k, (case, rows) in enumerate(stacked_cases(7, count)):
        mechanism = bp.ColumnMechanism if k % 2 else bp.MarkovQuiltMechanism
        equal = mechanism(weights=[1] * len(rows)).calibrate(case.framework, case.query, epsilon=case.epsilon)
        best = mechanism().calibrate(case.framework, case.query, epsilon=case.epsilon)
        assert relative(best.noise, rows) <= relative(equal.noise, rows), k
        gains += relative(best.noise, rows) < 0.5 * relative(equal.noise, rows)
    assert gains > 0.3 * count


# --- planted bugs --------------------------------------------------------------------------------------------------


def plant(monkeypatch, change) -> None:
    """Let mechanisms calibrate something else than the weighted query; the noise is divided by the weights still."""

    def queries(query, framework, parts, shapes):
        return {weights: change(query, shape_module._of_numbers(parts, weights)) for weights in shapes}

    monkeypatch.setattr(shape_module, "_queries", queries)


def structural_bug_is_found() -> bool:
    rng = np.random.default_rng(3)
    return any(
        not holds(case, rows, bp.MarkovQuiltMechanism(weights=chosen(rng, len(rows))))
        for case, rows in stacked_cases(3, 60)
    )


def law_bug_is_found() -> bool:
    rng = np.random.default_rng(4)
    for case in cases("dataset", 17, 30, numbers=2):
        parts = len(shape_module.parts_of(case.query, case.framework.schema))
        mechanism = bp.TightMechanism(weights=chosen(rng, parts))
        supported = mechanism.supports(case.framework, case.query, epsilon=case.epsilon) is None
        if supported and not claim_holds(case, mechanism):
            return True
    return False


def weighted(query: bp.types.Query, weights: tuple[float, ...]) -> bp.types.Query:
    return Weighted(asked=query, weights=weights)


@pytest.mark.mutants
def test_nothing_is_found_where_no_bug_is_planted(monkeypatch) -> None:
    plant(monkeypatch, weighted)
    assert not structural_bug_is_found()
    assert not law_bug_is_found()


@pytest.mark.mutants
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda query, weights: query, id="weights not applied to the sensitivity"),
        pytest.param(
            lambda query, weights: weighted(query, tuple(1 / w for w in weights)), id="divided, not multiplied"
        ),
        pytest.param(lambda query, weights: weighted(query, weights[::-1]), id="order of the weights permuted"),
    ],
)
def test_other_weights_of_the_sensitivity_are_found(monkeypatch, change) -> None:
    plant(monkeypatch, change)
    assert structural_bug_is_found()
    assert law_bug_is_found()


@pytest.mark.mutants
def test_laws_without_weights_are_found(monkeypatch) -> None:
    # the room has a function of the same name
    monkeypatch.setattr(
        importlib.import_module("bnpriv.core.evidence.laws"), "WeightedLaws", lambda plain, weights: plain
    )
    assert law_bug_is_found()


def test_a_shape_chosen_after_the_data_would_be_found_and_is_refused() -> None:
    """Noise that depends on the answer tells it: here a number gets little noise only where it is small."""
    network = bp.DiscreteNetwork.from_tables({"s": [0.5, 0.5]}, states={"s": ["0", "1"]}, level="parameters")
    schema = bp.Schema(records=1, columns={"s": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "s", source="a test")
    query = bp.stack(bp.total("s"), bp.linear({"s": 1000.0}))
    calibration = bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0)
    honest = calibration.noise
    assert isinstance(honest, Laplace)
    other = Laplace(honest.scale, 2, (1, 1))
    # log density at an output under both answers, with the shape that each of them would choose
    output = (0.0, 0.0)

    def log_density(answer: tuple[float, float], noise: Laplace) -> float:
        far = zip(output, answer, noise.scales, strict=True)
        return -math.fsum(abs(y - x) / scale + math.log(2 * scale) for y, x, scale in far)

    assert abs(log_density((0.0, 0.0), honest) - log_density((1.0, 1000.0), honest)) <= 1 + 1e-9
    assert abs(log_density((0.0, 0.0), honest) - log_density((1.0, 1000.0), other)) > 1.1
    with pytest.raises(bp.errors.RefusedError, match="what its mechanism returned"):
        replace(calibration, noise=other).release({"s": [1]})


def each_pair(query: bp.types.Query, framework: bp.types.Framework) -> list[LawPair]:
    """Return all pairs of laws of an answer, in an order that depends on the framework alone."""
    found = laws(framework, query)
    assert not isinstance(found, bp.errors.Refusal)
    pairs = [
        pair for each in found.constraints() if not isinstance(each.pairs, bp.errors.Refusal) for pair in each.pairs
    ]
    assert pairs
    return pairs


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["records", "parameters"])
def test_what_moves_a_number_moves_the_weighted_one_as_much_more(level: str, seed: int) -> None:
    """Rounding, grids and clamping: each weighted number moves by its weight times what it moves alone."""
    question = normal_tables.question(np.random.default_rng([140, seed]), level=level, numbers=2)
    weights = 1.0, 2.0 ** float(np.random.default_rng(seed).integers(3, 40))
    for order in (weights, weights[::-1]):
        both = each_pair(Weighted(asked=question.query, weights=order), question.framework)
        alone = [each_pair(part, question.framework) for part in question.query.parts]
        for pair, first, second in zip(both, *alone, strict=True):
            assert pair.rounding >= max(order[0] * first.rounding, order[1] * second.rounding) * (1 - 1e-12)
            assert (pair.departure is None) == (first.departure is None)
            for place, part in enumerate((first, second)):
                assert pair.first.mean[place] - pair.second.mean[place] == pytest.approx(
                    order[place] * (part.first.mean[0] - part.second.mean[0]), rel=1e-9
                )
                if pair.departure is not None and part.departure is not None:
                    assert pair.departure.moves[place] >= order[place] * part.departure.moves[0] * (1 - 1e-12)
                    assert pair.departure.mass >= part.departure.mass * (1 - 1e-12)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 64.0), (2.0**40, 1.0)])
def test_rounding_of_declared_answers_grows_with_their_weights(weights: tuple[float, float]) -> None:
    schema = bp.Schema(records=30, columns={"a": bp.Real(0, 0.3), "b": bp.Real(2**40, 2**40 + 1)})
    spread, parts = np.array([[0.01, 0.0], [0.0, 0.1]]), (bp.mean("a"), bp.mean("b"))
    means = np.array([0.1, 2.0**40]), np.array([0.2, 2.0**40 + 0.5])

    def rounding(query: bp.types.Query, asked: bp.types.Query, places: list[int]) -> float:
        pair = [Normal(mean[places], spread[np.ix_(places, places)]) for mean in means]
        framework = bp.DistributionPrivacy([tuple(pair)], query=query, schema=schema, source="a test")
        return each_pair(asked, framework)[0].rounding

    alone = [rounding(part, part, [place]) for place, part in enumerate(parts)]
    assert all(each > 0 for each in alone)
    query = bp.stack(*parts)
    found = rounding(query, Weighted(asked=query, weights=weights), [0, 1])
    assert found >= max(weight * each for weight, each in zip(weights, alone, strict=True))
