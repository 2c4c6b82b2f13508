"""Draws of a posterior, and how many independent ones they are worth."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import Posterior
from bnpriv.digest import sha256
from bnpriv.errors import NetworkError

# --------------------------------------------------------------------------------------------------
# How many independent draws those of Markov chains are worth, and whether a few weights of draws decide.
# --------------------------------------------------------------------------------------------------

LEAST_STEPS = 4
"""Steps that half a chain must have, so that its correlation can be seen at all."""

MANY_VALUES = 0.05
"""Share of different numbers among draws from which on they are of a number that may be any."""

TAIL_PRIOR = 10
"""As many weights as the shape of a tail is drawn to 1 / 2 by."""


def effective_size(chains: FloatArray) -> float:
    """Return how many independent draws tell as much about the mean as those of some chains.

    Parameters
    ----------
    chains : ndarray of shape (chains, draws)
        In the order in which they were drawn.

    Returns
    -------
    float
        By split chains and normal scores of ranks: Vehtari et al., "Rank-normalization, folding, and localization"
        (Bayesian Analysis 2021). The number of draws where all are equal; that of chains where they are too short to
        tell; that of half chains where some stand still and others move.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(4, 1000))
    >>> 3500 < effective_size(steps) < 4500
    True
    >>> effective_size(np.repeat(steps, 20, axis=1)) < 5000
    True
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    half = chains.shape[1] // 2
    if bool(np.all(chains == chains.flat[0])):
        return float(chains.size)
    if half < LEAST_STEPS:
        return float(len(chains))
    split = np.concatenate([chains[:, :half], chains[:, -half:]])
    moves = np.ptp(split, axis=1) > 0
    # one that stands near the mean of the others would not be seen by its mean; of few values it may be by chance
    if not moves.all() and len(np.unique(split[moves])) > MANY_VALUES * split[moves].size:
        return float(len(split))
    scores = ndtri((rankdata(split, method="average").reshape(split.shape) - 0.375) / (split.size + 0.25))
    chains, steps = scores.shape
    products = _autocovariance(scores).mean(axis=0)
    within = products[0] * steps / (steps - 1)
    total = products[0] + float(np.var(scores.mean(axis=1), ddof=1))
    correlation = 1 - (within - products) / total
    correlation[0] = 1.0
    return chains * steps / max(_time(correlation), 1 / np.log10(chains * steps))


def least_effective_size(chains: FloatArray) -> float:
    """Return how many independent draws tell as much as those of some chains about the mean, and about the spread.

    Parameters
    ----------
    chains : ndarray of shape (chains, draws)

    Returns
    -------
    float
        The lesser of the effective sizes for the numbers and for their distances from the median.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> spreads = np.repeat(np.exp(random.normal(0, 1.5, (4, 10))), 100, axis=1)
    >>> steps = spreads * random.normal(size=(4, 1000))
    >>> effective_size(steps) > 3500, least_effective_size(steps) < 50
    (True, True)
    """
    return min(effective_size(chains), effective_size(np.abs(chains - np.median(chains))))


def tail_shape(weights: FloatArray) -> float:
    """Return the shape k of the generalized Pareto law of the largest weights of draws.

    Parameters
    ----------
    weights : ndarray of shape (draws,)
        At least 0, up to a constant.

    Returns
    -------
    float
        Weights of shape k have moments up to 1 / k only; -inf if the largest are all equal. By the estimator of Zhang,
        Stephens (Technometrics 2009) for the largest min(S / 5, 3 sqrt(S)) of S positive ones, drawn to 1 / 2 as if ten
        more had shown that: Vehtari et al., "Pareto smoothed importance sampling" (JMLR 2024).

    Examples
    --------
    >>> uniform = (np.arange(4000) + 0.5) / 4000
    >>> round(tail_shape(uniform**-0.8), 1), tail_shape(np.ones(4000))
    (0.8, -inf)
    """
    positive = np.sort(weights[weights > 0])
    if not len(positive):
        return -math.inf
    most = math.ceil(min(len(positive) / 5, 3 * math.sqrt(len(positive))))
    above = positive[len(positive) - most :] - positive[max(0, len(positive) - most - 1)]
    above = above[above > 0] / max(float(above.max(initial=0.0)), np.finfo(float).tiny)
    if not len(above):
        return -math.inf
    count = len(above)
    steps = np.arange(1, 31 + math.isqrt(count)) - 0.5
    rates = 1.0 + (1 - np.sqrt(len(steps) / steps)) / (3 * above[max(0, int(count / 4 + 0.5) - 1)])
    shapes = np.array([float(np.log1p(-rate * above).mean()) for rate in rates])
    logs = count * (np.log(-rates / shapes) - shapes - 1)
    chances = np.exp(logs - logs.max())
    rate = float(rates @ chances / chances.sum())
    shape = float(np.log1p(-rate * above).mean())
    return (count * shape + TAIL_PRIOR / 2) / (count + TAIL_PRIOR)


def largest_shape(draws: int) -> float:
    """Return the largest shape of the tail of so many weights with which their means can be relied on.

    Examples
    --------
    >>> [round(largest_shape(draws), 3) for draws in (100, 1000, 100_000)]
    [0.5, 0.667, 0.7]
    """
    return min(0.7, 1 - 1 / math.log10(max(draws, 11)))


def _autocovariance(values: FloatArray) -> FloatArray:
    """Return the autocovariances of every row, at all lags."""
    steps = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, n=2 * steps, axis=1)) ** 2
    return np.fft.irfft(spectrum, axis=1)[:, :steps] / steps


def _time(correlation: FloatArray) -> float:
    """Return the autocorrelation time: sums of two lags, as long as they are positive, made to fall (Geyer 1992)."""
    steps = len(correlation)
    pairs = correlation[: 2 * ((steps - 2) // 2)].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0)
    last = int(ended[0]) if len(ended) else len(pairs)
    beyond = float(correlation[2 * last]) if len(ended) else 0.0
    falling = np.minimum.accumulate(pairs[:last])
    return -1 + 2 * float(falling.sum()) + max(0.0, beyond)


# --------------------------------------------------------------------------------------------------
# Draws of a posterior that a network of densities takes its parameters from.
# --------------------------------------------------------------------------------------------------

DrawReading = Literal["belief", "models"]
"""The law of the parameters is that of the draws, or every draw of the other parameters is a model."""

READINGS: tuple[DrawReading, ...] = ("belief", "models")

RowNumbers = NDArray[np.intp]
"""Which draws, counted from 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterDraws:
    """Draws of parameters, and of functions of them, that belong together (docs/claims/belief.md).

    Parameters
    ----------
    values : mapping from str to ndarray of shape (draws,)
        By the name of a parameter or of a function of parameters; one chain after the other.
    functions : frozenset of str
        Those that are functions of parameters.
    together : mapping from str to tuple of str
        For entries of vectors that are drawn as a whole all entries of the vector.
    reading : {"belief", "models"}
    chains : int
        Of equal length.
    posterior : Posterior
        Where they come from, and whether they are independent.
    log_weights : ndarray of shape (draws,), optional
        For draws of another law the log of the ratio of the densities, the posterior's over that law's, up to one
        constant; for "belief".

    Raises
    ------
    NetworkError
        If there are no draws, they are of different lengths or not finite, or no whole number of draws is in a chain.
    """

    values: Mapping[str, FloatArray]
    functions: frozenset[str] = frozenset()
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    reading: DrawReading
    chains: int
    posterior: Posterior
    log_weights: FloatArray | None = None
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = {name: np.array(values, dtype=np.float64) for name, values in self.values.items()}
        weights = () if self.log_weights is None else (np.array(self.log_weights, dtype=np.float64),)
        every = [*own.values(), *weights]
        lengths = {values.shape for values in every}
        finite = all(bool(np.isfinite(values).all()) for values in every)
        if len(lengths) != 1 or lengths == {(0,)} or not finite or self.draws % max(1, self.chains):
            raise NetworkError(
                "draws of parameters must be finite numbers, as many of each, in chains of one length",
                found="others, or none",
                remedy="Pass what one run of the sampler returned.",
            )
        for values in own.values():
            values.flags.writeable = False
        object.__setattr__(self, "values", ReadOnly(own))
        for values in weights:
            values.flags.writeable = False
            object.__setattr__(self, "log_weights", values)

    def some(self, places: Sequence[int]) -> ParameterDraws:
        """Return some of the draws, as if one chain."""
        chosen = {name: values[list(places)] for name, values in self.values.items()}
        return replace(self, values=chosen, chains=1, posterior=replace(self.posterior, draws=len(places)))

    @property
    def draws(self) -> int:
        """Return the number of draws."""
        return len(next(iter(self.values.values()), ()))

    @property
    def parameters(self) -> frozenset[str]:
        """Return the parameters that have draws."""
        return frozenset(self.values).difference(self.functions)

    def at(self, rows: RowNumbers, names: Collection[str]) -> Mapping[str, FloatArray]:
        """Return the values of some parameters in given draws, each of shape (rows,); read when asked for."""
        return _Rows(self.values, rows, frozenset(names).intersection(self.parameters))

    @cached_property
    def weights(self) -> FloatArray | None:
        """Return the weights of the draws, the largest 1; None if all count alike."""
        return None if self.log_weights is None else np.exp(self.log_weights - self.log_weights.max())

    def taken(self, rows: RowNumbers, count: int, random: np.random.Generator) -> RowNumbers:
        """Return so many draws out of some, in a random order, each as often as its weight asks for."""
        if self.weights is None:
            return shuffled_rows(rows, count, random)
        return weighted_rows(rows, self.weights[rows], count, random)

    @property
    def sum_of_weights(self) -> float:
        """Return the sum of the weights of all draws, of which the largest is 1; their number if all count alike."""
        return float(self.draws if self.weights is None else self.weights.sum())

    def size(self, rows: RowNumbers) -> float:
        """Return how many draws of equal weight some are worth, were all independent."""
        return float(len(rows)) if self.weights is None else weighted_size(self.weights[rows])

    def inside(self, name: str, low: float, high: float) -> RowNumbers:
        """Return the draws in which a parameter lies between two numbers, both included."""
        values = self.values[name]
        return np.flatnonzero((values >= low) & (values <= high))

    def effective(self, name: str, low: float, high: float, drivers: Collection[str]) -> float:
        """Return how many independent draws those are worth in which a parameter lies between two numbers.

        Parameters
        ----------
        name : str
        low, high : float
        drivers : collection of str
            Parameters whose correlation along the chains counts too.
        """
        rows = self.inside(name, low, high)
        size = self.size(rows)
        if self.posterior.independent or not size:
            return size
        indicator = np.zeros(self.draws)
        indicator[rows] = 1.0
        shares = [effective_size(indicator.reshape(self.chains, -1)) / self.draws]
        shares += [self.share(each) for each in {name, *drivers}.intersection(self.values)]
        return size * min(1.0, *shares, self.weight_share)

    @property
    def weight_share(self) -> float:
        """Return which share of the weights of the draws counts as independent; 1 at most."""
        if self.log_weights is None or self.posterior.independent:
            return 1.0
        return min(1.0, effective_size(self.log_weights.reshape(self.chains, -1)) / self.draws)

    def share(self, name: str) -> float:
        """Return which share of the draws of a parameter counts as independent; 1 at most."""
        if self.posterior.independent:
            return 1.0
        known: dict[str, float] = self.kept.table("effective shares")
        if name not in known:
            known[name] = min(1.0, least_effective_size(self.values[name].reshape(self.chains, -1)) / self.draws)
        return known[name]

    def shares(self, other: ParameterDraws) -> bool:
        """Return whether some draws are the same as some of another: they have a number in common that none repeats."""
        own, others = ([*map(_unrepeated, each.values.values())] for each in (self, other))
        return any(len(np.intersect1d(first, second, assume_unique=True)) for first in own for second in others)

    def different(self, names: Collection[str]) -> int:
        """Return how many draws differ from all others in some of the parameters; all where hardly any comes again."""
        columns = [self.values[name] for name in sorted(names)]
        if not columns or any(len(_unrepeated(values)) for values in columns):
            return self.draws
        return len(np.unique(np.stack(columns, axis=1), axis=0))

    def fixed(self, between: Collection[str]) -> frozenset[str]:
        """Return the parameters that each draw fixes: those with draws, without some and what is drawn with them."""
        return self.parameters.difference(self.whole(between))

    def whole(self, names: Collection[str]) -> frozenset[str]:
        """Return some parameters with all that is drawn together with one of them."""
        return frozenset(each for name in names for each in self.together.get(name, (name,)))

    def identity(self) -> bytes:
        """A hash of all that the draws say."""
        facts = repr((self.reading, self.chains, self.posterior, sorted(self.functions)))
        values = (part for name in sorted(self.values) for part in (name, self.values[name]))
        weights = () if self.log_weights is None else ("weights", self.log_weights)
        return bytes.fromhex(sha256(facts, *values, *weights))

    def __repr__(self) -> str:
        return f"ParameterDraws({len(self.values)} numbers, draws={self.draws}, reading={self.reading!r})"


@dataclass(frozen=True, eq=False)
class _Rows(Mapping[str, FloatArray]):
    """Values in some draws, cut out when they are asked for."""

    drawn: Mapping[str, FloatArray]
    rows: RowNumbers
    names: frozenset[str]

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.names:
            raise KeyError(name)
        return self.drawn[name][self.rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names


def _unrepeated(values: FloatArray) -> FloatArray:
    """Return different numbers; none where more than one in a hundred comes again, as of parameters with states."""
    found = np.unique(values)
    return found if len(found) >= 0.99 * len(values) else found[:0]


def shuffled_rows(rows: RowNumbers, count: int, random: np.random.Generator) -> RowNumbers:
    """Return so many draws out of some: all of them in a random order before any comes again.

    Examples
    --------
    >>> found = shuffled_rows(np.array([3, 5, 8]), 7, np.random.default_rng(0))
    >>> sorted(found[:3].tolist()), sorted(found[3:6].tolist()), len(found)
    ([3, 5, 8], [3, 5, 8], 7)
    """
    rounds = -(-count // len(rows))
    return np.concatenate([random.permutation(rows) for _ in range(rounds)] or [rows[:0]])[:count]


def weighted_rows(rows: RowNumbers, weights: FloatArray, count: int, random: np.random.Generator) -> RowNumbers:
    """Return so many draws out of some, in a random order: each as often as its weight asks for, up to one.

    Examples
    --------
    >>> found = weighted_rows(np.array([3, 5, 8]), np.array([2.0, 1.0, 0.0]), 9, np.random.default_rng(0))
    >>> sorted(found.tolist())
    [3, 3, 3, 3, 3, 3, 5, 5, 5]
    """
    ends = np.cumsum(weights)
    places = (np.arange(count) + random.random()) / count * ends[-1]
    last = int(np.flatnonzero(weights)[-1])  # rounding must not reach what has no weight
    found = cast(RowNumbers, np.searchsorted(ends, places, side="right"))
    return random.permutation(rows[np.minimum(found, last)])


def weighted_size(weights: FloatArray) -> float:
    """Return how many draws of equal weight some are worth: 0 if they have none.

    Examples
    --------
    >>> weighted_size(np.array([0.5, 0.5, 0.0])), weighted_size(np.zeros(3))
    (2.0, 0.0)
    """
    largest = float(weights.max(initial=0.0))
    if largest == 0:
        return 0.0
    scaled = weights / largest
    return float(scaled.sum() ** 2 / (scaled**2).sum())
