"""A release as HTML, for a notebook and as a page; everything in it may be published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.mechanisms import Calibration
from bnpriv.mechanisms.pages import calibration_facts, calibration_sections, guarantee_quote, verdict_badge
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.bars import interval_bar, interval_legend
from bnpriv.render.html import Html, code, element, fragment, join, page, section, table

INTRO = "This page holds the released numbers and what was known before the data were touched; it may be published."


@final
@dataclass(frozen=True, kw_only=True)
class ShownNumber:
    """A released number as it is shown.

    Parameters
    ----------
    label : str
        What it is.
    value : float
    interval : (float, float)
    text, ends : str
        The number and the ends of its interval in the digits that the noise leaves meaningful; "" without noise.
    """

    label: str
    value: float
    interval: tuple[float, float]
    text: str
    ends: str


def release_page(calibration: Calibration, numbers: Sequence[ShownNumber], missing_rule: str) -> Html:
    """Return a page about one release."""
    return page(
        f"{calibration.query}: released",
        element("p", "bnpriv release", class_="kicker"),
        element("h1", code(str(calibration.query))),
        _numbers(calibration, numbers),
        _worth(calibration),
        element("p", INTRO, class_="soft"),
        calibration_facts(calibration),
        section("The guarantee", guarantee_quote(calibration)),
        section("Missing values", element("p", missing_rule)),
        *calibration_sections(calibration)[:-1],
    )


def release_fragment(calibration: Calibration, numbers: Sequence[ShownNumber]) -> Html:
    """Return what a notebook shows of a release."""
    title = element("h1", code(str(calibration.query)))
    return fragment(title, _numbers(calibration, numbers), _worth(calibration), guarantee_quote(calibration))


def _worth(calibration: Calibration) -> Html:
    """Return whether the numbers say anything: a published number looks like one."""
    return element("p", verdict_badge(calibration), " ", str(calibration.useful))


def _numbers(calibration: Calibration, numbers: Sequence[ShownNumber]) -> Html:
    """Return the numbers, each with its interval drawn on the range of its answer."""
    lower, upper = answer_range(calibration.query, calibration.framework.schema)
    ranges = [(float(low), float(high)) for low, high in zip(lower, upper, strict=True)]
    every = [end for pair in (*ranges, *(number.interval for number in numbers)) for end in pair]
    axis = (min(every), max(every))
    bars = [_bar(number, ends, axis) for number, ends in zip(numbers, ranges, strict=True)]
    if len(numbers) == 1:
        number = numbers[0]
        between = f"The exact answer lies between {number.ends} with 95 % probability."
        said = between if number.ends else "This is the exact answer: no noise was needed."
        return join(element("p", number.text, class_="big"), element("p", said), bars[0], interval_legend())
    rows = [
        (code(number.label), number.text, number.ends or "no noise", bar)
        for number, bar in zip(numbers, bars, strict=True)
    ]
    caption = "The released numbers; the intervals hold all the exact answers at once with 95 % probability"
    made = table(("number", "released", "between", "drawn to one scale"), rows, caption, numbers=(1,))
    return join(made, interval_legend())


def _bar(number: ShownNumber, ends: tuple[float, float], axis: tuple[float, float]) -> Html:
    if not all(map(math.isfinite, axis)):
        return Html()
    desc = f"Released {number.text}, between {number.ends or number.text}, range {ends[0]:,.6g} to {ends[1]:,.6g}."
    return interval_bar(axis, ends, number.value, number.interval, title=f"{number.label} on its range", desc=desc)
