"""Delta above 0 never costs noise: the scale is at most that of delta 0, and falls as delta grows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.evidence.distributional import DistributionalInfluences
from bnpriv.laws import Atoms, Normal
from bnpriv.mechanisms import STANDARD, Mechanism
from bnpriv.networks import DensityNetwork, Parameter
from bnpriv.networks.reading import Reading
from tests import oracles

DELTAS = (5e-324, 1e-300, 1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3)

WAIVED: tuple[Mechanism, ...] = (
    bp.TightMechanism(large_delta=True),
    bp.WassersteinMechanism(large_delta=True),
    bp.MarkovQuiltMechanism(large_delta=True),
    bp.MarkovQuiltMechanism(common_quilt=True, large_delta=True),
)


def falls(framework: bp.Framework, query: bp.Query | None, epsilon: float, mechanism: Mechanism) -> list[float]:
    """Return the scales from delta 0 on, and check that they fall and that delta is not claimed where none is spent."""
    found: list[float] = []
    for delta in (0.0, *DELTAS):
        asked = {"epsilon": epsilon, "delta": delta}
        if mechanism.supports(framework, query, **asked) is None:
            found.append(mechanism.calibrate(framework, query, **asked).scale)
        else:
            assert not found or delta >= 1 / framework.schema.records
    assert all(after <= before for before, after in pairwise(found)), (mechanism, found)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_laws_of_one_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.choice([2, 3, 20, 60]))
    support = np.sort(rng.choice(10 * size, size=size, replace=False)).astype(float)
    first, second = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 30.0])), size=2)
    moved = support if seed % 2 else support + 0.5
    pairs = [(Atoms(support, first), Atoms(moved, second)), (Atoms(moved, second), Atoms(support, second))]
    framework = bp.DistributionPrivacy(pairs, source="a random draw")
    for mechanism in (*WAIVED, bp.WassersteinMechanism(noise="gaussian"), bp.TightMechanism(noise="discrete_laplace")):
        falls(framework, None, float(rng.choice([0.1, 1.0, 5.0])), mechanism)


def test_gaussian_noise_for_any_delta() -> None:
    """Rows 15 and 42: a tiny delta gave no finite scale; the distance of the laws bounds it."""
    laws = Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.3, 0.5, 0.2])
    framework = bp.DistributionPrivacy([laws], source="a textbook")
    found = falls(framework, None, 1.0, bp.TightMechanism(noise="gaussian"))
    distance = falls(framework, None, 1.0, bp.WassersteinMechanism(noise="gaussian"))
    assert all(tight <= far * (1 + 1e-12) for tight, far in zip(found, distance, strict=True))
    assert bp.plan(framework, None, epsilon=1.0, delta=1e-12).best.scale <= found[0]


@pytest.mark.parametrize("seed", range(3))
def test_normal_laws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    covariance = np.diag(rng.gamma(2.0, size=2))
    pair = Normal(rng.normal(size=2), covariance), Normal(rng.normal(size=2), covariance)
    falls(bp.DistributionPrivacy([pair], source="a random draw"), None, 1.0, bp.WassersteinMechanism())


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int) -> None:
    case = oracles.random_case(np.random.default_rng(seed), most_nodes=5)
    for mechanism in (*STANDARD, *WAIVED):
        if mechanism.concerns(case.framework):
            falls(case.framework, case.query, case.epsilon, mechanism)


def test_quilts_with_too_many_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quilt that may be used at delta 0 was passed over, so that more columns were near."""
    framework, query = bp.example("student"), bp.count(bp.col("sat") > 1200)
    before = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0).scale

    def too_many(*_: object) -> None:
        raise bp.errors.SizeError("losses must be few", found="many", remedy="Ask for less.")

    monkeypatch.setattr(DistributionalInfluences, "losses", too_many)
    assert bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0, delta=1e-6).scale == before
    assert before < bp.ColumnMechanism().calibrate(framework, query, epsilon=2.0).scale


def test_intervals() -> None:
    network = bp.DiscreteNetwork.from_intervals(
        {"a": [0.4, 0.4], "b": [[0.4, 0.3], [0.4, 0.5]]},
        {"a": [0.6, 0.6], "b": [[0.6, 0.5], [0.6, 0.7]]},
        states={"a": [0, 1], "b": [0, 1]},
        parents={"b": ["a"]},
    )
    schema = bp.Schema(records=1000, columns={"b": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "a", source="a textbook")
    scales = falls(framework, bp.count(bp.col("b") == 1), 2.0, bp.MarkovQuiltMechanism())
    assert scales == [0.0] * len(scales)


def counts(names: object, draws: int, *, seed: int, given: dict[str, float], records: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    rate = np.full(draws, given["rate"]) if "rate" in given else rng.gamma(2.0, size=draws)
    other = rng.gamma(2.0, size=(draws, 1))
    return {"rate": rate, "y": rng.poisson(rate[:, None] + other, size=(draws, records)).astype(float)}


def test_draws() -> None:
    """The scale was 687 at delta 1e-9 where 1.69 does at delta 0: gathering draws was paid for in delta alone."""
    network = DensityNetwork(
        parameters={"rate": Parameter(name="rate", lower=0, upper=np.inf, log_density=lambda x: np.log(x) - x)},
        identity="counts",
        simulator=counts,
        reading=Reading(nodes=(), columns={"y": ("rate",)}, identity="counts"),
    ).with_sampling(draws=4000, cells=64)
    schema = bp.Schema(records=300, columns={"y": bp.Integer(0, 20)})
    secrets = {"rate": bp.intervals((1.0, 2.0))}
    framework = bp.DistributionalAttributePrivacy(network, schema, secrets, source="a prior")
    for query in (bp.mean("y"), bp.count(bp.col("y") > 3)):
        for mechanism in (bp.TightMechanism(), bp.WassersteinMechanism()):
            assert len(falls(framework, query, 1.0, mechanism)) == 1 + len(DELTAS)
        calibration = bp.TightMechanism().calibrate(framework, query, epsilon=1.0, delta=1e-9)
        assert calibration.guarantee.delta == 0  # none is spent where the noise is that of delta 0


def test_chains() -> None:
    chain = bp.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 100, states=["rest", "walk"])
    schema = bp.Schema(records=100, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="a textbook")
    falls(framework, bp.count(bp.col("activity") == "walk"), 1.0, bp.MarkovChainMechanism())
