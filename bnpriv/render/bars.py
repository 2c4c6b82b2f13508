"""Bars drawn to scale: noise against the range of an answer, and a released number with its interval.

The range always takes the same part of a bar, so that bars can be compared; what is longer than a bar is cut, and a
mark says so.
"""

from __future__ import annotations

from bnpriv.render import svg
from bnpriv.render.html import Html, element, legend
from bnpriv.render.text import rough_text, upper_percent

LENGTH, THICK = 1000.0, 46.0

WHOLE = 1.5
"""A bar is so many times as long as the range."""


def noise_bar(span: float, reach: float, *, title: str, desc: str, live: bool = False) -> Html:
    """Return the range of an answer, of length `span`, with the noise around its middle.

    Parameters
    ----------
    span : float
        Length of the range.
    reach : float
        The error that is rarely exceeded; the noise goes this far to both sides.
    title, desc : str
        What it is, and what it shows in words.
    live : bool
        Give the parts names by which a script can move them.
    """
    wide, noisy = noise_shares(span, reach)
    range_box = svg.rect((LENGTH * (1 - wide) / 2, 5), (LENGTH * wide, THICK - 10), "span")
    noise_box = svg.rect(
        (LENGTH * (1 - noisy) / 2, 14), (LENGTH * noisy, THICK - 28), "reach", id_="bar-reach" if live else None
    )
    middle = svg.line((LENGTH / 2, 0), (LENGTH / 2, THICK), "middle")
    cut = element("g", _mark(0), _mark(1), class_="cut", hidden=not is_cut(span, reach), id="bar-cut" if live else None)
    drawn = (range_box, noise_box, middle, *((cut,) if live or is_cut(span, reach) else ()))
    return svg.drawing((LENGTH, THICK), *drawn, title=title, desc=desc, class_="bar", stretch=True)


def noise_shares(span: float, reach: float) -> tuple[float, float]:
    """Return which shares of the bar the range and the noise take.

    Examples
    --------
    >>> span, reach = noise_shares(10.0, 2.5)
    >>> round(span, 3), round(reach, 3), noise_shares(10.0, 1000.0)[1]
    (0.667, 0.333, 1.0)
    """
    return 1 / WHOLE, min(1.0, 2 * reach / (WHOLE * span))


def is_cut(span: float, reach: float) -> bool:
    """Return whether the noise is longer than the bar."""
    return 2 * reach > WHOLE * span


def cut_text(span: float, reach: float) -> str:
    """Return how long the noise is, where the bar cannot show it.

    Examples
    --------
    >>> cut_text(10.0, 60.0), cut_text(10.0, 1.0)
    (', cut off in the drawing: 600 % of the range to either side', '')
    """
    return (
        f", cut off in the drawing: {upper_percent(reach / span)} of the range to either side"
        if is_cut(span, reach)
        else ""
    )


def influence_bar(nats: float, longest: float, *, title: str) -> Html:
    """Return an influence drawn against the longest finite one; what is not bounded goes to the end and is cut."""
    share = min(1.0, nats / longest) if longest else 1.0
    box = svg.rect((0, 12), (max(2.0, LENGTH * share), THICK - 24), "reach")
    cut = (_mark(1),) if nats > longest else ()
    desc = f"{rough_text(nats)} nats" if nats <= longest else "not bounded"
    return svg.drawing((LENGTH, THICK), box, *cut, title=title, desc=desc, class_="bar", stretch=True)


def _mark(end: float) -> Html:
    """Return a jagged line near the end of a bar: it goes on beyond."""
    x = LENGTH * (0.03 + 0.94 * end)
    points = ((x - 6, 8), (x + 6, 18), (x - 6, 28), (x + 6, 38))
    return element("path", d="M" + "L".join(f"{u:g},{v:g}" for u, v in points), class_="jag")


def bar_legend(span: str, reach: str, *, live: bool = False) -> Html:
    """Return what the two parts of the bar are."""
    named = element("span", reach, id="bar-reach-text" if live else None)
    return legend([("span", element("span", span)), ("reach", named)])


def bar_axis(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the axis on which numbers with these ranges are drawn: the ranges, and a quarter more on either side.

    Examples
    --------
    >>> bar_axis([(0.0, 10.0), (5.0, 20.0)])
    (-5.0, 25.0)
    """
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    margin = (WHOLE - 1) / 2 * (high - low)
    return low - margin, high + margin


def interval_bar(
    axis: tuple[float, float],
    ends: tuple[float, float],
    value: float,
    interval: tuple[float, float],
    *,
    title: str,
    desc: str,
) -> Html:
    """Return the range of an answer with a released number and its interval, all to scale on an axis."""
    low, length = axis[0], (axis[1] - axis[0]) or 1.0

    def at(x: float) -> float:
        return LENGTH * min(max((x - low) / length, 0.0), 1.0)

    def box(of: tuple[float, float], top: float, class_: str) -> Html:
        start = at(of[0])
        return svg.rect((start, top), (max(2.0, at(of[1]) - start), THICK - 2 * top), class_)

    cut = [_mark(end) for end, beyond in ((0, interval[0] < axis[0]), (1, interval[1] > axis[1])) if beyond]
    reach = () if interval[0] == interval[1] else (box(interval, 14, "reach"),)
    line = svg.line((at(value), 2), (at(value), THICK - 2), "value")
    parts = (box(ends, 5, "span"), *reach, *cut, line)
    return svg.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def interval_legend() -> Html:
    """Return what the parts of such a bar are."""
    return legend([("span", "what the answer can be"), ("reach", "interval"), ("value", "released number")])
