"""How often the best attacker is right who knows both laws of the answer and the law of the noise."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import cast, final

import numpy as np

from bnpriv import checks
from bnpriv.attacks.guesser import normal_laplace
from bnpriv.attacks.made_up import NumpySampler, noisy
from bnpriv.attacks.result import Attack, share_interval
from bnpriv.bound import FloatArray
from bnpriv.divergences.gaussian_mixture import gaussian_mixture_delta
from bnpriv.divergences.laplace import LaplacePair
from bnpriv.errors import BnprivError, ParameterError, Refusal, RefusedError
from bnpriv.evidence.answer_source import drawn_from
from bnpriv.evidence.constraints import LawPair
from bnpriv.evidence.laws import laws
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.normal import ExactLaw, Normal
from bnpriv.mechanisms.base import Calibration
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.noise.discrete import DiscreteLaplace

CLOSED_FORM_ERROR = 1e-12
"""How far a number of a closed form may be off; added, as what is told is an upper bound."""

REACH_OF_LAPLACE = 60.0
"""Scales and standard deviations beyond which a density of normal and Laplace noise is taken for 0."""

MOST_WEIGHED = 2**26
"""Atoms times answers that are weighed at once."""


@final
@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How often a guess at even odds is right.

    Parameters
    ----------
    value : float
    draws : int
        From how many made-up answers it was counted; 0 where it was computed.
    """

    value: float
    draws: int = 0


def likelihood_ratio_attack(calibration: Calibration, *, draws: int = 20_000, seed: int = 0) -> Attack:
    """Return how often the best attacker names the right secret of two, at even odds, from one released answer.

    The attacker knows both laws of the answer and that of the noise, and guesses the likelier secret; nobody is right
    more often. Of all pairs of secrets and models the worst is taken.

    Parameters
    ----------
    calibration : Calibration
        Of any mechanism, on a framework for which the laws of the answer are known.
    draws : int
        Made-up answers for each secret, where the accuracy has no closed form: several numbers at once.
    seed : int
        Of NumPy's generator that makes them up; nothing here needs protection.

    Returns
    -------
    Attack
        Print it; `.accuracy` never exceeds `.bound` but by chance.

    Raises
    ------
    RefusedError
        If the laws of the answer, or the density of answer and noise together, are not known.

    Notes
    -----
    The accuracy is half of one plus the total variation of the two laws of what is released, by the lemma of Neyman and
    Pearson; a guarantee (epsilon, delta) bounds it by ``(exp(epsilon) + delta) / (1 + exp(epsilon))``.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.attacks import likelihood_ratio_attack
    >>> pair = (bp.laws.Atoms([0, 1], [0.9, 0.1]), bp.laws.Atoms([0, 1], [0.1, 0.9]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> attack = likelihood_ratio_attack(bp.TightMechanism().calibrate(framework, epsilon=1.0))
    >>> attack.accuracy <= attack.bound, round(attack.bound, 3)
    (True, 0.731)
    """
    draws = checks.whole("draws", draws)
    random = np.random.default_rng(checks.whole("seed", seed, least=0))
    pairs = _pairs(calibration)
    found = [(accuracy(pair.first, pair.second, calibration.noise, draws, random), pair, name) for pair, name in pairs]
    best, pair, name = max(found, key=lambda each: each[0].value)
    return Attack(
        method="likelihood ratio",
        query=str(calibration.query),
        secrets=f"{name}: {pair.pair}",
        accuracy=best.value,
        interval=share_interval(best.value, 2 * best.draws) if best.draws else (best.value, best.value),
        answers=2 * best.draws,
        epsilon=calibration.guarantee.epsilon,
        delta=calibration.guarantee.delta,
        mechanism=str(calibration.mechanism),
        error=calibration.expected_error,
    )


def _pairs(calibration: Calibration) -> list[tuple[LawPair, str]]:
    """All pairs of laws under two secrets, each with what is protected."""
    if not isinstance(cast(object, calibration), Calibration):
        raise ParameterError(
            "a calibration is attacked",
            found=checks.type_text(calibration),
            remedy="Pass what a mechanism's calibrate returns, for example plan(framework, query, epsilon).best.",
        )
    evidence = laws(calibration.framework, calibration.query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    found: list[tuple[LawPair, str]] = []
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            raise RefusedError(
                constraint.pairs.required,
                found=constraint.pairs.found,
                remedy="Choose fewer pairs of secrets, as in bp.pairs((10, 20)), or use shadow_attack.",
            )
        found += [(pair, constraint.protected) for pair in constraint.pairs]
    return found


def accuracy(first: ExactLaw, second: ExactLaw, noise: Noise, draws: int, random: np.random.Generator) -> Accuracy:
    """Return how often the likelier of two laws is the right one, once noise is added.

    Raises
    ------
    RefusedError
        If the density of law and noise together is not known.
    """
    if isinstance(first, Atoms) and isinstance(second, Atoms):
        return _of_atoms(noise, first, second, draws, random)
    if isinstance(first, Normal) and isinstance(second, Normal):
        return _of_normals(noise, first, second, draws, random)
    raise _unknown("laws of two kinds")


def _unknown(found: str) -> RefusedError:
    return RefusedError(
        "the density of what is released must be known",
        found=found,
        remedy="Use shadow_attack, which needs a public table instead.",
    )


def _from_variation(variation: float) -> Accuracy:
    return Accuracy(value=float(min(1.0, (1 + variation) / 2 + CLOSED_FORM_ERROR)))


def _of_atoms(noise: Noise, first: Atoms, second: Atoms, draws: int, random: np.random.Generator) -> Accuracy:
    """The accuracy for atoms: in closed form by kind of noise, else counted on made-up answers."""
    if isinstance(noise, Channel):
        rows = noise.numerators / noise.denominator
        laws: list[FloatArray] = []
        for law in (first, second):
            places = [noise.place(x) for x in law.support.tolist()]
            laws.append(law.probabilities / law.probabilities.sum() @ rows[places])
        return _from_variation(float(np.sum(np.abs(laws[0] - laws[1]))) / 2)
    if isinstance(noise, NoNoise) and first.dimension > 1:
        masses: dict[tuple[float, ...], float] = {}
        for law, sign in ((first, 1.0), (second, -1.0)):
            for point, mass in zip(law.points.tolist(), law.probabilities.tolist(), strict=True):
                masses[tuple(point)] = masses.get(tuple(point), 0.0) + sign * mass
        return _from_variation(math.fsum(map(abs, masses.values())) / 2)
    if isinstance(noise, (NoNoise, Laplace)) and first.dimension == 1:
        scale = 0.0 if isinstance(noise, NoNoise) else noise.scales[0]
        return _from_variation(LaplacePair.of(first, second).delta(scale, 0.0))
    if isinstance(noise, Gaussian) and first.dimension == 1:
        with suppress(BnprivError):  # too many atoms for the closed form
            return _from_variation(gaussian_mixture_delta(first, second, noise.scales[0], 0.0))
    if not isinstance(noise, (Laplace, Gaussian, DiscreteLaplace)):
        raise _unknown(f"noise of the kind {type(noise).__name__}")
    points = np.unique(np.concatenate([first.points, second.points]), axis=0)
    draws = max(100, min(draws, MOST_WEIGHED // (len(points) * first.dimension)))
    rights: list[float] = []
    for law, right in ((first, 1.0), (second, 0.0)):
        values = noisy(noise, drawn_from(law, draws, random), NumpySampler(random))
        one, other = (_log_density(values, each, noise) for each in (first, second))
        rights.append(float(np.mean(np.where(one == other, 0.5, np.where(one > other, right, 1 - right)))))
    return Accuracy(value=float(np.mean(rights)), draws=draws)


def _log_density(values: FloatArray, law: Atoms, noise: Laplace | Gaussian | DiscreteLaplace) -> FloatArray:
    """Return log densities of released answers, up to a constant, of shape (answers,)."""
    scales = np.array(noise.scales)
    total = np.full(len(values), -np.inf)
    for point, log in zip(law.points, law.logs, strict=True):
        z = (values - point) / scales
        spread = -0.5 * np.sum(z * z, axis=1) if isinstance(noise, Gaussian) else -np.sum(np.abs(z), axis=1)
        total = np.logaddexp(total, log + spread)
    return total


def _of_normals(noise: Noise, first: Normal, second: Normal, draws: int, random: np.random.Generator) -> Accuracy:
    """Return the accuracy for normal laws: noise that is normal too, or of one number or one direction."""
    if isinstance(noise, DirectionalLaplace):
        # the little noise across the direction is left out, without which the guess is no worse
        found = _along(noise, first, second)
        if found is None:
            raise _unknown("normal laws of several numbers with Laplace noise in several directions")
        _, along, variance = found
        return _normal_with_laplace(noise.scale, Normal(along, variance), Normal(0.0, variance))
    if isinstance(noise, (Laplace, DiscreteLaplace)):
        if first.dimension > 1 or isinstance(noise, DiscreteLaplace):
            raise _unknown("a normal law of several numbers with Laplace noise")
        return _normal_with_laplace(noise.scales[0], first, second)
    one, other = ((law.mean, law.covariance + noise.covariance) for law in (first, second))
    if np.array_equal(one[1], other[1]):
        return _from_variation(_one_covariance(first.mean - second.mean, one[1]))
    rights: list[float] = []
    for side in (one, other):
        values = random.multivariate_normal(*side, size=draws)
        likelier = _log_normal(values, *one) > _log_normal(values, *other)
        rights.append(float(np.mean(likelier if side is one else ~likelier)))
    return Accuracy(value=float(np.mean(rights)), draws=draws)


def _along(noise: DirectionalLaplace, first: Normal, second: Normal) -> tuple[FloatArray, float, float] | None:
    """The weights of the number in which all lies, its gap and its variance; None where it is no one number.

    Where gap and noise have one direction v, all lies in v' S^-1 w, and the rest is the same under both laws.
    """
    gap, rows = first.mean - second.mean, np.array(noise.directions)
    along = float(rows[0] @ gap)
    aside = float(np.linalg.norm(gap - along * rows[0])) > 1e-9 * float(np.linalg.norm(gap))
    if len(rows) > 1 or aside or not np.array_equal(first.covariance, second.covariance):
        return None
    solved = np.asarray(np.linalg.solve(first.covariance, rows[0]), dtype=np.float64)
    variance = 1 / float(rows[0] @ solved)
    return variance * solved, along, variance


def right_along(
    released: tuple[FloatArray, FloatArray], first: Normal, second: Normal, noise: DirectionalLaplace
) -> float | None:
    """Return how often the likelier of two normal laws is the right one, on released answers under either.

    Parameters
    ----------
    released : tuple of two ndarray of shape (draws, outputs)
    first, second : Normal
        The laws of the answer without noise.
    noise : DirectionalLaplace

    Returns
    -------
    float or None
        None where gap and noise do not have one direction, or the laws differ in their covariance.
    """
    found = _along(noise, first, second)
    if found is None:
        return None
    weights, along, variance = found
    start, spread = float(weights @ second.mean), np.sqrt(np.array([variance]))
    rights: list[float] = []
    for values in released:
        seen = (values @ weights)[:, np.newaxis] - start
        one, other = (normal_laplace(seen - mean, spread, noise.scale)[:, 0] for mean in (along, 0.0))
        rights.append(float(np.mean(np.where(one == other, 0.5, one > other))))
    return (rights[0] + 1 - rights[1]) / 2


def _one_covariance(gap: FloatArray, covariance: FloatArray) -> float:
    """Return the total variation of two normal laws with one covariance, however singular it is."""
    values, vectors = np.linalg.eigh(covariance)
    seen = gap @ vectors
    narrow = values <= 1e-12 * max(float(values[-1]), 0.0)
    if np.any(np.abs(seen[narrow]) > 1e-9 * np.linalg.norm(gap)):
        return 1.0
    mu = float(np.linalg.norm(seen[~narrow] / np.sqrt(values[~narrow])))
    return math.erf(mu / math.sqrt(8))


def _log_normal(values: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    from scipy.stats import multivariate_normal

    return np.atleast_1d(multivariate_normal(mean, covariance, allow_singular=True).logpdf(values))


def _normal_with_laplace(scale: float, first: Normal, second: Normal) -> Accuracy:
    """Return half of one plus the total variation of two normal-Laplace laws, by quadrature."""
    from scipy.integrate import quad

    means = [float(law.mean[0]) for law in (first, second)]
    spreads = [np.sqrt(law.covariance[0]) for law in (first, second)]
    reach = REACH_OF_LAPLACE * (scale + max(float(spread[0]) for spread in spreads))

    def difference(x: float) -> float:
        one, other = (
            math.exp(float(normal_laplace(np.array([x - mean]), spread, scale)[0]))
            for mean, spread in zip(means, spreads, strict=True)
        )
        return abs(one - other) / 2

    low, middle, high = min(means) - reach, sum(means) / 2, max(means) + reach
    points = sorted({low, min(means), middle, max(means), high})
    parts = [quad(difference, a, b, limit=200) for a, b in pairwise(points)]
    return _from_variation(min(1.0, math.fsum(value + error for value, error in (part[:2] for part in parts))))
