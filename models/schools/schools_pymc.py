"""Eight schools that test what coaching does to scores, written in PyMC: the model of Rubin (1981).

The observed variable `effect` is a column of the table, with one record for each school. The parameters above it are
what an observer does not know. README.md says where the numbers come from.
"""

from __future__ import annotations

import numpy as np
import pymc as pm
import xarray as xr

SCHOOLS = ["A", "B", "C", "D", "E", "F", "G", "H"]

ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
"""Standard errors of the estimated effects: public, as they follow from the numbers of pupils."""

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
"""The effects that were published in 1981: public data, which a posterior may rest on."""

MU_SPREAD, TAU_SPREAD = 5.0, 5.0


def model(*, centred: bool = True) -> pm.Model:
    """Return the model of a new round of the experiment in the same schools."""
    with pm.Model(coords={"school": SCHOOLS}) as schools:
        mu = pm.Normal("mu", 0, MU_SPREAD)  # what coaching does on average in schools like these
        tau = pm.HalfCauchy("tau", TAU_SPREAD)  # how much schools differ
        errors = pm.Data("errors", ERRORS, dims="school")
        if centred:
            theta = pm.Normal("theta", mu, tau, dims="school")  # what it does in this school
        else:
            eta = pm.Normal("eta", 0, 1, dims="school")
            theta = pm.Deterministic("theta", mu + tau * eta, dims="school")
        pm.Normal("effect", theta, errors, observed=np.zeros(len(SCHOOLS)), dims="school")
    return schools


def posterior(draws: int = 4_000, seed: int = 1) -> xr.DataTree:
    """Return independent draws of mu, tau and theta given the effects of 1981, without a Markov chain.

    tau is drawn from its prior and kept with a probability proportional to the density of the effects given tau, in
    which mu and theta are integrated out. Given tau both are normal. The effects are kept beside the draws, so that a
    release from that very table is refused.
    """
    random = np.random.default_rng(seed)
    # the density has one top and is smooth, so that a fine grid finds it
    highest = _log_density(np.geomspace(1e-3, 1e4, 20_000)).max() + 1e-6
    tau = np.empty(0)
    while tau.size < draws:
        tried = TAU_SPREAD * np.abs(np.tan(np.pi * (random.random(draws) - 0.5)))
        tau = np.append(tau, tried[np.log(random.random(draws)) < _log_density(tried) - highest])
    tau = tau[:draws]
    _, mean, variance = _given_tau(tau)
    mu = mean + np.sqrt(variance) * random.standard_normal(draws)
    own = 1 / (1 / ERRORS**2 + 1 / tau[:, None] ** 2)
    centre = own * (EFFECTS / ERRORS**2 + mu[:, None] / tau[:, None] ** 2)
    theta = centre + np.sqrt(own) * random.standard_normal((draws, len(SCHOOLS)))
    drawn = {"mu": mu, "tau": tau, "theta": theta}
    dims = [("chain", "draw"), ("chain", "draw"), ("chain", "draw", "school")]
    values = {name: (dim, drawn[name][None]) for name, dim in zip(drawn, dims, strict=True)}
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(values, coords={"school": SCHOOLS}),
            "observed_data": xr.Dataset({"effect": ("school", EFFECTS)}, coords={"school": SCHOOLS}),
        }
    )


def _given_tau(tau: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the precisions of the effects given mu and tau, and mean and variance of mu given tau and the effects."""
    weight = 1 / (ERRORS**2 + tau[:, None] ** 2)
    variance = 1 / (weight.sum(axis=1) + 1 / MU_SPREAD**2)
    return weight, variance * (weight * EFFECTS).sum(axis=1), variance


def _log_density(tau: np.ndarray) -> np.ndarray:
    """Return the log density of the effects given tau, up to a constant."""
    weight, mean, variance = _given_tau(tau)
    return 0.5 * (
        np.log(weight).sum(axis=1) + np.log(variance) - (weight * EFFECTS**2).sum(axis=1) + mean**2 / variance
    )
