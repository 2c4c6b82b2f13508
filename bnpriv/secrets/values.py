"""Secrets of a parameter that may be any number: values at most so far apart, or chosen intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import SecretError
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair, SecretPairs
from bnpriv.tables.schema import State


@final
@dataclass(frozen=True)
class Interval:
    """The secret that a parameter lies between two numbers.

    Parameters
    ----------
    low, high : float
        Both finite; equal for a single value.
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"[{self.low:g}, {self.high:g}]"


@final
@dataclass(frozen=True)
class IntervalPair:
    """Two intervals that must not be told apart; both directions count.

    Parameters
    ----------
    first, second : Interval
        Disjoint, but for one end that they may have in common where the parameter is continuous.
    """

    first: Interval
    second: Interval

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        return str(self.first), str(self.second)

    @property
    def reverse(self) -> IntervalPair:
        """The pair the other way round."""
        return IntervalPair(self.second, self.first)

    @property
    def identity(self) -> str:
        """The pair with all digits of its numbers, for hashes."""
        return repr(self)

    @property
    def farthest(self) -> float:
        """Return the largest distance of a value in the first from one in the second."""
        return max(self.first.high - self.second.low, self.second.high - self.first.low)

    @property
    def is_point(self) -> bool:
        """Return whether both are single values."""
        return self.first.low == self.first.high and self.second.low == self.second.high

    @property
    def touches(self) -> bool:
        """Return whether two intervals have one end in common, and nothing else."""
        wide = self.first.low < self.first.high and self.second.low < self.second.high
        return wide and (self.first.high == self.second.low or self.second.high == self.first.low)

    def __str__(self) -> str:
        return " against ".join(self.sides)


@final
@dataclass(frozen=True)
class ValuesApart:
    """Any two values that are at most this far apart.

    Parameters
    ----------
    farthest : float
        Above 0; infinite for any two values.
    """

    farthest: float
    is_point = True

    @property
    def first(self) -> str:
        """Any value."""
        return "a value"

    @property
    def second(self) -> str:
        """Any other value that is near enough."""
        return "another" if math.isinf(self.farthest) else f"another at most {self.farthest:g} away"

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        return self.first, self.second

    @property
    def reverse(self) -> ValuesApart:
        """The same: the order of two such values does not count."""
        return self

    @property
    def identity(self) -> str:
        """The pair with all digits of its distance, for hashes."""
        return repr(self)

    def __str__(self) -> str:
        return "any two values" if math.isinf(self.farthest) else f"two values at most {self.farthest:g} apart"


ContinuousPair = ValuesApart | IntervalPair
"""A pair of secrets of a continuous parameter."""


@final
@dataclass(frozen=True)
class IntervalPairs:
    """The pairs of intervals that were chosen for one parameter; made by `intervals`."""

    chosen: tuple[IntervalPair, ...]


Bounds = tuple[float, float] | float


def intervals(*chosen: tuple[Bounds, Bounds]) -> IntervalPairs:
    """Choose which pairs of intervals of a continuous parameter must not be told apart; both directions count.

    Parameters
    ----------
    *chosen : tuple of two sides
        A side is ``(low, high)``, or a single value.

    Returns
    -------
    IntervalPairs

    Raises
    ------
    SecretError
        If there is no pair, a side is no finite interval, or the sides of a pair meet.

    Notes
    -----
    Two intervals may have one end in common, as ``((0, 0.3), (0.3, 1))``: a continuous parameter takes that value with
    probability zero. For a parameter, or a property of a table, that may take it with more a framework refuses them.

    Examples
    --------
    >>> [str(pair) for pair in intervals(((30, 40), (50, 60)), (35, 55)).chosen]
    ['[30, 40] against [50, 60]', '35 against 55']
    """
    if not chosen:
        raise SecretError("at least one pair of secrets is needed", found="none", remedy="Give pairs of intervals.")
    return IntervalPairs(tuple(_pair(pair) for pair in chosen))


def value_range(side: object) -> tuple[float, float]:
    """Return the least and the largest value of a secret that is an interval or a set of numbers."""
    if isinstance(side, Interval):
        return side.low, side.high
    values = [float(value) for value in cast("frozenset[float]", side)]
    return min(values), max(values)


def farthest_values(pair: Pair, centre: float) -> tuple[float, float]:
    """Return the two values of a pair that are farthest apart; for values so far apart two around `centre`."""
    if isinstance(pair, ValuesApart):
        return centre - pair.farthest / 2, centre + pair.farthest / 2
    (low, high), (other_low, other_high) = value_range(pair.first), value_range(pair.second)
    return (low, other_high) if other_high - low >= high - other_low else (high, other_low)


def of_values(pairs: Iterable[Pair]) -> tuple[ContinuousPair, ...]:
    """Return pairs of secrets that must be values or intervals.

    Raises
    ------
    SecretError
        If one is not.
    """
    found = tuple(pair for pair in pairs if isinstance(pair, ContinuousPair))
    other = [pair for pair in pairs if not isinstance(pair, ContinuousPair)]
    if other:
        raise SecretError(
            "this needs a parameter that may be any number", found=str(other[0]), remedy="Protect values of it."
        )
    return found


def value_pairs(name: str, given: object) -> tuple[ContinuousPair, ...]:
    """Return the pairs of secrets of a parameter that may be any number.

    Raises
    ------
    SecretError
        If it has neither a distance nor intervals.
    """
    if isinstance(given, Apart):
        return (ValuesApart(given.at_most),)
    found = _chosen(given)
    if found is not None:
        return found
    raise SecretError(
        f"the secrets of the continuous parameter {name!r} need a distance: any two of its values cannot be hidden",
        found="none" if given is None else checks.type_text(given),
        remedy=f"Protect {{{name!r}: bnpriv.apart(at_most=5)}}, bnpriv.pairs((30, 50)), or "
        "bnpriv.intervals(((30, 40), (50, 60))).",
    )


def _chosen(given: object) -> tuple[IntervalPair, ...] | None:
    """Return the pairs of intervals, or of single values, that were chosen; None if nothing of the kind was."""
    if isinstance(given, IntervalPairs):
        return tuple(dict.fromkeys(given.chosen))
    if isinstance(given, SecretPairs) and all(pair.is_point and _of_numbers(pair) for pair in given.chosen):
        single = (cast("tuple[float, float]", (*pair.first, *pair.second)) for pair in given.chosen)
        return tuple(dict.fromkeys(intervals(*single).chosen))
    return None


def _of_numbers(pair: SecretPair) -> bool:
    return all(isinstance(state, (int, float)) for state in pair.first | pair.second)


class Ranged(Protocol):
    """A parameter that may be any number of a range, or one of some states."""

    @property
    def name(self) -> str:
        """The attribute."""
        ...

    @property
    def states(self) -> tuple[State, ...] | None:
        """The numbers that it may be; None where it may be any of a range."""
        ...

    @property
    def is_continuous(self) -> bool:
        """Whether it takes every value with probability zero."""
        ...


def interval_pairs(parameter: Ranged, given: object, drawn: FloatArray | None = None) -> tuple[IntervalPair, ...]:
    """Return the pairs of secrets of a parameter of a network of densities: as declared, or all pairs of its states.

    Intervals may have an end in common where the parameter takes every value with probability zero, or is known by
    draws alone and none of these is that end: then it is as if one of them were without it.

    Raises
    ------
    SecretError
        If it has no pairs of intervals or states.
    """
    states = parameter.states or ()
    found = _chosen(given)
    if found is not None:
        touching = next((pair for pair in found if pair.touches and _may_be_shared(parameter, pair, drawn)), None)
        if touching is not None:
            raise SecretError(
                f"the secrets of a pair must be disjoint where a value may be taken often, as by {parameter.name!r}",
                found=f"{touching}, which have the end {_shared(touching):g} in common",
                remedy=f"Leave that end out of one of them, as in {_apart_text(touching)}.",
            )
        return found
    if given is None and len(states) > 1:
        return tuple(_pair(pair) for pair in itertools.combinations(states, 2))
    raise SecretError(
        f"the secrets of the parameter {parameter.name!r} of a network of densities must be intervals or values",
        found="none" if given is None else checks.type_text(given),
        remedy=f"Protect {{{parameter.name!r}: bnpriv.intervals(((30, 40), (50, 60)))}} for two ranges, with your "
        "own numbers, or bnpriv.intervals((35, 55)) for two values.",
    )


def _shared(pair: IntervalPair) -> float:
    """Return the end that the intervals of a pair have in common."""
    return pair.first.high if pair.first.high == pair.second.low else pair.first.low


def _may_be_shared(parameter: Ranged, pair: IntervalPair, drawn: FloatArray | None) -> bool:
    """Return whether the common end of a pair may be a value that comes up."""
    if parameter.is_continuous:
        return False
    return drawn is None or parameter.states is not None or bool(np.any(drawn == _shared(pair)))


def _apart_text(pair: IntervalPair) -> str:
    """Return how the pair is written with the common end in one interval only."""
    low, high = sorted((pair.first, pair.second), key=lambda side: side.low)
    end = low.high - 1e-6 * (low.high - low.low)
    return f"bnpriv.intervals((({low.low:g}, {end:.10g}), ({high.low:g}, {high.high:g})))"


def _pair(given: object) -> IntervalPair:
    sides = list(cast("Iterable[object]", given)) if isinstance(given, (tuple, list)) else []
    if len(sides) != 2:
        raise SecretError(
            "a pair has two sides", found="another number", remedy="Write intervals(((30, 40), (50, 60)))."
        )
    first, second = (_interval(side) for side in sides)
    pair = IntervalPair(first, second)
    if first.low <= second.high and second.low <= first.high and not pair.touches:
        raise SecretError(
            "the two secrets of a pair must be disjoint", found=f"{first} and {second}", remedy="Choose others."
        )
    return pair


def _interval(given: object) -> Interval:
    ends = list(cast("Iterable[object]", given)) if isinstance(given, (tuple, list)) else [given, given]
    if len(ends) != 2:
        raise SecretError("an interval has two ends", found=str(len(ends)), remedy="Write (30, 40).")
    low, high = (checks.number("an end", end, error=SecretError) for end in ends)
    if not low <= high or not math.isfinite(high - low):
        raise SecretError("an interval needs low <= high", found=f"{low:g} and {high:g}", remedy="Turn it round.")
    return Interval(low, high)
