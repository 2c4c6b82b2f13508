"""Columns whose records are normal about numbers that are affine in parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.bound import FloatArray


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NormalColumn:
    """A column whose records, given the parameters, are independent and normal with means affine in these.

    Parameters
    ----------
    drivers : tuple of str, length p
        The parameters that its means depend on.
    base : ndarray of shape (models, rows)
        Of every record what is left of its mean when all drivers are 0; one row, or model, stands for all.
    slopes : ndarray of shape (models, rows, p)
        By how much the mean of a record grows with each driver.
    deviation : ndarray of shape (models, rows)
        Of a record about its mean.
    """

    drivers: tuple[str, ...]
    base: FloatArray
    slopes: FloatArray
    deviation: FloatArray

    @property
    def rows(self) -> int:
        """Return how many records it has; 1 if all are alike."""
        return self.base.shape[1]

    def under(self, model: int) -> NormalColumn:
        """Return the same under one model alone."""
        one = slice(model, model + 1)
        base, slopes, deviation = (
            each if len(each) == 1 else each[one] for each in (self.base, self.slopes, self.deviation)
        )
        return NormalColumn(drivers=self.drivers, base=base, slopes=slopes, deviation=deviation)
