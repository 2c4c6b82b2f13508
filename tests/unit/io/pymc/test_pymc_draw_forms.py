"""The forms in which draws of a model's variables come: ArviZ of either version, xarray, plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError
from bnpriv.kinds.density.network import DensityNetwork
from tests.later import optional

pm = optional("pymc")
az = optional("arviz")
xarray = optional("xarray")

SCHOOLS = [*"abc"]
CHAINS, STEPS = 2, 200


def schools() -> Any:
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5)
        z = pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("obs", theta, 2.0, observed=np.zeros(len(SCHOOLS)), dims="school")
    return model


def arrays() -> dict[str, np.ndarray]:
    """Return draws of chains that move slowly, so that their order counts."""
    random = np.random.default_rng(5)
    mu = np.cumsum(random.normal(0, 0.3, (CHAINS, STEPS)), axis=1)
    tau, z = random.exponential(1.0, (CHAINS, STEPS)), random.normal(size=(CHAINS, STEPS, len(SCHOOLS)))
    return {"mu": mu, "tau": tau, "z": z, "theta": mu[..., None] + tau[..., None] * z}


def dataset() -> Any:
    dims = ("chain", "draw", "school")
    found = {name: (dims[: values.ndim], values) for name, values in arrays().items()}
    return xarray.Dataset(found, coords={"school": SCHOOLS, "chain": range(CHAINS), "draw": range(STEPS)})


def inference_data(name: str = "posterior") -> Any:
    """Return what ArviZ of this version makes: InferenceData, or a DataTree."""
    return az.InferenceData(**{name: dataset()}) if version("arviz") < "1" else data_tree(name)


def data_tree(name: str = "posterior", *more: str) -> Any:
    return xarray.DataTree.from_dict({each: dataset() for each in (name, *more)})


def believed(posterior: Any, **options: Any) -> Any:
    return bp.from_pymc(schools(), posterior=posterior, reading="belief", **options)


FORMS: dict[str, Callable[[], Any]] = {
    "Dataset": dataset,
    "InferenceData": inference_data,
    "DataTree": data_tree,
    "group of a DataTree": lambda: data_tree()["posterior"],
    "group named prior": lambda: inference_data("prior"),
    "DataTree with a prior": lambda: data_tree("prior"),
    "extracted": lambda: az.extract(inference_data()),
    "extracted from a prior": lambda: az.extract(inference_data("prior"), group="prior"),
    "stacked, in another order": lambda: dataset().stack(sample=("draw", "chain")),
    "stacked, without an index": lambda: dataset().stack(sample=("chain", "draw")).reset_index("sample"),
    "dimensions in another order": lambda: dataset().transpose("school", "draw", "chain"),
    "draws in another order": lambda: dataset().isel(draw=np.random.default_rng(1).permutation(STEPS)),
    "draws turned round": lambda: dataset().isel(draw=slice(None, None, -1)),
    "arrays": arrays,
    "DataArrays": lambda: {name: dataset()[name] for name in arrays()},
}


@pytest.mark.parametrize("form", FORMS)
def test_draws_in_every_form_are_the_same_chains(form: str) -> None:
    network = believed(FORMS[form]())
    assert isinstance(network, DensityNetwork)
    assert network.drawn is not None
    assert network.drawn.chains == CHAINS
    for name, values in arrays().items():
        entries = [name] if values.ndim == 2 else [f"{name}[{school}]" for school in SCHOOLS]
        told = np.stack([network.drawn.values[entry] for entry in entries], axis=-1)
        np.testing.assert_array_equal(told, values.reshape(CHAINS * STEPS, -1))
    assert network.drawn.share("mu") < 0.1


def test_one_chain_needs_no_dimension_of_its_own() -> None:
    alone = {name: values[0] for name, values in arrays().items()}
    for form in (alone, dataset().isel(chain=0, drop=True), dataset().isel(chain=0)):
        network = believed(form)
        assert network.drawn.chains == 1
        np.testing.assert_array_equal(network.drawn.values["z[b]"], alone["z"][:, 1])


def test_one_variable_may_come_alone() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        pm.Normal("obs", mu, 2.0, observed=np.zeros(3))
    for form in (dataset()["mu"], az.extract(inference_data(), var_names="mu")):
        network = bp.from_pymc(model, posterior=form, reading="belief")
        np.testing.assert_array_equal(network.drawn.values["mu"], arrays()["mu"].ravel())


def test_draws_that_were_picked_at_random_do_not_tell_how_they_depend_on_each_other() -> None:
    picked = az.extract(inference_data(), num_samples=100)
    with pytest.raises(NetworkError, match=r"as az\.extract\(num_samples=\.\.\.\) picks them"):
        believed(picked)
    assert believed(picked, independent=True).drawn.draws == 100
    # a draw that is left out, and one in the place of another
    for places in ([*range(7), *range(8, 400)], [*range(399), 5]):
        with pytest.raises(NetworkError, match="all of each chain"):
            believed(dataset().stack(sample=("chain", "draw")).isel(sample=places))
    # a stretch that every chain lacks
    with pytest.raises(NetworkError, match="all of each chain"):
        believed(dataset().isel(draw=[*range(100), *range(150, 200)]).stack(sample=("chain", "draw")))
    assert believed(dataset().isel(draw=slice(0, None, 4)).stack(sample=("chain", "draw"))).drawn.draws == 100


def test_a_posterior_goes_before_a_prior() -> None:
    both = xarray.DataTree.from_dict({"prior": dataset() * 0, "posterior": dataset()})
    np.testing.assert_array_equal(believed(both).drawn.values["mu"], arrays()["mu"].ravel())


def test_draws_of_priors_rest_on_no_data() -> None:
    observed = xarray.Dataset({"obs": ("school", np.zeros(len(SCHOOLS)))})
    for name, rests in (("posterior", True), ("prior", False)):
        found = believed(xarray.DataTree.from_dict({name: dataset(), "observed_data": observed})).posterior_draws
        assert (found.table is not None) == rests
        assert ("no data" in found.source) == (not rests)


def test_draws_from_priors_are_taken_as_they_come() -> None:
    drawn = pm.sample_prior_predictive(50, model=schools(), random_seed=1)
    network = believed(drawn, independent=True)
    np.testing.assert_array_equal(network.drawn.values["theta[c]"], drawn.prior["theta"].values[0, :, 2])
    assert network.posterior_draws.table is None


def test_a_variable_may_be_called_prior() -> None:
    with pm.Model() as model:
        prior = pm.Normal("prior", 0, 5)
        pm.Normal("obs", prior, 2.0, observed=np.zeros(3))
    network = bp.from_pymc(model, posterior=dataset()[["mu"]].rename(mu="prior"), reading="belief")
    assert network.drawn.draws == CHAINS * STEPS


def test_draws_before_chains_are_no_short_chains() -> None:
    with pytest.raises(NetworkError, match=r"chains first.*200 chains of 2 draws"):
        believed({name: np.swapaxes(values, 0, 1) for name, values in arrays().items()})


def test_a_draw_that_comes_twice_keeps_its_place() -> None:
    twice = xarray.concat([dataset(), dataset()], "draw")
    np.testing.assert_array_equal(believed(twice).drawn.values["mu"][:STEPS], arrays()["mu"][0])


WRONG: dict[str, Callable[[], Any]] = {
    "other groups": lambda: data_tree("sample_stats", "warmup_posterior"),
    "a text": lambda: "posterior.nc",
    "a number": lambda: 3,
    "an array": lambda: arrays()["mu"],
    "arrays of one number": lambda: {"mu": 1.0},
    "arrays that do not fit together": lambda: arrays() | {"mu": arrays()["mu"][0]},
    "arrays with too many dimensions": lambda: {"mu": np.zeros((2, 2, 2, 2))},
    "words": lambda: {"mu": np.array([["a"] * STEPS] * CHAINS)},
    "no draws": lambda: dataset().mean(("chain", "draw")),
    "a dimension of draws without chains": lambda: xarray.Dataset({"mu": ("sample", np.zeros(9))}),
    "nothing of the model": lambda: {"other": np.zeros((2, 9))},
    "nothing": dict,
}


@pytest.mark.parametrize("form", WRONG)
def test_what_is_no_draws_is_refused_with_what_is(form: str) -> None:
    with pytest.raises(NetworkError, match=r"what pm\.sample returns.*az\.extract\(idata\), or a dict of arrays"):
        believed(WRONG[form]())
