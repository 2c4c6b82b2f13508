"""The picture on the first page, from the question to the answer: ``python docs/first_picture.py``.

A question about the hospital example, what it tells about the secret along the network, the noise that covers it, and
the number that is published. All numbers but the one that was drawn come from the example. It has its own background,
so that it can be read in light and in dark, and another shape where there is little room.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import bnpriv as bp
from bnpriv.render.html import Html, element, join, line, rect, text

IMAGES = Path(__file__).resolve().parent / "images"
QUERY = "count(age_group == 'old')"
TITLE = "From a question to a number that may be published"
RELEASED = 2981.4
"""What one release printed; the next one prints another number."""

WIDTH, LEFT, RIGHT = 440.0, 20.0, 420.0
ILL = (900, 1000)
NODES = {"smokes": (72, 0, ""), "age": (220, 0, "asked"), "days": (368, 78, ""), "ward": (368, 0, "")}
NODES |= {"inhaler": (72, 78, ""), "lung disease": (220, 78, "hidden")}
EDGES = [("age", "smokes"), ("age", "ward"), ("lung disease", "inhaler"), ("lung disease", "days")]

STYLE = """
svg { font: 16px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.page { fill: #ffffff; stroke: #d3dae3; } text { fill: #1b2430; } .soft { fill: #566273; font-size: 15px; }
.head { font-weight: 600; } .number { font-size: 26px; font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; } .code { font-family: ui-monospace, Consolas, monospace; }
.grid { stroke: #d3dae3; } .edge { stroke: #8a95a5; stroke-width: 1.5; } .node { fill: #f2f5f9; stroke: #8a95a5; }
.asked { fill: #dcebfa; stroke: #0b5cad; stroke-width: 2; } .hidden { fill: #fdefd5; stroke: #a86a00; stroke-width: 2; }
.leak { stroke: #a86a00; stroke-width: 3.5; } .few, .many { fill: none; stroke-width: 2.5; }
.few { stroke: #0b5cad; } .many { stroke: #a86a00; stroke-dasharray: 6 3; } .bar { fill: #0b5cad; }
@media (prefers-color-scheme: dark) {
.page { fill: #12161d; stroke: #36404e; } text { fill: #e7ebf1; } .soft { fill: #a7b3c2; }
.grid { stroke: #36404e; } .edge { stroke: #7d8998; } .node { fill: #1d2430; stroke: #7d8998; }
.asked { fill: #16304d; stroke: #86bdff; } .hidden { fill: #3d2e12; stroke: #f0b64a; }
.leak { stroke: #f0b64a; } .few { stroke: #86bdff; } .many { stroke: #f0b64a; } .bar { fill: #86bdff; }
}
"""


def old_among() -> tuple[float, float]:
    """The shares of old patients among those who are not ill and those who are."""
    network = bp.example("hospital").network
    age, smoker, disease = (network.probabilities(name)[0] for name in ("age_group", "smoker", "disease"))
    joint = np.einsum("a,sa,das->da", age, smoker, disease)
    shares = joint[:, -1] / joint.sum(axis=1)
    return float(shares[0]), float(shares[1])


def part(number: int, top: float, head: str, *lines: str) -> list[Html]:
    """A heading and the lines below it."""
    parts = [text((LEFT, top), f"{number}  {head}", "head")]
    return parts + [text((LEFT, top + 24 + 20 * place), each, "soft") for place, each in enumerate(lines)]


def network(top: float) -> Html:
    """The columns of a patient, which depend on each other; the way from the question to the secret is thick."""
    parts = []
    for one, other in [*EDGES, ("smokes", "lung disease"), ("lung disease", "ward"), ("age", "lung disease")]:
        ends = [(NODES[name][0], top + NODES[name][1] + 17) for name in (one, other)]
        parts.append(line(*ends, "leak" if (one, other) == ("age", "lung disease") else "edge"))
    for name, (x, y, class_) in NODES.items():
        half = 68 if class_ else 46
        parts.append(rect((x - half, top + y), (2 * half, 34), class_ or "node", 17))
        parts.append(text((x, top + y + 22), name, "head middle" if class_ else "middle"))
    return join(*parts)


def curves(top: float, scale: float, expected: tuple[float, ...]) -> list[Html]:
    """Where the released number falls, with so many ill and with so many, all else being as expected."""
    middle, height, per = sum(expected) / 2, 92.0, 1.45
    parts = [line((LEFT, top + height), (RIGHT, top + height), "grid")]
    for class_, centre in zip(("few", "many"), expected, strict=True):
        points = sorted({*np.linspace(middle - 135, middle + 135, 91), centre})
        drawn = (
            f"{WIDTH / 2 + per * (x - middle):.1f},{top + height * (1 - math.exp(-abs(x - centre) / scale)):.1f}"
            for x in points
        )
        parts.append(element("path", d="M" + "L".join(drawn), class_=class_))
    for class_, ill, x in (("few", ILL[0], 26), ("many", ILL[1], 302)):
        parts += [line((x, top + 12), (x + 24, top + 12), class_), text((x + 30, top + 17), f"{ill:,} ill", "")]
    return parts


def interval(top: float, error: float) -> list[Html]:
    """The number and its interval, on a line on which both can be seen."""
    low, high = RELEASED - error, RELEASED + error
    per = (RIGHT - LEFT) / 10_000
    at = LEFT + per * RELEASED
    return [
        text((LEFT, top + 28), f"{RELEASED:,.0f}", "number"),
        text((LEFT + 92, top + 26), f"95 %: {low:,.0f} to {high:,.0f}", ""),
        line((LEFT, top + 60), (RIGHT, top + 60), "edge"),
        rect((LEFT + per * low, top + 53), (per * (high - low), 14), "bar", 3),
        text((LEFT, top + 84), "0", "soft"),
        text((at, top + 84), "old", "soft middle"),
        text((RIGHT, top + 84), "10,000 patients", "soft end"),
    ]


def picture(*, wide: bool) -> str:
    """The picture as SVG, in two columns or in one."""
    best = bp.plan(bp.example("hospital"), QUERY, epsilon=1.0).best
    others, among_ill = old_among()
    more = 100 * (among_ill - others)
    told = (
        f"The count of old patients hints at the number of the ill: 100 more ill patients make about {more:.0f} more "
        f"old ones. Noise of about {best.scale:.0f} covers that. {RELEASED:,.0f} is published, with an interval."
    )
    shares = f"{among_ill:.0%} are old, of the others {others:.0%}:".replace("%", " %")
    leak = [
        *part(
            1, 36, "The question", "How many of a hospital's 10,000 patients", "are old? And nobody may learn from that"
        ),
        text((LEFT, 101), "how many are ill.", "head"),
        line((LEFT, 124), (RIGHT, 124), "grid"),
        *part(2, 154, "What leaks", "The columns depend on each other. Of the ill", shares),
        network(220),
        text((LEFT, 366), f"100 more ill are about {more:.0f} more old patients.", "head"),
    ]
    size = f"A random number, about {best.scale:.0f} in size, is added."
    answer = [
        *part(3, 36, "Noise covers it", size, "What may be published, and how often:"),
        *curves(98, best.scale, tuple(ill * among_ill + (10_000 - ill) * others for ill in ILL)),
        text((LEFT, 218), "No number is more than 2.72 times as likely", "head"),
        text((LEFT, 238), "in the one case as in the other (epsilon 1).", "head"),
        line((LEFT, 262), (RIGHT, 262), "grid"),
        *part(4, 292, "The answer"),
        *interval(300, best.noise.quantile(0.95)),
        text((LEFT, 412), "Who bets on 900 ill against 1,000, at even", "head"),
        text((LEFT, 432), "odds, now wins at most 73.2 % of the time.", "head"),
    ]
    between = ((WIDTH, 20), (WIDTH, 432)) if wide else ((LEFT, 390), (RIGHT, 390))
    (width, height), moved = (
        ((2 * WIDTH, 452.0), f"translate({WIDTH:g} 0)") if wide else ((WIDTH, 836.0), "translate(0 384)")
    )
    drawn = element(
        "svg",
        element("title", TITLE),
        element("desc", told),
        element("style", Html(STYLE)),
        rect((0.5, 0.5), (width - 1, height - 1), "page", 8),
        line(*between, "grid"),
        *leak,
        element("g", *answer, transform=moved),
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )
    return drawn.replace("&nbsp;", "&#160;") + "\n"  # a file of its own knows no names of signs


if __name__ == "__main__":
    for name, wide in (("first.svg", True), ("first-narrow.svg", False)):
        (IMAGES / name).write_text(picture(wide=wide), encoding="utf-8")
