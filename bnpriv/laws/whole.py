"""Laws on whole numbers of any size: the exact keys by which answers are told apart until they are rounded once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, IntArray
from bnpriv.errors import LawError
from bnpriv.laws.atoms import Atoms, add_groups
from bnpriv.laws.base import FUNCTION_ERROR, MOST_ATOMS, FloatArray, log_sum, magnitude
from bnpriv.laws.binomial import binomial_logs
from bnpriv.laws.sums import LIMB, MOST_PRODUCTS, Masses, add_dense, add_sparse, most_sums, power

WholeArray = NDArray[Any]
"""Whole numbers: of 64 bits, or objects of Python where they may be larger."""

LARGEST_WHOLE = 2**61
"""Whole numbers of at most this size are kept in 64 bits, with room for a sum of two."""

MOST_DENOMINATOR = 10**6
"""Coordinates of doubles are read as fractions up to this denominator."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WholeLaw:
    """A law with finitely many atoms, which are vectors of whole numbers.

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
        """Sort atoms, add up the masses of repeated ones, and leave out those of no mass.

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
        """Return the number of atoms K."""
        return len(self.logs)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.columns)

    def given(self, values: Iterable[int]) -> WholeLaw:
        """Return the law of the later coordinates given that the first is among `values`, which must be possible."""
        kept, total = self._kept(values)
        columns = [column[kept] for column in self.columns[1:]]
        # the mass of an atom and that of the condition are each off by the error of this law
        error = 2 * self.error + _rounding(self.logs[kept])
        return WholeLaw.of(columns, self.logs[kept] - total, error)

    def log_mass(self, values: Iterable[int]) -> float:
        """Return the log of the probability that the first coordinate is among `values`."""
        return self._kept(values)[1]

    def _kept(self, values: Iterable[int]) -> tuple[NDArray[np.bool_], float]:
        chosen = list(values)
        kept = np.isin(self.columns[0], np.array(chosen, dtype=self.columns[0].dtype))
        return kept, log_sum(self.logs[kept])


def _rounding(logs: FloatArray) -> float:
    """Bound the rounding of the log of a sum of masses, and of its difference from the log of each of them."""
    terms = len(logs)
    # 2 per term, and FUNCTION_ERROR for the exponentials and the log of their sum (as in `networks.factors.sum_out`)
    return UNIT_ROUNDOFF * (2 * terms + FUNCTION_ERROR * (1 + math.log(terms)) + 3 * magnitude(logs))


def sums_bound(laws: Sequence[WholeLaw], draws: int) -> int:
    """Bound the number of sums of so many draws, each from any of several laws; found without making them.

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
    """Return the law of a sum of independent draws, so many from each of several laws.

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
    """Return the law of the sum of equal draws; a binomial law in closed form where there are two atoms."""
    if len(one.logs) != 2 or draws == 1:
        return power(one, draws, lattice.length)
    low, high = (int(key) for key in lattice.joined(one.keys))
    logs, error = binomial_logs(draws, float(one.logs[1]), float(one.logs[0]))
    count = np.arange(draws + 1, dtype=np.int64 if one.keys.ndim == 1 else object)
    return Masses(lattice.parted(draws * low + (high - low) * count), logs, error + draws * one.error)


def _added(a: Masses, b: Masses, length: int) -> Masses:
    dense = length**2 <= MOST_PRODUCTS and len(a.logs) * len(b.logs) > MOST_ATOMS // 16
    return (add_dense if dense else add_sparse)(a, b)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Lattice:
    """The vectors ``origin + step * index`` on which the draws of laws lie, each as one key.

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
        radices = [draws * (int(column.max()) // step) + 1 for column, step in zip(above, steps, strict=True)]
        return cls(origins=tuple(origins), steps=tuple(steps), radices=tuple(radices), draws=draws)

    @property
    def length(self) -> int:
        return math.prod(self.radices)

    @property
    def strides(self) -> list[int]:
        return [math.prod(self.radices[k + 1 :]) for k in range(len(self.radices))]

    def keyed(self, law: WholeLaw) -> Masses:
        """Return a law with one key per atom, in the order of its atoms."""
        kind = np.int64 if self.length < LARGEST_WHOLE else object
        keys = np.zeros(law.size, dtype=kind)
        for column, origin, step, stride in zip(law.columns, self.origins, self.steps, self.strides, strict=True):
            keys = keys + ((column - origin) // step).astype(kind) * stride
        return Masses(self.parted(keys), law.logs, law.error)

    def parted(self, keys: WholeArray) -> IntArray:
        """Return keys as whole numbers of 64 bits, or as several limbs each."""
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
        """Return the coordinates of sums of all draws."""
        whole = self.joined(keys)
        found: list[WholeArray] = []
        for origin, step, radix, stride in zip(self.origins, self.steps, self.radices, self.strides, strict=True):
            index = whole // stride % radix
            largest = self.draws * abs(origin) + step * radix
            index = index.astype(np.int64 if largest < LARGEST_WHOLE else object)
            found.append(self.draws * origin + step * index)
        return tuple(found)


def nearest_doubles(numerators: WholeArray, denominator: int) -> FloatArray:
    """Return whole numbers over a common denominator, each rounded once, as a release rounds them.

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
    if numerators.dtype != object and denominator < 2**53 and not np.any(np.abs(numerators) >= 2**53):
        return np.asarray(numerators / denominator, dtype=np.float64)
    return np.array([int(value) / denominator for value in numerators.tolist()], dtype=np.float64)


def n_fold(law: Atoms, n: int) -> Atoms:
    """Return the law of the sum of `n` independent draws from `law`.

    Parameters
    ----------
    law : Atoms
        Its coordinates are read as fractions with a denominator of at most 10^6 where those round to them (so 0.1 is
        one tenth), otherwise as the shortest decimals that do. Sums are those of the fractions: where answers are
        computed in another way, two of them that are different doubles may be one atom here.
    n : int
        At least 1.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`, however far out it lies.

    Raises
    ------
    LawError
        If `n` is no whole number of at least 1.
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
    (whole,), denominators = _read(law)
    return _written(summed((whole, n)), denominators)


def add(f: Atoms, g: Atoms) -> Atoms:
    """Return the law of the sum of two independent draws, one from each law.

    Parameters
    ----------
    f, g : Atoms
        Of one dimension, with coordinates read as in `n_fold`.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`.

    Raises
    ------
    SizeError
        If there are too many sums; found out before they are allocated.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, add
    >>> add(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 2], [0.5, 0.5])).support
    array([0., 1., 2., 3.])
    """
    (first, second), denominators = _read(f, g)
    return _written(summed((first, 1), (second, 1)), denominators)


def _read(*laws: Atoms) -> tuple[list[WholeLaw], list[int]]:
    """Return laws as numerators over a common denominator for each coordinate."""
    columns: list[WholeArray] = []
    denominators: list[int] = []
    for column in np.concatenate([law.points for law in laws]).T:
        exact = _fractions(column)
        denominators.append(math.lcm(*(value.denominator for value in exact)))
        whole = [value.numerator * (denominators[-1] // value.denominator) for value in exact]
        columns.append(np.array(whole, dtype=np.int64 if max(map(abs, whole)) < LARGEST_WHOLE else object))
    ends = np.cumsum([law.size for law in laws]).tolist()
    found = [
        WholeLaw(columns=tuple(column[end - law.size : end] for column in columns), logs=law.logs, error=law.error)
        for law, end in zip(laws, ends, strict=True)
    ]
    return found, denominators


def _written(law: WholeLaw, denominators: Sequence[int]) -> Atoms:
    columns = [nearest_doubles(*each) for each in zip(law.columns, denominators, strict=True)]
    return Atoms.from_logs(np.stack(columns, axis=1), law.logs, law.error)


def _fractions(column: FloatArray) -> list[Fraction]:
    numbers = [float(value) for value in column]
    simple = [Fraction(value).limit_denominator(MOST_DENOMINATOR) for value in numbers]
    if all(float(near) == value for near, value in zip(simple, numbers, strict=True)):
        return simple
    return [Fraction(repr(value)) for value in numbers]
