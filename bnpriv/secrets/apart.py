"""Secrets that are any two values at most so far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv import checks


@final
@dataclass(frozen=True)
class Apart:
    """All pairs of values of a property that are at most this far apart; made by `apart`."""

    at_most: float


def apart(*, at_most: float) -> Apart:
    """Choose all pairs of values of a property that are at most so far apart.

    Parameters
    ----------
    at_most : float
        In the property's own unit, above 0.

    Returns
    -------
    Apart

    Raises
    ------
    ParameterError
        If it is not a finite number above 0.

    Examples
    --------
    >>> apart(at_most=50)
    Apart(at_most=50.0)
    """
    return Apart(checks.positive("at_most", at_most))
