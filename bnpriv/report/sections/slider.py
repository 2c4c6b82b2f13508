"""The epsilon slider: what a page needs to show noise, belief and usefulness at other epsilons by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.resources import files

from bnpriv.errors import Refusal
from bnpriv.frameworks import odds
from bnpriv.influence.losses import LEAST_MARGIN
from bnpriv.mechanisms.answer import narrowest
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.usefulness import LIMITS, Usefulness, UsefulnessWord
from bnpriv.noise.continuous import Laplace
from bnpriv.render.bars import WHOLE, bar_legend, noise_bar
from bnpriv.render.document import Live, Paragraph, Section
from bnpriv.render.html import Html, data_block, element, facts, join
from bnpriv.render.text import Json, name_text, number_text
from bnpriv.report.slider import Slider
from bnpriv.report.words import not_worked_out

VERDICTS: tuple[UsefulnessWord, ...] = ("exact", "sharp", "useful", "coarse", "useless", "unknown")

SLIDER_NOTE = "The HTML page of this report has an epsilon slider."


def slider_section(slider: Slider | Refusal) -> Section:
    """Return the slider with all that it moves, or why there is none."""
    title = "What another epsilon would do"
    if isinstance(slider, Refusal):
        return Section(title=title, blocks=(not_worked_out(slider),), id="slider-section")
    whose = " with the Markov quilt mechanism" if slider.curves else " with the best mechanism"
    script = files("bnpriv.report").joinpath("slider.js").read_text(encoding="utf-8")
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
    span = f"range of {label}: {number_text(low)} to {number_text(high)}"
    title, desc = "Noise at the chosen epsilon", "The noise against the range of the answer; it moves with the slider."
    return join(noise_bar(high - low, 0.0, title=title, desc=desc, live=True), bar_legend(span, "", live=True))


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
        "whole": WHOLE,
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
