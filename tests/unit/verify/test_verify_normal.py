"""Tests of normal noise in the checker: its curves against integrals, and planted noise that is a little too small."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal, localcontext

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.verify import normal
from bnpriv.verify.check import ARITHMETIC
from tests.replay import lowered

m = bp.mechanisms
GAUSSIAN = {"noise": "gaussian", "large_delta": True}


def above(z: float) -> float:
    """How likely a standard normal number is above z."""
    return math.erfc(z / math.sqrt(2)) / 2


def bell(w: np.ndarray, deviation: float) -> np.ndarray:
    """The density of a centred normal number."""
    return np.exp(-np.square(w / deviation) / 2) / (deviation * math.sqrt(2 * math.pi))


def test_tails_in_digits() -> None:
    """Both ways to work out a tail agree, and with doubles."""
    with localcontext(ARITHMETIC):
        for z in (-3.0, 0.0, 0.5, 3.0, 5.99, 6.01, 12.0, 37.0):
            assert float(normal.tail(Decimal(z))) == pytest.approx(above(z), rel=1e-12)
        near, far = (normal.tail(normal.SERIES_END + sign * Decimal("1e-30")) for sign in (-1, 1))
        step = Decimal("2e-30") * (-(normal.SERIES_END**2) / 2).exp() / normal.ROOT_OF_TWICE_PI
        assert abs((near - far) / step - 1) < Decimal("1e-15")


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 1.0), (0.1, 0.5), (4.0, 2.0), (1.0, -1.0)])
def test_the_curve_is_that_of_two_normal_distributions(mu: float, epsilon: float) -> None:
    with localcontext(ARITHMETIC):
        found = float(normal.curve(Decimal(mu), Decimal(epsilon)))
    assert found == pytest.approx(above(epsilon / mu - mu / 2) - math.exp(epsilon) * above(epsilon / mu + mu / 2))
    if epsilon > 0:
        assert found == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-9)


def integral(first: Mapping[float, float], second: Mapping[float, float], scale: float, epsilon: float) -> float:
    """The mass by which one density passes the other, by many trapezoids."""
    w = np.linspace(-15 * scale, 20 + 15 * scale, 400_001)
    f, g = (sum(p * bell(w - x, scale) for x, p in law.items()) for law in (first, second))
    return float(np.trapezoid(np.maximum(0, f - math.exp(epsilon) * g), w))


@pytest.mark.parametrize("seed", range(8))
def test_the_excess_of_bells_is_the_integral(seed: int) -> None:
    """Enclosed to 13 digits of delta: several changes of sign, atoms that one law lacks, both directions."""
    rng = np.random.default_rng(seed)
    points = np.sort(rng.choice(18, size=int(rng.integers(2, 7)), replace=False)).astype(float)
    laws = []
    for _ in range(2):
        masses = rng.dirichlet(np.full(len(points), 0.6)) * np.append(rng.random(len(points) - 1) < 0.8, 1)
        laws.append({float(x): p for x, p in zip(points, masses / masses.sum(), strict=True) if p})
    scale, epsilon = float(rng.choice([0.3, 1.0, 4.0])), float(rng.choice([0.1, 1.0]))
    with localcontext(ARITHMETIC):
        exact = [{x: Decimal(float(p)) for x, p in law.items()} for law in laws]
        bells = normal.Bells(exact[0], exact[1], Decimal(scale), lambda cost: None)
        for way in (0, 1):
            low, high = bells.excess(way, Decimal(epsilon), Decimal("1e-4"))
            assert low <= high <= low + Decimal("1e-16")
            assert float(high) == pytest.approx(integral(laws[way], laws[1 - way], scale, epsilon), rel=1e-6, abs=1e-10)


@pytest.mark.parametrize(("first", "second"), [(4.0, 1.0), (1.0, 4.0), (1.0, 1.01)])
def test_two_variances_in_closed_form(first: float, second: float) -> None:
    w = np.linspace(-40, 40, 2_000_001)
    passed = bell(w - 1, math.sqrt(first)) - math.exp(0.5) * bell(w, math.sqrt(second))
    with localcontext(ARITHMETIC):
        found = normal.of_two_variances(Decimal(1), Decimal(first), Decimal(second), Decimal("0.5"))
    assert float(found) == pytest.approx(float(np.trapezoid(np.maximum(0, passed), w)), rel=1e-7)


def test_the_length_of_a_gap() -> None:
    """Against an inverse; and where a direction has no variance, any gap along it is infinitely long."""
    rng = np.random.default_rng(1)
    root, gap = rng.normal(size=(4, 4)), rng.normal(size=4)
    with localcontext(ARITHMETIC):
        exact = [[Decimal(x) for x in row] for row in (root @ root.T).tolist()]
        found = normal.length([Decimal(x) for x in gap.tolist()], exact)
        flat = [[Decimal(1), Decimal(1)], [Decimal(1), Decimal(1)]]
        assert normal.length([Decimal(1), Decimal(1)], flat) == 1
        assert normal.length([Decimal(1), Decimal(0)], flat).is_infinite()
        near = [[Decimal(1), Decimal(1)], [Decimal(1), 1 + Decimal("1e-45")]]
        assert normal.length([Decimal(1), Decimal(1) + Decimal("1e-45")], near) == 1
        assert normal.length([Decimal(1), Decimal(1) + Decimal("1e-45")], near, seen=Decimal(0)).is_infinite()
        assert normal.length([Decimal(0), Decimal(0)], [[Decimal(0)] * 2] * 2) == 0
    assert float(found) == pytest.approx(math.sqrt(gap @ np.linalg.solve(root @ root.T, gap)), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_flow_is_the_least_cut(seed: int) -> None:
    """What cannot be moved is the most by which a set of atoms passes all that is near it."""
    rng = np.random.default_rng(seed)
    first, second = ({(k,): Decimal(float(p)) for k, p in enumerate(rng.dirichlet(np.full(6, 0.5)))} for _ in range(2))
    with localcontext(ARITHMETIC):
        flow, rest = normal.moved_inside(
            first, second, lambda x, y: Decimal(abs(x[0] - y[0])), Decimal(1), lambda k: None
        )
        cuts = []
        for chosen in range(64):
            members = {k for k in range(6) if chosen >> k & 1}
            near = {k for k in range(6) if members & {k - 1, k, k + 1}}
            cuts.append(sum(first[k,] for k in members) - sum(second[k,] for k in near))
        assert float(rest) == pytest.approx(float(max(cuts)), abs=1e-15)
        assert all(abs(x[0] - y[0]) <= 1 for x, y in flow)
        assert float(sum(flow.values()) + rest) == pytest.approx(1)


def pair_of_normals(size: int) -> bp.DistributionPrivacy:
    covariance = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])[:size, :size]
    sides = (Normal([0.0] * size, covariance), Normal([5.0, 7.0, -3.0][:size], covariance))
    return bp.DistributionPrivacy([sides], source="made up")


BIT = bp.DistributionPrivacy([(Atoms([0, 1, 5], [0.2, 0.5, 0.3]), Atoms([0, 1, 5], [0.5, 0.4, 0.1]))], source="made up")
PLANE = bp.DistributionPrivacy(
    [(Atoms([[0, 0], [2, 1]], [0.3, 0.7]), Atoms([[0, 1], [2, 2]], [0.3, 0.7]))], source="made up"
)
STUDENT = bp.example("student")
SAT = bp.parse_query("mean(sat)")
BOTH = bp.stack(bp.mean("sat"), bp.mean("height"))


@pytest.mark.parametrize(
    ("mechanism", "framework", "query"),
    [
        (bp.TightMechanism(**GAUSSIAN), BIT, None),
        (m.AttributeGaussianMechanism(large_delta=True), pair_of_normals(1), None),
        (m.AttributeGaussianMechanism(large_delta=True), pair_of_normals(3), None),
        (m.OptimalGaussianMechanism(large_delta=True), pair_of_normals(2), None),
        (m.EigenvectorMechanism(large_delta=True), pair_of_normals(1), None),
        (m.DirectionalUncertaintyMechanism(large_delta=True), pair_of_normals(3), None),
        (m.ExpectedValueMechanism(), pair_of_normals(3), None),
        (m.ExpectedValueMechanism(**GAUSSIAN), PLANE, None),
        (m.DirectionalMechanism(**GAUSSIAN), PLANE, None),
        (bp.WassersteinMechanism(**GAUSSIAN), PLANE, None),
        (bp.WassersteinMechanism(large_delta=True), PLANE, None),
        (bp.ColumnMechanism(noise="gaussian"), STUDENT, SAT),
        (bp.ColumnMechanism(noise="gaussian"), STUDENT, BOTH),
        (bp.MarkovQuiltMechanism(noise="gaussian"), STUDENT, SAT),
    ],
    ids=str,
)
def test_a_hundredth_less_noise_is_told(mechanism: object, framework: object, query: object) -> None:
    calibration = mechanism.calibrate(framework, query, epsilon=1.0, delta=1e-5)
    assert calibration.scale > 0
    verdict = bp.verify(calibration)
    assert verdict.status == "holds", verdict
    less = bp.verify(lowered(calibration.to_json(), 0.99))
    assert less.status in ("fails", "cannot be shown"), less


def test_less_noise_in_one_direction_is_told() -> None:
    """A covariance is compared entry by entry: a larger scale beside it does not help."""
    found = m.OptimalGaussianMechanism(large_delta=True).calibrate(pair_of_normals(2), epsilon=1.0, delta=1e-5)
    record = json.loads(found.to_json())
    record["noise"]["covariance"][0][0] *= 0.9
    assert bp.verify(json.dumps(record)).status == "fails"
    record = json.loads(found.to_json())
    record["noise"]["exact_scale"], record["noise"]["scale"] = (2 * found.scale).hex(), 2 * found.scale
    assert bp.verify(json.dumps(record)).status == "fails"
    del record["noise"]["dithers"]
    assert bp.verify(json.dumps(record)).status == "not covered"


def test_no_noise_is_enough_where_the_answer_hides_the_gap() -> None:
    """The example of docs/claims/attribute_gaussian.md, and the same with a smaller delta."""
    covariance = [[22.0, -6.0], [-6.0, 13.0]]
    sides = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    found = m.OptimalGaussianMechanism().calibrate(
        bp.DistributionPrivacy([sides], source="made up"), epsilon=1.0, delta=1e-3
    )
    assert found.scale == 0
    assert bp.verify(found).status == "holds"
    text = found.to_json().replace('"delta": 0.001', '"delta": 1e-07')
    assert bp.verify(text).status == "fails"


@pytest.mark.parametrize("seed", range(3))
def test_the_sets_that_refute_normal_noise_are_there(seed: int) -> None:
    """Where a claim about two normal distributions of several numbers fails, a half-space of draws shows it."""
    rng = np.random.default_rng(seed)
    gap, noise = np.array([5.0, 7.0]), float(rng.uniform(2, 4))
    found = m.AttributeGaussianMechanism(large_delta=True).calibrate(pair_of_normals(2), epsilon=1.0, delta=1e-2)
    record = json.loads(found.to_json())
    record["noise"].update(scale=noise, exact_scale=noise.hex())
    assert bp.verify(json.dumps(record)).status == "fails"
    covariance = np.array([[4.0, 1.0], [1.0, 3.0]]) + noise**2 * np.eye(2)
    root, along = np.linalg.cholesky(covariance), np.linalg.solve(covariance, gap)
    around = rng.normal(size=(20_000, 2)) @ root.T
    passed = [float(np.mean((around + mean - gap / 2) @ along > 1)) for mean in (gap, np.zeros(2))]
    assert passed[0] - math.e * passed[1] > 1e-2


def test_no_noise_for_records_that_hardly_ever_differ_spends_delta() -> None:
    """The answer is 1 with probability 1e-10 or 3e-10: delta covers it, a guarantee without delta would be false."""
    tables = {"v": np.array([0.5, 0.5]), "u": np.array([[1 - 1e-10, 1 - 3e-10], [1e-10, 3e-10]])}
    states, parents = {"v": ["0", "1"], "u": ["0", "1"]}, {"v": [], "u": ["v"]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records")
    schema = bp.Schema(records=1, columns={"v": bp.Integer(0, 1), "u": bp.Integer(0, 1)})
    secrets = {"v": bp.Secret(bp.count(bp.col("v") > 0))}
    framework = bp.DatasetAttributePrivacy(network, schema, secrets, source="made up")
    query = bp.stack(bp.total("u"), bp.mean("u"))
    found = bp.WassersteinMechanism(**GAUSSIAN).calibrate(framework, query, epsilon=0.5, delta=1e-9)
    assert (found.scale, found.guarantee.delta) == (0, 1e-9)
    assert bp.verify(found).status == "holds"
    assert bp.verify(found.to_json().replace('"delta": 1e-09', '"delta": 0.0')).status == "fails"
