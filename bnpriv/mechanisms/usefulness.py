"""Whether an answer still says something: its error against its range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Noise
from bnpriv.noise.intervals import is_none
from bnpriv.queries.weighted import AnswerPart
from bnpriv.render.text import and_text, upper_percent

UsefulnessWord = Literal["exact", "sharp", "useful", "coarse", "useless", "unknown"]

LIMITS: tuple[tuple[float, UsefulnessWord], ...] = ((0.02, "sharp"), (0.1, "useful"), (0.5, "coarse"))
"""Largest share of the range for each verdict; anything above the last is useless."""

POOR_ANSWERS: tuple[UsefulnessWord, ...] = ("coarse", "useless")
"""Verdicts on answers after which something else is worth a try."""

LEVEL = 0.95
"""How often errors stay below those that are judged: 19 releases of 20."""

WITHOUT_DATA = "what is released does not depend on the data."


@final
@dataclass(frozen=True)
class PartUse:
    """How large the error of a part of the answer is against its range.

    Parameters
    ----------
    label : str
        What the part is.
    verdict : {"exact", "sharp", "useful", "coarse", "useless", "unknown"}
    share : float
        The error that no number exceeds in 19 releases of 20, each its own, over the range: the largest of the part.
    error : float
        The largest such error of the part.
    """

    label: str
    verdict: UsefulnessWord
    share: float
    error: float


@final
@dataclass(frozen=True)
class Usefulness:
    """How large the error is against the range of the answer; true when the answer still says something.

    An answer is useless only if all its parts are; if some are, it is coarse at best, and they are named. What does not
    depend on the data is useless, however near to the exact answer it may be.

    Parameters
    ----------
    verdict : {"exact", "sharp", "useful", "coarse", "useless", "unknown"}
    share : float
        The error that is exceeded in one release of twenty, as a share of the range of the output where it is largest.
    outputs : int
        How many numbers the answer has.
    parts : tuple of PartUse
        The verdicts on its parts; empty if it has one.
    place : int
        Where that output is.
    constant : bool
        Whether what is released does not depend on the data.
    """

    verdict: UsefulnessWord
    share: float
    outputs: int = 1
    parts: tuple[PartUse, ...] = ()
    place: int = 0
    constant: bool = False

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
        if self.useless:
            words = f"Of the answer {and_text(self.useless)} {'is' if len(self.useless) == 1 else 'are'} useless"
        if self.verdict in ("exact", "unknown"):
            return words
        if self.constant:
            return f"{words}: {WITHOUT_DATA}"
        if self.share == 0:
            return f"{words}: 19 releases of 20 are exact."
        return f"{words}: 19 releases of 20 err by at most {upper_percent(self.share)} of {self.whole_text}."

    @property
    def useless(self) -> list[str]:
        """Return the parts that are useless where others are not."""
        return [part.label for part in self.parts if part.verdict == "useless"] if self.verdict == "coarse" else []

    @property
    def whole_text(self) -> str:
        """Return what the error is a share of."""
        if len(self.parts) > 1:
            return "the range of each number"
        return "the answer's range" if self.outputs == 1 else "the narrowest range of its numbers"


def usefulness(noise: Noise, widths: Sequence[float], parts: Sequence[AnswerPart] = ()) -> Usefulness:
    """Judge noise against the widths of the ranges of the outputs, and of the outputs of each part."""
    errors, outputs = noise.quantiles(LEVEL), len(widths)
    if is_none(noise):
        return Usefulness("exact", 0.0, outputs, tuple(PartUse(part.label, "exact", 0.0, 0.0) for part in parts))
    shares = [error / width if width > 0 else 0.0 for error, width in zip(errors, widths, strict=True)]
    constant = isinstance(noise, Channel) and noise.is_constant
    known = [k for k, width in enumerate(widths) if 0 < width < math.inf]
    judged = tuple(_judged(part, shares, widths, errors) for part in parts)
    if not known:
        return Usefulness("useless" if constant else "unknown", math.nan, outputs, judged, constant=constant)
    place = max(known, key=lambda k: shares[k])
    verdict = "useless" if constant else _verdict(shares[place])
    if verdict == "useless" and any(part.verdict != "useless" for part in judged):
        verdict = "coarse"
    return Usefulness(verdict, shares[place], outputs, judged, place, constant)


def _judged(part: AnswerPart, shares: Sequence[float], widths: Sequence[float], errors: Sequence[float]) -> PartUse:
    error = max(errors[k] for k in part.places)
    known = [shares[k] for k in part.places if 0 < widths[k] < math.inf]
    if error == 0 or not known:
        return PartUse(part.label, "unknown" if error else "exact", math.nan if error else 0.0, error)
    return PartUse(part.label, _verdict(max(known)), max(known), error)


def _verdict(share: float) -> UsefulnessWord:
    """Return the verdict on an error that is such a share of a range."""
    for limit, name in LIMITS:
        if share <= limit:
            return name
    return "useless"
