"""Delta above 0 never costs noise: the scale is at most that of delta 0, and falls as delta grows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.core.networks.base import ImportReport
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.finite import FINITE_KIND
from bnpriv.laws import add, n_fold
from bnpriv.mechanisms.plan import STANDARD
from tests import oracles
from tests.seeds import seeds

DELTAS = (5e-324, 1e-300, 1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3)

WAIVED: tuple[Mechanism, ...] = (
    bp.TightMechanism(large_delta=True),
    bp.WassersteinMechanism(large_delta=True),
    bp.MarkovQuiltMechanism(large_delta=True),
    bp.MarkovQuiltMechanism(common_quilt=True, large_delta=True),
)


def falls(
    framework: bp.types.Framework, query: bp.types.Query | None, epsilon: float, mechanism: Mechanism
) -> list[float]:
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


@pytest.mark.parametrize("seed", seeds(3, slow=6))
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


@pytest.mark.parametrize("seed", seeds(6, slow=12))
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

    monkeypatch.setattr(FINITE_KIND, "losses", too_many)
    assert bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=2.0, delta=1e-6).scale == before
    assert before < bp.ColumnMechanism().calibrate(framework, query, epsilon=2.0).scale


def test_intervals() -> None:
    network = bp.DiscreteNetwork.from_intervals(
        {"a": [0.4, 0.4], "b": [[0.4, 0.3], [0.4, 0.5]]},
        {"a": [0.6, 0.6], "b": [[0.6, 0.5], [0.6, 0.7]]},
        states={"a": [0, 1], "b": [0, 1]},
        parents={"b": ["a"]},
        level="parameters",
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
        model_hash="counts",
        simulator=counts,
        reading=ImportReport(nodes=(), columns={"y": ("rate",)}, identity="counts"),
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
    chain = bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 100, states=["rest", "walk"])
    schema = bp.Schema(records=100, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="a textbook")
    falls(framework, bp.count(bp.col("activity") == "walk"), 1.0, bp.mechanisms.MarkovChainMechanism())


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_discrete_noise_stays_pure(epsilon: float, delta: float) -> None:
    """The scale that is enough for continuous noise with delta is not for discrete noise: its curve is above."""
    framework = bp.DistributionPrivacy([(Atoms([0], [1.0]), Atoms([1], [1.0]))], source="a textbook")
    mechanism = bp.TightMechanism(noise="discrete_laplace", large_delta=True)
    calibration = mechanism.calibrate(framework, epsilon=epsilon, delta=delta)
    share = np.exp(-1 / calibration.scale)
    excess = (1 - np.exp(epsilon) * share) / (1 + share)  # of the event that the answer is at most 0
    assert excess <= 1e-12
    assert calibration.guarantee.delta == 0
    assert calibration.scale == pytest.approx(1 / epsilon)


@pytest.mark.parametrize("points", [[0.5, 1.0], [0.0, 2.5], [1e-9, 1.0]])
def test_discrete_noise_is_refused_for_declared_fractions(points: list[float]) -> None:
    laws = Atoms(points, [0.5, 0.5]), Atoms(points, [0.4, 0.6])
    framework = bp.DistributionPrivacy([laws], source="a textbook")
    refusal = bp.TightMechanism(noise="discrete_laplace").supports(framework, epsilon=0.1)
    assert refusal is not None
    assert "whole numbers" in refusal.required
    assert bp.TightMechanism().supports(framework, epsilon=0.1) is None


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(large_delta=True), bp.WassersteinMechanism(large_delta=True)])
def test_delta_is_claimed_if_any_attribute_needs_it(mechanism: Mechanism) -> None:
    """Two protected columns: the one with more noise takes the rule for records, the other one leaves out mass."""
    network = bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [0.5, 0.5], "x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0, 0.999], [0.0, 0.001]]},
        states={name: ["0", "1"] for name in "abxy"},
        parents={"x": ["a"], "y": ["b"]},
        level="records",
    )
    schema = bp.Schema(records=100, columns={name: bp.Integer(0, 1) for name in "abxy"})
    secrets = {"a": bp.Secret(bp.count(bp.col("a") == 1)), "b": bp.Secret(bp.count(bp.col("b") == 1), bp.pairs((0, 1)))}
    framework = bp.DatasetAttributePrivacy(network, schema, secrets, source="a textbook")
    query = bp.linear({"x": 1.0, "y": 1000.0})
    calibration = mechanism.calibrate(framework, query, epsilon=1.0, delta=0.01)
    first, second = calibration.certificate.decisions
    assert (first.protected, second.protected) == ("a", "b")
    assert "record" in first.rule
    assert "record" not in second.rule
    heads = n_fold(Atoms([0, 1], [0.5, 0.5]), 100)
    moved = add(heads, Atoms([0, 1000], [0.999, 0.001]))
    spent = LaplacePair.of(heads, moved).delta(calibration.scale, 1.0)
    assert 1e-4 < spent <= calibration.guarantee.delta == 0.01
