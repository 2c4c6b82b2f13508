"""Odds and beliefs: how far an answer that moves log odds by at most so many nats moves them.

Every number that is printed as "at most" is rounded up, so that what is printed is true.
"""

from __future__ import annotations

import math

from bnpriv.render.text import number_text, percent_text

PRIOR = 0.1
"""The belief whose change illustrates a bound on odds."""

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
"""The beliefs of which a page says how far they can move."""

DIGITS = 3

ODDS_ROUNDING = 1e-12
"""Relative excess over a number of few digits that is rounding error, not part of the number."""


def belief(prior: float, nats: float) -> float:
    """Return the largest belief that `prior` can become when its odds rise by at most a factor exp(nats).

    Examples
    --------
    >>> round(belief(0.1, 1.0), 3), belief(0.1, float("inf"))
    (0.232, 1.0)
    """
    return prior if nats == 0 else 1 / (1 + (1 - prior) / prior * math.exp(-nats))


def belief_text(prior: float, nats: float) -> str:
    """Return that belief in percent, rounded up.

    Examples
    --------
    >>> belief_text(0.1, 1.0), belief_text(0.1, 0.0), belief_text(0.1, 1e300)
    ('23.2 %', '10 %', '100 %')
    """
    return f"{rounded_up(100 * belief(prior, nats)):.{DIGITS}g} %"


def belief_rows(nats: float) -> list[tuple[str, str]]:
    """Return every prior of `PRIORS` with what it becomes at most, in percent."""
    return [(percent_text(prior), belief_text(prior, nats)) for prior in PRIORS]


def factor_text(nats: float) -> str:
    """Return exp(nats), rounded up; as a power where the number would be too large to be read.

    Examples
    --------
    >>> factor_text(1.0), factor_text(0.2), factor_text(8.0), factor_text(1000.0), factor_text(float("inf"))
    ('2.72', '1.23', '2,990', 'exp(1000)', 'infinite')
    """
    if math.isinf(nats):
        return "infinite"
    return f"exp({rounded_up(nats, 6):g})" if nats > 30 else number_text(rounded_up(math.exp(nats)), DIGITS)


def rounded_up(value: float, digits: int = DIGITS) -> float:
    """Return a number of at least 0 with few digits, rounded up.

    Examples
    --------
    >>> rounded_up(1.2214), rounded_up(0.001), rounded_up(0.0)
    (1.23, 0.001, 0.0)
    """
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    if step == 0:
        return value
    return float(f"{math.ceil(value / step * (1 - ODDS_ROUNDING)) * step:.{digits}g}")
