"""Totals with delta against the exact joint law of several noisy answers, integrated numerically."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import DeltaCosts, Entry, NoiseCosts, gaussian_epsilon
from bnpriv.core.evidence.structural import Influences, impossibility, influences
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.networks.base import ImportReport
from bnpriv.errors import Refusal, RefusedError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from tests import oracles
from tests.seeds import seeds

POINTS = 241


def grid(answers: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """Return P(cell | answer) of shape (cells, answers): cells of a line, the outermost without end."""
    far = 6 * scale if noise == "gaussian" else 14 * scale
    edges = np.linspace(answers.min() - far, answers.max() + far, POINTS)[:, None]
    from scipy.stats import laplace, norm

    below = (norm if noise == "gaussian" else laplace).cdf((edges - answers[None, :]) / scale)
    below = np.vstack([np.zeros(len(answers)), below, np.ones(len(answers))])
    return np.diff(below, axis=0)


def joint_delta(case: oracles.Case, calibrations, epsilon: float) -> float:
    """Return the hockey-stick divergence of two answers together, each seen as a cell of a grid: a lower bound."""
    network = case.framework.network
    names = tuple(sorted(frozenset().union(*(each.query.columns for each in calibrations))))
    rows = list(itertools.product((0, 1), repeat=len(names)))
    told = []
    for each in calibrations:
        answers = np.array([oracles.value(each.query, dict(zip(names, row, strict=True))) for row in rows])
        atoms = np.unique(answers)
        exact = (atoms[:, None] == answers[None, :]).astype(float)
        noise = "gaussian" if type(each.noise).__name__ == "Gaussian" else "laplace"
        told.append(grid(answers, each.scale, noise) if each.scale > 0 else exact)
    worst = 0.0
    for model in range(network.models):
        law = oracles.joint(network, model)
        for protected, chosen in case.framework.secrets.items():
            for pair in chosen:
                masses = []
                for side in (pair.first, pair.second):
                    parameters = oracles.conditional(network, law, names, protected, side)
                    masses.append(None if parameters is None else _columns(parameters, rows, names, case))
                if masses[0] is None or masses[1] is None:
                    continue
                gap = masses[0] - math.exp(epsilon) * masses[1]
                cells = np.einsum("az,bz,z->ab", told[0], told[1], gap)
                worst = max(worst, float(np.maximum(cells, 0).sum()))
    return worst


def _columns(parameters, rows, names, case):
    masses = []
    for row in rows:
        mass = parameters
        for name, cell in zip(names, row, strict=True):
            mass = np.tensordot(case.emission[name][:, cell], mass, axes=(0, 0))
        masses.append(float(mass))
    return np.array(masses)


def question(case: oracles.Case, rng: np.random.Generator) -> bp.types.Query:
    names = [str(name) for name in case.framework.network.attributes]
    chosen = rng.choice(names, size=int(rng.integers(1, min(2, len(names)) + 1)), replace=False)
    return bp.linear({str(name): float(rng.choice([0.5, 1.0, 3.0])) for name in chosen})


@pytest.mark.parametrize("block", seeds(1, slow=2))
def test_joint_law_with_gaussian_and_approximate_noise_stays_within_the_total(block: int) -> None:
    rng = np.random.default_rng([183, block])
    seen, close = 0, 0
    while seen < 20:
        case = oracles.random_case(rng, most_nodes=4)
        if impossibility(case.framework) is not None:
            continue
        emission = {
            name: oracles._emission(rng, len(case.framework.network.states[name]))
            for name in case.framework.network.attributes
        }
        case = oracles.Case(framework=case.framework, query=case.query, epsilon=1.0, emission=emission)
        columns = case.framework.network.attributes
        accountant, calibrations, delta = Accountant(case.framework, columns=columns), [], 0.0
        for noise in rng.choice(["gaussian", "laplace"], size=2):
            share = float(rng.choice([0.02, 0.1]))
            mechanism = MarkovQuiltMechanism(noise=str(noise), large_delta=True)
            calibrations.append(mechanism.calibrate(case.framework, question(case, rng), epsilon=1.0, delta=share))
            accountant = accountant.record(calibrations[-1])
            delta += 1.5 * share
        epsilon = accountant.epsilon_at(delta)
        seen += 1
        if math.isfinite(epsilon):
            told = joint_delta(case, calibrations, epsilon)
            assert told <= delta * (1 + 1e-9)
            close += told > 0.05 * delta
    assert close >= 1


def test_gaussian_epsilon_inverts_the_curve_on_the_safe_side() -> None:
    for mu, delta in itertools.product((0.01, 0.3, 1.0, 4.0, 30.0), (1e-12, 1e-5, 0.1)):
        epsilon = gaussian_epsilon(mu, delta)
        assert gaussian_delta(mu, epsilon) <= delta
        assert epsilon == 0 or gaussian_delta(mu, epsilon * (1 - 1e-6)) > delta


def test_every_release_with_normal_noise_costs_its_epsilon_at_its_own_delta() -> None:
    """Not at the sum of all deltas, which only their epsilons together have."""
    framework = bp.example("student")
    evidence = influences(framework)
    assert isinstance(evidence, Influences)
    mechanism = MarkovQuiltMechanism(noise="gaussian", large_delta=True)
    costs, expected = DeltaCosts(laplace=NoiseCosts(evidence=evidence)), 0.0
    for epsilon, delta in ((0.5, 1e-3), (1.0, 1e-2), (0.5, 1e-3)):
        entry = Entry.of(mechanism.calibrate(framework, bp.mean("sat"), epsilon=epsilon, delta=delta))
        assert entry.noise == "gaussian"
        costs = costs.plus(entry)
        expected += gaussian_epsilon(entry.moves(evidence, entry.columns) / entry.scale, delta)
        assert costs.cost(entry.columns) == pytest.approx(expected, rel=1e-9)
    assert float(costs.spent) == pytest.approx(0.012)


def test_delta_of_gaussian_releases_adds_up_and_less_is_refused() -> None:
    framework = bp.example("student")
    column = ColumnMechanism(noise="gaussian", large_delta=True)
    one = column.calibrate(framework, bp.mean("sat"), epsilon=0.5, delta=0.001)
    accountant = Accountant(framework).record(one).record(one)
    assert math.isinf(accountant.epsilon)
    assert accountant.epsilon_at(0.002) == 1.0
    assert math.isinf(accountant.epsilon_at(0.0019))
    assert accountant.guarantee(0.002).delta == 0.002


def test_gaussian_releases_cost_the_same_whenever_the_total_is_asked_for() -> None:
    framework = bp.example("student")
    quilt = MarkovQuiltMechanism(noise="gaussian", large_delta=True)
    questions = [(bp.mean("sat"), 1.0), (bp.total("sat"), 0.7), (bp.mean("sat"), 0.4)]
    each = [quilt.calibrate(framework, query, epsilon=epsilon, delta=0.01) for query, epsilon in questions]
    asked = recorded = Accountant(framework, columns=["sat"])
    totals = []
    for calibration in each:
        asked, recorded = asked.record(calibration), recorded.record(calibration)
        totals.append(asked.epsilon_at(0.1))
    assert recorded.epsilon_at(0.1) == totals[-1] < math.inf
    again = Accountant(framework, ["sat"], entries=tuple(Entry.from_json(entry.to_json()) for entry in asked.entries))
    assert again.epsilon_at(0.1) == totals[-1]
    assert totals[0] < totals[1] < totals[2]
    costs = [gaussian_epsilon(entry.moved / entry.scale, 0.01) for entry in asked.entries]
    assert totals[2] - totals[0] == pytest.approx(sum(costs[1:]), rel=1e-6)


def test_column_releases_before_an_own_law_multiply_its_delta_and_later_ones_do_not() -> None:
    pair = (bp.laws.Atoms([0, 1, 2], [0.2, 0.5, 0.3]), bp.laws.Atoms([0, 1, 2], [0.5, 0.3, 0.2]))
    schema = bp.Schema(records=10, columns={"visits": bp.Integer(0, 2)})
    framework = bp.DistributionPrivacy([pair], query=bp.total("visits"), schema=schema, source="a textbook")
    tight = bp.TightMechanism(large_delta=True).calibrate(framework, epsilon=0.2, delta=0.01)
    column = ColumnMechanism().calibrate(framework, bp.total("visits"), epsilon=1.0)
    after = Accountant(framework).record(tight).record(column)
    before = Accountant(framework).record(column).record(tight)
    assert after.epsilon_at(0.01) == pytest.approx(1.2)
    assert math.isinf(before.epsilon_at(0.02))
    assert before.epsilon_at(0.01 * math.e * (1 + 1e-9)) == pytest.approx(1.2)


def test_columns_that_were_not_fixed_are_not_counted_with_delta() -> None:
    framework = bp.example("student")
    rare = MarkovQuiltMechanism(large_delta=True).calibrate(framework, bp.mean("sat"), epsilon=1.0, delta=0.01)
    other = MarkovQuiltMechanism(noise="gaussian", large_delta=True).calibrate(
        framework, bp.mean("weight"), epsilon=1.0, delta=0.01
    )
    assert math.isinf(Accountant(framework).record(rare).record(other).epsilon_at(0.05))
    declared = Accountant(framework, columns=["sat", "weight"]).record(rare).record(other)
    assert declared.epsilon_at(0.05) < math.inf


def secret_and_rare_state(odds: float) -> bp.DistributionalAttributePrivacy:
    """Return a framework where one column is the secret, and another has a state that is rare without it."""
    network = bp.DiscreteNetwork.from_tables(
        {
            "secret": [0.5, 0.5],
            "rare": [[0.5, 1 - 0.5 * math.exp(-odds)], [0.5, 0.5 * math.exp(-odds)]],
            "copy": [[1.0, 0.0], [0.0, 1.0]],
        },
        states={name: ["no", "yes"] for name in ("secret", "rare", "copy")},
        parents={"rare": ["secret"], "copy": ["secret"]},
    ).of_level("parameters")
    schema = bp.Schema(records=1, columns={"rare": bp.Integer(0, 1), "copy": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(network, schema, "secret", source="a worst case")


@pytest.mark.parametrize("first", [0.0, 1e-6, 0.4])
def test_delta_is_not_spent_twice_where_an_answer_decides_what_it_is_spent_on(first: float) -> None:
    """The rare state is released as it is; where it shows, delta goes to the quilt, elsewhere to the noise."""
    framework, odds, delta = secret_and_rare_state(4.0), 4.0, 0.4909
    quilt = MarkovQuiltMechanism()
    start = Accountant(framework, columns=["rare", "copy"])
    rare = MarkovQuiltMechanism(large_delta=True)
    start = start.record(rare.calibrate(framework, bp.total("copy"), epsilon=0.01, delta=first))
    shown = quilt.calibrate(framework, bp.total("rare"), epsilon=4.001)
    assert shown.scale == 0
    start = start.record(shown)
    laplace = quilt.calibrate(framework, bp.total("copy"), epsilon=100.0)
    normal = ColumnMechanism(noise="gaussian", large_delta=True).calibrate(
        framework, bp.total("copy"), epsilon=96.5, delta=0.3
    )
    epsilon = max(start.record(each).epsilon_at(delta) for each in (laplace, normal))
    if math.isfinite(epsilon):
        told = 0.5 * max(0.0, 1 - math.exp((epsilon - odds - 1 / laplace.scale) / 2))
        less = math.log(0.5 / (1 - 0.5 * math.exp(-odds)))
        told += 0.5 * gaussian_delta(1 / normal.scale, epsilon - less)
        assert told <= delta
    assert start.record(laplace).epsilon_at(delta) < 105  # one of the two is counted
    assert start.record(normal).epsilon_at(2 * delta) < 102 or first == 0


def test_sets_that_column_answers_may_have_picked_cost_their_epsilon_in_delta() -> None:
    framework = bp.example("student")
    rare = MarkovQuiltMechanism(large_delta=True).calibrate(framework, bp.mean("sat"), epsilon=1.0, delta=0.01)
    normal = MarkovQuiltMechanism(noise="gaussian", large_delta=True).calibrate(
        framework, bp.mean("sat"), epsilon=1.0, delta=0.01
    )
    column = ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    alone = Accountant(framework).record(rare).record(normal)
    picked = Accountant(framework).record(column).record(rare).record(normal)
    assert alone.epsilon_at(0.05) < math.inf
    assert picked.epsilon_at(0.05 * math.e * (1 + 1e-12)) == pytest.approx(1 + alone.epsilon_at(0.05), rel=1e-9)
    assert alone.epsilon_at(0.02) < math.inf
    assert math.isinf(picked.epsilon_at(0.02))
    later = alone.record(column)
    assert later.epsilon_at(0.05) == pytest.approx(1 + alone.epsilon_at(0.05), rel=1e-12)


def test_column_release_with_delta_before_one_that_counts_by_the_model_is_refused() -> None:
    framework = bp.example("student")
    column = ColumnMechanism(noise="gaussian", large_delta=True).calibrate(
        framework, bp.mean("sat"), epsilon=0.5, delta=0.001
    )
    for mechanism in (MarkovQuiltMechanism(), bp.WassersteinMechanism()):
        quilt = mechanism.calibrate(framework, bp.count(bp.col("sat") >= 1200), epsilon=1.0)
        with pytest.raises(RefusedError, match="delta 0"):
            Accountant(framework).record(column).record(quilt)
        first = Accountant(framework).record(quilt)
        assert first.record(column).record(quilt).epsilon_at(0.001) < math.inf


def test_after_a_release_with_delta_one_theorem_counts_whatever_follows() -> None:
    """Else answers that stop by the one and answers that go on by the other could both use up delta."""
    framework = bp.example("student")
    rare = MarkovQuiltMechanism(large_delta=True).calibrate(framework, bp.mean("sat"), epsilon=1.0, delta=0.01)
    column = ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=0.25)
    one = Accountant(framework).record(rare)
    assert one.epsilon_at(0.02) == 1.0
    faint = one.with_entry(dataclasses.replace(one.entries[0], scale=1e30))
    assert not isinstance(faint, Refusal)
    assert 1.0 < faint.epsilon_at(0.02) < math.inf
    assert one.record(column).epsilon_at(0.02) == pytest.approx(faint.epsilon_at(0.02) + 0.25, rel=1e-9)


def test_column_releases_of_any_size_before_a_release_with_delta_are_counted() -> None:
    framework = bp.example("student")
    rare = MarkovQuiltMechanism(large_delta=True).calibrate(framework, bp.mean("sat"), epsilon=1.0, delta=0.01)
    pure = MarkovQuiltMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    column = ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=90.0)
    start = Accountant(framework)
    for _ in range(10):
        start = start.record(column)
    assert math.isinf(start.record(rare).epsilon_at(0.5))
    assert start.record(pure).epsilon_at(0.5) == 901.0


def test_where_theorem_3_costs_much_more_the_own_guarantee_counts_and_no_second_release_does() -> None:
    framework = bp.example("student")
    query = bp.count(bp.col("sat") >= 1200)
    tight = bp.TightMechanism(large_delta=True).calibrate(framework, query, epsilon=0.3, delta=0.01)
    column = ColumnMechanism().calibrate(framework, query, epsilon=0.25)
    one, declared = Accountant(framework).record(tight), Accountant(framework, columns=["sat"]).record(tight)
    faint = dataclasses.replace(one.entries[0], scale=1e30)
    assert one.record(column).epsilon_at(0.02) == 0.55
    second, sure = one.with_entry(faint), declared.with_entry(faint)
    assert not isinstance(second, Refusal)
    assert not isinstance(sure, Refusal)
    assert math.isinf(second.epsilon_at(0.02))
    assert 0.6 < sure.epsilon_at(0.02) < math.inf
    assert declared.record(column).epsilon_at(0.02) == pytest.approx(0.25 + sure.epsilon_at(0.02), rel=1e-9)


def test_a_confidence_is_carried_by_the_total() -> None:
    network = DensityNetwork(
        parameters={"t": Parameter(name="t", lower=0, upper=1)},
        model_hash="coins",
        simulator=lambda names, draws, *, seed, given, records: _coins(names, draws, seed, given, records),
        reading=ImportReport(columns={"x": ("t",)}),
    ).with_sampling(draws=20_000, confidence=0.95)
    schema = bp.Schema(records=20, columns={"x": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"t": bp.pairs((0.3, 0.5))}, source="invented")
    made = bp.TightMechanism().calibrate(framework, bp.total("x"), epsilon=0.5, delta=0.04)
    assert made.guarantee.confidence == 0.95
    accountant = Accountant(framework).record(made)
    assert accountant.guarantee(0.04).confidence == 0.95
    assert Entry.from_json(accountant.entries[0].to_json()).confidence == 0.95


def _coins(names, draws, seed, given, records):
    random = np.random.default_rng(seed)
    chance = np.broadcast_to(given["t"], draws) if "t" in given else random.random(draws)
    tosses = (random.random((draws, records)) < np.asarray(chance)[:, None]).astype(float)
    return {name: chance if name == "t" else tosses for name in names}
