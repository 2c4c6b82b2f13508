"""PyMC models that are easily read as another model: what was changed afterwards, copies, shared names, bad numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import DataError, NetworkError, SecretError
from tests.later import optional

pm = optional("pymc")
pt = optional("pytensor.tensor")
xarray = optional("xarray")
pandas = optional("pandas")

INTERVALS = bp.intervals(((0, 1), (2, 3)))


def framework(network: Any, records: int, **columns: object) -> bp.DistributionalAttributePrivacy:
    schema = bp.Schema(records=records, columns=columns)
    return bp.DistributionalAttributePrivacy(network, schema, {"mu": INTERVALS}, source="made up")


# -- the model is read once: what becomes of its data afterwards is no part of it


@pytest.mark.parametrize("drawn_before", [False, True])
@pytest.mark.parametrize("how", ["set_data", "own array", "array in a law", "array inside a law"])
def test_data_that_change_afterwards_change_no_law(how: str, drawn_before: bool) -> None:
    numbers = np.zeros(20)
    with pm.Model() as model:
        mu = pm.Gamma("mu", 2, 1)
        if how == "array inside a law":
            pm.CustomDist(
                "y", mu, dist=lambda mu, size: pm.Poisson.dist(pm.math.exp(mu * numbers), size=size), shape=20
            )
        else:
            data = numbers if how == "array in a law" else pm.Data("data", numbers)
            pm.Poisson("y", pm.math.exp(mu * data), shape=20)
    network = bp.from_pymc(model, columns="y")

    def mean() -> float:
        return float(network.simulator(["y"], 500, seed=1, given={"mu": 1.5}, records=20)["y"].mean())

    if drawn_before:
        mean()
    if how == "set_data":
        with model:
            pm.set_data({"data": np.ones(20)})
    elif how == "own array":
        model["data"].get_value(borrow=True)[:] = 1
    else:
        numbers[:] = 1
    assert mean() == pytest.approx(1, abs=0.05)  # not exp(1.5)


def test_densities_are_of_the_data_that_the_model_had() -> None:
    with pm.Model() as model:
        centre = pm.Data("centre", 0.0)
        pm.Poisson("y", pm.math.exp(pm.Laplace("mu", centre, 1)), shape=3)
    density = bp.from_pymc(model, columns="y").parameters["mu"].log_density
    with model:
        pm.set_data({"centre": 3.0})
    assert density(np.zeros(1))[0] == pytest.approx(np.log(0.5))


# -- columns


@pytest.mark.parametrize("again", ["y", "y[3]"])
def test_two_columns_are_no_copies_of_one_variable(again: str) -> None:
    """As copies 2 a - b is a, of variance 1/30; as independent columns it would have the variance 5/30."""
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, shape=30)
    with pytest.raises(NetworkError, match="every column must have a random variable of its own") as caught:
        bp.from_pymc(model, columns={"a": "y", "b": again})
    assert f"'{'y[0]' if again == 'y' else again}' in two columns" in str(caught.value)


def test_one_variable_of_one_record_is_one_column() -> None:
    with pm.Model() as model:
        pm.Bernoulli("y", 0.3 + 0.4 * pm.Bernoulli("mu", 0.5))
    with pytest.raises(NetworkError, match="'y' in two columns"):
        bp.from_pymc(model, columns={"a": "y", "b": "y"})


@pytest.mark.parametrize("law", ["Normal", "MvNormal"])
def test_an_entry_as_a_column_stands_for_records_of_their_own(law: str) -> None:
    with pm.Model() as model:
        mu = pm.Gamma("mu", 2, 1)
        joint = pm.MvNormal("y", [mu, 0], [[1, 0.8], [0.8, 1]]) if law == "MvNormal" else pm.Normal("y", [mu, 0], 1)
    assert joint.name == "y"
    network = bp.from_pymc(model, columns={"a": "y[0]", "b": "y[1]"})
    drawn = network.simulator(["mu", "a", "b"], 4000, seed=1, given={}, records=5)
    a, b = drawn["a"] - drawn["mu"][:, None], drawn["b"]
    between = np.corrcoef(np.concatenate([a, b], axis=1).T)
    expected = np.eye(10)
    if law == "MvNormal":  # entries of one record belong together, and no others
        expected[np.arange(5), 5 + np.arange(5)] = expected[5 + np.arange(5), np.arange(5)] = 0.8
    np.testing.assert_allclose(between, expected, atol=0.08)
    assert a.std() == pytest.approx(1, abs=0.02)


def test_a_column_is_not_called_like_a_function_with_draws() -> None:
    with pm.Model() as model:
        mu = pm.Gamma("mu", 2, 1)
        pm.Deterministic("income", 2 * mu)
        pm.Poisson("y", mu, shape=10)
    draws = np.random.default_rng(0).gamma(2, 1, (2, 1000))
    posterior = xarray.Dataset({"mu": (("chain", "draw"), draws), "income": (("chain", "draw"), 2 * draws)})
    with pytest.raises(NetworkError, match="must not have the name of a parameter") as caught:
        bp.from_pymc(model, columns={"income": "y"}, posterior=posterior, reading="belief")
    assert "income" in str(caught.value)
    own = bp.from_pymc(model, columns={"income": "y"}, posterior=posterior[["mu"]], reading="belief")
    assert own.reading.columns == {"income": ("mu",)}
    # nor can the function be protected beside it: its name is the column's
    schema = bp.Schema(records=10, columns={"income": bp.Integer(0, 9)})
    with pytest.raises(SecretError, match="the Deterministic 'income'"):
        bp.DistributionalAttributePrivacy(own, schema, {"income": bp.intervals(((0, 1), (2, 3)))}, source="made up")


# -- the table behind a posterior


@pytest.mark.parametrize("columns", [None, {"z": "y"}])
def test_a_table_of_rows_behind_a_posterior_is_recognized(columns: dict[str, str] | None) -> None:
    table = np.random.default_rng(3).integers(0, 9, (6, 2))
    with pm.Model(coords={"person": range(6), "what": ["a", "b"]}) as model:
        pm.Poisson("y", pm.Gamma("mu", 2, 1), observed=table, dims=("person", "what"))
    draws = np.random.default_rng(0).gamma(2, 1, (2, 1000))

    class Fitted:
        posterior = xarray.Dataset({"mu": (("chain", "draw"), draws)})
        observed_data = xarray.Dataset({"y": (("person", "what"), table)})

    network = bp.from_pymc(model, columns=columns, posterior=Fitted, reading="belief")
    names = list(network.reading.columns)
    private = framework(network, 6, **dict.fromkeys(names, bp.Real(0, 20)))
    calibration = bp.ColumnMechanism().calibrate(private, bp.mean(names[0]), epsilon=1)
    held = pandas.DataFrame({name: table[:, k].astype(float) for k, name in enumerate(names)})
    with pytest.raises(DataError, match="must not be the one that the models were learned from"):
        bp.release(calibration, held)
    bp.release(calibration, held + 1)


def test_of_groups_and_members_behind_a_posterior_the_column_of_the_model_counts() -> None:
    with pm.Model() as model:
        mu = pm.Gamma("mu", 2, 1)
        pm.Poisson("members", mu, observed=np.arange(30) % 3)
        pm.Poisson("groups", mu, observed=np.arange(5))
    draws = np.random.default_rng(0).gamma(2, 1, (2, 1000))

    class Fitted:
        posterior = xarray.Dataset({"mu": (("chain", "draw"), draws)})
        observed_data = xarray.Dataset({"members": (("i",), np.arange(30) % 3), "groups": (("k",), np.arange(5))})

    network = bp.from_pymc(model, columns=["groups"], posterior=Fitted, reading="belief")
    calibration = bp.ColumnMechanism().calibrate(
        framework(network, 5, groups=bp.Real(0, 20)), bp.mean("groups"), epsilon=1
    )
    with pytest.raises(DataError, match="must not be the one that the models were learned from"):
        bp.release(calibration, pandas.DataFrame({"groups": np.arange(5.0)}))


def test_dimensions_in_another_order_are_refused_though_they_have_no_names() -> None:
    with pm.Model() as model:
        rates = pm.Gamma("rates", 2, 1, shape=(2, 2))
        pm.Poisson("y", rates[0, 1], shape=5)
    draws = np.random.default_rng(0).gamma(2, 1, (1, 1000, 2, 2))
    right = xarray.Dataset({"rates": (("chain", "draw", "rates_dim_0", "rates_dim_1"), draws)})
    assert bp.from_pymc(model, columns="y", posterior=right, reading="belief").drawn.draws == 1000
    with pytest.raises(NetworkError, match="dimensions in another order"):
        bp.from_pymc(model, columns="y", posterior=right.transpose(..., "rates_dim_1", "rates_dim_0"), reading="belief")


def test_complex_draws_are_refused() -> None:
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("mu", 2, 1), shape=5)
    posterior = xarray.Dataset({"mu": (("chain", "draw"), np.ones((1, 200)) + 1j)})
    with pytest.raises(NetworkError, match="complex"):
        bp.from_pymc(model, columns="y", posterior=posterior, reading="belief")


@pytest.mark.parametrize(
    "sampling", [{"seed": -1}, {"seed": 1.5}, {"seed": True}, {"draws": 1e4}, {"draws": "5"}, {"cells": 2.5}]
)
def test_numbers_of_draws_are_whole(sampling: dict[str, Any]) -> None:
    """A typed error before any work (row 42)."""
    with pm.Model() as model:
        pm.Poisson("y", pm.Gamma("mu", 2, 1), shape=5)
    with pytest.raises(NetworkError, match="must be"):
        bp.from_pymc(model, columns="y").with_sampling(**sampling)


# -- laws that are none


def unordered(mu: Any) -> Any:
    return pm.OrderedLogistic("y", eta=mu, cutpoints=pm.Laplace("cuts", 0, 1, shape=3), shape=50)


def weights(mu: Any) -> Any:
    parts = [pm.Normal.dist(-3, 1), pm.Normal.dist(3, 1)]
    return pm.Mixture("y", w=pm.math.stack([mu, 1 - mu]), comp_dists=parts, shape=50)


def one_beyond(mu: Any) -> Any:
    return pm.ZeroInflatedPoisson("y", psi=mu, mu=2, shape=50)


def short(mu: Any) -> Any:
    return pm.Mixture("y", w=[0.3, 0.3], comp_dists=[pm.Normal.dist(mu, 1), pm.Normal.dist(3, 1)], shape=50)


def categories(mu: Any) -> Any:
    return pm.Categorical("y", p=pm.math.stack([mu, 1 - mu, 0]), shape=50)


@pytest.mark.parametrize("law", [unordered, weights, one_beyond, short, categories])
def test_probabilities_must_be_some(law: Callable[[Any], Any]) -> None:
    """Below zero, above one, or with another sum than one (row 10)."""
    with pm.Model() as model:
        law(pm.Gamma("mu", 2, 1))
    network = bp.from_pymc(model, columns="y")
    with pytest.raises(NetworkError, match="parameters of 'y' must be valid"):
        network.simulator(["y"], 500, seed=1, given={}, records=50)


@pytest.mark.parametrize("law", ["AsymmetricLaplace", "DiscreteWeibull", "Kumaraswamy", "Weibull"])
def test_laws_that_are_drawn_whatever_their_parameters_are(law: str) -> None:
    """PyMC draws below zero, or beyond all whole numbers, from a law that has no meaning."""
    others = {"AsymmetricLaplace": ("kappa", "b"), "DiscreteWeibull": ("beta", "q")}
    one, other = others.get(law, ("a", "b") if law == "Kumaraswamy" else ("alpha", "beta"))
    for valid in (True, False):
        with pm.Model() as model:
            mu = pm.Gamma("mu", 2, 1)
            centre = {"mu": 0} if law == "AsymmetricLaplace" else {}
            getattr(pm, law)("y", **{one: 1.0, other: mu / (1 + mu) if valid else -mu}, **centre, shape=5)
        simulator = bp.from_pymc(model, columns="y").simulator
        if valid:
            assert np.isfinite(simulator(["y"], 200, seed=1, given={}, records=5)["y"]).all()
        else:
            with pytest.raises(NetworkError, match="parameters of 'y' must be valid"):
                simulator(["y"], 200, seed=1, given={}, records=5)


def test_correlations_are_a_parameter() -> None:
    with pm.Model() as model:
        found = pm.LKJCorr("R", n=3, eta=2)
        entries = found if found.ndim == 1 else found[np.tril_indices(3, -1)]
        pm.Poisson("y", pm.math.exp(entries[0]), shape=4)
    network = bp.from_pymc(model, columns="y")
    first = next(iter(network.parameters.values()))
    # later releases of PyMC say no interval for the entries of a matrix: none is assumed
    assert (first.lower, first.upper) == ((-1, 1) if found.ndim == 1 else (-math.inf, math.inf))
