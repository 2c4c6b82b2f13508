"""Bars drawn to scale: noise against the range of an answer, and a released number with its interval."""

from __future__ import annotations

from bnpriv.render import svg
from bnpriv.render.html import Html, element

LENGTH, THICK = 1000.0, 46.0


def noise_bar(
    span: float, reach: float, *, title: str, desc: str, live: bool = False, whole: float | None = None
) -> Html:
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
    whole : float, optional
        The length for which the bar stands; by default that of its longer part.
    """
    wide, noisy = noise_shares(span, reach, whole)
    range_box = svg.rect(
        (LENGTH * (1 - wide) / 2, 5), (LENGTH * wide, THICK - 10), "span", id_="bar-span" if live else None
    )
    noise_box = svg.rect(
        (LENGTH * (1 - noisy) / 2, 14), (LENGTH * noisy, THICK - 28), "reach", id_="bar-reach" if live else None
    )
    middle = svg.line((LENGTH / 2, 0), (LENGTH / 2, THICK), "middle")
    return svg.drawing(
        (LENGTH, THICK), range_box, noise_box, middle, title=title, desc=desc, class_="bar", stretch=True
    )


def noise_shares(span: float, reach: float, whole: float | None = None) -> tuple[float, float]:
    """Return which shares of the bar the range and the noise take.

    Examples
    --------
    >>> span, reach = noise_shares(10.0, 10.0)
    >>> round(span, 3), round(reach, 3)
    (0.48, 0.96)
    """
    length = (whole or max(span, 2 * reach)) / 0.96
    return span / length, 2 * reach / length


def bar_legend(span: str, reach: str, *, live: bool = False) -> Html:
    """Return what the two parts of the bar are."""
    reach_id = "bar-reach-text" if live else None
    return element(
        "ul",
        element("li", element("span", class_="swatch span"), element("span", span)),
        element("li", element("span", class_="swatch reach"), element("span", reach, id=reach_id)),
        class_="legend row",
    )


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
        return LENGTH * (0.02 + 0.96 * (x - low) / length)

    parts = (
        svg.rect((at(ends[0]), 5), (max(2.0, at(ends[1]) - at(ends[0])), THICK - 10), "span"),
        svg.rect((at(interval[0]), 14), (max(2.0, at(interval[1]) - at(interval[0])), THICK - 28), "reach"),
        svg.line((at(value), 2), (at(value), THICK - 2), "value"),
    )
    return svg.drawing((LENGTH, THICK), *parts, title=title, desc=desc, class_="bar", stretch=True)


def interval_legend() -> Html:
    """Return what the parts of such a bar are."""
    parts = (("span", "what the answer can be"), ("reach", "interval"), ("value", "released number"))
    rows = (element("li", element("span", class_=f"swatch {kind}"), meaning) for kind, meaning in parts)
    return element("ul", *rows, class_="legend row")
