"""Sums of independent draws on whole keys, with relative error only.

Products and sums of positive numbers keep their relative error. A plain fast Fourier transform has an additive one, in
which the tails that a pure guarantee is about are lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, IntArray
from bnpriv.errors import SizeError
from bnpriv.laws.atoms import add_groups
from bnpriv.laws.base import FUNCTION_ERROR, MOST_ATOMS, FloatArray, magnitude
from bnpriv.render.text import rough_text

MOST_PRODUCTS = 2**35
"""Most products of two masses in one convolution: a few seconds if the laws are smooth, a minute at worst."""

FLAT_STRETCH = 340.0
"""Stretches whose log masses span at most this much are convolved as plain numbers: e^-680 is still a normal double."""

MOST_CONVOLUTIONS = 64
"""How many sums of the largest size may be made one after the other: about a minute."""

LIMB = 62
"""Bits of a part of a key that is too large for one whole number of 64 bits."""


@final
@dataclass(frozen=True, eq=False)
class Masses:
    """Masses on whole numbers at least 0.

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
    """Return how many different sums so many draws from `size` atoms can have at most, on a lattice of a length."""
    count = 1
    for k in range(1, min(draws, size - 1) + 1):
        count = count * (draws + size - k) // k
        if count >= length:
            return length
    return count


def power(one: Masses, n: int, length: int) -> Masses:
    """Add n times, by the cheapest road: along the whole lattice, by pairs of atoms, or one draw after the other."""
    size = len(one.keys)
    squared, singly = most_sums(size, n // 2, length) ** 2, n * size * most_sums(size, n, length)
    if length**2 <= min(MOST_PRODUCTS, 30 * min(squared, singly)):  # sorting a pair costs as much as about 30 products
        return square(one, n, add_dense)
    if singly < squared:
        _check_pairs(singly // MOST_CONVOLUTIONS)
        return reduce(lambda total, _: add_sparse(total, one), range(n - 1), one)
    return square(one, n, add_sparse)


def square(one: Masses, n: int, add: Callable[[Masses, Masses], Masses]) -> Masses:
    """Add n times by repeated doubling."""
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
    """Add two independent draws pair by pair of their keys."""
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
    """Return the sums of all pairs of keys; those of several limbs carry from each limb to the next."""
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
    """Cut a law into stretches whose log masses span at most FLAT_STRETCH: their products cannot underflow."""
    starts, low, high = [0], math.inf, -math.inf
    for k, log in enumerate(law.logs.tolist()):
        low, high = min(low, log), max(high, log)
        if high - low > FLAT_STRETCH:
            starts.append(k)
            low = high = log
    keys, logs = np.split(law.keys, starts[1:]), np.split(law.logs, starts[1:])
    return [Masses(key, log, law.error) for key, log in zip(keys, logs, strict=True)]


def _stretch(law: Masses) -> tuple[int, FloatArray, float]:
    """The first key of a law, a mass for every key from there on, over the largest one, and the log of that."""
    top = float(np.max(law.logs))
    return int(law.keys[0]), _dense(law, np.exp(law.logs - top), 0.0), top


def _convolve_stretches(lefts: Sequence[Masses], rights: Sequence[Masses]) -> FloatArray:
    """Convolve every stretch of one law with every stretch of another as plain numbers, and add up the pieces."""
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
