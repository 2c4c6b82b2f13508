"""A guesser who learned the laws of an answer under two secrets from made-up answers."""

from __future__ import annotations

import numpy as np

from bnpriv.attacks.guesser import TIE, KnownNoise, known_noise
from bnpriv.bound import FloatArray
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.noise.discrete import DiscreteLaplace

AnswersOfBoth = tuple[FloatArray, FloatArray]
"""Answers of shape (draws, outputs) under the first and the second secret."""

MOST_DENSITIES = 2**20
"""Densities that are held at once."""


ShapedNoise = CorrelatedGaussian | DirectionalLaplace
"""Noise whose numbers depend on each other."""


def learnable(noise: Noise) -> KnownNoise | DiscreteLaplace | ShapedNoise | Channel:
    """Return noise whose density, or probability, is known.

    Raises
    ------
    RefusedError
        If it is neither Laplace, continuous or whole, nor normal.
    """
    shaped = (DiscreteLaplace, CorrelatedGaussian, DirectionalLaplace, Channel)
    return noise if isinstance(noise, shaped) else known_noise(noise)


def told_apart(
    released: AnswersOfBoth, learned: AnswersOfBoth, noise: KnownNoise | DiscreteLaplace | ShapedNoise | Channel
) -> float:
    """Return how often the likelihood ratio of the learned laws names the right secret.

    Parameters
    ----------
    released : tuple of two ndarray of shape (draws, outputs)
        Answers with noise under the first and the second secret.
    learned : tuple of two ndarray of shape (other draws, outputs)
        Other answers, without noise.
    noise : Laplace, Gaussian, DiscreteLaplace, CorrelatedGaussian, DirectionalLaplace, Channel or NoNoise
        What was added to `released`.

    Returns
    -------
    float
        Even choices count half.

    Notes
    -----
    The law of a released answer is taken as the mean of the densities of the noise around the learned answers. Without
    noise these are smoothed by normal densities of the width 1.06 s n^(-1/5) (Silverman's rule), and with noise whose
    numbers depend on each other by these and normal ones of its covariance. The fewer answers are
    learned, the worse the guesser: it is never better than the best one, which the guarantee bounds.

    Examples
    --------
    >>> from bnpriv.noise.continuous import Laplace
    >>> far = np.array([[0.0]]), np.array([[9.0]])
    >>> told_apart(far, far, Laplace(1.0))
    1.0
    """
    if isinstance(noise, Channel):
        # by the laws of the outputs that learned answers have
        laws: list[FloatArray] = []
        for side in learned:
            places, counts = np.unique([noise.place(x) for x in side[:, 0].tolist()], return_counts=True)
            laws.append(counts / len(side) @ (noise.numerators[places] / noise.denominator))
        first = np.where(laws[0] == laws[1], 0.5, laws[0] > laws[1])
        rights = [float(np.mean(first[np.searchsorted(noise.outputs, side[:, 0])])) for side in released]
        return (rights[0] + 1 - rights[1]) / 2
    if isinstance(noise, (CorrelatedGaussian, DirectionalLaplace)):
        # smoothing and noise become independent and of deviation 1, for answers in rows
        smooth = _widths(learned, NoNoise(noise.dimension))
        factor = np.linalg.cholesky(noise.covariance + np.diag(np.square(smooth)))
        whiten = np.asarray(np.linalg.inv(factor).T, dtype=np.float64)
        released, learned = (released[0] @ whiten, released[1] @ whiten), (learned[0] @ whiten, learned[1] @ whiten)
        noise = Gaussian(1.0, noise.dimension)
    widths = _widths(learned, noise)
    rights = list[float]()
    for values in released:
        one, other = (_log_density(values, side, noise, widths) for side in learned)
        difference = one - other
        rights.append(float(np.mean(np.where(np.abs(difference) <= TIE, 0.5, difference > 0))))
    return (rights[0] + 1 - rights[1]) / 2


def _widths(learned: AnswersOfBoth, noise: KnownNoise | DiscreteLaplace) -> FloatArray:
    """Return the scale of the noise, or the width that stands for none, of every output."""
    if not isinstance(noise, NoNoise):
        return np.array(noise.scales)
    spread = np.maximum(learned[0].std(axis=0), learned[1].std(axis=0))
    widths: FloatArray = 1.06 * spread * float(len(learned[0])) ** -0.2
    return np.where(widths > 0, widths, 1.0)


def _log_density(
    values: FloatArray, learned: FloatArray, noise: KnownNoise | DiscreteLaplace, widths: FloatArray
) -> FloatArray:
    """Return log densities up to a constant, of shape (draws,)."""
    atoms, counts = np.unique(learned, axis=0, return_counts=True)
    weights = np.log(counts / len(learned))
    step = max(1, MOST_DENSITIES // len(atoms))
    square = isinstance(noise, (Gaussian, NoNoise))
    found: list[FloatArray] = []
    for start in range(0, len(values), step):
        logs = np.broadcast_to(weights, (len(values[start : start + step]), len(atoms))).copy()
        for k, width in enumerate(widths):
            away = np.abs(values[start : start + step, k, np.newaxis] - atoms[:, k]) / width
            logs -= away**2 / 2 if square else away
        found.append(np.logaddexp.reduce(logs, axis=1))
    return np.concatenate(found)
