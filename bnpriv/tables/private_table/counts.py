"""Noise on the numbers of records of several classes: it moves records from class to class and keeps their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray, IntArray, least_whole, up
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import Sampler
from bnpriv.errors import ParameterError, RefusedError

# --------------------------------------------------------------------------------------------------
# Noisy numbers of records, by one of two roads.
# --------------------------------------------------------------------------------------------------


AT_ONCE = 8
"""Geometric variables that are drawn at once and not needed are thrown away; few calls cost less than few draws."""

TAIL_ROUNDING = 1e-9
"""More than what rounding takes from a tail that is summed from positive numbers, relative to it."""

LEAST_CHANCE = math.ulp(0.0)
"""What stands for a chance that is too small for a double: it is not 0."""

MOST_CHANCES = 2**24
"""The most probabilities of one class that are summed."""

FARTHEST_SUMMED = 60.0
"""Scales beyond which probabilities are left out: exp(-60) of all."""


@dataclass(frozen=True, kw_only=True)
class MoveNoise:
    """Whole numbers z of sum 0, one for each class, of probability proportional to ``exp(-moves(z) / scale)``.

    ``moves(z)``, half the sum of the sizes, is how many records change their class. For two classes this is discrete
    Laplace noise. With `most` only vectors are drawn of which no number is larger.

    Parameters
    ----------
    classes : int
        At least 2.
    scale : float
        In records.
    most : int, optional

    Raises
    ------
    ParameterError
        If there are fewer than 2 classes, or the scale is not finite and above 0.

    Notes
    -----
    docs/claims/private_table.md. The vectors are those of the lattice A_{m-1}; so many have s moves as the coefficient
    of x^s in ``sum_i C(m-1, i)^2 x^i / (1 - x)^(m-1)`` (Conway, Sloane, "Low-dimensional lattices VII", 1997).

    Examples
    --------
    >>> from bnpriv.core.noise import SecureSampler
    >>> noise = MoveNoise(classes=3, scale=2.0)
    >>> sum(noise.noisy([5, 0, 7], SecureSampler()))
    12
    >>> round(MoveNoise(classes=2, scale=100.0).mean_moves, 2)
    100.0
    """

    classes: int
    scale: float
    most: int | None = None

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise ParameterError(
                "noise needs two classes of records", found="fewer than two", remedy="Protect a condition."
            )
        checks.positive("the scale of the noise", self.scale)

    @cached_property
    def _ratio(self) -> float:
        return math.exp(-1 / self.scale)

    @property
    def mean_moves(self) -> float:
        """How many records change their class on average, without the bound `most`."""
        others, q = self.classes - 1, self._ratio
        weights = [math.comb(others, i) ** 2 * q**i for i in range(others + 1)]
        turned = math.fsum(i * weight for i, weight in enumerate(weights)) / math.fsum(weights)
        return turned - others * q / math.expm1(-1 / self.scale)

    def noisy(self, counts: Sequence[int], sampler: Sampler) -> tuple[int, ...]:
        """Numbers of records with noise, of the same sum.

        Parameters
        ----------
        counts : sequence of int
            One for each class.
        sampler : Sampler
        """
        while True:
            moved = self._draw(sampler)
            if self.most is None or max(moved) <= self.most:
                return tuple(count + move for count, move in zip(counts, moved, strict=True))

    def _draw(self, sampler: Sampler) -> tuple[int, ...]:
        """One vector: first how many records move, then which of the equally likely vectors with so many moves."""
        others = self.classes - 1
        geometric = _Geometric(sampler, self.scale)
        s = self._turned(sampler) + sum(geometric.draw() for _ in range(others))
        if s == 0:
            return (0,) * self.classes
        weights = [
            math.comb(self.classes, j) * math.comb(s - 1, j - 1) * math.comb(s + others - j, others - j)
            for j in range(1, self.classes)
        ]
        place, gaining = sampler.below(sum(weights)), 1
        while place >= weights[gaining - 1]:
            place -= weights[gaining - 1]
            gaining += 1
        order = _distinct(self.classes, self.classes, sampler)
        gains = _parts(s, gaining, sampler, least=1)
        losses = _parts(s, self.classes - gaining, sampler, least=0)
        signed = [*gains, *(-loss for loss in losses)]
        return tuple(signed[order.index(place)] for place in range(self.classes))

    def _turned(self, sampler: Sampler) -> int:
        """A number i of weight ``C(m-1, i)^2 q^i``: heads of two rows of coins of odds root q, if both show as many."""
        coins = _Geometric(sampler, 2 * self.scale)
        while True:
            # a geometric number of ratio r is odd with odds r
            first, second = (sum(coins.draw() % 2 for _ in range(self.classes - 1)) for _ in range(2))
            if first == second:
                return first

    def _masses(self, largest: int) -> FloatArray:
        """The probabilities, but for one factor, that one class gains 0, 1, ..., `largest` records.

        The others lose as many: ``exp(-z / (2 scale))`` times the law of the sum of m - 1 independent numbers with such
        masses, which is found by adding one after the other.
        """
        from scipy.signal import lfilter

        # the sum of many numbers is far from 0 where a class gains much: about two scales for each
        far = FARTHEST_SUMMED + 4 * self.classes
        size = largest + math.ceil(far * self.scale) + 1
        if size > MOST_CHANCES:
            raise RefusedError(
                f"with {self.classes} classes the distance of secrets over epsilon is at most about "
                f"{MOST_CHANCES / 2 / far:,.0f}",
                found=f"{self.scale:,.0f}",
                remedy="Hide closer secrets, choose a larger epsilon, or hide two classes.",
            )
        r = math.exp(-0.5 / self.scale)
        powers = np.exp(-np.arange(size) / (2 * self.scale))
        total = powers
        for _ in range(self.classes - 2):
            below = total.copy()
            below[0] += float((total[1:] * powers[1:]).sum())
            total = lfilter([1.0], [1.0, -r], below) + lfilter([0.0, r], [1.0, -r], total[::-1])[::-1]
            total /= total[0]
        return total * powers

    def delta(self, moved: int) -> float:
        """The least delta, rounded up, of the noise bounded by `most`, for secrets `moved` records apart.

        What one secret can lead to and the other cannot: that a class gains more than ``most - moved`` records, given
        that none gains more than `most`.
        """
        assert self.most is not None
        if self.most < moved:
            return math.inf
        if self.classes == 2:
            return _two_sided(self.scale, self.most, moved)
        masses = self._masses(self.most)
        beyond = float(masses[self.most + 1 :].sum())
        every = 2 * float(masses.sum()) - float(masses[0])
        among = every - self.classes * beyond
        edge = float(masses[self.most - moved + 1 : self.most + 1].sum())
        return math.inf if among <= 0 else max(LEAST_CHANCE, up(edge / among * (1 + TAIL_ROUNDING)))

    def usual(self, counts: Sequence[int], number: int) -> IntArray:
        """So many noisy vectors for expectations, of shape (number, classes); of two classes evenly spread ones."""
        if self.classes > 2:
            sampler = SeededSampler(np.random.default_rng(0))
            return np.array([self.noisy(counts, sampler) for _ in range(number)])
        levels = (np.arange(number) + 0.5) / number
        beyond = np.minimum(levels, 1 - levels) * (1 + self._ratio)
        sizes = np.floor(-self.scale * np.log(np.minimum(beyond, 1))).astype(np.int64)
        moved = np.sign(levels - 0.5).astype(np.int64) * (sizes if self.most is None else np.minimum(sizes, self.most))
        return np.array(counts) + np.stack([moved, -moved], axis=1)

    def above(self, bounds: FloatArray) -> FloatArray:
        """How likely one class gains more than each of some numbers of records, rounded up."""
        if self.classes == 2:
            chances = np.exp(-(np.abs(bounds + 0.5) + 0.5) / self.scale) / (1 + self._ratio)
        else:
            masses = self._masses(int(np.abs(bounds).max()) + 1)
            tails = np.cumsum(masses[::-1])[::-1] / (2 * float(masses.sum()) - float(masses[0]))
            chances = tails[np.where(bounds < 0, -bounds, bounds + 1).astype(int)]
        return np.where(bounds < 0, 1 - chances * (1 - TAIL_ROUNDING), chances * (1 + TAIL_ROUNDING))

    def beyond(self, bound: int) -> float:
        """How many records more than `bound` all classes together gain on average."""
        if self.classes == 2:
            return 2 * float(self.above(np.array([bound]))[0]) / -math.expm1(-1 / self.scale)
        masses = self._masses(bound)
        tail = masses[bound + 1 :]
        found = float((tail * np.arange(1, len(tail) + 1)).sum()) / (2 * float(masses.sum()) - float(masses[0]))
        return self.classes * found * (1 + TAIL_ROUNDING)

    def other_places(self, bound: int, moved: int) -> float:
        """How many places of the table are filled by a made-up record under one secret and a real one under the other.

        At most, on average and rounded up, over tables in which each class has `bound` records fewer than its noisy
        number, for secrets `moved` records apart.
        """
        if self.classes == 2:
            return up(float(self.above(bound + np.arange(-float(moved), moved)).sum()) * (1 + TAIL_ROUNDING))
        near = self.above(bound - np.arange(1.0, moved + 1)).sum() + moved * self.above(np.array([float(bound)]))[0]
        return up(float(near) * (1 + TAIL_ROUNDING))

    def passes(self, bound: int, moved: int) -> float:
        """How likely, at most, some class gains more than `bound` records under one of two secrets, rounded up."""
        if bound < moved - 1:
            return 1.0
        first, rest = self.above(np.array([bound - moved, bound])).tolist()
        return up(first + (self.classes - 1) * rest)


def _two_sided(scale: float, most: int, moved: int) -> float:
    """The mass of the last `moved` of the numbers up to `most` of a discrete Laplace law cut at both ends."""
    q = math.exp(-1 / scale)
    edge = math.exp(-(most - moved + 1) / scale) * -math.expm1(-moved / scale)
    every = 1 + q - 2 * math.exp(-(most + 1) / scale)
    # an exponential is off by as many units in the last place as its argument is large
    return max(LEAST_CHANCE, up(edge / every, 64 + math.ceil(most / scale)))


def least_bound(classes: int, scale: float, moved: int, delta: float) -> int:
    """The least bound `most` at which noise has a delta of at most `delta`.

    Raises
    ------
    RefusedError
        If there is none below 2^53.

    Examples
    --------
    >>> least_bound(2, 10.0, 10, 1e-6)
    137
    """

    def fits(most: int) -> bool:
        return MoveNoise(classes=classes, scale=scale, most=most).delta(moved) <= delta

    low, high = moved - 1, moved
    while not fits(high):
        low, high = high, 2 * high
        if high > 2**53:
            raise RefusedError(
                "some number of records given up must be enough",
                found="none",
                remedy="Choose a larger delta or epsilon.",
            )
    return least_whole(low, high, fits)


@dataclass
class _Geometric:
    """Exact geometric numbers of ratio ``exp(-1 / scale)``: discrete Laplace ones, given that they are not negative."""

    sampler: Sampler
    scale: float

    def __post_init__(self) -> None:
        self._held: list[int] = []

    def draw(self) -> int:
        while not self._held:
            drawn = self.sampler.discrete_laplace([0.0] * AT_ONCE, self.scale)
            self._held = [int(number) for number in drawn if number >= 0]
        return self._held.pop()


def _distinct(limit: int, count: int, sampler: Sampler) -> list[int]:
    """So many distinct numbers below a limit in random order, all choices equally likely."""
    found: dict[int, None] = {}
    while len(found) < count:
        found.setdefault(sampler.below(limit))
    return list(found)


def _parts(total: int, number: int, sampler: Sampler, *, least: int) -> list[int]:
    """A sum written with so many whole numbers of at least `least`, all ways equally likely."""
    places = total - 1 if least else total + number - 1
    cuts = sorted(_distinct(places, number - 1, sampler))
    ends = [-1, *cuts, places]
    gaps = [after - before - 1 for before, after in pairwise(ends)]
    return [gap + least for gap in gaps]


# --------------------------------------------------------------------------------------------------
# Noise for expectations, which says what a private table would be like.
# --------------------------------------------------------------------------------------------------

LARGE = 2**40


@dataclass(frozen=True)
class SeededSampler:
    """Random numbers for expectations alone, the same ones every time."""

    random: np.random.Generator

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Differences of geometric numbers, added to the values."""
        success = -math.expm1(-1 / scale)
        drawn = self.random.geometric(success, (2, len(values)))
        return tuple(float(value + more) for value, more in zip(values, drawn[0] - drawn[1], strict=True))

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Laplace noise added to the values."""
        return tuple((np.asarray(values) + self.random.laplace(0, scale, len(values))).tolist())

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Normal noise added to the values."""
        return tuple((np.asarray(values) + self.random.normal(0, scale, len(values))).tolist())

    def below(self, limit: int) -> int:
        """A number below a limit."""
        return int(self.random.integers(limit)) if limit < LARGE else int(self.random.random() * limit)


# --------------------------------------------------------------------------------------------------
# A calibration of the count: any mechanism, also of notions whose secret moves the share of a class alone.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CalibratedCount:
    """The number of records of the first of two classes, made private by a calibration of that count."""

    calibration: Calibration

    @property
    def mean_moves(self) -> float:
        """How far the noisy count is from the true one on average."""
        return self.calibration.noise.error().upper

    def usual(self, counts: Sequence[int], number: int) -> IntArray:
        """So many noisy pairs of numbers for expectations, of shape (number, 2)."""
        sampler = SeededSampler(np.random.default_rng(0))
        return np.array([self.noisy(counts, sampler) for _ in range(number)])

    def noisy(self, counts: Sequence[int], sampler: Sampler) -> tuple[int, ...]:
        """The noisy count, rounded, and the rest of the records."""
        total = sum(counts)
        (value,) = self.calibration.noise.sample([float(counts[0])], sampler)
        first = min(total, max(0, round(value)))
        return first, total - first


CountNoise = MoveNoise | CalibratedCount
"""What makes the numbers of records of the classes private."""
