"""Whether an answer still says something: its error against its range; and noise that covers its steps.

Why covering the steps keeps the guarantee: docs/claims/steps.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bnpriv.bound import FloatArray, up
from bnpriv.core.distributions import Normal
from bnpriv.core.frameworks.question import Framework, own_query
from bnpriv.core.noise import Gaussian, Laplace, Noise, NoNoise, is_none
from bnpriv.core.queries.asked import AnswerPart
from bnpriv.core.queries.base import GivenAnswer, Query, normal_form
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.text import and_text, upper_percent

# --------------------------------------------------------------------------------------------------
# Whether an answer still says something: its error against its range.
# --------------------------------------------------------------------------------------------------

UsefulnessWord = Literal["exact", "sharp", "useful", "coarse", "useless", "unknown"]

LIMITS: tuple[tuple[float, UsefulnessWord], ...] = ((0.02, "sharp"), (0.1, "useful"), (0.5, "coarse"))
"""Largest share of the range for each verdict; anything above the last is useless."""

POOR_ANSWERS: tuple[UsefulnessWord, ...] = ("coarse", "useless")
"""Verdicts on answers after which something else is worth a try."""

LEVEL = 0.95
"""How often errors stay below those that are judged: 95 % of releases."""

WITHOUT_DATA = "what is released does not depend on the data."


@dataclass(frozen=True)
class PartUse:
    """How large the error of a part of the answer is against its range.

    Parameters
    ----------
    label : str
        What the part is.
    verdict : {"exact", "sharp", "useful", "coarse", "useless", "unknown"}
    share : float
        The error that no number exceeds in 95 % of releases, each its own, over the range: the largest of the part.
    error : float
        The largest such error of the part.
    """

    label: str
    verdict: UsefulnessWord
    share: float
    error: float


@dataclass(frozen=True)
class Usefulness:
    """How large the error is against the range of the answer; true when the answer still says something.

    An answer is useless only if all its parts are; if some are, it is coarse at best, and they are named. What does not
    depend on the data is useless, however near to the exact answer it may be.

    Parameters
    ----------
    verdict : {"exact", "sharp", "useful", "coarse", "useless", "unknown"}
    share : float
        The error that 95 % of releases do not exceed, as a share of the range of the output where it is largest.
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

    @property
    def words(self) -> str:
        """Return the verdict without the error, as a sentence that may go on."""
        if self.useless:
            return f"Of the answer {and_text(self.useless)} {'is' if len(self.useless) == 1 else 'are'} useless"
        return {
            "exact": "The answer is released as it is",
            "sharp": "The answer stays sharp",
            "useful": "The answer stays useful",
            "coarse": "The answer is coarse",
            "useless": "The answer is useless",
            "unknown": "The range of the answer is not declared, so the noise cannot be judged",
        }[self.verdict]

    def __str__(self) -> str:
        if self.verdict in ("exact", "unknown"):
            return f"{self.words}."
        if self.constant:
            return f"{self.words}: {WITHOUT_DATA}"
        if self.share == 0:
            return f"{self.words}: 95 % of releases are exact."
        return f"{self.words}: 95 % of releases err by at most {upper_percent(self.share)} of {self.whole_text}."

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


# --------------------------------------------------------------------------------------------------
# Noise that covers the steps of an answer: behind less of it, whole numbers show through a normal law.
#
# docs/claims/steps.md.
# --------------------------------------------------------------------------------------------------

Covering = Laplace | Gaussian | CorrelatedGaussian | DirectionalLaplace

COVERING = (Laplace, Gaussian, CorrelatedGaussian, DirectionalLaplace)
"""The same, to ask for."""

LAPLACE_STEPS = 2.0
"""Scales of Laplace noise for a step; its law is pointed, and smooths less than a normal one of one deviation."""

STEPS_NOTE = (
    "Independent noise of a step of the answer is part of the noise: the declared normal distributions do not say that "
    "sums over records move in steps, and less noise would let single values show."
)


EXACT_NOTE = (
    "The declared normal distributions do not say that sums over records move in steps. What gets no noise is released "
    "exactly: that each of its single values is about as likely under either secret is declared with these "
    "distributions, not proved."
)


def steps_covered(framework: Framework, query: Query, noise: Noise) -> tuple[Noise, tuple[str, ...]]:
    """Return noise that hides the steps of an answer, as `with_steps_covered` does, and what is to be said of them."""
    covering = with_steps_covered(framework, query, noise)
    return covering, steps_notes(framework, query, noise, covering)


def steps_notes(framework: Framework, query: Query, noise: Noise, covering: Noise) -> tuple[str, ...]:
    """Return what is to be said of steps under normal laws: that noise covers them, or that an answer has none.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        That was calibrated.
    covering : Noise
        That `with_steps_covered` made of it.
    """
    steps = _steps(framework, query)
    exact = (
        steps is not None
        and isinstance(covering, (*COVERING, NoNoise))
        and bool(np.any(steps[np.diag(covering.covariance) <= 0] != 0))
    )
    return (*((STEPS_NOTE,) if covering is not noise else ()), *((EXACT_NOTE,) if exact else ()))


def with_steps_covered(framework: Framework, query: Query, noise: Noise) -> Noise:
    """Return noise that hides the steps of an answer whose law is normal by declaration: the same one if it does.

    Parameters
    ----------
    framework : Framework
    query : Query
    noise : Noise
        In the answer's units.
    """
    steps = _steps(framework, query)
    if steps is None or not isinstance(noise, COVERING):
        return noise
    steps = _covered_steps(steps, noise)
    return noise if _covers(noise, steps) else _larger(noise, steps)


def _steps(framework: Framework, query: Query) -> FloatArray | None:
    """Return the steps of an answer, shape (numbers, sums), where its laws are normal by declaration; else None."""
    declared = (law for pair in framework.answer_laws for law in pair)
    if isinstance(own_query(framework), GivenAnswer) or not any(isinstance(law, Normal) for law in declared):
        return None
    matrix = normal_form(query, framework.schema).matrix
    return np.array([[float(weight) for weight in row] for row in matrix])


def _covered_steps(steps: FloatArray, noise: Covering) -> FloatArray:
    """Return the steps, shape (numbers, sums), of the sums that some noisy number is made of; others stay exact."""
    noisy = np.diag(noise.covariance) > 0
    while True:
        sums = np.any(steps[noisy] != 0, axis=0)
        reached = noisy | np.any(steps[:, sums] != 0, axis=1)
        if np.array_equal(reached, noisy):
            return np.where(sums, steps, 0.0)
        noisy = reached


def _covers(noise: Covering, steps: FloatArray) -> bool:
    """Return whether noise is what independent noise of one step on every sum would be, with more on top."""
    covariance = noise.covariance
    if not isinstance(noise, (Gaussian, CorrelatedGaussian)):
        covariance = covariance / (2 * LAPLACE_STEPS**2)
    units = np.sqrt(np.diag(covariance))
    reached = np.any(steps != 0, axis=1)
    if not np.all(units[reached] > 0):
        return False
    units = np.where(units > 0, units, 1.0)
    more = (covariance - steps @ steps.T) / np.outer(units, units)
    return bool(np.linalg.eigvalsh(more)[0] >= 0)


def _larger(noise: Covering, steps: FloatArray) -> Covering:
    """Return the noise with as much independent noise on every number as its steps take, rounded up."""
    # a matrix is at most the diagonal of the sums of its rows' sizes
    deviations = [up(value, 64) for value in np.sqrt(np.abs(steps @ steps.T).sum(axis=1))]
    if isinstance(noise, CorrelatedGaussian):
        return CorrelatedGaussian(noise.needed, np.maximum(noise.dithers, deviations).tolist())
    scales = [LAPLACE_STEPS * deviation for deviation in deviations]
    if isinstance(noise, DirectionalLaplace):
        return replace(noise, dithers=tuple(np.maximum(noise.dithers, scales).tolist()))
    least = deviations if isinstance(noise, Gaussian) else scales
    larger = max(need / scale for need, scale in zip(least, noise.scales, strict=True))
    return replace(noise, scale=up(noise.scale * larger, 64))
