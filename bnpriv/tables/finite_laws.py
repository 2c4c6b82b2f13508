"""Laws of a column that are declared value by value, and what a query sees of a law."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.laws.base import FUNCTION_ERROR, magnitude
from bnpriv.tables.schema import Category

Classifier = Callable[[Any], Hashable]
"""What a query sees of a value of a column."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class CellMasses:
    """Probabilities of cells of a column that a query does not tell apart.

    Parameters
    ----------
    values : sequence of length V
        One value of each cell; cells that are alike for the query may come several times.
    logs : ndarray of shape (V,)
        Natural logs of the probabilities; ``-inf`` only where a probability is 0.
    error : float
        Largest absolute error of a log.
    """

    values: Sequence[Any]
    logs: FloatArray
    error: float


@final
@dataclass(frozen=True, kw_only=True)
class FiniteLaw:
    """A law on values that are declared one by one: categories, or numbers.

    Parameters
    ----------
    values : tuple of str, int, bool or float
    probabilities : tuple of float
        One per value, as declared; they sum to one to within 1e-9, by which they are divided where they are used.
    """

    values: tuple[Category | float, ...]
    probabilities: tuple[float, ...]

    def sample(self, records: int, random: np.random.Generator) -> NDArray[Any]:
        """Return `records` independent draws."""
        chosen = random.choice(len(self.values), size=records, p=self.atoms()[1])
        return np.array(self.values)[chosen]

    def cells(self, cuts: Iterable[float], told: Classifier) -> CellMasses:
        """Return the values one by one, with the logs of their probabilities; `cuts` and `told` make no difference."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.probabilities)) - math.log(math.fsum(self.probabilities))
        error = UNIT_ROUNDOFF * (FUNCTION_ERROR * (1 + magnitude(logs)) + 4)
        return CellMasses(values=self.values, logs=logs, error=error)

    def atoms(self, cuts: Iterable[float] = ()) -> tuple[NDArray[Any], FloatArray]:
        """Return the values and their probabilities; `cuts` make no difference."""
        kind = object if isinstance(self.values[0], (str, bool)) else np.float64
        return np.array(self.values, dtype=kind), np.array(self.probabilities) / math.fsum(self.probabilities)


def between(low: float, high: float) -> float | Fraction:
    """Return a number strictly between two, which no double may be; as a double it is then the lower one."""
    middle = (low + high) / 2
    return middle if low < middle < high else Fraction(low) + (Fraction(high) - Fraction(low)) / 4
