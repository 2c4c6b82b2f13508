"""What answers look like under two secrets, and how often somebody who knows both laws tells them apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.attacks.sums import Group, RecordLaw, groups, record_law
from bnpriv.bound import FloatArray
from bnpriv.errors import RefusedError
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.influence.elimination import joint_law
from bnpriv.networks.exact import require_discrete
from bnpriv.networks.reading import drivers
from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
from bnpriv.queries.normal_form import NormalForm
from bnpriv.secrets.states import SecretPair

KnownNoise = Laplace | Gaussian | NoNoise
"""Noise whose density the guesser knows."""

MOST_GUESSED_SETTINGS = 2**22
"""Combinations of parameter states that are weighed."""

MOST_GUESSER_WORK = 20_000_000
"""Densities that the guesser computes: combinations it knows times answers times numbers of an answer."""

TIE = 1e-9
"""Log likelihoods that are closer than this are equal: the guesser throws a coin."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """How likely every combination of parameter states is under two secrets.

    Parameters
    ----------
    names : tuple of str
        The attributes that drive the queried columns.
    shape : tuple of int
        How many states each has.
    first, second : ndarray of shape (combinations,)
        Probabilities under the two secrets.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    first: FloatArray
    second: FloatArray

    def states(self, place: int) -> Mapping[str, int]:
        """Return the places of the states in a combination."""
        return dict(zip(self.names, map(int, np.unravel_index(place, self.shape)), strict=True))


def settings(
    framework: DistributionalAttributePrivacy, columns: frozenset[str], protected: str, pair: SecretPair, model: int
) -> Settings:
    """Return the exact law of the parameters of `columns` given each secret of a pair.

    Raises
    ------
    SizeError
        If there are too many combinations.
    """
    network = require_discrete(framework.network, "a rehearsal")
    read = drivers(network, columns)
    others = tuple(sorted(read - {protected}))
    table = joint_law(network, (protected, *others), most_cells=MOST_GUESSED_SETTINGS)
    joint = np.exp(table.values[min(model, len(table.values) - 1)])
    sides: list[FloatArray] = []
    for secret in (pair.first, pair.second):
        inside = np.array([state in secret for state in network.states[protected]])
        given = joint * inside.reshape(-1, *[1] * len(others))
        given = given if protected in read else given.sum(axis=0)
        sides.append((given / given.sum()).ravel())
    names = (protected, *others) if protected in read else others
    shape = tuple(len(network.states[name]) for name in names)
    return Settings(names=names, shape=shape, first=sides[0], second=sides[1])


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """The law of the exact answer given a combination of parameter states.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
        It has a law for every queried column.
    form : NormalForm
    """

    framework: DistributionalAttributePrivacy
    form: NormalForm
    _known: dict[tuple[Group, tuple[int, ...]], RecordLaw] = field(
        default_factory=dict[tuple[Group, tuple[int, ...]], RecordLaw]
    )

    def draw(self, states: Mapping[str, int], draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers over all records, of shape (draws, outputs)."""
        answers = np.tile(self._offset, (draws, 1))
        for weights, law in self._parts(states):
            answers += law.sums(self.form.schema.records, draws, random) @ weights.T
        return answers

    def moments(self, states: Mapping[str, int]) -> tuple[FloatArray, FloatArray]:
        """Return mean, of shape (outputs,), and covariance of the exact answer."""
        records, mean = self.form.schema.records, self._offset.copy()
        covariance = np.zeros((len(mean), len(mean)))
        for weights, law in self._parts(states):
            mean += records * (weights @ law.mean)
            covariance += records * (weights @ law.covariance @ weights.T)
        return mean, covariance

    @property
    def approximate(self) -> tuple[str, ...]:
        """Return the outputs of which sums were drawn from normal laws so far."""
        normal = [group for (group, _), law in self._known.items() if law.cells is None]
        places = {place for _, places in normal for place in places}
        rows = zip(self.form.labels, self.form.matrix, strict=True)
        return tuple(label for label, row in rows if any(row[place] for place in places))

    @cached_property
    def resolution(self) -> FloatArray:
        """Return the variance, per output, that rounding the sums to whole numbers adds: 1/12 per sum."""
        return np.sum(self._matrix**2, axis=1) / 12

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return groups(self.form)

    @cached_property
    def _matrix(self) -> FloatArray:
        return np.array([[float(weight) for weight in row] for row in self.form.matrix])

    @cached_property
    def _offset(self) -> FloatArray:
        return np.array([float(shift) for shift in self.form.offset])

    def _parts(self, states: Mapping[str, int]) -> list[tuple[FloatArray, RecordLaw]]:
        """The law of each group of terms, given the states of the parameters, and the weights of these terms."""
        parts: list[tuple[FloatArray, RecordLaw]] = []
        for group in self._groups:
            columns, terms = group
            places = tuple(self.framework.law_place(name, states) for name in columns)
            if (group, places) not in self._known:
                laws = {name: self.framework.column_laws[name][k] for name, k in zip(columns, places, strict=True)}
                self._known[group, places] = record_law(self.form, group, laws)
            parts.append((self._matrix[:, list(terms)], self._known[group, places]))
        return parts


def weighed(
    settings: Settings, answers: Answers, noise: KnownNoise, first: FloatArray, second: FloatArray
) -> tuple[float, bool]:
    """How often the likelihood ratio of both laws of a released answer names the right secret.

    Parameters
    ----------
    settings : Settings
    answers : Answers
        The exact ones are taken as normal given the parameters.
    noise : Laplace, Gaussian or NoNoise
    first, second : ndarray of shape (draws, outputs)
        Released answers under either secret.

    Returns
    -------
    float
        An even choice counts half.
    bool
        Whether the guesser knew all combinations of parameter states, or only the likeliest.
    """
    total = settings.first + settings.second
    order = np.argsort(-total, kind="stable")[: max(50, MOST_GUESSER_WORK // (first.size + second.size))]
    places = [int(place) for place in order if total[place] > 0]
    shares: list[float] = []
    for values in (first, second):
        one = np.full(len(values), -np.inf)
        other = one.copy()
        for place in places:
            mean, covariance = answers.moments(settings.states(place))
            if isinstance(noise, Laplace):
                spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
                density = normal_laplace(values - mean, spread, np.array(noise.scales)).sum(axis=1)
            else:
                extra = np.square(noise.scales) if isinstance(noise, Gaussian) else answers.resolution
                density = _normal(values - mean, covariance + np.diag(extra))
            with np.errstate(divide="ignore"):
                one = np.logaddexp(one, np.log(settings.first[place]) + density)
                other = np.logaddexp(other, np.log(settings.second[place]) + density)
        with np.errstate(invalid="ignore"):
            difference = np.where(one == other, 0.0, one - other)
        shares.append(float(np.mean(np.where(np.abs(difference) <= TIE, 0.5, difference > 0))))
    return float(np.mean([shares[0], 1 - shares[1]])), len(places) == np.count_nonzero(total)


def known_noise(noise: Noise) -> KnownNoise:
    """Return noise whose density the guesser knows.

    Raises
    ------
    RefusedError
        If it is neither Laplace nor normal.
    """
    if not isinstance(noise, (Laplace, Gaussian, NoNoise)):
        raise RefusedError(
            "a rehearsal needs Laplace noise, normal noise or none",
            found=type(noise).__name__,
            remedy="Rehearse a calibration of another mechanism.",
        )
    return noise


def normal_laplace(x: FloatArray, spread: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the log density of a centred normal variable plus Laplace noise.

    Parameters
    ----------
    x : ndarray of shape (..., outputs)
    spread : ndarray of shape (outputs,)
        Standard deviations, 0 allowed.
    scale : float or ndarray of shape (outputs,)
        Of the Laplace noise.

    Returns
    -------
    ndarray of the shape of `x`

    Notes
    -----
    Reed, "The normal-Laplace distribution and its relatives" (2006), with equal rates 1/b on both sides:
    ``exp(s^2 / 2 b^2) / 2b * (exp(-x/b) Phi(x/s - s/b) + exp(x/b) Phi(-x/s - s/b))``.
    """
    from scipy.special import log_ndtr

    pointed = -np.abs(x) / scale
    s = np.where(spread > 0, spread, 1.0)
    ratio = s / scale
    mixed = np.logaddexp(-x / scale + log_ndtr(x / s - ratio), x / scale + log_ndtr(-x / s - ratio)) + ratio**2 / 2
    # beyond this ratio of the scales the two terms cancel to nothing, and the noise no longer matters
    plain = -((x / s) ** 2) / 2 + np.log(2 * scale / s) - math.log(2 * math.pi) / 2
    mixed = np.where(ratio > 1e6, plain, mixed)
    return np.where(spread > 0, mixed, pointed) - np.log(2 * np.asarray(scale))


def _normal(x: FloatArray, covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, np.finfo(np.float64).tiny)
    whitened = (x @ vectors) / np.sqrt(values)
    return -np.sum(whitened**2, axis=1) / 2 - np.sum(np.log(values)) / 2
