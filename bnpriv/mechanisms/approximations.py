"""Normal laws that stand for others, and what that costs: how far the two are from each other after the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from bnpriv.bound import FloatArray, down, up, weakest
from bnpriv.divergences.approximation import mixture_excess, normal_excess_bound
from bnpriv.divergences.gaussian import GaussianConstant, gaussian_delta, gaussian_ratio
from bnpriv.divergences.gaussian_mixture import NormalMixture
from bnpriv.errors import Refusal, SizeError
from bnpriv.evidence.constraints import AnswerLaw
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.normal import Normal, mahalanobis
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.normal_laws import OF_TABLES, NormalPair, covariance_departure, singular_refusal
from bnpriv.mechanisms.search import least_scale

APPROXIMATION_PRECISION = 1e-4
"""Relative precision of a scale that is found with approximations: every trial integrates two densities."""

FARTHEST_TRIAL = 2.0**30
"""Noise so many times the spread of the answer and its gap is tried first: if it does not do, none does."""

MOST_RELAXED = 700.0
"""Epsilon from which on its exponential is counted as infinite."""

RELAXED_RULE = "the two normal laws that stand for those of the answer"

TOO_FAR = Refusal(
    required="delta must cover how far the laws of the answer are from the normal ones that stand for them",
    found="no scale of noise at which it does",
    remedy="Choose a larger relaxation, or use TightMechanism, which needs no normal laws.",
)

FROM_DRAWS = Refusal(
    required="how far a law is from a normal one must be computed",
    found="laws that are known from draws alone",
    remedy="Use TightMechanism or WassersteinMechanism.",
)

SEVERAL_ATOMS = Refusal(
    required="closeness to a normal law is computed for laws of one number",
    found="laws with atoms of several numbers",
    remedy="Use WassersteinMechanism, or ask for one number.",
)


class Approximated(NamedTuple):
    """Two laws, and two normal ones with the same covariance that stand for them.

    Parameters
    ----------
    laws : NormalPair
        The laws themselves, of any kind.
    normals : tuple of two Normal
    """

    laws: NormalPair
    normals: tuple[Normal, Normal]

    @property
    def gap(self) -> FloatArray:
        """The difference of the means of the normal laws, shape (d,)."""
        return self.normals[0].mean - self.normals[1].mean

    @property
    def standing(self) -> NormalPair:
        """The normal laws in place of the laws themselves, of which as much is certified as is known."""
        first, second = self.normals
        kind = weakest([self.laws.pair.kind, "certified"])
        return self.laws._replace(pair=replace(self.laws.pair, first=first, second=second, kind=kind))

    def closeness(self, level: float, scale: float) -> float:
        """Return the larger hockey-stick divergence at `level` between a law and its normal one, with noise.

        Parameters
        ----------
        level : float
            At least 0.
        scale : float
            Standard deviation of the noise, at least 0.

        Returns
        -------
        float
            Rounded up; 1 for atoms without noise.
        """
        sides = zip((self.laws.pair.first, self.laws.pair.second), self.normals, strict=True)
        found = max(_closeness(law, normal, level, scale) for law, normal in sides)
        rounding = self.laws.pair.rounding
        if rounding and scale:
            # moving a normal law by its rounding costs at most this in total variation
            found += (1 + math.exp(min(level, 700.0))) * 0.4 * rounding / scale
        return min(1.0, found * (1 + 1e-12))


class Relaxed(NamedTuple):
    """What noise of one scale costs by theorem 4.6 of the paper.

    Parameters
    ----------
    length : float
        The gap of the normal laws over what is private; at most 1 if the scale is enough.
    delta : float
        What the guarantee needs at that length: more than was asked for only beyond the proof of a constant.
    closeness : float
        How close laws and normal laws are after the noise.
    """

    length: float
    delta: float
    closeness: float


SMALLER_EPSILONS = 12
"""Smaller epsilons that are tried where laws that stand for others leave little of delta."""


def delta_left(epsilon: float, delta: float, level: float, closeness: float) -> float:
    """Return the delta that is left for laws that stand for others, once it is paid for that they are not the same.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee that is asked for, of which ``epsilon - 2 level`` is left.
    level, closeness : float

    Returns
    -------
    float
        Rounded down; not above 0 if nothing is left.

    Notes
    -----
    docs/claims/normal_approximations.md. Chen, Ohrimenko (AISTATS 2023), theorem 4.6: with delta' for the laws that
    stand for the others the guarantee needs ``(1 + exp(epsilon - level)) closeness + exp(level) delta'``.

    Examples
    --------
    >>> round(delta_left(1.0, 0.0382, 0.0, 0.01), 4)
    0.001
    """
    factor = math.exp(epsilon - level) if epsilon < MOST_RELAXED else math.inf
    spent = (1 + factor) * closeness * (1 + 1e-12) if closeness else 0.0
    return down((delta - spent) * math.exp(-level), 16)


def relaxation_refusal(level: float, epsilon: float) -> Refusal:
    """Why nothing is left of epsilon for the normal laws."""
    return Refusal(
        required="twice the relaxation must be below epsilon, from which it is taken",
        found=f"a relaxation of {level:g} at epsilon {epsilon:g}",
        remedy="Choose a smaller relaxation.",
    )


def approximated(pairs: Sequence[NormalPair], chosen: Sequence[tuple[Normal, Normal]]) -> list[Approximated] | Refusal:
    """Return every pair with the normal laws that stand for it, or why they cannot.

    Parameters
    ----------
    pairs : sequence of NormalPair
        Of laws of any kind.
    chosen : sequence of two normal laws each
        In the order of the pairs; by default each law's own mean, with the mean of the two covariances.
    """
    if chosen and len(chosen) != len(pairs):
        return Refusal(
            required="there must be two normal laws for every pair of laws",
            found=f"{len(chosen)} for {len(pairs)} pairs",
            remedy="Give one for each, in their order, or none for the laws' own means and covariances.",
        )
    found: list[Approximated] = []
    for place, each in enumerate(pairs):
        sides = each.pair.first, each.pair.second
        if each.pair.sampled is not None:
            return FROM_DRAWS
        if each.pair.departure is not None:
            return OF_TABLES
        if any(isinstance(law, Atoms) and law.dimension > 1 for law in sides):
            return SEVERAL_ATOMS
        normals = chosen[place] if chosen else _own(*sides)
        refusal = _unfit(each, normals)
        if refusal is not None:
            return refusal
        found.append(Approximated(each, normals))
    return found


def smaller_epsilons(epsilon: float, delta: float, level: float, closeness: float) -> list[float]:
    """Return epsilon, and smaller ones that leave more of delta: what is private with them is so with it.

    Laws that are not quite those of the answer cost exp(epsilon) times their distance, so that a large epsilon may
    leave nothing of delta where a smaller one does.
    """
    if not closeness > 0:
        return [epsilon]
    most = level + math.log(delta) - math.log(closeness)
    smaller = (most - share * math.log(2) for share in range(1, SMALLER_EPSILONS + 1))
    return [epsilon, *(each for each in smaller if 2 * level < each < epsilon)]


@final
@dataclass(frozen=True, kw_only=True)
class Trial:
    """A question to which scales of noise are tried.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee that is asked for.
    level : float
        How much of epsilon is given up on either side for laws that are not the normal ones.
    constant : {"analytic", "textbook", "lecture"}
    free : bool
        Whether rounding the answer costs nothing where no noise is added.
    """

    epsilon: float
    delta: float
    level: float
    constant: GaussianConstant
    free: bool

    def outcome(self, each: Approximated, scale: float) -> Relaxed:
        """Return what noise of one scale costs a pair."""
        if not math.isfinite(scale * scale):
            return Relaxed(math.inf, 1.0, 1.0)
        closeness = self._closeness(each, scale)
        levels = smaller_epsilons(self.epsilon, self.delta, self.level, closeness)
        return min((self._at(level, each, scale, closeness) for level in levels), key=lambda found: found.length)

    def _at(self, epsilon: float, each: Approximated, scale: float, closeness: float) -> Relaxed:
        inner = down(epsilon - 2 * self.level)
        left = delta_left(epsilon, self.delta, self.level, closeness)
        if not (inner > 0 and left > 0):
            return Relaxed(math.inf, 1.0, closeness)
        ratio = gaussian_ratio(inner, left, self.constant)
        covariance = each.normals[0].covariance + scale * scale * (1 - 2.0**-50) * np.eye(len(each.gap))
        length = mahalanobis(each.gap, covariance) / ratio
        more = max(0.0, gaussian_delta(ratio, inner) - left) * math.exp(self.level)
        return Relaxed(up(length), self.delta + up(more), closeness)

    def _closeness(self, each: Approximated, scale: float) -> float:
        if scale == 0 and each.laws.pair.rounding and not self.free:
            return 1.0
        try:
            return each.closeness(self.level, scale)
        except SizeError:
            return 1.0

    def decide(self, each: Approximated) -> LawDecision:
        """Return what one pair needs."""
        guess = math.hypot(*each.gap.tolist()) + math.sqrt(float(np.max(np.diag(each.normals[0].covariance))))

        def length(scale: float) -> float:
            return self.outcome(each, scale).length

        # where no noise brings the laws close enough, half of the trials would find that out
        hopeless = math.isinf(length(guess * FARTHEST_TRIAL))
        return LawDecision.of(
            *each.laws,
            rule=RELAXED_RULE,
            kind=weakest([each.laws.pair.kind, "certified"]),
            scale=math.inf if hopeless else least_scale(length, 1.0, guess, APPROXIMATION_PRECISION),
            noise="gaussian",
        )


def _own(first: AnswerLaw, second: AnswerLaw) -> tuple[Normal, Normal]:
    covariance = (first.covariance + second.covariance) / 2
    return Normal(first.mean, covariance), Normal(second.mean, covariance)


def _unfit(each: NormalPair, normals: tuple[Normal, Normal]) -> Refusal | None:
    """Return why two normal laws do not stand for a pair, or None if they do."""
    first, second = normals
    if not first.dimension == second.dimension == each.pair.first.dimension:
        return Refusal(
            required="normal laws must have the dimension of the answer",
            found=f"{first.dimension} and {second.dimension} for {each.pair.first.dimension}",
            remedy="Give laws of the same answer.",
        )
    if covariance_departure(first, second):
        return Refusal(
            required="the two normal laws that stand for a pair must have the same covariance",
            found="two covariances",
            remedy="Give both the same, for example the mean of the two.",
        )
    return singular_refusal(first)


def _closeness(law: AnswerLaw, normal: Normal, level: float, scale: float) -> float:
    noise = scale * scale
    if isinstance(law, Atoms):
        if noise == 0:
            return 1.0
        mixture = NormalMixture(law.support, law.logs, noise)
        slack = (1 + math.exp(min(level, 700.0))) * math.expm1(law.error)
        return mixture_excess(mixture, float(normal.mean[0]), float(normal.covariance[0, 0]) + noise, level) + slack
    if np.array_equal(law.mean, normal.mean) and np.array_equal(law.covariance, normal.covariance):
        return 0.0
    if law.dimension == 1:
        variance = float(law.covariance[0, 0]) + noise
        if variance == 0:
            return 1.0
        single = NormalMixture(law.mean, np.zeros(1), variance)
        return mixture_excess(single, float(normal.mean[0]), float(normal.covariance[0, 0]) + noise, level)
    identity = noise * np.eye(law.dimension)
    sides = (law.mean, law.covariance + identity), (normal.mean, normal.covariance + identity)
    return max(normal_excess_bound(*one, *other, level) for one, other in (sides, sides[::-1]))
