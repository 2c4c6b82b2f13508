"""Deterministics of a PyMC model as secrets and as columns, in every reading, against laws that NumPy draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import BnprivError, NetworkError, SecretError
from bnpriv.networks import DrawCache
from tests.later import optional

pm = optional("pymc")
pt = optional("pytensor.tensor")
xarray = optional("xarray")

SPREADS = np.array([4.0, 6.0, 9.0])
HALVES = bp.intervals(((-8, 2), (2, 12)))
WIDE = bp.Real(-60, 60)


def schools() -> Any:
    """Return three schools whose effects are computed from a mean, a spread and a standard number each."""
    with pm.Model(coords={"school": ["A", "B", "C"]}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5)
        theta = pm.Deterministic("theta", mu + tau * pm.Normal("z", dims="school"), dims="school")
        pm.Normal("y", theta, SPREADS, observed=np.zeros(3), dims="school")
    return model


def centred() -> Any:
    with pm.Model(coords={"school": ["A", "B", "C"]}) as model:
        theta = pm.Normal("theta", pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5), dims="school")
        pm.Normal("y", theta, SPREADS, observed=np.zeros(3), dims="school")
    return model


def private(network: Any, protect: Any, records: int = 3, **columns: Any) -> Any:
    schema = bp.Schema(records=records, columns=columns or {"y": WIDE})
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="made up")


def moments(framework: Any, query: Any) -> np.ndarray:
    """Return means and deviations of the answer, of shape (models, sides, 2)."""
    pairs = [pair for each in laws(framework, query).constraints() for pair in each.pairs]
    return np.array([[_moments(each) for each in (pair.first, pair.second)] for pair in pairs])


def _moments(law: Any) -> tuple[float, float]:
    mean = float(law.probabilities @ law.support)
    return mean, float(np.sqrt(law.probabilities @ (law.support - mean) ** 2))


def posterior(draws: int, seed: int = 3) -> Any:
    random = np.random.default_rng(seed)
    mu, tau = random.normal(2, 1, (2, draws)), random.uniform(2, 4, (2, draws))
    z = random.normal(size=(2, draws, 3))
    theta = mu[..., None] + tau[..., None] * z
    values = {"mu": mu, "tau": tau, "z": z, "theta": theta}
    dims = ("chain", "draw", "school")
    return xarray.Dataset({name: (dims[: each.ndim], each) for name, each in values.items()})


def close(found: np.ndarray, expected: np.ndarray, draws: int) -> bool:
    return bool(np.all(np.abs(found[:, 0] - expected[:, 0]) <= 6 * expected[:, 1] / np.sqrt(draws))) and bool(
        np.all(np.abs(found[:, 1] / expected[:, 1] - 1) <= 6 / np.sqrt(draws))
    )


def test_an_entry_of_a_deterministic_is_a_secret_under_the_priors() -> None:
    found = moments(private(bp.from_pymc(schools()), {"theta[A]": HALVES}), bp.mean("y"))[0]
    random = np.random.default_rng(8)
    mu, tau = random.normal(0, 5, 400_000), np.abs(random.normal(0, 5, 400_000))
    theta = mu[:, None] + tau[:, None] * random.normal(size=(400_000, 3))
    y = np.clip(theta + SPREADS * random.normal(size=theta.shape), -60, 60).mean(axis=1)
    sides = [y[(theta[:, 0] >= low) & (theta[:, 0] <= high)] for low, high in ((-8, 2), (2, 12))]
    assert close(found, np.array([(each.mean(), each.std()) for each in sides]), 10_000)


def test_as_models_a_deterministic_is_what_the_same_declared_centred_is() -> None:
    """Every draw fixes mean and spread: the effect then has its law given these, however it is written."""
    drawn = posterior(4)
    chosen = [bp.from_pymc(schools(), posterior=drawn, thin=2).with_sampling(draws=8000)]
    chosen.append(bp.from_pymc(schools(), posterior=drawn[["mu", "tau"]], thin=2).with_sampling(draws=8000))
    random = np.random.default_rng(9)
    for network in chosen:
        found = moments(private(network, {"theta[A]": HALVES}), bp.mean("y"))
        assert len(found) == 4
        for k in range(4):
            mu, tau = (float(drawn[name].values[:, ::2].ravel()[k]) for name in ("mu", "tau"))
            first = mu + tau * random.normal(size=400_000)
            rest = drawn["theta"].values[:, ::2].reshape(-1, 3)[k, 1:]
            # what has no draws, here z where the posterior lacks it, is drawn anew
            others = rest if "z" in drawn and network is chosen[0] else mu + tau * random.normal(size=(400_000, 2))
            theta = np.column_stack([first, np.broadcast_to(others, (400_000, 2))])
            y = (theta + SPREADS * random.normal(size=theta.shape)).mean(axis=1)
            sides = [y[(first >= low) & (first <= high)] for low, high in ((-8, 2), (2, 12))]
            assert close(found[k], np.array([(each.mean(), each.std()) for each in sides]), 8000)


def test_as_belief_a_deterministic_needs_no_draws_of_its_own() -> None:
    drawn = posterior(5000)
    with_draws, without = (
        moments(private(bp.from_pymc(schools(), posterior=each, reading="belief"), {"theta[A]": HALVES}), bp.mean("y"))
        for each in (drawn, drawn.drop_vars("theta"))
    )
    assert close(without[0], with_draws[0], 5000)


def varying(build: Callable[[], Any], name: str, columns: Any = None) -> set[str]:
    with pm.Model() as model:
        build()
    network = bp.from_pymc(model, columns=columns)
    forward = network if hasattr(network, "protecting") else network.forward
    return set(forward.protecting([name]).parameters[name].varies_with)


def test_what_varies_with_a_deterministic_is_what_acts_through_it_alone_or_all_of_it() -> None:
    def hierarchy(*, copy: bool = False, inner: bool = False) -> None:
        mu, tau, z = pm.Normal("mu"), pm.HalfNormal("tau"), pm.Normal("z", shape=2)
        move = pm.Deterministic("move", tau * z) if inner else tau * z
        theta = pm.Deterministic("theta", mu + move)
        if copy:
            pm.Deterministic("z copied", 1 * z)
        pm.Deterministic("contrast", theta[1] - theta[0])
        pm.Deterministic("apart", mu - tau)
        pm.Normal("y", theta, 1, observed=np.zeros(2))

    assert varying(hierarchy, "theta[0]") == {"z[0]"}
    assert varying(lambda: hierarchy(copy=True), "theta[0]") == {"z[0]"}  # no column depends on the copy
    assert varying(lambda: hierarchy(inner=True), "theta[1]") == {"z[1]"}
    assert varying(hierarchy, "contrast") == {"z[0]", "z[1]"}  # both effects, and these vary with their own numbers
    assert varying(hierarchy, "apart") == {"mu", "tau"}  # effects depend on both, other than through it

    def two() -> None:
        a, b = pm.Normal("a"), pm.Normal("b")
        pm.Deterministic("difference", b - a)
        pm.Deterministic("scale", pt.exp(pm.Normal("logs")))
        pm.Normal("y", pt.stack([a, b]), pt.exp(pm.Normal("noise")), observed=np.zeros(2))

    assert varying(two, "difference") == {"a", "b"}
    assert varying(two, "scale") == {"logs"}


def test_a_column_may_be_a_deterministic_of_parameters_and_of_records() -> None:
    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.Normal("b")
        x = pm.Normal("x", a, 1, observed=np.zeros(5))
        pm.Deterministic("line", a + b * np.arange(5.0))
        pm.Deterministic("high", pt.switch(x > 1, 1, 0))
    network = bp.from_pymc(model, columns=["line", "high", "x"])
    assert set(network.reading.columns["line"]) == {"a", "b"}
    assert network.reading.columns["high"] == ("a",)
    random = np.random.default_rng(4)
    root = random.normal(size=400_000)
    x = root[:, None] + random.normal(size=(400_000, 5))
    tables = {
        "line": root + 2 * random.normal(size=400_000),
        "high": (x > 1).mean(axis=1),
        "x": np.clip(x, -9, 9).mean(axis=1),
    }
    columns = {"line": bp.Real(-99, 99), "high": bp.Integer(0, 1), "x": bp.Real(-9, 9)}
    secret = {"a": bp.intervals(((-1, 0), (0, 1)))}
    for name, answer in tables.items():
        found = moments(private(network.forward, secret, 5, **columns), bp.mean(name))[0]
        sides = [answer[(root >= low) & (root <= high)] for low, high in ((-1, 0), (0, 1))]
        assert close(found, np.array([(each.mean(), each.std()) for each in sides]), 10_000)
    # one row holds a record with what is computed from it, though nothing but that is queried
    alone = bp.from_pymc(model, columns={"over": "high"})
    assert alone.reading.columns == {"over": ("a",)}
    drawn = alone.forward.simulate(("over", "a"), 4000, seed=1, given={}, records=5)
    assert np.corrcoef(drawn["over"].mean(axis=1), drawn["a"])[0, 1] > 0.5


def test_records_that_stand_for_any_have_a_deterministic_of_their_own() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", pm.HalfNormal("a"), 1)
        pm.Deterministic("double", 2 * x)
    drawn = bp.from_pymc(model, columns=["x", "double"]).simulate(("x", "double"), 50, seed=0, given={}, records=7)
    assert drawn["x"].shape == (50, 7)
    assert np.array_equal(drawn["double"], 2 * drawn["x"])
    assert len(np.unique(drawn["x"])) == 350


def exact(kind: str) -> Any:
    with pm.Model() as model:
        a, b = (
            (pm.Normal("a"), pm.Normal("b")) if kind == "normal" else (pm.Bernoulli("a", 0.4), pm.Bernoulli("b", 0.4))
        )
        pm.Deterministic("sum", a + b)
        pm.Normal("y", a + b, 1, observed=np.zeros(3))
    return model


@pytest.mark.parametrize("kind", ["normal", "finite"])
def test_exact_models_draw_for_a_deterministic_and_stay_exact_for_the_rest(kind: str) -> None:
    network = bp.from_pymc(exact(kind))
    secret = {"sum": bp.intervals(((-0.5, 0.5), (0.6, 1.5)))}
    found = bp.TightMechanism(large_delta=True).calibrate(private(network, secret), bp.mean("y"), epsilon=1, delta=1e-2)
    assert found.guarantee.kind == "estimate"
    assert found.scale < 20
    own = {"a": bp.intervals((0.0, 1.0))} if kind == "normal" else {"a": bp.pairs((0, 1))}
    assert private(network, own).network is network


def test_functions_that_take_no_value_often_may_have_touching_intervals() -> None:
    touching = bp.intervals(((-1, 0.5), (0.5, 1)))

    def protects(function: Callable[[Any, Any], Any]) -> bool:
        with pm.Model() as model:
            a, b = pm.Normal("a"), pm.Beta("b", 2, 2)
            pm.Deterministic("f", function(a, b))
            pm.Normal("y", a + b, 1, observed=np.zeros(3))
        network = bp.from_pymc(model)
        found = getattr(network, "forward", network).protecting(["f"])
        if found.parameters["f"].without_atoms:
            return bool(private(network, {"f": touching}).secrets)
        with pytest.raises(SecretError, match="disjoint"):
            private(network, {"f": touching})
        return False

    smooth: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a - b,
        lambda a, b: b / a - 1,
        lambda a, b: pt.log(pt.exp(a) + b),
        lambda a, b: a / b**2 + b**-1,
        lambda a, b: pt.cumsum(pt.stack([a, b]))[1],
        lambda a, b: pt.stack([a, b])[1] * 2.0 + 0 * a,
    ]
    rough: list[Callable[[Any, Any], Any]] = [
        lambda a, b: pt.maximum(a, 0.5),
        lambda a, b: pt.switch(a > 0, 0.5, b),
        lambda a, b: 0 * a + 0.5,
        lambda a, b: (a**2) ** 0.5 / a / 2,
        lambda a, b: pt.sqrt(a**2) / a / 2,
        lambda a, b: pt.round(a),
    ]
    assert all(map(protects, smooth))
    assert not any(map(protects, rough))


def test_what_a_deterministic_is_computed_by_tells_calibrations_and_kept_draws_apart() -> None:
    def model(sign: float) -> Any:
        with pm.Model() as found:
            a, b = pm.Normal("a"), pm.HalfNormal("b")
            pm.Deterministic("f", a + sign * b)
            pm.Normal("y", a, b, observed=np.zeros(3))
        return found

    plus, minus = (bp.from_pymc(model(sign)) for sign in (1.0, -1.0))
    assert plus.identity() == minus.identity()
    secret = {"f": bp.intervals(((-1, 0), (0, 1)))}
    assert private(plus, secret).network.identity() != private(minus, secret).network.identity()
    cache, drawn = DrawCache(), dict[str, Mapping[str, np.ndarray]]()
    for name, network in (("plus", plus), ("minus", minus)):
        own = private(cache.attached(network), secret).network
        drawn[name] = own.simulate(("f", "a", "b"), 10, seed=0, given={}, records=3)
    for name, sign in (("plus", 1.0), ("minus", -1.0)):
        assert drawn[name]["f"] == pytest.approx(drawn[name]["a"] + sign * drawn[name]["b"])


def test_what_cannot_be_a_secret_is_told() -> None:
    with pm.Model() as model:
        a = pm.Normal("a", 0, pm.HalfNormal("s"), shape=2)
        x = pm.Normal("x", a[0], 1, observed=np.zeros(4))
        pm.Deterministic("reads", x.sum())
        pm.Deterministic("random", a[0] + pm.Normal.dist(0, 1))
        pm.Deterministic("vector", 2 * a)
    network = bp.from_pymc(model)
    for name, match in (("reads", "the column 'x'"), ("random", "'random'"), ("vector", r"vector\[0\]")):
        with pytest.raises(SecretError, match=match):
            private(network, {name: HALVES}, 4, x=WIDE)
    with pytest.raises(BnprivError, match="a single value"):
        bp.TightMechanism().calibrate(
            private(network, {"vector[0]": bp.intervals((0, 1))}, 4, x=WIDE), bp.mean("x"), epsilon=1, delta=1e-3
        )
    with pytest.raises(NetworkError, match="the Deterministics random, reads"):
        bp.from_pymc(model, columns=["nothing"])
