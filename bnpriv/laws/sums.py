"""The law of a sum of independent draws, with relative error only.

Products and sums of positive numbers keep their relative error. A plain fast Fourier transform has an additive one, in
which the tails that a pure guarantee is about are lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import final

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import LawError, SizeError
from bnpriv.laws.atoms import Atoms, add_groups
from bnpriv.laws.base import FUNCTION_ERROR, MOST_ATOMS, FloatArray, IntArray, magnitude, refused

MOST_TERMS = 2**35
"""Most products of two masses in one convolution: a few seconds if the laws are smooth, a minute at worst."""

FLAT = 340.0
"""Stretches whose log masses span at most this much are convolved as plain numbers: e^-680 is still a normal double."""

MOST_ROUNDS = 64
"""How many sums of the largest size may be made one after the other: about a minute."""

MOST_DENOMINATOR = 10**6
"""Coordinates are read as fractions up to this denominator."""


def n_fold(law: Atoms, n: int) -> Atoms:
    """Return the law of the sum of `n` independent draws from `law`.

    Parameters
    ----------
    law : Atoms
        Its coordinates lie on a lattice each. They are read as fractions with a denominator of at most 10^6 where
        those round to them (so 0.1 is one tenth), otherwise as the shortest decimals that do.
    n : int
        At least 1.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`, however far out it lies.

    Raises
    ------
    LawError
        If the sums lie on no lattice of fewer than 2^62 points.
    SizeError
        If there are too many sums; found out before they are allocated.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, n_fold
    >>> two = n_fold(Atoms([0.1, 0.2], [0.5, 0.5]), 2)
    >>> two.support, two.probabilities.round(12)
    (array([0.2, 0.3, 0.4]), array([0.25, 0.5 , 0.25]))
    """
    n = checks.whole("n", n, error=LawError)
    grids = [_Grid.of(column) for column in law.points.T]
    radices = [n * grid.steps + 1 for grid in grids]
    length = math.prod(radices)
    if length >= 2**62:
        remedy = "Round the answer to a coarser grid, or take fewer records or columns."
        raise refused("a sum must lie on fewer than 2^62 lattice points", checks.shown(length), remedy)
    strides = [math.prod(radices[k + 1 :]) for k in range(len(radices))]
    keys = np.zeros(law.size, dtype=np.int64)
    for grid, stride in zip(grids, strides, strict=True):
        keys += np.array([index * stride for index in grid.index], dtype=np.int64)
    total = _power(_Sum(keys, law.logs, law.error), n, length)
    columns = [grid.values(total.keys // s % r, n) for grid, s, r in zip(grids, strides, radices, strict=True)]
    return Atoms.from_logs(np.stack(columns, axis=1), total.logs, total.error)


def add(f: Atoms, g: Atoms) -> Atoms:
    """Return the law of the sum of two independent draws, one from each law.

    Parameters
    ----------
    f, g : Atoms
        Of one dimension, with coordinates on a common lattice each, read as in `n_fold`.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`.

    Raises
    ------
    LawError
        If the sums lie on no lattice of fewer than 2^62 points.
    SizeError
        If there are too many sums; found out before they are allocated.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, add
    >>> add(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 2], [0.5, 0.5])).support
    array([0., 1., 2., 3.])
    """
    points = np.concatenate([f.points, g.points])
    grids = [_Grid.of(column) for column in points.T]
    radices = [2 * grid.steps + 1 for grid in grids]
    length = math.prod(radices)
    if length >= 2**62:
        remedy = "Round the answer to a coarser grid, or take fewer records or columns."
        raise refused("a sum must lie on fewer than 2^62 lattice points", checks.shown(length), remedy)
    strides = [math.prod(radices[k + 1 :]) for k in range(len(radices))]
    keys = np.zeros(len(points), dtype=np.int64)
    for grid, stride in zip(grids, strides, strict=True):
        keys += np.array([index * stride for index in grid.index], dtype=np.int64)
    parts = [_Sum(keys[: f.size], f.logs, f.error), _Sum(keys[f.size :], g.logs, g.error)]
    dense = len(grids) == 1 and length**2 <= MOST_TERMS and f.size * g.size > MOST_ATOMS // 16
    total = (_add_dense if dense else _add_sparse)(*parts)
    columns = [grid.values(total.keys // s % r, 2) for grid, s, r in zip(grids, strides, radices, strict=True)]
    return Atoms.from_logs(np.stack(columns, axis=1), total.logs, total.error)


@final
@dataclass(frozen=True, eq=False)
class _Sum:
    """Masses on whole numbers: sorted keys, their logs and the largest error of a log."""

    keys: IntArray
    logs: FloatArray
    error: float


def _power(one: _Sum, n: int, length: int) -> _Sum:
    """Add n times, by the cheapest road: along the whole lattice, by pairs of atoms, or one draw after the other."""
    size = len(one.keys)

    def sums(draws: int) -> int:
        return min(length, math.comb(draws + size - 1, min(draws, size - 1)))

    squared, singly = sums(n // 2) ** 2, n * size * sums(n)
    if length**2 <= min(MOST_TERMS, 30 * min(squared, singly)):  # sorting a pair costs as much as about 30 products
        return _square(one, n, _add_dense)
    if singly < squared:
        _check_pairs(singly // MOST_ROUNDS)
        return reduce(lambda total, _: _add_sparse(total, one), range(n - 1), one)
    return _square(one, n, _add_sparse)


def _square(one: _Sum, n: int, add: Callable[[_Sum, _Sum], _Sum]) -> _Sum:
    total = one
    for bit in f"{n:b}"[1:]:
        total = add(total, total)
        total = add(total, one) if bit == "1" else total
    return total


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_ATOMS:
        raise SizeError(
            f"a sum may have at most {MOST_ATOMS:,} pairs of atoms",
            found=checks.shown(pairs),
            remedy="Round the answer to a coarser grid, or take fewer records or columns.",
        )


def _add_sparse(a: _Sum, b: _Sum) -> _Sum:
    _check_pairs(len(a.keys) * len(b.keys))
    keys = np.add.outer(a.keys, b.keys).ravel()
    logs = np.add.outer(a.logs, b.logs).ravel()
    order = np.argsort(keys, kind="stable")
    keys, logs = keys[order], logs[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    merged, rounding = add_groups(logs, starts)
    return _Sum(keys[starts], merged, a.error + b.error + rounding + UNIT_ROUNDOFF * magnitude(logs))


def _add_dense(a: _Sum, b: _Sum) -> _Sum:
    short, long = sorted((a, b), key=lambda law: len(law.keys))
    lefts, rights = _blocks(short), _blocks(long)
    pairs = len(lefts) * len(rights)
    if pairs <= 4 * len(short.keys):
        logs = _convolve_blocks(list(product(lefts, rights)))
    else:
        logs = _convolve_logs(short, long)
    kept = np.flatnonzero(logs > -math.inf)
    # Per term: exponents (five roundings of their size), exp and product; one per term for the sums; the logs of sums,
    # those of a block between e^-680 and 2^24 and their total, by FUNCTION_ERROR times 680 and 34.
    sizes = magnitude(short.logs) + magnitude(long.logs)
    steps = 5 * sizes + len(short.keys) + pairs + FUNCTION_ERROR * (4 + min(sizes, 2 * FLAT) + 34)
    return _Sum(kept + int(a.keys[0] + b.keys[0]), logs[kept], a.error + b.error + UNIT_ROUNDOFF * steps)


def _blocks(law: _Sum) -> list[_Sum]:
    """Cut a law into stretches whose log masses span at most FLAT: their products cannot underflow."""
    starts, low, high = [0], math.inf, -math.inf
    for k, log in enumerate(law.logs.tolist()):
        low, high = min(low, log), max(high, log)
        if high - low > FLAT:
            starts.append(k)
            low = high = log
    keys, logs = np.split(law.keys, starts[1:]), np.split(law.logs, starts[1:])
    return [_Sum(key, log, law.error) for key, log in zip(keys, logs, strict=True)]


def _convolve_blocks(blocks: Sequence[tuple[_Sum, _Sum]]) -> FloatArray:
    origin = blocks[0][0].keys[0] + blocks[0][1].keys[0]
    pieces = [(int(a.keys[0] + b.keys[0] - origin), _convolve_plain(a, b)) for a, b in blocks]
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


def _convolve_plain(a: _Sum, b: _Sum) -> FloatArray:
    tops = float(np.max(a.logs)), float(np.max(b.logs))
    masses = [_dense(law, np.exp(law.logs - top), 0.0) for law, top in zip((a, b), tops, strict=True)]
    with np.errstate(divide="ignore"):
        return np.log(np.convolve(masses[0], masses[1])) + sum(tops)


def _convolve_logs(short: _Sum, long: _Sum) -> FloatArray:
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


def _dense(law: _Sum, values: FloatArray, rest: float) -> FloatArray:
    line = np.full(int(law.keys[-1] - law.keys[0]) + 1, rest)
    line[law.keys - law.keys[0]] = values
    return line


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Grid:
    """One coordinate of the atoms as origin + step * index, in exact fractions."""

    origin: Fraction
    step: Fraction
    index: list[int]

    @classmethod
    def of(cls, column: FloatArray) -> _Grid:
        exact = _fractions(column)
        common = math.lcm(*(value.denominator for value in exact))
        whole = [value.numerator * (common // value.denominator) for value in exact]
        least = min(whole)
        step = math.gcd(*(value - least for value in whole)) or 1
        index = [(value - least) // step for value in whole]
        return cls(origin=Fraction(least, common), step=Fraction(step, common), index=index)

    @property
    def steps(self) -> int:
        return max(self.index)

    def values(self, index: IntArray, n: int) -> FloatArray:
        """Return n times the origin plus `index` steps, each rounded once."""
        first = self.origin * n
        common = math.lcm(first.denominator, self.step.denominator)
        a, b = int(first * common), int(self.step * common)
        if max(abs(a) + b * int(np.max(index)), common) < 2**53:
            return (a + b * index) / common
        return np.array([float(Fraction(a + b * int(k), common)) for k in index])


def _fractions(column: FloatArray) -> list[Fraction]:
    numbers = [float(value) for value in column]
    simple = [Fraction(value).limit_denominator(MOST_DENOMINATOR) for value in numbers]
    if all(float(near) == value for near, value in zip(simple, numbers, strict=True)):
        return simple
    return [Fraction(repr(value)) for value in numbers]
