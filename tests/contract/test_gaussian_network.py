"""Linear-Gaussian networks: closed forms against integration, end to end against the exact law of the output."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.kinds.gaussian.influence import laplace_normal_excess
from tests.kinds import KINDS
from tests.later import Later

integrate = Later("scipy.integrate")
stats = Later("scipy.stats")


def random_network(rng: np.random.Generator, size: int, models: int = 1) -> bp.types.GaussianNetwork:
    names = [f"x{k}" for k in range(size)]
    slopes = {
        name: {parent: rng.normal(size=models) for parent in names[:k] if rng.random() < 0.6}
        for k, name in enumerate(names)
    }
    deviations = {name: 10 ** rng.uniform(-1, 1, size=models) for name in names}
    return bp.types.GaussianNetwork.linear({name: rng.normal(size=models) for name in names}, deviations, slopes)


def mahalanobis(network: bp.types.GaussianNetwork, columns: list[str], protected: str, model: int = 0) -> float:
    """Invert the covariance, as in the textbook."""
    inside = [network.attributes.index(name) for name in columns]
    i = network.attributes.index(protected)
    sigma = network.covariance[model]
    slope = sigma[inside, i] / sigma[i, i]
    rest = sigma[np.ix_(inside, inside)] - np.outer(slope, slope) * sigma[i, i]
    return math.sqrt(slope @ np.linalg.solve(rest, slope))


def laplace_curve(shift: float, epsilon: float) -> float:
    if epsilon >= shift:
        return 0.0
    return -math.expm1(epsilon) if epsilon <= -shift else -math.expm1((epsilon - shift) / 2)


def pieces(function, *edges: float) -> float:
    parts = itertools.pairwise(sorted(edges))
    return sum(integrate.quad(function, a, b, epsabs=1e-14, epsrel=1e-12, limit=200)[0] for a, b in parts if b > a)


def test_mahalanobis_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        network = random_network(rng, 5, models=2)
        columns = [name for name in network.attributes[1:] if rng.random() < 0.6]
        told = bp.max_influence(network, columns, "x0", bp.apart(at_most=2.5))
        for model in range(2):
            wanted = 2.5 * mahalanobis(network, columns, "x0", model) if columns else 0.0
            assert told.details[model, 0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
            assert told.details[model, 0] >= wanted * (1 - 1e-12)


def test_curves_equal_direct_integration() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        mu, shift, epsilon = 10 ** rng.uniform(-2, 0.7), rng.uniform(0, 3), rng.uniform(0.01, 4)
        middle = mu * mu / 2
        edges = [epsilon - shift, epsilon + shift, *np.linspace(middle - 12 * mu, middle + 12 * mu, 25)]
        edges = [max(x, epsilon - shift) for x in edges if x <= middle + 12 * mu]

        def integrand(loss: float, mu: float = mu, shift: float = shift, epsilon: float = epsilon) -> float:
            return stats.norm.pdf(loss, mu * mu / 2, mu) * laplace_curve(shift, epsilon - loss)

        found = float(laplace_normal_excess(np.array(mu), np.array(shift), epsilon))
        assert found == pytest.approx(pieces(integrand, *edges), abs=1e-10)
        x = np.linspace(-12, mu + 12, 41)

        def gap(z: float, mu: float = mu, epsilon: float = epsilon) -> float:
            return max(0.0, stats.norm.pdf(z, mu) - math.exp(epsilon) * stats.norm.pdf(z))

        direct = pieces(gap, *x, mu / 2 + epsilon / mu) if mu / 2 + epsilon / mu < mu + 12 else 0.0
        assert bp.max_influence(one(mu), {"x"}, "i", bp.apart(at_most=1)).delta(epsilon) == pytest.approx(
            direct, abs=1e-10
        )


def one(mu: float) -> bp.types.GaussianNetwork:
    return bp.types.GaussianNetwork.linear({"i": 0.0, "x": 0.0}, {"i": 3.0, "x": 2.0}, {"x": {"i": 2.0 * mu}})


def test_a_deviation_of_1e_5_keeps_its_digits() -> None:
    network = bp.types.GaussianNetwork.linear(
        {"i": 0.0, "x": 1.0, "y": 0.0}, {"i": 1.0, "x": 1e-5, "y": 1e3}, {"x": {"i": 1e-5}, "y": {"x": 1e5}}
    )
    told = bp.max_influence(network, {"x", "y"}, "i", bp.apart(at_most=1))
    assert told.mu == pytest.approx(1.0, rel=1e-9)
    y_alone = bp.max_influence(network, {"y"}, "i", bp.apart(at_most=1))
    assert y_alone.mu == pytest.approx(1 / math.hypot(1.0, 1e3), rel=1e-9)
    sharp = bp.types.GaussianNetwork.linear({"i": 0.0, "x": 0.0}, {"i": 1.0, "x": 1e-5}, {"x": {"i": 1.0}})
    assert bp.max_influence(sharp, {"x"}, "i", bp.apart(at_most=1)).mu == pytest.approx(1e5, rel=1e-8)


def framework(network: bp.types.GaussianNetwork, at_most: float = 1.0) -> bp.DistributionalAttributePrivacy:
    columns = {name: bp.Real(0, 1) for name in network.attributes}
    schema = bp.Schema(records=10, columns=columns)
    return bp.DistributionalAttributePrivacy(network, schema, {"x0": bp.apart(at_most=at_most)}, source="a test")


NODES = np.polynomial.legendre.leggauss(100)


def output_delta(mu: float, shift: float, law: str, epsilon: float) -> float:
    """Return the hockey-stick divergence of the product of two normal laws and the noise, on a fine grid."""
    if law == "gaussian":
        total = math.hypot(mu, shift)
        return (
            0.0
            if total == 0
            else stats.norm.cdf(total / 2 - epsilon / total)
            - math.exp(epsilon) * stats.norm.cdf(-total / 2 - epsilon / total)
        )
    if mu == 0:
        return laplace_curve(shift, epsilon)
    ends = np.clip([-np.inf, epsilon - shift, epsilon + shift, np.inf], mu * (mu / 2 - 12), mu * (mu / 2 + 12))
    return sum(
        float(
            half
            * NODES[1]
            @ (stats.norm.pdf(x, mu * mu / 2, mu) * [laplace_curve(shift, epsilon - loss) for loss in x])
        )
        for a, b in itertools.pairwise(ends)
        if (half := (b - a) / 2) > 0
        for x in [(a + b) / 2 + half * NODES[0]]
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_no_quilt_leaves_less_noise_and_the_claim_holds(noise: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(25):
        network = random_network(rng, 4)
        made = framework(network, at_most=float(rng.uniform(0.05, 1)))
        query = bp.linear(dict.fromkeys(network.attributes[1:], 1.0))
        epsilon, delta = float(rng.uniform(0.3, 2)), float(10 ** rng.uniform(-5, -1.5))
        mechanism = bp.MarkovQuiltMechanism(noise=noise)  # type: ignore[arg-type]
        found = mechanism.calibrate(made, query, epsilon=epsilon, delta=delta)
        best = math.inf
        for mask in range(8):
            near = [name for k, name in enumerate(network.attributes[1:]) if mask >> k & 1]
            far = [name for name in network.attributes[1:] if name not in near]
            mu = made.secrets["x0"][0].farthest * (mahalanobis(network, far, "x0") if far else 0.0)
            size = float(len(near))
            scale = found.scale
            if output_delta(mu, size / scale if scale else 0.0, noise, epsilon) <= delta * (1 + 1e-6) + 1e-12:
                best = min(best, scale)
            if scale and output_delta(mu, size / (0.999 * scale), noise, epsilon) <= delta * (1 - 1e-6):
                pytest.fail("less noise would do")
        assert best == found.scale


def test_a_report_says_first_that_the_protected_parameter_drives_the_query() -> None:
    network = bp.types.GaussianNetwork.linear({"i": 0.0, "x": 0.0}, {"i": 3.0, "x": 2.0}, {"x": {"i": 0.5}})
    schema = bp.Schema(records=50, columns={"i": bp.Real(-5, 5), "x": bp.Real(-5, 5)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"i": bp.apart(at_most=1)}, source="a textbook")
    for query in (bp.mean("i"), bp.stack(bp.mean("i"), bp.mean("x"))):
        report = bp.influence_report(framework, query)
        assert report.headline == "The queried columns are driven by i directly, and tell about it without bound."
        assert "The query reads it, which tells everything" in bp.influence_report(framework, query, 1.0, 1e-3).text
    assert bp.influence_report(framework, bp.mean("x")).headline.startswith("mean(x) tells about i")


def test_the_report_shows_numbers_and_curve() -> None:
    network = one(0.5)
    schema = bp.Schema(records=100, columns={"x": bp.Real(0, 1)})
    made = bp.DistributionalAttributePrivacy(network, schema, {"i": bp.apart(at_most=1)}, source="a test")
    report = bp.influence_report(made, bp.mean("x"), 1.0, 1e-3)
    assert "mu = 0.5" in report.text
    assert dict(report.curve)[1.0] == pytest.approx(output_delta(0.5, 0, "gaussian", 1.0), abs=1e-10)
    assert "0.5" in report.to_markdown()
    assert "<svg" in report.to_html()


def test_intervals_are_certified_by_their_farthest_members() -> None:
    network = one(0.5)
    told = bp.max_influence(network, {"x"}, "i", bp.intervals(((0, 1), (2, 4)), (0, 1)))
    assert told.kind == "certified"
    assert told.details[0].tolist() == pytest.approx([2.0, 0.5])
    assert bp.max_influence(network, {"x"}, "i", bp.intervals((0, 1))).kind == "exact"


def test_a_covariance_alone_separates_nothing_but_tells_the_same() -> None:
    rng = np.random.default_rng(4)
    network = random_network(rng, 4, models=3)
    again = bp.types.GaussianNetwork(network.attributes, network.mean, network.covariance)
    for columns in (["x1"], ["x1", "x3"], ["x2"]):
        first = bp.max_influence(network, columns, "x0", bp.apart(at_most=1)).details
        second = bp.max_influence(again, columns, "x0", bp.apart(at_most=1)).details
        np.testing.assert_allclose(first, second, rtol=1e-8, atol=1e-8)


def test_pgmpy_networks_are_read_in_full_precision() -> None:
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    def model(slope: float) -> LinearGaussianBayesianNetwork:
        made = LinearGaussianBayesianNetwork([("a", "b"), ("a", "c"), ("b", "c")])
        made.add_cpds(
            LinearGaussianCPD("a", [1.0], 1e-5),
            LinearGaussianCPD("b", [2.0, slope], 2e-5, ["a"]),
            LinearGaussianCPD("c", [0.0, 1.0, -1.0], 1e-5, ["b", "a"]),
        )
        return made

    network = bp.from_pgmpy([model(3.0), model(4.0)])
    assert network.models == 2
    a, b = 1e-10, 9e-10 + 4e-10
    assert network.covariance[0, 0, 0] == pytest.approx(a)
    order = [network.attributes.index(name) for name in "abc"]
    wanted = [[a, 3 * a, 2 * a], [3 * a, b, b - 3 * a], [2 * a, b - 3 * a, b - 6 * a + a + 1e-10]]
    np.testing.assert_allclose(network.covariance[0][np.ix_(order, order)], wanted, rtol=1e-12)
    assert network.mean[1][order].tolist() == pytest.approx([1.0, 6.0, 5.0])
    assert bp.from_pgmpy(model(1.0), "records").level == "records"
    with pytest.raises(bp.errors.NetworkError, match="no tables to normalize"):
        bp.from_pgmpy(model(1.0), normalize=True)  # type: ignore[call-overload]


def test_a_framework_file_declares_one(tmp_path) -> None:
    path = tmp_path / "framework.toml"
    path.write_text(
        """
notion = "distributional"
source = "a test"
[network.attributes.income]
intercept = 40
deviation = 10
[network.attributes.sat]
intercept = 880
deviation = [150, 200]
coefficients = { income = 3 }
[records]
count = 1000
[columns.sat]
type = "integer"
lower = 400
upper = 1600
[protect.income]
at_most = 5
"""
    )
    made = bp.read_framework(path)
    assert isinstance(made, bp.DistributionalAttributePrivacy)
    assert made.network.models == 2
    assert [str(pair) for pair in made.secrets["income"]] == ["two values at most 5 apart"]
    path.write_text(path.read_text().replace("at_most = 5", "intervals = [[[30, 35], [40, 50]]]"))
    again = bp.read_framework(path)
    assert isinstance(again, bp.DistributionalAttributePrivacy)
    assert again.secrets["income"][0].farthest == 20
    assert made.fingerprint() != again.fingerprint()


NAMES = ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bp.types.GaussianNetwork(NAMES, [0, 0], [[1, 1], [1, 1]]), "singular"),
        (lambda: bp.types.GaussianNetwork(NAMES, [0, 0], [[1, 2], [2, 1]]), "positive definite"),
        (lambda: bp.types.GaussianNetwork(NAMES, [0, 0], [[1, 0.5], [0.4, 1]]), "symmetric"),
        (lambda: bp.types.GaussianNetwork(NAMES, [0, 0], [[0, 0], [0, 1]]), "singular"),
        (lambda: bp.types.GaussianNetwork(NAMES, [0, math.nan], [[1, 0], [0, 1]]), "finite"),
        (lambda: bp.types.GaussianNetwork(NAMES, [0], [[1, 0], [0, 1]]), "shape"),
        (lambda: bp.types.GaussianNetwork(NAMES, ["x", "y"], [[1, 0], [0, 1]]), "numbers"),
        (lambda: bp.types.GaussianNetwork(["a", "a"], [0, 0], [[1, 0], [0, 1]]), "distinct"),
        (lambda: bp.types.GaussianNetwork.linear({"a": 0}, {"a": 0}), "singular"),
        (lambda: bp.types.GaussianNetwork.linear({"a": 0, "b": 0}, {"a": 1, "b": 1}, {"b": {"c": 1}}), "parent"),
        (lambda: framework(one(1.0)), "protected attribute"),
        (
            lambda: bp.DistributionalAttributePrivacy(
                one(1.0), bp.Schema(records=1, columns={"x": bp.Real(0, 1)}), "i", source="a test"
            ),
            "need a distance",
        ),
        (lambda: bp.intervals(((0, 2), (1, 3))), "disjoint"),
        (lambda: bp.intervals(((2, 0), (3, 4))), "low <= high"),
        (lambda: bp.max_influence(one(1.0), {"i"}, "i", bp.apart(at_most=1)), "must not hold"),
    ],
)
def test_what_does_not_fit_is_refused(make, message: str) -> None:
    with pytest.raises(bp.BnprivError, match=message):
        make()


def test_mechanisms_that_need_laws_of_columns_refuse() -> None:
    network = random_network(np.random.default_rng(5), 3)
    made = framework(network)
    plan = bp.plan(made, bp.mean("x1"), 1.0, 1e-3)
    assert any("about its parameter" in str(reason) for _, reason in plan.refusals)
    assert {type(one.mechanism) for one in plan.calibrations} >= {bp.MarkovQuiltMechanism, bp.ColumnMechanism}
    with pytest.raises(bp.BnprivError, match="how records spread around them is not declared"):
        bp.simulate(made)
    calibration = bp.MarkovQuiltMechanism(noise="gaussian").calibrate(made, bp.mean("x1"), epsilon=1.0, delta=1e-3)
    assert "<html" in calibration.to_html()
    assert bp.types.Calibration.from_json(calibration.to_json(), made).scale == calibration.scale
    with pytest.raises(bp.BnprivError):
        bp.rehearse(calibration)
    pure = bp.MarkovQuiltMechanism().calibrate(made, bp.mean("x1"), epsilon=1.0)
    assert pure.guarantee.delta == 0


@pytest.mark.parametrize("kind", ["gaussian", "density"])
def test_pairs_of_values_are_intervals_of_single_values(kind: str) -> None:
    network = KINDS[kind]().network
    told = [
        bp.max_influence(network, {"school"}, "income", pairs=pairs((0.0, 1.0))) for pairs in (bp.pairs, bp.intervals)
    ]
    assert [str(each.pairs) for each in told[:1]] == [str(each.pairs) for each in told[1:]]
    assert np.array_equal(told[0].values, told[1].values)
    assert told[0].delta(1.0) == told[1].delta(1.0)


@pytest.mark.parametrize("kind", ["gaussian", "density"])
@pytest.mark.parametrize("wrong", [bp.pairs(("a", "b")), bp.pairs((True, False)), bp.pairs((0, [1, 2]))], ids=str)
def test_pairs_that_are_no_values_are_refused(kind: str, wrong: object) -> None:
    with pytest.raises(bp.errors.SecretError):
        bp.max_influence(KINDS[kind]().network, {"school"}, "income", pairs=wrong)  # type: ignore[arg-type]


def test_a_distance_of_densities_is_refused_with_its_reason() -> None:
    with pytest.raises(bp.errors.SecretError, match="infinitely many pairs"):
        bp.max_influence(KINDS["density"]().network, {"school"}, "income", pairs=bp.apart(at_most=1))
