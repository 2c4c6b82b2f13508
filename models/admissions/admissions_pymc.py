"""Admissions to a university, written in PyMC: a binomial regression on department and gender.

The observed variables `men` and `women` are columns of the table, with one record for each department. How many applied
is public. README.md says where the numbers come from.
"""

from __future__ import annotations

import numpy as np
import pymc as pm

DEPARTMENTS = ["A", "B", "C", "D", "E", "F"]

MEN_APPLIED = np.array([825, 560, 325, 417, 191, 373])
WOMEN_APPLIED = np.array([108, 25, 593, 375, 393, 341])
"""Applications to the six largest departments of Berkeley for the autumn of 1973."""

MEN_ADMITTED = np.array([512, 353, 120, 138, 53, 22])
WOMEN_ADMITTED = np.array([89, 17, 202, 131, 94, 24])
"""Who was admitted then: public data, which a posterior may rest on."""


def model(*, men_admitted: np.ndarray | None = None, women_admitted: np.ndarray | None = None) -> pm.Model:
    """Return the model of one year; what was admitted is used by samplers of a posterior only."""
    zeros = np.zeros(len(DEPARTMENTS), dtype=int)
    with pm.Model(coords={"department": DEPARTMENTS}) as admissions:
        gap = pm.Normal("gap", 0, 0.5)  # log odds of men less those of women, in every department
        rate = pm.Normal("rate", 0, 1.5, dims="department")  # log odds halfway between them
        men_applied = pm.Data("men_applied", MEN_APPLIED, dims="department")
        women_applied = pm.Data("women_applied", WOMEN_APPLIED, dims="department")
        pm.Binomial(
            "men",
            men_applied,
            pm.math.invlogit(rate + gap / 2),
            observed=zeros if men_admitted is None else men_admitted,
            dims="department",
        )
        pm.Binomial(
            "women",
            women_applied,
            pm.math.invlogit(rate - gap / 2),
            observed=zeros if women_admitted is None else women_admitted,
            dims="department",
        )
    return admissions
