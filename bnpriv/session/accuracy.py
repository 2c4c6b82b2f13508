"""The least epsilon at which an answer is as accurate as it is asked to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast, final

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
    best: Calibration | None = None
    refusal: Refusal | None = None

    def ratio(epsilon: float) -> float:
        """How accurate a calibration is; 0 where there is none. The least epsilon that is enough is remembered."""
        nonlocal best, refusal
        try:
            found = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
        except (RefusedError, SizeError) as refused:
            refusal = Refusal.of(refused)
            return 0.0
        reached = accuracy.ratio(found)
        if reached >= 1 and (best is None or epsilon < best.epsilon):
            best = found
        return reached

    high = 1.0
    while ratio(high) < 1:
        if high >= LARGEST_EPSILON:
            return refusal or Refusal(
                required=f"the answer must err by at most {number_text(accuracy.error)}",
                found=f"a larger error up to epsilon {LARGEST_EPSILON:g}",
                remedy="Ask for a larger error.",
            )
        high = min(4 * high, LARGEST_EPSILON)
    low = high / 4
    while low >= LEAST_EPSILON and ratio(low) >= 1:
        low /= 16
    found = cast(Calibration, best)
    if low >= LEAST_EPSILON or ratio(low := LEAST_EPSILON) < 1:
        _narrow(ratio, low, min(high, found.epsilon))
    found = cast(Calibration, best)
    # the same with an epsilon of few digits, rounded up, where that is enough as well
    step = 10.0 ** (math.floor(math.log10(found.epsilon)) - 5)
    epsilon = float(f"{math.ceil(found.epsilon / step) * step:.6g}")
    try:
        short = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
    except (RefusedError, SizeError):
        return found
    return short if accuracy.ratio(short) >= 1 else found


def _narrow(ratio: Callable[[float], float], low: float, high: float) -> None:
    """Ask for ratios between two epsilons: by secants, as they are piecewise linear for quilts, inside a bracket."""
    below, above = ratio(low), ratio(high)
    for step in range(MOST_CALIBRATED):
        if high - low <= CLOSE * high:
            return
        guess = (low + high) / 2
        if step % 3 < 2 and math.isfinite(above) and above > below:
            guess = low + (1 - below) / (above - below) * (high - low)
        guess = min(max(guess, low * (1 + CLOSE / 2)), high * (1 - CLOSE / 2))
        found = ratio(guess)
        if found >= 1:
            high, above = guess, found
        else:
            low, below = guess, found
