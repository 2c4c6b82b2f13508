"""The Markov quilt mechanism with delta above 0: the exact curve of what is released, and the loss of pairs of laws."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.core.influence.base import Losses
from bnpriv.core.influence.finite import losses_of
from tests import oracles
from tests.seeds import seeds

INTEGRATION = 1e-9
"""Relative error of the oracle's integrals."""


def cases(seed: int, count: int):
    rng = np.random.default_rng(seed)
    while count:
        case = oracles.random_case(rng)
        if not isinstance(influences(case.framework), bp.errors.Refusal):
            count -= 1
            yield case, float(10 ** rng.uniform(-6, -0.7))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("seed", seeds(2, slow=3))
def test_the_curve_of_the_output_never_passes_the_claim(noise: str, seed: int) -> None:
    for k, (case, delta) in enumerate(cases(seed, 40)):
        mechanism = bp.MarkovQuiltMechanism(noise=noise, common_quilt=k % 3 == 0)  # type: ignore[arg-type]
        calibration = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon, delta=delta)
        spent = oracles.output_delta(case, calibration.scale, noise)
        assert spent <= calibration.guarantee.delta * (1 + INTEGRATION) + 1e-12, (seed, k)


def test_never_more_noise_than_pure_and_seldom_the_trivial_quilt() -> None:
    trivial = {0.0: 0, 0.1: 0}
    for case, _ in cases(7, 150):
        found = {}
        for delta in trivial:
            mechanism = bp.MarkovQuiltMechanism()
            found[delta] = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon, delta=delta)
            worst = found[delta].certificate.decisions[0]
            trivial[delta] += worst.scale > 0 and not worst.quilt.quilt  # type: ignore[union-attr]
        assert found[0.1].scale <= found[0.0].scale
    assert trivial[0.1] < trivial[0.0]


def test_a_copied_column_with_laplace_noise_reaches_its_delta() -> None:
    network = bp.DiscreteNetwork.from_tables({"secret": [0.5, 0.5]}, states={"secret": ["a", "b"]})
    schema = bp.Schema(records=1, columns={"secret": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "secret", source="a fixture")
    case = oracles.Case(framework, bp.linear({"secret": 1.0}), 1.25, {"secret": np.eye(2)})
    for noise in ("laplace", "gaussian"):
        mechanism = bp.MarkovQuiltMechanism(noise=noise)  # type: ignore[arg-type]
        calibration = mechanism.calibrate(framework, case.query, epsilon=1.25, delta=0.01)
        assert oracles.output_delta(case, calibration.scale, noise) == pytest.approx(0.01, rel=1e-5)


def random_losses(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Losses]:
    table = rng.dirichlet(np.ones(4) * 0.5, size=2).T
    table[rng.integers(4), 1] = 0
    table /= table.sum(axis=0)
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.4, 0.6], "x": table},
        states={"s": ["a", "b"], "x": list("wxyz")},
        parents={"x": ["s"]},
    )
    return table[:, 0], table[:, 1], losses_of(network, ("x",), "s", bp.pairs(("a", "b")).ordered("s", ["a", "b"]))


def test_the_excess_is_that_of_the_product_pair_by_integration() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        first, second, losses = random_losses(rng)
        epsilon, shift = float(rng.uniform(0.1, 3)), float(rng.uniform(0, 3))
        x = np.linspace(-40, 45, 400_001)
        noise = (np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x - shift)) / 2)
        pairs = ((first, second), (second, first))
        for k, (above, below) in enumerate(pairs):
            gap = above[:, None] * noise[0] - np.exp(epsilon) * below[:, None] * noise[1]
            plain = float(np.trapezoid(np.maximum(gap, 0), x, axis=1).sum())
            assert losses.excess(epsilon, "laplace", shift)[0, k] == pytest.approx(plain, abs=1e-6)


def test_the_excess_without_noise_is_that_of_dp_accounting_in_both_directions() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rng = np.random.default_rng(4)
    for _ in range(10):
        first, second, losses = random_losses(rng)
        logs = [{j: float(np.log(p)) for j, p in enumerate(law) if p > 0} for law in (first, second)]
        theirs = pld.from_two_probability_mass_functions(
            logs[1], logs[0], symmetric=False, pessimistic_estimate=True, value_discretization_interval=1e-4
        )
        for epsilon in (0.1, 1.0, 2.0):
            ours = losses.excess(epsilon)[0]
            for k, (above, below) in enumerate(((first, second), (second, first))):
                assert ours[k] == pytest.approx(np.maximum(above - np.exp(epsilon) * below, 0).sum(), abs=1e-12)
            worse = theirs.get_delta_for_epsilon(epsilon)
            assert worse - 2e-4 <= ours.max() <= worse + 1e-9


def test_a_delta_of_one_over_the_records_needs_a_waiver() -> None:
    framework = bp.example("student")
    query = bp.count(bp.col("sat") > 1200)
    refusal = bp.MarkovQuiltMechanism().supports(framework, query, epsilon=1.0, delta=1e-3)
    assert "one over the number of records" in str(refusal)
    assert bp.MarkovQuiltMechanism(large_delta=True).supports(framework, query, epsilon=1.0, delta=1e-3) is None
    refused = bp.MarkovQuiltMechanism(noise="gaussian").supports(framework, query, epsilon=1.0)
    assert "delta above 0" in str(refused)
