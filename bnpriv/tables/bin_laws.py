"""The laws of numbers inside the bins of a column, and mixtures of them over the bins; docs/claims/bins.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.laws.base import FUNCTION_ERROR
from bnpriv.tables.finite_laws import CellMasses, Classifier, FiniteLaw, between
from bnpriv.tables.schema import Binned

MOST_LISTED_NUMBERS = 4096
"""Whole numbers of a bin whose probabilities are written one by one."""

PIECES_OF_A_BIN = 256
"""Pieces of a bin that stand for its numbers where means are approximated."""

LEAST_NORMAL = 2.0**-1000
"""Probabilities above it are rounded once when they become doubles."""


@final
@dataclass(frozen=True, kw_only=True)
class UniformLaw:
    """Numbers that lie evenly between two ends, or evenly on the whole numbers from one to the other.

    Parameters
    ----------
    lower, upper : float
        Whole numbers, both possible, if `whole`.
    whole : bool
    """

    lower: float
    upper: float
    whole: bool

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """Return `records` independent draws."""
        if self.whole:
            return random.integers(int(self.lower), int(self.upper) + 1, size=records)
        drawn = self.lower + (self.upper - self.lower) * random.random(records)
        return np.clip(drawn, self.lower, math.nextafter(self.upper, -math.inf))

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """Return the cells that a query does not tell apart, with the logs of their exact probabilities."""
        values: list[Any] = []
        masses: list[Fraction] = []
        mark: object = None
        for value, mass in self._pieces(cuts):
            found = told(value)
            if masses and found == mark:
                masses[-1] += mass
            else:
                values.append(value)
                masses.append(mass)
            mark = found
        logs, errors = zip(*map(_log, masses), strict=True)
        return CellMasses(values=values, logs=np.array(logs), error=max(errors))

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Return values that stand for small pieces, none on both sides of a cut, and their probabilities."""
        fine = np.linspace(float(self.lower), float(self.upper), PIECES_OF_A_BIN + 1).tolist()
        ends = self._ends([*cuts, *fine])
        half = Fraction(self.whole, 2)
        values = [float((Fraction(low) + Fraction(high)) / 2 - half) for low, high in pairwise(ends)]
        widths = np.array([float(high - low) for low, high in pairwise(ends)])
        return np.array(values), widths / widths.sum()

    def _ends(self, cuts: Iterable[float]) -> list[float]:
        """Return where pieces begin, and the end of the last one; whole numbers from one begin to the next."""
        if not self.whole:
            return sorted({self.lower, *(cut for cut in cuts if self.lower < cut < self.upper), self.upper})
        first, last = int(self.lower), int(self.upper)
        starts = {n for cut in cuts for n in (math.ceil(cut), math.floor(cut) + 1) if first < n <= last}
        return [first, *sorted(starts), last + 1]

    def _pieces(self, cuts: Iterable[float]) -> list[tuple[Any, Fraction]]:
        """Return a value of each piece between cuts, and its probability."""
        ends = self._ends(cuts)
        width = Fraction(ends[-1]) - Fraction(ends[0])
        return [
            (low if self.whole else between(low, high), (Fraction(high) - Fraction(low)) / width)
            for low, high in pairwise(ends)
        ]


@final
@dataclass(frozen=True, kw_only=True)
class MixedLaw:
    """The law of a number whose bin has declared probabilities.

    Parameters
    ----------
    parts : tuple of FiniteLaw or UniformLaw
        The law inside each bin.
    probabilities : tuple of float
        One per bin, as declared; they sum to one to within 1e-9, by which they are divided where they are used.
    """

    parts: tuple[FiniteLaw | UniformLaw, ...]
    probabilities: tuple[float, ...]

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """Return `records` independent draws."""
        masses = np.array(self.probabilities) / math.fsum(self.probabilities)
        places = random.choice(len(self.parts), size=records, p=masses)
        drawn = [part.sample(int(np.count_nonzero(places == k)), random) for k, part in enumerate(self.parts)]
        values = np.empty(records, dtype=np.result_type(*(part.dtype for part in drawn)))
        for k, part in enumerate(drawn):
            values[places == k] = part
        return values

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """Return the cells of all bins with positive probability, with the logs of their probabilities."""
        cut = list(cuts)
        total = math.log(math.fsum(self.probabilities))
        tables = [(part.cells(cut, told), math.log(p) - total) for part, p in self._possible]
        largest = max(abs(log) for _, log in tables)
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + largest) + 8 + largest)
        logs = np.concatenate([table.logs + log for table, log in tables])
        rounding = UNIT_ROUNDOFF * float(np.max(np.abs(logs[np.isfinite(logs)]), initial=0.0))
        return CellMasses(
            values=[value for table, _ in tables for value in table.values],
            logs=logs,
            error=max(table.error for table, _ in tables) + error + rounding,
        )

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Return values that stand for small pieces, none on both sides of a cut, and their probabilities."""
        cut = list(cuts)
        found = [(*part.atoms(cut), p / math.fsum(self.probabilities)) for part, p in self._possible]
        return np.concatenate([v for v, _, _ in found]), np.concatenate([masses * p for _, masses, p in found])

    @property
    def _possible(self) -> list[tuple[FiniteLaw | UniformLaw, float]]:
        return [(part, p) for part, p in zip(self.parts, self.probabilities, strict=True) if p > 0]


def _log(mass: Fraction) -> tuple[float, float]:
    """Return the log of an exact probability, and its largest error; also of one that is below every double."""
    if mass > LEAST_NORMAL:
        found = math.log(float(mass))
        return found, UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + abs(found)) + 4)
    above, below = math.log(mass.numerator), math.log(mass.denominator)
    return above - below, UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + above + below) + 4)


def laws_inside(column: Binned) -> Sequence[FiniteLaw | UniformLaw]:
    """Return the law of a number given its bin, for every bin.

    Examples
    --------
    >>> laws_inside(Binned([0, 1, 3], within="whole numbers"))[1].values
    (1, 2, 3)
    """
    return [_law_inside(column, label) for label in column.labels]


def _law_inside(column: Binned, label: str) -> FiniteLaw | UniformLaw:
    law, (lower, upper) = column.inside(label), column.ends(label)
    if not isinstance(law, str):
        return FiniteLaw(values=tuple(law), probabilities=tuple(law.values()))
    if law == "uniform":
        return UniformLaw(lower=lower, upper=upper, whole=False)
    last = int(upper) if upper == column.upper else int(upper) - 1
    count = last + 1 - int(lower)
    if count > MOST_LISTED_NUMBERS:
        return UniformLaw(lower=int(lower), upper=last, whole=True)
    return FiniteLaw(values=tuple(range(int(lower), last + 1)), probabilities=(1 / count,) * count)
