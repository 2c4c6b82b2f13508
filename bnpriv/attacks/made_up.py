"""Noise from NumPy's generator, for made-up answers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.noise.continuous import Noise


@final
@dataclass(frozen=True)
class NumpySampler:
    """Noise for made-up answers: it is neither exact nor secret."""

    random: np.random.Generator

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus Laplace noise."""
        return tuple((np.asarray(values) + self.random.laplace(0.0, scale, len(values))).tolist())

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus normal noise."""
        return tuple((np.asarray(values) + self.random.normal(0.0, scale, len(values))).tolist())

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus whole-number noise."""
        p = -np.expm1(-1 / scale)
        drawn = self.random.geometric(p, len(values)) - self.random.geometric(p, len(values))
        return tuple((np.asarray(values) + drawn).tolist())

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to ``limit - 1``."""
        return int(self.random.integers(limit))


def noisy(noise: Noise, exact: FloatArray, sampler: NumpySampler) -> FloatArray:
    """Return answers, of shape (draws, outputs), each with noise of its own."""
    return np.array([noise.sample(row, sampler) for row in exact.tolist()])
