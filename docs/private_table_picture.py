"""The picture of what one private table answers, in the README: ``python docs/private_table_picture.py``.

It is drawn from the errors that benchmarks/private_table_errors.py printed, and has its own background, so that it can
be read in light and in dark.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import bnpriv as bp
from bnpriv.render.html import Html, element, join, line, rect, text
from bnpriv.tables.evaluate import evaluate

DOCS = Path(__file__).resolve().parent
ERRORS = DOCS / "benchmarks" / "private_table_errors.txt"
PICTURE = DOCS / "images" / "private-table.svg"

NAMES = (
    *("smokers", "with an inhaler", "on the surgery ward", "on the internal ward", "on the lungs ward"),
    *("on the children's ward", "on other wards", "old, on the lungs ward", "smokes, with inhaler"),
    *("inhaler, not on lungs", "8 days or more", "mean days"),
)
TITLE = "Twelve numbers about one hospital"
MARKS = {
    "table": "all from one private table, and as many more as asked",
    "alone": "one of them, released alone; then the budget is spent",
    "stack": "all twelve, as one release",
}
DESC = "Each number from one private table errs by about as much as if it were released alone, and by a factor of "
WIDTH, LEFT, RIGHT, TOP, STEP = 520.0, 192.0, 502.0, 150.0, 25.0
LEAST, MOST, TICKS = 0.05, 130.0, (0.1, 1.0, 10.0, 100.0)

STYLE = """
svg { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.page { fill: #ffffff; stroke: #d3dae3; } text { fill: #1b2430; } .soft { fill: #566273; }
.title { font-size: 19px; font-weight: 600; }
.grid { stroke: #d3dae3; } .table { fill: #0b5cad; } .alone { fill: none; stroke: #7a5200; stroke-width: 2; }
.stack { stroke: #a1261c; stroke-width: 2.4; } .end { text-anchor: end; } .middle { text-anchor: middle; }
@media (prefers-color-scheme: dark) {
.page { fill: #12161d; stroke: #36404e; } text { fill: #e7ebf1; } .soft { fill: #a7b3c2; }
.grid { stroke: #36404e; } .table { fill: #86bdff; } .alone { stroke: #f0cb7a; } .stack { stroke: #ffaaa1; }
}
"""


def errors() -> list[tuple[float, float, float]]:
    """The errors of each number from a table, alone and in one release of all, in percent of it."""
    framework = bp.example("hospital")
    found: list[tuple[float, float, float]] = []
    for printed in ERRORS.read_text(encoding="utf-8").partition("\nhospital: ")[2].splitlines():
        cells = re.split(r"\s{2,}", printed)
        if len(cells) == 6 and cells[-1] not in ("-", "12 at once"):
            (exact,) = evaluate(bp.parse_query(cells[0]), framework.schema, bp.example_data("hospital")).values
            filled, alone, stacked = (100 * float(cells[k].replace(",", "")) / float(exact) for k in (1, 3, 5))
            found.append((filled, alone, stacked))
    return found


def across(percent: float) -> float:
    """Where an error is drawn."""
    return LEFT + (RIGHT - LEFT) * math.log(percent / LEAST) / math.log(MOST / LEAST)


def mark(kind: str, x: float, y: float) -> Html:
    """A dot, a ring or a cross."""
    if kind == "stack":
        return join(line((x - 5, y - 5), (x + 5, y + 5), kind), line((x - 5, y + 5), (x + 5, y - 5), kind))
    return element("circle", cx=x, cy=y, r=5 if kind == "table" else 7, class_=kind)


def picture(found: list[tuple[float, float, float]]) -> str:
    """The picture as SVG."""
    bottom = TOP + STEP * len(found)
    parts = [
        rect((0.5, 0.5), (WIDTH - 1, bottom + 52), "page", 8),
        text((18, 32), TITLE, "title"),
        text((18, 55), "Nobody may learn how many of its patients are ill", "soft"),
    ]
    for place, (kind, told) in enumerate(MARKS.items()):
        parts += [mark(kind, 27, 79 + 22 * place), text((42, 84 + 22 * place), told, "")]
    for tick in TICKS:
        parts += [line((across(tick), TOP - 8), (across(tick), bottom), "grid")]
        parts += [text((across(tick), bottom + 19), f"{tick:g} %", "soft middle")]
    parts.append(text((RIGHT, bottom + 40), "mean error, in % of the number", "soft end"))
    for place, (name, row) in enumerate(zip(NAMES, found, strict=True)):
        y = TOP + STEP * (place + 0.5)
        parts.append(text((LEFT - 12, y + 5), name, "end"))
        parts += [mark(kind, across(percent), y) for kind, percent in reversed(list(zip(MARKS, row, strict=True)))]
    factors = sorted(stacked / filled for filled, _, stacked in found)
    drawn = element(
        "svg",
        element("title", TITLE),
        element("desc", f"{DESC}{factors[0]:.0f} to {factors[-1]:.0f} less than if all twelve were one release."),
        element("style", Html(STYLE)),
        *parts,
        viewBox=f"0 0 {WIDTH:g} {bottom + 53:g}",
        width=WIDTH,
        height=bottom + 53,
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )
    return drawn.replace("&nbsp;", "&#160;") + "\n"  # a file of its own knows no names of signs


if __name__ == "__main__":
    PICTURE.write_text(picture(errors()), encoding="utf-8")
