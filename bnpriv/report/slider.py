"""What the slider of a page needs: the noise at other epsilons, as curves or as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.errors import Refusal
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.verdict import is_weighted
from bnpriv.report.advice import is_costly, least_noise
from bnpriv.report.analysis import quilt_calibration
from bnpriv.report.curves import ScaleCurve
from bnpriv.report.values import Analysis

SLIDER_DIGITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""What a slider of curves goes through in every power of ten."""

TABLE_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""What a slider of a table goes through: every epsilon is a calibration."""

SLOW_EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The same where every calibration takes quadratures or many draws."""


@final
@dataclass(frozen=True, kw_only=True)
class Slider:
    """The noise at other epsilons.

    Parameters
    ----------
    best : Calibration
        Whose noise is shown at the epsilon that was asked for.
    curves : tuple of Curve
        From which the noise of quilts follows at every epsilon; empty where there is a table.
    rows : tuple of Calibration
        By growing epsilon, at each the calibration with the least expected error; empty where there are curves.
    """

    best: Calibration
    curves: tuple[ScaleCurve, ...] = ()
    rows: tuple[Calibration, ...] = ()

    @property
    def epsilons(self) -> list[float]:
        """The values of the slider, the one that was asked for among them."""
        if self.rows:
            return [row.epsilon for row in self.rows]
        steps = {round(step * 10.0**power, 10) for power in (-2, -1, 0) for step in SLIDER_DIGITS}
        return sorted(steps | {10.0, self.best.epsilon})


def slider_of(report: Analysis) -> Slider | Refusal | None:
    """Return what a slider shows, why there is none, or None where no noise was calibrated."""
    if report.plan is None or report.best is None:
        return None
    by_quilts = quilt_calibration(report.plan)
    weighted = is_weighted(report.best)  # other epsilons may have other weights
    if report.curves is not None and by_quilts is report.best and by_quilts is not None and not weighted:
        return Slider(best=by_quilts, curves=report.curves)
    rows = _rows(report.plan, report.best)
    if len(rows) < 2:
        return Refusal(
            required="a slider needs noise at more than one epsilon",
            found="one epsilon at which any mechanism gives a guarantee",
            remedy="Calibrate at the epsilon that you need.",
        )
    return Slider(best=report.best, rows=rows)


def _rows(plan: Plan, best: Calibration) -> tuple[Calibration, ...]:
    """Return the best calibration at every step; only mechanisms that support what was asked are tried."""
    costly = is_costly(plan)
    levels = sorted({*(SLOW_EPSILONS if costly else TABLE_EPSILONS), best.epsilon})
    found = [
        best if level == best.epsilon else least_noise(plan, best.framework, best.query, level, best.delta)
        for level in levels
    ]
    return tuple(row for row in found if row is not None)
