"""The picture of what adds up and what does not: ``python docs/what_adds_up_picture.py``.

Above, why guarantees do not add up: two answers of which neither tells anything, and both together everything. Then
what is counted instead in the dataset notion: the law of one record's vector, here that of the hospital example. Below,
a private table. It has its own background, so that it can be read in light and in dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import bnpriv as bp
from bnpriv.render.html import Html, element, join, line, rect, text

PICTURE = Path(__file__).resolve().parent / "images" / "what-adds-up.svg"
TITLE = "What adds up, and what does not"
DESC = (
    "Two answers, each with the same distribution whether a patient is ill or not, show it together. So the total is "
    "found from all answers of one patient together, and a private table is charged once, whatever is asked of it."
)
WIDTH, LEFT, RIGHT, CELL = 480.0, 20.0, 460.0, 50.0
CLASSES = ("not ill", "ill")
VECTORS = ((0, 0), (0, 1), (1, 0), (1, 1))
USES = ("counts, means, crosstabs", "regressions, models", "the table itself")

STYLE = """
svg { font: 16px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.page { fill: #ffffff; stroke: #d3dae3; } text { fill: #1b2430; } .soft { fill: #566273; font-size: 15px; }
.title { font-size: 19px; font-weight: 600; } .head { font-weight: 600; } .end { text-anchor: end; }
.middle { text-anchor: middle; } .grid { stroke: #d3dae3; } .empty { fill: none; stroke: #8a95a5; }
.no { fill: #0b5cad; stroke: #0b5cad; } .yes { fill: #d98a00; stroke: #d98a00; }
.arrow { stroke: #566273; stroke-width: 2; } .tip { fill: #566273; }
@media (prefers-color-scheme: dark) {
.page { fill: #12161d; stroke: #36404e; } text { fill: #e7ebf1; } .soft { fill: #a7b3c2; }
.grid { stroke: #36404e; } .empty { stroke: #7d8998; } .no { fill: #86bdff; stroke: #86bdff; }
.yes { fill: #f0b64a; stroke: #f0b64a; } .arrow { stroke: #a7b3c2; } .tip { fill: #a7b3c2; }
}
"""


def laws() -> np.ndarray:
    """The laws of one patient's vector (smokes, has an inhaler) of the hospital, not ill and ill, by VECTORS."""
    network = bp.example("hospital").network
    age, smoker, disease, inhaler = (
        network.probabilities(name)[0] for name in ("age_group", "smoker", "disease", "inhaler")
    )
    joint = np.einsum("a,sa,das,id->dsi", age, smoker, disease, inhaler)
    return (joint / joint.sum(axis=(1, 2), keepdims=True)).reshape(2, 4)


def coins(left: float, top: float, kind: str, full: Sequence[tuple[int, int]]) -> Html:
    """The law of two answers given the class: which cells have half of the mass each, and the two margins."""
    parts = [text((left + CELL, top - 30), f"a patient who is {kind}", "head middle")]
    for second in range(2):
        for first in range(2):
            class_ = ("yes" if kind == "ill" else "no") if (first, second) in full else "empty"
            at = (left + first * CELL + 3, top + second * CELL + 3)
            parts.append(rect(at, (CELL - 6, CELL - 6), class_, 4))
        parts.append(text((left + 2 * CELL + 8, top + second * CELL + 31), "1/2", "soft"))
        parts.append(text((left - 9, top + second * CELL + 31), f"B = {second}", "soft end"))
    for first in range(2):
        parts.append(text((left + (first + 0.5) * CELL, top - 7), f"A = {first}", "soft middle"))
        parts.append(text((left + (first + 0.5) * CELL, top + 2 * CELL + 18), "1/2", "soft middle"))
    return join(*parts)


def bars(top: float, step: float, found: np.ndarray) -> list[Html]:
    """The laws of one record's vector, two bars for each."""
    parts: list[Html] = []
    for place, vector in enumerate(VECTORS):
        y = top + step * place
        parts.append(text((LEFT + 168, y + 23), f"({vector[0]}, {vector[1]})", "end"))
        for row, class_ in enumerate(("no", "yes")):
            share = float(found[row, place])
            length = 200 * share
            parts.append(rect((LEFT + 180, y + 3 + 16 * row), (length, 13), class_, 2))
            parts.append(text((LEFT + 186 + length, y + 15 + 16 * row), f"{100 * share:.0f} %", "soft"))
    return parts


def arrow(x: float, top: float, bottom: float) -> Html:
    """An arrow that points down."""
    head = element("path", d=f"M{x - 6},{bottom - 9}L{x + 6},{bottom - 9}L{x},{bottom}Z", class_="tip")
    return join(line((x, top), (x, bottom - 8), "arrow"), head)


def private_table(top: float) -> list[Html]:
    """The table, what is charged, and what is asked of it."""
    right = 205.0
    parts: list[Html] = [rect((LEFT, top), (130, 92), "empty", 6)]
    parts += [line((LEFT + 14, top + y), (LEFT + 116, top + y), "arrow") for y in (18, 32, 46)]
    parts.append(text((LEFT + 65, top + 76), "private table", "middle"))
    for place, use in enumerate(USES):
        y = top + 23 + 26 * place
        parts.append(line((LEFT + 138, top + 46), (right, y - 5), "arrow"))
        parts.append(text((right + 8, y), use, ""))
        parts.append(text((RIGHT, y), "+ 0", "head end"))
    return parts


def picture(found: np.ndarray) -> str:
    """The picture as SVG."""
    parts = [text((LEFT, 34), TITLE, "title")]
    parts.append(text((LEFT, 70), "1  Guarantees do not add up", "head"))
    parts.append(text((LEFT, 93), "A is a coin; B is the same coin, turned over for the ill. Each", "soft"))
    parts.append(text((LEFT, 113), "alone is a fair coin for everybody; both show who is ill.", "soft"))
    parts.append(coins(80, 170, CLASSES[0], ((0, 0), (1, 1))))
    parts.append(coins(310, 170, CLASSES[1], ((1, 0), (0, 1))))
    parts.append(line((LEFT, 312), (RIGHT, 312), "grid"))
    parts.append(text((LEFT, 342), "2  One record's answers, all together", "head"))
    parts.append(text((LEFT, 365), "What a patient adds to two counts of a hospital. The total", "soft"))
    parts.append(text((LEFT, 385), "is what the noise lets through of the two, for each", "soft"))
    parts.append(text((LEFT, 405), "patient that two secrets are apart.", "soft"))
    parts.append(text((LEFT + 168, 433), "(smoker, inhaler)", "soft end"))
    for x, kind, class_ in ((LEFT + 180, CLASSES[0], "no"), (LEFT + 280, CLASSES[1], "yes")):
        parts += [rect((x, 421), (13, 13), class_, 2), text((x + 20, 433), kind, "")]
    parts += bars(442, 40, found)
    parts.append(line((LEFT, 616), (RIGHT, 616), "grid"))
    parts.append(text((LEFT, 646), "3  A private table, once", "head"))
    parts.append(text((LEFT, 669), "The number of the ill is made private; all the rest follows.", "soft"))
    parts += [text((LEFT + 65, 699), "epsilon 1, once", "head middle"), arrow(LEFT + 65, 706, 728), *private_table(732)]
    drawn = element(
        "svg",
        element("title", TITLE),
        element("desc", DESC),
        element("style", Html(STYLE)),
        rect((0.5, 0.5), (WIDTH - 1, 843), "page", 8),
        *parts,
        viewBox=f"0 0 {WIDTH:g} 844",
        width=WIDTH,
        height=844,
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )
    return drawn.replace("&nbsp;", "&#160;") + "\n"  # a file of its own knows no names of signs


if __name__ == "__main__":
    PICTURE.write_text(picture(laws()), encoding="utf-8")
