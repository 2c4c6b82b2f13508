"""What the epsilon slider of a page needs, and its section."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.resources import files

from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.influence.losses import LEAST_MARGIN
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import Laplace
from bnpriv.errors import Refusal
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import LIMITS, Usefulness, UsefulnessWord
from bnpriv.render.document import Live, Paragraph, Section
from bnpriv.render.figures import bar_ends, bar_legend, noise_bar
from bnpriv.render.html import Html, data_block, element, facts, join
from bnpriv.text import Json, name_text, number_text
from bnpriv.views.calibration import is_weighted, narrowest
from bnpriv.views.report.advice import is_costly, least_noise
from bnpriv.views.report.analysis import quilt_calibration
from bnpriv.views.report.values import Analysis, ScaleCurve
from bnpriv.views.report.words import not_worked_out

# --------------------------------------------------------------------------------------------------
# What the slider of a page needs: the noise at other epsilons, as curves or as a table.
# --------------------------------------------------------------------------------------------------

SLIDER_DIGITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""What a slider of curves goes through in every power of ten."""

TABLE_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""What a slider of a table goes through: every epsilon is a calibration."""

SLOW_EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The same where every calibration takes quadratures or many draws."""


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


# --------------------------------------------------------------------------------------------------
# The epsilon slider: what a page needs to show noise, belief and usefulness at other epsilons by itself.
# --------------------------------------------------------------------------------------------------

VERDICTS: tuple[UsefulnessWord, ...] = ("exact", "sharp", "useful", "coarse", "useless", "unknown")

SLIDER_NOTE = "The HTML page of this report has an epsilon slider."


def slider_section(slider: Slider | Refusal) -> Section:
    """Return the slider with all that it moves, or why there is none."""
    title = "What another epsilon would do"
    if isinstance(slider, Refusal):
        return Section(title=title, blocks=(not_worked_out(slider),), id="slider-section")
    whose = " with the Markov quilt mechanism" if slider.curves else " with the best mechanism"
    script = files("bnpriv.views.report").joinpath("slider.js").read_text(encoding="utf-8")
    blocks = (Live(_body(slider), script), Paragraph(_note(slider), soft=True))
    return Section(title=f"{title}{whose}", blocks=blocks, id="slider-section")


def _body(slider: Slider) -> Html:
    best = slider.best
    outputs = {
        "scale": "Scale of the noise",
        "reason": "Decided by" if slider.curves else "Mechanism",
        "error": "Error",
        "belief": "A belief of 10 % becomes" if best.guarantee.with_belief else "Odds within a protected pair move by",
        "verdict": "Still useful?",
    }
    made = (
        element("label", "Epsilon, the budget in nats", for_="epsilon"),
        element("input", type="number", id="epsilon-number", min=0.001, max=100, step="any", aria_label="Epsilon"),
        element("input", type="range", id="epsilon", min=0, max=len(slider.epsilons) - 1, step=1),
        _bar(best),
        facts((question, element("span", id=f"out-{key}")) for key, question in outputs.items()),
    )
    return join(
        element("noscript", element("p", "The slider needs JavaScript; the tables do not.")),
        element("div", *made, class_="slider", hidden=True, id="slider"),
        data_block("slider-data", slider_data(slider)),
    )


def _note(slider: Slider) -> str:
    best = slider.best
    last = "A release uses the calibrated noise that is printed above; another epsilon needs another calibration."
    if slider.rows:
        between = "between them it shows the noise of the next smaller one"
        return f"The page knows the noise at {len(slider.rows)} epsilons, calibrated as above; {between}. {last}"
    return (
        "An illustration: the page itself recomputes the Laplace noise of the Markov quilt mechanism, to a few digits. "
        f"The calibrated scale of that mechanism is {number_text(best.scale)} at epsilon {best.epsilon:g}. {last}"
    )


def _bar(best: Calibration) -> Html:
    found = narrowest(best)
    if found is None:
        return Html()
    low, high, label = found
    ends = bar_ends(number_text(low), f"range of {label}", number_text(high))
    title, desc = "Noise at the chosen epsilon", "The noise against the range of the answer; it moves with the slider."
    return join(noise_bar(high - low, 0.0, title=title, desc=desc, live=True), ends, bar_legend("", live=True))


def slider_data(slider: Slider) -> Json:
    """Return what the script computes with."""
    best = slider.best
    dimension = best.noise.dimension
    unit = Laplace(1.0, dimension)
    found = narrowest(best)
    return {
        "asked": best.epsilon,
        "prior": odds.PRIOR if best.guarantee.with_belief else None,
        "models": best.guarantee.models,
        "epsilons": slider.epsilons,
        "margin": LEAST_MARGIN,
        "width": None if found is None else found[1] - found[0],
        "quantile": unit.quantile(0.95),
        "mean": unit.error().upper,
        "limits": [[limit, verdict] for limit, verdict in LIMITS],
        "words": {verdict: _sentence(verdict, best.useful) for verdict in VERDICTS},
        "curves": [
            {
                "who": name_text(curve.protected),
                "pair": str(curve.pair),
                "model": curve.model,
                "rows": [
                    [each.sensitivity, each.told, ", ".join(name_text(name) for name in sorted(each.near))]
                    for each in curve.candidates
                ],
            }
            for curve in slider.curves
        ],
        "rows": [_row(row) for row in slider.rows],
    }


def _sentence(verdict: UsefulnessWord, useful: Usefulness) -> list[str]:
    """Return what comes before and after the share in the sentence of a verdict."""
    parts = tuple(replace(part, verdict="unknown") for part in useful.parts)
    share = math.nan if verdict == "unknown" else 0.5
    return str(Usefulness(verdict, share, useful.outputs, parts)).split("50 %")


def _row(row: Calibration) -> Json:
    return {
        "scale": row.scale,
        "mean": row.expected_error,
        "reach": row.quantile(0.95),
        "share": None if math.isnan(row.useful.share) else row.useful.share,
        "verdict": row.useful.verdict,
        "moved": row.guarantee.moved_text(),
        "mechanism": str(row.mechanism),
    }
