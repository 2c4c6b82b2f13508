"""Vectors that a transform keeps in order, and columns with missing values, against PyMC's own densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bnpriv as bp
from bnpriv.errors import BnprivError, NetworkError
from bnpriv.io.pymc import backend, evaluation
from tests.later import Later, optional

stats = Later("scipy.stats")
pm = optional("pymc")

Array = NDArray[np.float64]
COUNT = 40_000


def ordered(**options: Any) -> Any:
    import pymc.distributions.transforms as transforms

    return transforms.Ordered(**options)


def model(build: Callable[[], Any], column: bool = True) -> Any:
    with pm.Model() as made:
        build()
        if column:
            pm.Normal("below", pm.HalfNormal("other"), 1)
    return made


def by_jacobian(build: Callable[[], Any], grids: list[Array]) -> tuple[Array, dict[str, Array]]:
    """Return weights and values at a grid of what PyMC's sampler moves in, by its density with the Jacobian.

    The grid is of what stands for "s", where there is one, then for the entries of "x".
    """
    made = model(build, column=False)
    points = np.stack([each.ravel() for each in np.meshgrid(*grids, indexing="ij")], axis=1)
    inputs, given, values = [], [], dict[str, Array]()
    for name in ("s", "x"):
        if name in made.named_vars:
            held = made.rvs_to_values[made[name]]
            inputs.append(held)
            given.append(points[:, 0] if name == "s" else points[:, -2:])
            back = made.rvs_to_transforms[made[name]].backward(held, *made[name].owner.inputs)
            many = backend.of_many(held)
            values[name] = backend.compiled([many], backend.vectorized(back, {held: many}))(given[-1])
    many = [backend.of_many(each) for each in inputs]
    logp = backend.vectorized(made.logp(jacobian=True), dict(zip(inputs, many, strict=True)))
    logs = backend.compiled(many, logp)(*given)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), values


def agrees(build: Callable[[], Any], grids: list[Array]) -> None:
    network = bp.from_pymc(model(build), columns="below")
    names = [name for name in ("s", "x[0]", "x[1]") if name in network.attributes]
    found = network.simulator(names, COUNT, seed=0, given={}, records=2)
    weights, exact = by_jacobian(build, grids)
    first, second = exact["x"].T
    asked = [(found["x[0]"], first), (found["x[1]"], second), (found["x[0]"] * found["x[1]"], first * second)]
    asked += [(np.tanh(found[f"x[{k}]"] - c), np.tanh(exact["x"][:, k] - c)) for k in (0, 1) for c in (-0.5, 1.2)]
    asked += [(found["s"], exact["s"]), (found["s"] * found["x[0]"], exact["s"] * first)] if "s" in found else []
    for ours, theirs in asked:
        assert abs(ours.mean() - weights @ theirs) < 5 * ours.std() / np.sqrt(COUNT) + 0.004


FIRST, STEP = np.linspace(-6, 6, 45), np.linspace(-9, 2.5, 45)
LAWS: dict[str, tuple[Callable[[], Any], list[Array]]] = {
    "different entries": (lambda: pm.Normal("x", [0.5, -0.5], [1.0, 1.5], transform=ordered()), [FIRST, STEP]),
    "alike, with a parent": (
        lambda: pm.Normal("x", 0.3, pm.Gamma("s", 4, 4), shape=2, transform=ordered()),
        [np.linspace(-3, 1.5, 18), FIRST, STEP],
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_entries_in_order_have_the_density_that_the_jacobian_makes(name: str) -> None:
    agrees(*LAWS[name])


def test_descending_entries_and_other_laws() -> None:
    def build() -> None:
        pm.Normal("x", 0, 1, shape=3, transform=ordered(ascending=False))
        pm.Exponential("e", 1.0, shape=2, transform=ordered())

    network = bp.from_pymc(model(build), columns="below")
    found = network.simulator(["x[0]", "x[1]", "x[2]", "e[0]", "e[1]"], 5000, seed=0, given={}, records=2)
    assert (found["x[0]"] >= found["x[1]"]).all()
    assert (found["x[1]"] >= found["x[2]"]).all()
    assert stats.kstest(stats.norm.cdf(found["x[0]"]) ** 3, "uniform").pvalue > 1e-5
    assert stats.kstest(found["e[0]"], stats.expon(scale=0.5).cdf).pvalue > 1e-5
    assert (found["e[0]"] <= found["e[1]"]).all()


def test_the_order_is_part_of_the_graph_and_of_the_identity() -> None:
    def build(**options: Any) -> Any:
        a = pm.Normal("a", 0, 1)
        return pm.Normal("x", a, 1, shape=2, **options)

    plain = bp.from_pymc(model(build), columns="below")
    kept = bp.from_pymc(model(lambda: build(transform=ordered())), columns="below")
    assert kept.graph.parents["x[1]"] == ("a", "x[0]")
    assert kept.parameters["x[1]"].log_density is None
    assert plain.model_hash != kept.model_hash
    with pytest.raises(NetworkError, match="together with others"):
        kept.simulator(["x[0]"], 5, seed=0, given={"x[0]": 1.0}, records=2)


@pytest.mark.parametrize("options", [{"positive": True}, {}])
def test_orders_that_change_the_laws_above_are_refused(options: dict[str, Any]) -> None:
    def build() -> None:
        means = np.zeros(2) if options else np.array([0.0, 1.0]) * pm.HalfNormal("a")
        pm.Normal("x", means, 1, transform=ordered(**options))

    with pytest.raises(BnprivError) as error:
        bp.from_pymc(model(build), columns="below")
    assert error.value.remedy


# -- missing values


@pytest.mark.filterwarnings("ignore:Data in d contains missing values")
@pytest.mark.parametrize("law", ["plain", "by entry", "in a table"])
def test_columns_with_missing_values_are_what_they_were_declared_as(law: str) -> None:
    values = np.array([1.0, np.nan, 3.0, np.nan, 2.0, 0.0])

    def build(seen: Array) -> None:
        mu = pm.HalfNormal("mu", 1)
        if law == "plain":
            pm.Normal("d", mu, 2, observed=seen)
        elif law == "by entry":
            pm.Poisson("d", mu * np.arange(1, 7), observed=seen)
        else:
            pm.Normal("d", mu + np.arange(2), np.array([[1.0], [2.0], [3.0]]), observed=seen.reshape((3, 2)))

    networks = [bp.from_pymc(model(lambda s=seen: build(s), column=False)) for seen in (values, np.ones(6))]
    with_holes, without = networks
    assert with_holes.graph.parents == without.graph.parents
    assert with_holes.reading.columns == without.reading.columns
    assert not any("observed" in name for name in with_holes.attributes)
    columns = list(without.reading.columns)
    drawn = [n.simulator(columns, 50, seed=3, given={}, records=6 // len(columns)) for n in networks]
    for column in columns:
        np.testing.assert_allclose(drawn[0][column], drawn[1][column])


@pytest.mark.filterwarnings("ignore:Data in d contains missing values")
def test_what_depends_on_missing_values_is_refused() -> None:
    def build() -> None:
        d = pm.Normal("d", pm.HalfNormal("mu"), 1, observed=np.array([1.0, np.nan]))
        pm.Normal("e", d, 1, observed=np.zeros(2))

    with pytest.raises(NetworkError, match="column with missing values"):
        bp.from_pymc(model(build, column=False))


def test_names_that_only_look_like_halves_are_told() -> None:
    def build() -> None:
        first, second = pm.Normal("d_observed", 0, 1, shape=1), pm.Normal("d_unobserved", 0, 1, shape=1)
        pm.Deterministic("d", pm.math.concatenate([first, first + second]))

    with pytest.raises(NetworkError, match="Rename"):
        bp.from_pymc(model(build), columns="below")


# -- planted bugs


@pytest.mark.mutants
@pytest.mark.parametrize("name", LAWS)
def test_planted_bugs_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "different entries":  # sorted draws have another law than draws in order
        monkeypatch.setattr(evaluation.Evaluation, "is_uniform", True)
    else:
        monkeypatch.setattr(evaluation, "in_order", lambda drawn, order: drawn)
    with pytest.raises(AssertionError):
        agrees(*LAWS[name])
