"""Privacy curves by quadrature against closed forms and direct integration, and mechanisms that use them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.evidence.structural import influences
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.networks.base import ImportReport
from bnpriv.kinds.density import influence as curve
from bnpriv.kinds.density.grid import Axis
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.density.supremum import DensityPart
from tests.densities import Curve, Node, density_network, hockey_stick, integral
from tests.later import Later

stats = Later("scipy.stats")

NORMAL = Node(lambda: stats.norm(0, 1))
LEVELS = (0.1, 0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def beta_chain() -> DensityNetwork:
    return density_network(
        {
            "p": Node(lambda: stats.beta(2, 3), lower=0, upper=1),
            "c": Node(lambda p: stats.beta(1 + 4 * p, 5 - 4 * p), ("p",), lower=0, upper=1),
        }
    )


def given_parent(p: float) -> Curve:
    return lambda c: stats.beta.pdf(c, 1 + 4 * p, 5 - 4 * p)


def given_child(c: float) -> Curve:
    def joint(p: float) -> float:
        return stats.beta.pdf(p, 2, 3) * stats.beta.pdf(c, 1 + 4 * p, 5 - 4 * p)

    total = integral(joint, 0, 1)
    return lambda p: joint(p) / total


def both_directions(first: Curve, second: Curve, epsilon: float) -> float:
    return max(hockey_stick(first, second, epsilon, 0, 1, 300), hockey_stick(second, first, epsilon, 0, 1, 300))


@pytest.mark.parametrize(
    ("columns", "protected", "given"), [({"c"}, "p", given_parent), ({"p"}, "c", given_child)], ids=["parent", "child"]
)
def test_curve_of_a_beta_chain(beta_chain: DensityNetwork, columns: set[str], protected: str, given: object) -> None:
    found = bp.max_influence(beta_chain, columns, protected, bp.intervals((0.3, 0.6)))
    for epsilon in LEVELS:
        wanted = both_directions(given(0.3), given(0.6), epsilon)  # pyright: ignore[reportCallIssue]
        assert found.delta(epsilon) == pytest.approx(wanted, abs=1e-6)
        assert found.delta(epsilon) >= wanted - 1e-9


def test_curve_of_intervals(beta_chain: DensityNetwork) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(20)

    def given(low: float, high: float) -> Curve:
        values = low + (high - low) * (nodes + 1) / 2
        masses = stats.beta.pdf(values, 2, 3) * weights
        return lambda c: float(masses @ stats.beta.pdf(c, 1 + 4 * values, 5 - 4 * values) / masses.sum())

    found = bp.max_influence(beta_chain, {"c"}, "p", bp.intervals(((0.2, 0.3), (0.5, 0.6))))
    for epsilon in (0.5, 1.0):
        wanted = both_directions(given(0.2, 0.3), given(0.5, 0.6), epsilon)
        assert found.delta(epsilon) == pytest.approx(wanted, abs=1e-6)


def test_normal_chain_against_the_closed_form() -> None:
    network = density_network(
        {
            "a": NORMAL,
            "h": Node(lambda a: stats.norm(1 + a, 0.5), ("a",)),
            "k": Node(lambda h: stats.norm(2 * h, 1), ("h",)),
            "q": Node(lambda a, k: stats.norm(k - a, 2), ("a", "k")),
        }
    )
    linear = bp.types.GaussianNetwork.linear(
        {"a": 0.0, "h": 1.0, "k": 0.0, "q": 0.0},
        {"a": 1.0, "h": 0.5, "k": 1.0, "q": 2.0},
        {"h": {"a": 1.0}, "k": {"h": 2.0}, "q": {"a": -1.0, "k": 1.0}},
    )
    for columns in ({"q"}, {"k"}, {"q", "k"}):
        found = bp.max_influence(network, columns, "a", bp.intervals((-0.5, 0.7)))
        closed = bp.max_influence(linear, columns, "a", bp.intervals((-0.5, 0.7)))
        for epsilon in LEVELS:
            assert found.delta(epsilon) == pytest.approx(closed.delta(epsilon), abs=1e-6 if len(columns) == 1 else 1e-5)
            assert found.delta(epsilon) >= closed.delta(epsilon) - 1e-7
        for law in ("laplace", "gaussian"):
            wanted = float(closed.losses.shifts(1.0, 0.05, law)[0, 0])
            assert float(found.losses.shifts(1.0, 0.05, law)[0, 0]) == pytest.approx(wanted, rel=2e-4)
            assert float(found.losses.excess(0.5, law, 0.3)[0, 0]) == pytest.approx(
                float(closed.losses.excess(0.5, law, 0.3)[0, 0]), abs=1e-5
            )


def test_losses_of_independent_parts_multiply() -> None:
    leaf = Node(lambda a: stats.norm(a, 1), ("a",))
    network = density_network({"a": NORMAL, "q": leaf, "r": leaf, "s": leaf})
    found = bp.max_influence(network, {"q", "r", "s"}, "a", bp.intervals((0, 1)))
    for epsilon in (0.5, 2.0):
        wanted = gaussian_delta(math.sqrt(3), epsilon)
        assert wanted <= found.delta(epsilon) <= wanted + 1e-3


def test_a_finite_influence_ends_the_curve(beta_chain: DensityNetwork) -> None:
    found = bp.max_influence(beta_chain, {"p"}, "c", bp.intervals((0.3, 0.6)))
    top = float(found)
    assert found.delta(top + 1e-9) == 0.0
    assert found.losses.excess(top + 0.5, "laplace", 0.5 - 1e-9)[0, 0] == 0.0
    assert found.losses.shifts(top + 0.5, 1e-12, "laplace")[0, 0] >= 0.5 - 1e-9


def test_a_mass_that_the_grid_lost_counts_as_telling_everything() -> None:
    """So near its upper end doubles lose 2.5 % of this law."""
    network = density_network(
        {
            "a": Node(lambda: stats.beta(2, 2), lower=0, upper=1),
            "q": Node(lambda a: stats.beta(1 + a, 0.1), ("a",), lower=0, upper=1),
        }
    )
    found = bp.max_influence(network, {"q"}, "a", bp.intervals((0.3, 0.6)))
    assert 0.02 < found.delta(4.0) < 0.1


def test_discrete_columns_have_the_curve_of_their_table() -> None:
    network = density_network(
        {
            "a": NORMAL,
            "k": Node(lambda a: stats.bernoulli(1 / (1 + np.exp(-a))), ("a",), lower=0, upper=1, states=(0.0, 1.0)),
        }
    )
    found = bp.max_influence(network, {"k"}, "a", bp.intervals((0, 1)))
    low, high = 0.5, 1 / (1 + math.exp(-1))
    assert float(found) == pytest.approx(math.log((1 - low) / (1 - high)), abs=1e-9)
    assert found.delta(0.1) == pytest.approx(
        max(high - math.exp(0.1) * low, (1 - low) - math.exp(0.1) * (1 - high)), abs=1e-9
    )


# mechanisms


def framework(
    network: DensityNetwork, protect: dict[str, object], columns: tuple[str, ...]
) -> bp.DistributionalAttributePrivacy:
    schema = bp.Schema(records=100, columns={name: bp.Real(0, 1) for name in columns})
    return bp.DistributionalAttributePrivacy(
        network,
        schema,
        protect,  # pyright: ignore[reportArgumentType]
        source="made up",
    )


def test_a_quilt_by_quadrature_is_an_estimate(beta_chain: DensityNetwork) -> None:
    protected = framework(beta_chain, {"c": bp.intervals((0.3, 0.6))}, ("p", "c"))
    mechanism = bp.MarkovQuiltMechanism()
    calibration = mechanism.calibrate(protected, bp.mean("p"), epsilon=3.0)
    assert calibration.scale == 0.0
    assert calibration.certificate.kind == "estimate"
    assert "estimate" in str(calibration.to_json())
    both = mechanism.calibrate(protected, bp.linear({"p": 10.0, "c": 1.0}), epsilon=4.0)
    told = float(bp.max_influence(beta_chain, {"p"}, "c", bp.intervals((0.3, 0.6))))
    assert both.scale == pytest.approx(1 / (4.0 - told), rel=1e-6)
    assert mechanism.calibrate(protected, bp.mean("p"), epsilon=2.0).certificate.kind == "exact"


def test_with_delta_an_unbounded_quilt_may_do(beta_chain: DensityNetwork) -> None:
    protected = framework(beta_chain, {"p": bp.intervals((0.3, 0.35))}, ("p", "c"))
    told = bp.max_influence(beta_chain, {"c"}, "p", bp.intervals((0.3, 0.35)))
    reading = ImportReport(columns={"x": ("c",)})
    driven = replace(beta_chain, reading=reading)
    schema = bp.Schema(records=100, columns={"x": bp.Real(0, 1)})
    apart = bp.DistributionalAttributePrivacy(driven, schema, {"p": bp.intervals((0.3, 0.35))}, source="made up")
    delta = told.delta(0.5) * 1.01
    assert delta < 0.01
    for one in (protected, apart):
        query = bp.mean("x" if one is apart else "c")
        calibration = bp.MarkovQuiltMechanism().calibrate(one, query, epsilon=0.5, delta=delta)
        assert calibration.scale == 0.0
        assert calibration.certificate.kind == "estimate"
        assert bp.MarkovQuiltMechanism().calibrate(one, query, epsilon=0.5).scale > 0


def test_without_densities_only_the_trivial_quilt_is_left(beta_chain: DensityNetwork) -> None:
    bare = {name: replace(each, log_density=None) for name, each in beta_chain.parameters.items()}
    protected = framework(replace(beta_chain, parameters=bare), {"c": bp.intervals((0.3, 0.6))}, ("p", "c"))
    for delta in (0.0, 1e-3):
        calibration = bp.MarkovQuiltMechanism().calibrate(protected, bp.total("p"), epsilon=4.0, delta=delta)
        assert calibration.scale == pytest.approx(100 / (4.0 - 2 * math.log1p(-delta)), rel=1e-9)
        assert calibration.certificate.kind in ("exact", "certified")
    with pytest.raises(bp.errors.NetworkError, match="density"):
        bp.max_influence(replace(beta_chain, parameters=bare), {"p"}, "c", bp.intervals((0.3, 0.6)))


def test_a_quilt_with_too_many_parameters_is_passed_over() -> None:
    arms = {f"h{k}": Node(lambda a: stats.norm(a, 1), ("a",)) for k in range(8)}
    network = density_network({"a": NORMAL, **arms, "q": Node(lambda *h: stats.norm(sum(h), 1), tuple(arms))})
    protected = framework(network, {"a": bp.intervals((0, 1))}, ("q",))
    calibration = bp.MarkovQuiltMechanism().calibrate(protected, bp.mean("q"), epsilon=1.0)
    assert calibration.scale == pytest.approx(1.0)
    assert calibration.certificate.kind == "exact"
    assert any("passed over" in note for note in calibration.certificate.notes)


def test_secrets_outside_the_support_are_refused(beta_chain: DensityNetwork) -> None:
    protected = framework(beta_chain, {"c": bp.intervals((2, 3))}, ("p", "c"))
    assert isinstance(influences(protected), bp.errors.Refusal)
    with pytest.raises(bp.errors.RefusedError, match="positive probability"):
        bp.MarkovQuiltMechanism().calibrate(protected, bp.mean("p"), epsilon=3.0)


def test_distances_are_refused(beta_chain: DensityNetwork) -> None:
    with pytest.raises(bp.errors.SecretError, match="intervals"):
        framework(beta_chain, {"c": bp.apart(at_most=0.1)}, ("p", "c"))


def test_no_grid_is_looked_at_twice(beta_chain: DensityNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[int, ...]] = []
    densities = DensityPart.densities

    def counted(self: DensityPart, axes: Sequence[Axis]) -> tuple[FloatArray, FloatArray]:
        looked.append((self.points, *(axis.points for axis in axes)))
        return densities(self, axes)

    found = bp.max_influence(beta_chain, {"c"}, "p", bp.intervals(((0.2, 0.4), (0.5, 0.7))))
    monkeypatch.setattr(curve, "_shown", lambda lattice, border, start: (start, 0.0))
    monkeypatch.setattr(DensityPart, "densities", counted)
    found.delta(1.0)
    assert looked
    assert len(looked) == len(set(looked))
