"""The epsilon slider: what a page needs to recompute noise, belief and usefulness by itself."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bnpriv.frameworks import odds
from bnpriv.mechanisms import Calibration, Usefulness
from bnpriv.mechanisms.pages import narrowest
from bnpriv.mechanisms.quilt_scales import LEAST_MARGIN
from bnpriv.mechanisms.usefulness import LIMITS, Verdict
from bnpriv.noise.continuous import Laplace
from bnpriv.render import Json
from bnpriv.render.bars import WHOLE, bar_legend, noise_bar
from bnpriv.render.html import Html, data_block, element, facts, join, section
from bnpriv.render.text import name_text, number_text
from bnpriv.report.curves import Curve
from bnpriv.report.values import quilt_calibration

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport

VERDICTS: tuple[Verdict, ...] = ("exact", "sharp", "useful", "coarse", "useless", "unknown")

STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""What the slider goes through in every power of ten."""


@cache
def _script() -> str:
    return files("bnpriv.report").joinpath("slider.js").read_text(encoding="utf-8")


def slider_script(report: InfluenceReport) -> str:
    """Return the script of the page; empty when there is nothing to slide."""
    return _script() if _has_slider(report) else ""


def _has_slider(report: InfluenceReport) -> bool:
    return report.curves is not None and quilt_calibration(report.plan) is not None


def slider_section(report: InfluenceReport) -> Html:
    """Return the slider with all that it moves, or why there is none."""
    title = "What another epsilon would do with the Markov quilt mechanism"
    best = quilt_calibration(report.plan)
    if best is None or report.curves is None:
        why = "There is no slider for this query: its noise depends on epsilon in too many ways for a page to compute."
        return section(title, element("p", why))
    made = (
        element("label", "Epsilon, the budget in nats", for_="epsilon"),
        element("input", type="number", id="epsilon-number", min=0.001, max=100, step="any", aria_label="Epsilon"),
        element("input", type="range", id="epsilon", min=0, max=len(epsilons(best.epsilon)) - 1, step=1),
        _bar(best),
        facts(tuple((question, element("span", id=f"out-{key}")) for key, question in _outputs(best))),
    )
    note = (
        "An illustration: the page itself recomputes the Laplace noise of the Markov quilt mechanism, to a few digits. "
        f"The calibrated scale of that mechanism is {number_text(best.scale)} at epsilon {best.epsilon:g}. "
        f"{_less(report)}A release uses the calibrated noise that is printed above; another epsilon needs another "
        "calibration."
    )
    return section(
        title,
        element("noscript", element("p", "The slider needs JavaScript; the tables do not.")),
        element("div", *made, class_="slider", hidden=True, id="slider"),
        element("p", note, class_="small soft"),
        data_block("slider-data", slider_data(report.curves, best)),
        id_="slider-section",
    )


def _less(report: InfluenceReport) -> str:
    """Return which mechanism needs less noise than the one that is shown, if any does."""
    if report.plan is None or report.plan.best is quilt_calibration(report.plan):
        return ""
    best = report.plan.best
    return f"{best.mechanism} errs less there, with a scale of {number_text(best.scale)}. "


def _outputs(best: Calibration) -> tuple[tuple[str, str], ...]:
    moved = "A belief of 10 % becomes" if best.guarantee.with_belief else "Odds within a protected pair move by"
    return (
        ("scale", "Scale of the noise"),
        ("reason", "Decided by"),
        ("error", "Error"),
        ("belief", moved),
        ("verdict", "Still useful?"),
    )


def _bar(best: Calibration) -> Html:
    found = narrowest(best)
    if found is None:
        return Html()
    low, high, label = found
    span = f"range of {label}: {number_text(low)} to {number_text(high)}"
    title, desc = "Noise at the chosen epsilon", "The noise against the range of the answer; it moves with the slider."
    bar = noise_bar(high - low, 0.0, title=title, desc=desc, live=True)
    return join(bar, bar_legend(span, "", live=True))


def epsilons(asked: float) -> list[float]:
    """Return the values of the slider, the one that was asked for among them."""
    steps = {round(step * 10.0**power, 10) for power in (-2, -1, 0) for step in STEPS} | {10.0, asked}
    return sorted(steps)


def slider_data(curves: tuple[Curve, ...], best: Calibration) -> Json:
    """Return what the script computes with."""
    dimension = best.query.dimension(best.framework.schema)
    unit = Laplace(1.0, dimension)
    found = narrowest(best)
    return {
        "asked": best.epsilon,
        "prior": odds.PRIOR if best.guarantee.with_belief else None,
        "models": best.guarantee.models,
        "epsilons": epsilons(best.epsilon),
        "whole": WHOLE,
        "margin": LEAST_MARGIN,
        "width": None if found is None else found[1] - found[0],
        "quantile": unit.quantile(0.95),
        "mean": unit.error().upper,
        "limits": [[limit, verdict] for limit, verdict in LIMITS],
        "words": {verdict: _sentence(verdict, dimension) for verdict in VERDICTS},
        "curves": [_curve(curve) for curve in curves],
    }


def _sentence(verdict: Verdict, outputs: int) -> list[str]:
    """Return what comes before and after the share in the sentence of a verdict."""
    return str(Usefulness(verdict, math.nan if verdict == "unknown" else 0.0, outputs)).split("0 %")


def _curve(curve: Curve) -> Json:
    rows = [
        [choice.sensitivity, choice.told, ", ".join(name_text(name) for name in sorted(choice.near))]
        for choice in curve.candidates
    ]
    return {"who": name_text(curve.protected), "pair": str(curve.pair), "model": curve.model, "rows": rows}
