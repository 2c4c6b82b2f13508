"""HTML that cannot be broken out of: text is escaped unless it was built here."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from bnpriv.digest import sha256
from bnpriv.text import Json, in_order, shorten, visible

VOID = frozenset({"br", "hr", "input", "meta"})
LONGEST_NAME = 40

PERCENT = re.compile("([0-9]) %")
"""A number stays on one line with its sign."""


TAG = re.compile("<[^>]*>")


class Html(str):
    """Markup that may stand in a page as it is; everything else is text, and is escaped."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Return text as markup; markup stays as it is.

    Examples
    --------
    >>> print(escape('<script>"&'))
    &lt;script&gt;&quot;&amp;
    """
    return text if isinstance(text, Html) else Html(PERCENT.sub(r"\1&nbsp;%", html.escape(visible(text))))


def join(*parts: str) -> Html:
    """Return the parts one after the other, escaped unless they are markup."""
    return Html("".join(map(escape, parts)))


def element(tag: str, *children: str, **attributes: str | float | bool | None) -> Html:
    """Return an element; children and the values of attributes are escaped.

    Parameters
    ----------
    tag : str
        Its name.
    *children : str or Html
        Text, which is escaped, or markup.
    **attributes : str, float, bool or None
        ``class_`` stands for ``class`` and ``stroke_width`` for ``stroke-width``; True is an attribute without a
        value, and None or False no attribute at all.

    Examples
    --------
    >>> print(element("p", "a < b", element("br"), class_="x", title='"', hidden=False))
    <p class="x" title="&quot;">a &lt; b<br></p>
    """
    opened = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Html(f"<{tag}{opened}>")
    return Html(f"<{tag}{opened}>{join(*children)}</{tag}>")


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = value if isinstance(value, str) else f"{value:.6g}"
    return f' {name}="{html.escape(visible(shown))}"'


def name(text: str, most: int = LONGEST_NAME) -> Html:
    """Return a name in its own direction; a long one is shortened and shows itself in full to whoever points at it.

    Examples
    --------
    >>> print(name("sat"))
    <bdi class="name">sat</bdi>
    """
    plain = visible(text)
    short = shorten(plain, most)
    return element("bdi", short, class_="name", title=None if short == plain else plain)


def names(texts: Iterable[str], most: int = 12, nothing: str = "none") -> Html:
    """Return names in a row, sorted; after `most` of them, how many more there are, which can be unfolded."""
    every = [name(text) for text in in_order(texts)]
    if not every:
        return element("span", nothing, class_="nothing")
    shown = Html(", ".join(every[:most]))
    if len(every) <= most:
        return shown
    more = element("summary", f"and {len(every) - most} more")
    return join(shown, " ", element("details", more, Html(", ".join(every[most:])), class_="more"))


def code(text: str) -> Html:
    """Return a query or a call as code."""
    return element("code", element("bdi", text))


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str, *, numbers: Sequence[int] = (), class_: str = ""
) -> Html:
    """Return a table that scrolls inside itself where the page is too narrow.

    Parameters
    ----------
    header : sequence of str
        One heading per column; the first cell of every row is the heading of the row.
    rows : iterable of sequence of str
        Text or markup.
    caption : str
        What the table shows.
    numbers : sequence of int
        The columns that are set flush right.
    class_ : str
        Class of the table.
    """
    # A narrow screen sets the cells of a row below each other, each with its heading.
    labels = [html.unescape(TAG.sub("", cell)) if isinstance(cell, Html) else cell for cell in header]
    right = ["number" if k in numbers else None for k in range(len(header))]
    head = [
        element("th", cell, scope="col", class_=side) if cell else element("td")
        for cell, side in zip(header, right, strict=True)
    ]
    body = [
        element(
            "tr",
            *(
                element(
                    "td" if k else "th",
                    cell,
                    scope=None if k else "row",
                    class_=right[k],
                    data_label=labels[k] if k else None,
                )
                for k, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    return captioned(caption, element("thead", element("tr", *head)), element("tbody", *body), class_=class_ or None)


def captioned(caption: str, *rows: Html, class_: str | None) -> Html:
    """Return a table in a box that scrolls; its caption is shown above the box, where it does not scroll away."""
    inner = element("table", element("caption", caption, class_="unseen"), *rows, class_=class_)
    shown = element("p", caption, class_="caption", aria_hidden="true")
    return join(shown, scroller(inner, caption))


def scroller(inner: Html, label: str) -> Html:
    """Return a box that scrolls sideways by itself, with the keyboard too."""
    return element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Return questions with their answers."""
    pairs = (element("div", element("dt", question), element("dd", answer)) for question, answer in rows)
    return element("dl", *pairs, class_="facts")


def badge(text: str, tone: str) -> Html:
    """Return a word in a box; `tone` is good, fair, poor or plain."""
    return element("span", text, class_=f"badge {tone}")


def legend(entries: Iterable[tuple[str, str]], class_: str = "legend row") -> Html:
    """What the colours and lines of a drawing mean: for every (class of its swatch, meaning) a line."""
    rows = (element("li", element("span", class_=f"swatch {kind}"), meaning) for kind, meaning in entries)
    return element("ul", *rows, class_=class_)


def data_block(id_: str, value: Json | Sequence[object]) -> Html:
    """Return values for the page's script, as JSON that cannot end its own element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    for letter in "<>&":  # they occur in strings only, where JSON allows this spelling
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return element("script", Html(text), type="application/json", id=id_)


@cache
def style() -> str:
    """Return the style of all pages and fragments; it touches nothing outside elements of the class bnpriv."""
    return files("bnpriv.render").joinpath("page.css").read_text(encoding="utf-8")


def fragment(*body: str) -> Html:
    """Return what a notebook shows: the body with its style, without any script; a dollar sign starts no formula."""
    return element(
        "div", element("style", Html(style())), *body, class_="bnpriv fragment tex2jax_ignore mathjax_ignore"
    )


def page(title: str, *body: str, script: str = "") -> Html:
    """Return a whole page that loads nothing and runs no script but `script`, whatever its texts hold.

    Parameters
    ----------
    title : str
        Its title.
    *body : str or Html
        Text or markup.
    script : str
        JavaScript of ours, not of a user.
    """
    digest = b64encode(bytes.fromhex(sha256(script))).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(f"body{{margin:0}}\n{style()}")),
    )
    main = element("div", element("main", *body), class_="bnpriv page")
    last = element("script", Html(script)) if script else Html()
    return Html(f"<!doctype html>\n{element('html', head, element('body', main, last), lang='en')}\n")


# --------------------------------------------------------------------------------------------------
# Primitives of inline SVG; colours come from classes, so that light and dark are the page's business.
# --------------------------------------------------------------------------------------------------

Point = tuple[float, float]

FIGURE_WIDTH = 640.0
"""Width of a chart, in its own units; the page scales it."""

SIDE_MARGIN = 12.0
"""Left and right of the panels of a chart."""

BOTH_SECRETS = ("first", "second")
"""Classes of what is drawn for the first and for the second of two secrets."""


def drawing(
    size: Point, *children: Html, title: str, desc: str, class_: str, stretch: bool = False, least: float = 0.0
) -> Html:
    """Return an SVG element with the title and the description that a screen reader reads out.

    Parameters
    ----------
    size : (float, float)
        Width and height in its own units.
    *children : Html
        What is drawn.
    title, desc : str
        What it is, and what it shows in words.
    class_ : str
        Class of the element.
    stretch : bool
        Let it fill its box without keeping its proportions; for bars without text.
    """
    body = join(*children)
    # Ids are shared by all that stands in a page, also by what other cells of a notebook show.
    mark = sha256(f"{title}{desc}{body}")[:12]
    return element(
        "svg",
        element("title", title, id=f"t{mark}"),
        element("desc", desc, id=f"d{mark}"),
        body,
        viewBox=f"0 0 {size[0]:.6g} {size[1]:.6g}",
        width=None if stretch else size[0],
        height=None if stretch else size[1],
        preserveAspectRatio="none" if stretch else None,
        role="img",
        aria_labelledby=f"t{mark} d{mark}",
        class_=class_,
        xmlns="http://www.w3.org/2000/svg",
    )


def rect(corner: Point, size: Point, class_: str, radius: float | None = None, id_: str | None = None) -> Html:
    """Return a rectangle."""
    (x, y), (w, h) = corner, size
    return element("rect", x=x, y=y, width=w, height=h, rx=radius, class_=class_, id=id_)


def line(start: Point, end: Point, class_: str, id_: str | None = None) -> Html:
    """Return a straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_, id=id_)


def text(at: Point, content: str, class_: str, title: str | None = None) -> Html:
    """Return a line of text centred at a point."""
    hint = () if title is None else (element("title", title),)
    return element("text", content, *hint, x=at[0], y=at[1], class_=class_)


def inside(x: float) -> float:
    """A place for a label that keeps within a figure."""
    return min(max(x, SIDE_MARGIN + 24), FIGURE_WIDTH - SIDE_MARGIN - 24)


def curve(points: Sequence[Point], class_: str) -> Html:
    """Return a smooth line through points from top to bottom; it leaves and enters each of them vertically."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for u, v in rest:
        middle = (y + v) / 2
        path += f"C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}"
        x, y = u, v
    return element("path", d=path, class_=class_)


def arrowhead(tip: Point, class_: str, size: float = 7.0) -> Html:
    """Return the head of an arrow that points down to `tip`."""
    x, y = tip
    left, right, top = x - size / 2, x + size / 2, y - size
    return element("path", d=f"M{x:.1f},{y:.1f}L{left:.1f},{top:.1f}L{right:.1f},{top:.1f}Z", class_=class_)
