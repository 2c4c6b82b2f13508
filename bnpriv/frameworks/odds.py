"""Odds and beliefs: how far an answer that moves log odds by at most so many nats moves them.

Every number that is printed as "at most" is rounded up, so that what is printed is true.
"""

from __future__ import annotations

import math

from bnpriv.render.text import number_text, percent_text, rounded_up

PRIOR = 0.1
"""The belief whose change illustrates a bound on odds."""

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
"""The beliefs of which a page says how far they can move."""

DIGITS = 3

SPELLED = 30
"""Odds that move by more nats are powers of ten in print."""


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
    """Return exp(nats), rounded up; as a power of ten where the number would be too large to be read.

    Examples
    --------
    >>> factor_text(1.0), factor_text(0.2), factor_text(8.0), factor_text(1000.0), factor_text(float("inf"))
    ('2.72', '1.23', '2,990', '10^435', 'infinite')
    """
    if math.isinf(nats):
        return "infinite"
    return (
        number_text(rounded_up(math.exp(nats)), DIGITS) if nats <= SPELLED else f"10^{math.ceil(nats / math.log(10))}"
    )


def multiplied_text(nats: float) -> str:
    """Return in words what happens to odds that move by at most so many nats.

    Examples
    --------
    >>> multiplied_text(1.0), multiplied_text(float("inf"))
    ('by at most a factor 2.72', 'by any factor')
    """
    return "by any factor" if math.isinf(nats) else f"by at most a factor {factor_text(nats)}"


def even_text(nats: float) -> str:
    """Return what becomes of even odds between the two secrets of a pair, as a sentence without a full stop.

    Examples
    --------
    >>> even_text(1.0)
    'Even odds between the two secrets of a pair become at most 2.72 to 1, that is 73.2 % for one of them'
    """
    between = "Even odds between the two secrets of a pair"
    if math.isinf(nats):
        return f"{between} can become certainty"
    if nats > SPELLED:
        return f"{between} can become as good as certainty, {factor_text(nats)} to 1"
    return f"{between} become at most {factor_text(nats)} to 1, that is {belief_text(0.5, nats)} for one of them"


def odds_text(nats: float) -> str:
    """Return the same for the cell of a table.

    Examples
    --------
    >>> odds_text(1.0), odds_text(float("inf"))
    ('odds times 2.72', 'not bounded')
    """
    return "not bounded" if math.isinf(nats) else f"odds times {factor_text(nats)}"
