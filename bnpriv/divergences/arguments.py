"""Checks of what views of the privacy loss are asked for; all of it may be infinite."""

from __future__ import annotations

import math

import numpy as np

from bnpriv import checks
from bnpriv.errors import ParameterError


def level_of(epsilon: float) -> float:
    """Return an epsilon, which may be below 0."""
    return number_of("epsilon", epsilon, above=-math.inf)


def share_of(value: float) -> float:
    """Return a probability; raise ParameterError for anything else."""
    found = number_of("a probability", value, above=0.0, equal=True)
    if not found <= 1:
        raise ParameterError("a probability is at most 1", found=f"{found:g}", remedy="Pass a number from 0 to 1.")
    return found


def number_of(what: str, value: float, *, above: float, equal: bool = False) -> float:
    """Return a number that may be infinite; raise ParameterError for one out of range."""
    required = f"{what} must be a number {'of at least' if equal else 'above'} {above:g}"
    remedy = "Pass a number in that range."
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise ParameterError(required, found=checks.type_text(value), remedy=remedy)
    if not (value > above or (equal and value == above)):
        raise ParameterError(required, found=f"{value:g}", remedy=remedy)
    return float(value)
