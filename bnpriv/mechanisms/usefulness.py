"""Whether an answer still says something: its error against its range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from bnpriv.noise.continuous import Noise
from bnpriv.render.text import upper_percent

UsefulnessWord = Literal["exact", "sharp", "useful", "coarse", "useless", "unknown"]

LIMITS: tuple[tuple[float, UsefulnessWord], ...] = ((0.02, "sharp"), (0.1, "useful"), (0.5, "coarse"))
"""Largest share of the range for each verdict; anything above the last is useless."""


@final
@dataclass(frozen=True)
class Usefulness:
    """How large the error is against the range of the answer; true when the answer still says something.

    Parameters
    ----------
    verdict : {"exact", "sharp", "useful", "coarse", "useless", "unknown"}
    share : float
        The error that is exceeded in one release of twenty, as a share of the narrowest range of an output.
    outputs : int
        How many numbers the answer has.
    """

    verdict: UsefulnessWord
    share: float
    outputs: int = 1

    def __bool__(self) -> bool:
        return self.verdict not in ("useless", "unknown")

    def __str__(self) -> str:
        words = {
            "exact": "The answer is released as it is.",
            "sharp": "The answer stays sharp",
            "useful": "The answer stays useful",
            "coarse": "The answer is coarse",
            "useless": "The answer is useless",
            "unknown": "The range of the answer is not declared, so the noise cannot be judged.",
        }[self.verdict]
        if self.verdict in ("exact", "unknown"):
            return words
        return f"{words}: 19 releases of 20 err by at most {upper_percent(self.share)} of {self.whole_text}."

    @property
    def whole_text(self) -> str:
        """Return what the error is a share of."""
        return "the answer's range" if self.outputs == 1 else "the narrowest range of its numbers"


def usefulness(noise: Noise, widths: Sequence[float]) -> Usefulness:
    """Judge `noise` against the widths of the ranges of the outputs."""
    error = noise.quantile(0.95)
    if error == 0:
        return Usefulness("exact", 0.0, len(widths))
    width = min((width for width in widths if width > 0), default=math.inf)
    if not math.isfinite(width):
        return Usefulness("unknown", math.nan, len(widths))
    share = error / width
    verdict: UsefulnessWord = "useless"
    for limit, name in reversed(LIMITS):
        if share <= limit:
            verdict = name
    return Usefulness(verdict, share, len(widths))
