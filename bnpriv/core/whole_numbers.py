"""Sums of independent draws: exact values, and masses with a small relative error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray
from bnpriv.core.distributions import FUNCTION_ERROR, MOST_ATOMS, add_groups, binomial_logs, log_sum, magnitude
from bnpriv.errors import SizeError
from bnpriv.text import rough_text

# --------------------------------------------------------------------------------------------------
# Convolution on integer keys with a relative error of the masses.
#
# Products and sums of positive numbers keep their relative error. A plain fast Fourier transform has an additive one,
# in which the tails that a pure guarantee is about are lost.
# --------------------------------------------------------------------------------------------------

MOST_PRODUCTS = 2**35
"""The most products of two masses in one convolution: seconds for smooth laws, a minute at worst."""

FLAT_STRETCH = 340.0
"""Largest span of log masses that are convolved as plain numbers: e^-680 is still a normal double."""

MOST_CONVOLUTIONS = 64
"""The most sums of the largest size that are made in sequence: about a minute."""

LIMB = 62
"""Bits per limb of a key that is too large for one 64-bit integer."""


@dataclass(frozen=True, eq=False)
class Masses:
    """Masses on integers of at least 0.

    Parameters
    ----------
    keys : ndarray of shape (K,), or (K, L) for keys of several limbs of LIMB bits, the highest first
        Sorted.
    logs : ndarray of shape (K,)
    error : float
        Largest error of a log.
    """

    keys: IntArray
    logs: FloatArray
    error: float


def most_sums(size: int, draws: int, length: int) -> int:
    """The most different sums that so many draws from `size` atoms can have, on a lattice of a given length."""
    count = 1
    for k in range(1, min(draws, size - 1) + 1):
        count = count * (draws + size - k) // k
        if count >= length:
            return length
    return count


def power(one: Masses, n: int, length: int) -> Masses:
    """Add a law to itself n times by the cheapest way: along the lattice, by pairs, or draw after draw."""
    size = len(one.keys)
    squared, singly = most_sums(size, n // 2, length) ** 2, n * size * most_sums(size, n, length)
    if length**2 <= min(MOST_PRODUCTS, 30 * min(squared, singly)):  # sorting a pair costs as much as about 30 products
        return square(one, n, add_dense)
    if singly < squared:
        _check_pairs(singly // MOST_CONVOLUTIONS)
        return reduce(lambda total, _: add_sparse(total, one), range(n - 1), one)
    return square(one, n, add_sparse)


def square(one: Masses, n: int, add: Callable[[Masses, Masses], Masses]) -> Masses:
    """Add a law to itself n times, by repeated doubling."""
    total = one
    for bit in f"{n:b}"[1:]:
        total = add(total, total)
        total = add(total, one) if bit == "1" else total
    return total


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_ATOMS:
        raise SizeError(
            f"a sum may have at most {rough_text(MOST_ATOMS)} pairs of atoms",
            found=rough_text(pairs),
            remedy="Round the answer to a coarser grid, or take fewer records or columns.",
        )


def add_sparse(a: Masses, b: Masses) -> Masses:
    """Add two independent draws by all pairs of their keys."""
    _check_pairs(len(a.keys) * len(b.keys))
    keys = _pairs(a.keys, b.keys)
    logs = np.add.outer(a.logs, b.logs).ravel()
    order = np.argsort(keys, kind="stable") if keys.ndim == 1 else np.lexsort(keys.T[::-1])
    keys, logs = keys[order], logs[order]
    differs = keys[1:] != keys[:-1]
    starts = np.flatnonzero(np.concatenate([[True], differs if keys.ndim == 1 else np.any(differs, axis=1)]))
    merged, rounding = add_groups(logs, starts)
    return Masses(keys[starts], merged, a.error + b.error + rounding + UNIT_ROUNDOFF * magnitude(logs))


def _pairs(a: IntArray, b: IntArray) -> IntArray:
    """The sums of all pairs of keys; those of several limbs are carried from limb to limb."""
    if a.ndim == 1:
        return np.add.outer(a, b).ravel()
    sums = (a[:, None, :] + b[None, :, :]).reshape(-1, a.shape[1])
    for limb in range(a.shape[1] - 1, 0, -1):
        sums[:, limb - 1] += sums[:, limb] >> LIMB
        sums[:, limb] &= 2**LIMB - 1
    return sums


def add_dense(a: Masses, b: Masses) -> Masses:
    """Add two independent draws along the line of all keys."""
    short, long = sorted((a, b), key=lambda law: len(law.keys))
    lefts, rights = _blocks(short), _blocks(long)
    pairs = len(lefts) * len(rights)
    # stretches of plain numbers convolve fastest, but only while there are few of them
    if pairs <= 4 * len(short.keys):
        logs = _convolve_stretches(lefts, rights)
    else:
        logs = _convolve_logs(short, long)
    kept = np.flatnonzero(logs > -math.inf)
    # Per term: exponents (five roundings of their size), exp and product; one per term for the sums; the logs of sums,
    # those of a block between e^-680 and 2^24 and their total, by FUNCTION_ERROR times 680 and 34.
    sizes = magnitude(short.logs) + magnitude(long.logs)
    steps = 5 * sizes + len(short.keys) + pairs + FUNCTION_ERROR * (4 + min(sizes, 2 * FLAT_STRETCH) + 34)
    return Masses(kept + int(a.keys[0] + b.keys[0]), logs[kept], a.error + b.error + UNIT_ROUNDOFF * steps)


def _blocks(law: Masses) -> list[Masses]:
    """Cut a law into stretches whose log masses span at most FLAT_STRETCH: products cannot underflow."""
    if float(np.ptp(law.logs)) <= FLAT_STRETCH:
        return [law]
    starts, low, high = [0], math.inf, -math.inf
    for k, log in enumerate(law.logs.tolist()):
        low, high = min(low, log), max(high, log)
        if high - low > FLAT_STRETCH:
            starts.append(k)
            low = high = log
    keys, logs = np.split(law.keys, starts[1:]), np.split(law.logs, starts[1:])
    return [Masses(key, log, law.error) for key, log in zip(keys, logs, strict=True)]


def _stretch(law: Masses) -> tuple[int, FloatArray, float]:
    """The first key of a law, the masses from there on relative to the largest, and the log of that."""
    top = float(np.max(law.logs))
    return int(law.keys[0]), _dense(law, np.exp(law.logs - top), 0.0), top


def _convolve_stretches(lefts: Sequence[Masses], rights: Sequence[Masses]) -> FloatArray:
    """Convolve every stretch of one law with every one of the other as plain numbers, and add the pieces."""
    origin = int(lefts[0].keys[0]) + int(rights[0].keys[0])
    pieces: list[tuple[int, FloatArray]] = []
    with np.errstate(divide="ignore"):
        for (start, a, top), (other, b, high) in product(map(_stretch, lefts), map(_stretch, rights)):
            pieces.append((start + other - origin, np.log(np.convolve(a, b)) + (top + high)))
    tops = np.full(max(start + len(piece) for start, piece in pieces), -math.inf)
    for start, piece in pieces:
        part = tops[start : start + len(piece)]
        np.maximum(part, piece, out=part)
    if len(pieces) == 1:
        return tops
    tops[tops == -math.inf] = 0.0
    sums = np.zeros_like(tops)
    for start, piece in pieces:
        part = slice(start, start + len(piece))
        sums[part] += np.exp(piece - tops[part])
    with np.errstate(divide="ignore"):
        return np.log(sums) + tops


def _convolve_logs(short: Masses, long: Masses) -> FloatArray:
    """Convolve relative to the largest term of each sum, so that no term that counts can underflow."""
    other = _dense(long, long.logs, -math.inf)
    shifts = [int(key) for key in short.keys - short.keys[0]]
    tops = np.full(shifts[-1] + len(other), -math.inf)
    for shift, log in zip(shifts, short.logs, strict=True):
        part = tops[shift : shift + len(other)]
        np.maximum(part, other + log, out=part)
    tops[tops == -math.inf] = 0.0
    sums = np.zeros_like(tops)
    for shift, log in zip(shifts, short.logs, strict=True):
        part = slice(shift, shift + len(other))
        sums[part] += np.exp(other + log - tops[part])
    with np.errstate(divide="ignore"):
        return np.log(sums) + tops


def _dense(law: Masses, values: FloatArray, rest: float) -> FloatArray:
    line = np.full(int(law.keys[-1] - law.keys[0]) + 1, rest)
    line[law.keys - law.keys[0]] = values
    return line


# --------------------------------------------------------------------------------------------------
# Laws on integer vectors of any size: the exact values of answers, until these are rounded once.
# --------------------------------------------------------------------------------------------------

WholeArray = NDArray[Any]
"""Integer arrays: of 64 bits, or of Python objects where numbers may be larger."""

LARGEST_WHOLE = 2**61
"""Integers up to this size are kept in 64 bits, with room for a sum of two."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WholeLaw:
    """A law with finitely many atoms, which are vectors of integers.

    Parameters
    ----------
    columns : tuple of ndarray of shape (K,)
        The coordinates of the atoms: distinct vectors in lexicographic order.
    logs : ndarray of shape (K,)
        Natural logs of the masses, all finite.
    error : float
        Largest absolute error of a log.
    """

    columns: tuple[WholeArray, ...]
    logs: FloatArray
    error: float

    @classmethod
    def of(cls, columns: Sequence[WholeArray], logs: FloatArray, error: float) -> WholeLaw:
        """Sort atoms, add up the masses of repeated ones, and drop those without mass.

        Parameters
        ----------
        columns : sequence of ndarray of int
            The atoms, one array for each coordinate.
        logs : ndarray
            Logs of their masses.
        error : float
            How far each log may be off.
        """
        kept = np.flatnonzero(logs > -math.inf)
        columns, logs = [column[kept] for column in columns], logs[kept]
        ranks = np.zeros(len(kept), dtype=np.int64)
        for column in columns:
            values, places = np.unique(column, return_inverse=True)
            ranks = np.unique(ranks * len(values) + places.ravel(), return_inverse=True)[1].ravel()
        order = np.argsort(ranks, kind="stable")
        starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))
        merged, rounding = add_groups(logs[order], starts)
        return cls(columns=tuple(column[order][starts] for column in columns), logs=merged, error=error + rounding)

    @property
    def size(self) -> int:
        """The number of atoms K."""
        return len(self.logs)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.columns)

    def given(self, values: Iterable[int]) -> WholeLaw:
        """The law of the later coordinates given that the first is among `values`, which must be possible."""
        kept, total = self._kept(values)
        columns = [column[kept] for column in self.columns[1:]]
        # the mass of an atom and that of the condition are each off by the error of this law
        error = 2 * self.error + _rounding(self.logs[kept])
        return WholeLaw.of(columns, self.logs[kept] - total, error)

    def log_mass(self, values: Iterable[int]) -> float:
        """The log probability that the first coordinate is among `values`."""
        return self._kept(values)[1]

    def _kept(self, values: Iterable[int]) -> tuple[NDArray[np.bool_], float]:
        chosen = list(values)
        kept = np.isin(self.columns[0], np.array(chosen, dtype=self.columns[0].dtype))
        return kept, log_sum(self.logs[kept])


def _rounding(logs: FloatArray) -> float:
    """A bound on the rounding of the log of a sum of masses, and of differences from it."""
    terms = len(logs)
    # 2 per term, and FUNCTION_ERROR for the exponentials and the log of their sum (as in `networks.factors.sum_out`)
    return UNIT_ROUNDOFF * (2 * terms + FUNCTION_ERROR * (1 + math.log(terms)) + 3 * magnitude(logs))


def sums_bound(laws: Sequence[WholeLaw], draws: int) -> int:
    """A bound on the number of sums of so many draws from any of several laws, found without making them.

    Parameters
    ----------
    laws : sequence of WholeLaw
        What each draw may come from.
    draws : int
        How many draws are added.
    """
    columns = [np.concatenate(parts) for parts in zip(*(law.columns for law in laws), strict=True)]
    together = WholeLaw.of(columns, np.zeros(len(columns[0])), 0.0)
    return most_sums(together.size, draws, _Lattice.of([together], draws).length)


def summed(*parts: tuple[WholeLaw, int]) -> WholeLaw:
    """The law of a sum of independent draws, so many from each of several laws.

    Parameters
    ----------
    *parts : (WholeLaw, int)
        Each law, with how many independent draws of it are added.

    Raises
    ------
    SizeError
        If there are too many sums; found out before they are allocated.
    """
    drawn = [(law, draws) for law, draws in parts if draws]
    lattice = _Lattice.of([law for law, _ in drawn], sum(draws for _, draws in drawn))
    repeated = [_repeated(lattice.keyed(law), draws, lattice) for law, draws in drawn]
    total = reduce(lambda a, b: _added(a, b, lattice.length), repeated)
    return WholeLaw(columns=lattice.columns(total.keys), logs=total.logs, error=total.error)


def _repeated(one: Masses, draws: int, lattice: _Lattice) -> Masses:
    """The law of the sum of equal draws; a binomial law in closed form where there are two atoms."""
    if len(one.logs) != 2 or draws == 1:
        return power(one, draws, lattice.length)
    low, high = (int(key) for key in lattice.joined(one.keys))
    logs, error = binomial_logs(draws, float(one.logs[1]), float(one.logs[0]))
    count = np.arange(draws + 1, dtype=np.int64 if one.keys.ndim == 1 else object)
    return Masses(lattice.parted(draws * low + (high - low) * count), logs, error + draws * one.error)


def _added(a: Masses, b: Masses, length: int) -> Masses:
    # as in `power`; for many pairs the memory that sorting them takes decides
    many = min(MOST_ATOMS // 16, length**2 // 30)
    dense = length**2 <= MOST_PRODUCTS and len(a.logs) * len(b.logs) > many
    return (add_dense if dense else add_sparse)(a, b)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Lattice:
    """The lattice ``origin + step * index`` that contains the draws, with one integer key per vector.

    Parameters
    ----------
    origins, steps : tuple of int
        One per coordinate.
    radices : tuple of int
        How many indices the sum of all `draws` can have.
    draws : int
    """

    origins: tuple[int, ...]
    steps: tuple[int, ...]
    radices: tuple[int, ...]
    draws: int

    @classmethod
    def of(cls, laws: Sequence[WholeLaw], draws: int) -> _Lattice:
        columns = [np.concatenate(parts) for parts in zip(*(law.columns for law in laws), strict=True)]
        origins = [int(column.min()) for column in columns]
        above = [column - origin for column, origin in zip(columns, origins, strict=True)]
        steps = [int(np.gcd.reduce(column)) or 1 for column in above]
        # in each coordinate room for the sum of all draws: then sums of keys are keys of sums, without a carry
        radices = [draws * (int(column.max()) // step) + 1 for column, step in zip(above, steps, strict=True)]
        return cls(origins=tuple(origins), steps=tuple(steps), radices=tuple(radices), draws=draws)

    @property
    def length(self) -> int:
        return math.prod(self.radices)

    @property
    def strides(self) -> list[int]:
        return [math.prod(self.radices[k + 1 :]) for k in range(len(self.radices))]

    def keyed(self, law: WholeLaw) -> Masses:
        """A law with one key per atom, in the order of its atoms."""
        kind = np.int64 if self.length < LARGEST_WHOLE else object
        keys = np.zeros(law.size, dtype=kind)
        for column, origin, step, stride in zip(law.columns, self.origins, self.steps, self.strides, strict=True):
            keys = keys + ((column - origin) // step).astype(kind) * stride
        return Masses(self.parted(keys), law.logs, law.error)

    def parted(self, keys: WholeArray) -> IntArray:
        """Keys as 64-bit integers, or as several limbs each."""
        limbs = -(-self.length.bit_length() // LIMB)
        if self.length < LARGEST_WHOLE:
            return keys.astype(np.int64)
        parts = [((keys >> (LIMB * k)) & (2**LIMB - 1)).astype(np.int64) for k in reversed(range(limbs))]
        return np.stack(parts, axis=1)

    def joined(self, keys: IntArray) -> WholeArray:
        if keys.ndim == 1:
            return keys
        return reduce(lambda high, low: (high << LIMB) + low, keys.astype(object).T)

    def columns(self, keys: IntArray) -> tuple[WholeArray, ...]:
        """The coordinates of sums of all draws."""
        whole = self.joined(keys)
        found: list[WholeArray] = []
        for origin, step, radix, stride in zip(self.origins, self.steps, self.radices, self.strides, strict=True):
            index = whole // stride % radix
            largest = self.draws * abs(origin) + step * radix
            index = index.astype(np.int64 if largest < LARGEST_WHOLE else object)
            found.append(self.draws * origin + step * index)
        return tuple(found)


def nearest_doubles(numerators: WholeArray, denominator: int) -> FloatArray:
    """Integers over a common denominator, each rounded once to a double, as a release rounds them.

    Parameters
    ----------
    numerators : ndarray of int
        Whole numbers, which may be larger than a machine word.
    denominator : int
        What all of them are divided by, above 0.

    Examples
    --------
    >>> nearest_doubles(np.array([1, 2, 3]), 10)
    array([0.1, 0.2, 0.3])
    """
    # below 2^53 both are doubles, so that their quotient is rounded once; beyond that Python divides exactly
    if numerators.dtype != object and denominator < 2**53 and not np.any(np.abs(numerators) >= 2**53):
        return np.asarray(numerators / denominator, dtype=np.float64)
    return np.array([int(value) / denominator for value in numerators.tolist()], dtype=np.float64)
