"""The least epsilon at which an answer is as accurate as it is asked to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from bnpriv.checks import LARGEST_EPSILON, LEAST_EPSILON
from bnpriv.errors import Refusal, RefusedError, SizeError
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.base import Calibration, Mechanism
from bnpriv.queries.base import Query
from bnpriv.render.text import number_text

CLOSE = 1e-6
"""Relative distance from the least epsilon at which the search ends."""

MOST_CALIBRATED = 60
"""Calibrations of one mechanism for one question."""


@final
@dataclass(frozen=True, kw_only=True)
class AskedAccuracy:
    """How accurate an answer is asked to be.

    Parameters
    ----------
    error : float
        What no number of the answer is to miss by more, in its unit.
    probability : float
        How often that is to hold, over the noise.
    """

    error: float
    probability: float

    def ratio(self, calibration: Calibration) -> float:
        """Return the error that is asked for over that of a calibration: at least 1 where it is reached."""
        missed = calibration.quantile(self.probability)
        return self.error / missed if missed > 0 else math.inf


def least_calibration(
    mechanism: Mechanism, framework: Framework, query: Query, accuracy: AskedAccuracy, delta: float = 0.0
) -> Calibration | Refusal:
    """Return the calibration of least epsilon that is accurate enough, or why there is none.

    Parameters
    ----------
    mechanism : Mechanism
    framework : Framework
    query : Query
    accuracy : AskedAccuracy
    delta : float
    """
    search = _LeastEpsilon(mechanism=mechanism, framework=framework, query=query, accuracy=accuracy, delta=delta)
    return search.least()


@dataclass(kw_only=True)
class _LeastEpsilon:
    """Secants on the ratio of errors, which is piecewise linear for quilts, kept inside a bracket."""

    mechanism: Mechanism
    framework: Framework
    query: Query
    accuracy: AskedAccuracy
    delta: float
    refusal: Refusal | None = None
    best: Calibration | None = None

    def least(self) -> Calibration | Refusal:
        high = self._reached_from(1.0)
        if high is None:
            return self.refusal or Refusal(
                required=f"the answer must err by at most {number_text(self.accuracy.error)}",
                found=f"a larger error up to epsilon {LARGEST_EPSILON:g}",
                remedy="Ask for a larger error.",
            )
        low = self._not_reached_below(high)
        if low is not None:
            self._narrow(low, min(high, self._of_best()))
        found = self.best
        assert found is not None
        return self._with_few_digits(found)

    def _of_best(self) -> float:
        return math.inf if self.best is None else self.best.epsilon

    def _ratio(self, epsilon: float) -> float:
        """Return how accurate a calibration is; 0 where there is none. Remember the least epsilon that is enough."""
        try:
            found = self.mechanism.calibrate(self.framework, self.query, epsilon=epsilon, delta=self.delta)
        except (RefusedError, SizeError) as refused:
            self.refusal = Refusal.of(refused)
            return 0.0
        ratio = self.accuracy.ratio(found)
        if ratio >= 1 and epsilon < self._of_best():
            self.best = found
        return ratio

    def _reached_from(self, start: float) -> float | None:
        epsilon = start
        while self._ratio(epsilon) < 1:
            if epsilon >= LARGEST_EPSILON:
                return None
            epsilon = min(4 * epsilon, LARGEST_EPSILON)
        return epsilon

    def _not_reached_below(self, high: float) -> float | None:
        epsilon = high / 4
        while epsilon >= LEAST_EPSILON:
            if self._ratio(epsilon) < 1:
                return epsilon
            epsilon /= 16
        return None if self._ratio(LEAST_EPSILON) >= 1 else LEAST_EPSILON

    def _narrow(self, low: float, high: float) -> None:
        below, above = self._ratio(low), self._ratio(high)
        for step in range(MOST_CALIBRATED):
            if high - low <= CLOSE * high:
                return
            guess = (low + high) / 2
            if step % 3 < 2 and math.isfinite(above) and above > below:
                guess = low + (1 - below) / (above - below) * (high - low)
            guess = min(max(guess, low * (1 + CLOSE / 2)), high * (1 - CLOSE / 2))
            ratio = self._ratio(guess)
            if ratio >= 1:
                high, above = guess, ratio
            else:
                low, below = guess, ratio

    def _with_few_digits(self, found: Calibration) -> Calibration:
        """Return the same with an epsilon of few digits, rounded up, where that is enough as well."""
        step = 10.0 ** (math.floor(math.log10(found.epsilon)) - 5)
        epsilon = float(f"{math.ceil(found.epsilon / step) * step:.6g}")
        try:
            short = self.mechanism.calibrate(self.framework, self.query, epsilon=epsilon, delta=self.delta)
        except (RefusedError, SizeError):
            return found
        return short if self.accuracy.ratio(short) >= 1 else found
