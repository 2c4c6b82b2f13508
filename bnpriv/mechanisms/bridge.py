"""What noise that hides records tells of a secret that is a number of records: the price of one in the other.

docs/claims/baselines.md. Records are independent draws from a model of one record, given which of them count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from bnpriv.bound import UNIT_ROUNDOFF, Kind, up, weakest
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.constraints import Constraint, RecordPair
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.inverse import laplace_loss
from bnpriv.mechanisms.k_fold import Coupled
from bnpriv.noise.continuous import Gaussian, Laplace
from bnpriv.queries.base import Query

LARGEST_POWER = 700.0
"""exp of up to this is a double."""

LEVEL_STEPS = 40
"""Halvings of the range in which the least epsilon of a privacy curve is sought."""


class ToldOfCounts(NamedTuple):
    """What an answer tells of secrets that are numbers of records.

    Parameters
    ----------
    epsilon : float
        At the delta of the noise; rounded up.
    kind : {"exact", "certified", "estimate"}
    assumptions : tuple of str
        What it rests on.
    """

    epsilon: float
    kind: Kind
    assumptions: tuple[str, ...]


def price(part: float, epsilon: float, records: int) -> float:
    """Return what a differentially private computation tells of a number of records, rounded up.

    Parameters
    ----------
    part : float
        Total variation between the laws of what it reads of one record, given that the record counts or not.
    epsilon : float
        Of the computation, for any change of one record.
    records : int
        How far apart two secrets of a pair are, at most.

    Returns
    -------
    float
        ``records * log(1 + part * (exp(epsilon) - 1))``

    Examples
    --------
    >>> round(price(0.1, 1.0, 10), 3), round(price(1.0, 1.0, 10), 3), price(0.0, 1.0, 10)
    (1.586, 10.0, 0.0)
    """
    if part <= 0:
        return 0.0
    if epsilon < LARGEST_POWER:
        one = math.log1p(part * math.expm1(epsilon))
    else:  # where the exponential may be no double; the sum of two logs is off by a share of their sizes
        size = math.log(part)
        one = max(0.0, epsilon + size) + math.log1p(math.exp(-abs(epsilon + size)))
        one += 8 * UNIT_ROUNDOFF * (epsilon - size)
    return up(records * up(min(one, epsilon), 16))


def told_of_counts(
    framework: Framework, query: Query, noise: Laplace | Gaussian, epsilon: float, delta: float, most: float
) -> ToldOfCounts | None:
    """Return what noise that hides records tells of the secrets; None unless all of them are numbers of records.

    Parameters
    ----------
    framework : Framework
    query : Query
        The weighted one.
    noise : Laplace or Gaussian
    epsilon : float
        What Laplace noise promises for any change of one record.
    delta : float
        That of Gaussian noise.
    most : float
        An epsilon that holds for any change of all records, at the same delta.
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return None
    found: list[float] = []
    kinds: list[Kind] = []
    for each in evidence.constraints():
        if each.record is None:
            return None
        coupled = Coupled.of(each.record, 1 if isinstance(noise, Laplace) else 2)
        if isinstance(noise, Laplace):
            told = _of_laplace(each, each.record, coupled.part, noise, epsilon, evidence.rounding)
        else:
            told = _of_gaussian(coupled, noise, delta, evidence.rounding, most)
        found.append(min(told, most))
        kinds.append(each.record.kind)
    return ToldOfCounts(max(found), weakest(kinds), evidence.assumptions)


def _of_laplace(
    constraint: Constraint, record: RecordPair, part: float, noise: Laplace, epsilon: float, rounding: float
) -> float:
    """Return what is told behind Laplace noise: by the noisy laws, or by the price where their grid is too large."""
    # different exact numbers that are one double are read as they are
    bridged = min(price(part if record.distinct else 1.0, epsilon, record.distance), record.log_ratio)
    try:
        return min(bridged, laplace_loss(constraint, noise.scale, rounding))
    except SizeError:
        return bridged


def _of_gaussian(coupled: Coupled, noise: Gaussian, delta: float, rounding: float, most: float) -> float:
    """Return what is told behind Gaussian noise: the least epsilon at which one of two curves is at most delta."""
    scale = noise.scale

    def excess(level: float) -> float:
        curves = (coupled.coupled_curve(level, delta), coupled.composed_curve(level, delta))
        # moving an answer moves a normal law by at most this in total variation, under both secrets
        return min(curve(scale) for curve in curves) + (1 + math.exp(min(level, 700.0))) * rounding / scale

    return least_level(excess, delta, most)


def least_level(excess: Callable[[float], float], delta: float, most: float) -> float:
    """Return an epsilon at which a privacy curve is at most delta, hardly above the least; `most` if none is below it.

    Examples
    --------
    >>> round(least_level(lambda level: math.exp(-level), 0.1, 50.0), 6) == round(math.log(10), 6)
    True
    """
    # what rounding adds grows with the level: the least one is sought from below, where large ones pass delta again
    low, high = 0.0, min(1.0, most)
    while high < most and excess(high) > delta:
        low, high = high, min(1.5 * high, most)
    for _ in range(LEVEL_STEPS):
        middle = (low + high) / 2
        if excess(middle) <= delta:
            high = middle
        else:
            low = middle
    return high
