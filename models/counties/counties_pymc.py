"""Radon in homes of twelve counties, written in PyMC: intercepts and slopes that vary between counties.

The observed variables `radon` and `fan` are columns of the table, with one record for each home. In which county a home
lies and on which floor it was measured is public. All numbers are invented for illustration; README.md says so again.
"""

from __future__ import annotations

import numpy as np
import pymc as pm

COUNTIES = ["Ash", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple", "Oak", "Pine", "Rowan", "Willow"]
HOMES = 20
"""In each county."""

COUNTY = np.repeat(np.arange(len(COUNTIES)), HOMES)
UPPER = np.tile(np.arange(HOMES) % 5 == 4, len(COUNTIES)).astype(float)
"""1 where the radon was measured on an upper floor, in every fifth home; 0 in the basement."""


def model() -> pm.Model:
    """Return the model of one survey."""
    with pm.Model(coords={"county": COUNTIES, "home": np.arange(COUNTY.size)}) as counties:
        mu_a = pm.Normal("mu_a", 1.3, 0.5)  # log radon in basements, in counties like these
        sigma_a = pm.HalfNormal("sigma_a", 0.3)
        mu_b = pm.Normal("mu_b", -0.6, 0.3)  # what an upper floor adds, in counties like these
        sigma_b = pm.HalfNormal("sigma_b", 0.2)
        a = pm.Normal("a", mu_a, sigma_a, dims="county")
        b = pm.Normal("b", mu_b, sigma_b, dims="county")
        sigma = pm.HalfNormal("sigma", 0.5)  # how much homes of one county differ
        county = pm.Data("county_of_home", COUNTY, dims="home")
        upper = pm.Data("upper_floor", UPPER, dims="home")
        pm.Normal("radon", a[county] + b[county] * upper, sigma, observed=np.zeros(COUNTY.size), dims="home")
        # people buy fans where basements are known for radon, wherever their own was measured
        fan = pm.math.invlogit(-3 + a[county])
        pm.Bernoulli("fan", fan, observed=np.zeros(COUNTY.size, dtype=int), dims="home")
    return counties
