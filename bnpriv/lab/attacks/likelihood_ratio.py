"""How often the best attacker is right who knows both laws of the answer and that of the noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.column_laws import ColumnLaw
from bnpriv.core.columns import Categorical
from bnpriv.core.distributions import Atoms, ExactLaw, Normal
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.base import drivers
from bnpriv.core.networks.discrete import require_discrete
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise
from bnpriv.core.privacy_curves import LaplacePair, gaussian_mixture_delta
from bnpriv.core.queries.base import Indicator, IntegerTerm, NormalForm, columns_of, most_of
from bnpriv.core.queries.contribution import COMPARED, Leaf
from bnpriv.core.queries.predicates import IsIn, Truths, truth
from bnpriv.core.schema import Column, is_whole
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import BnprivError, ParameterError, Refusal, RefusedError, SizeError
from bnpriv.kinds.draws.answers import drawn_from
from bnpriv.lab.attacks.result import Attack, NumpySampler, noisy, share_interval, share_right
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.progress import progress, tracked

# --------------------------------------------------------------------------------------------------
# The law of a query's integer sums given the laws of its columns, without making up a single record.
#
# Columns are independent given their parameters. So terms that share no column are independent, and one record of the
# others is a choice among few cells: the combinations of comparisons that hold, and of values where a column has few.
# A sum is then a count of cells, multinomial and exact; sums of columns with many values are drawn from the normal
# law with their mean and covariance.
# --------------------------------------------------------------------------------------------------

MOST_SUM_CELLS = 2_000_000
"""Cells times terms of one group of columns, before they are allocated."""

FEW_STEPS = 200
"""A summed column with at most so many values is counted value by value."""

MOST_COUNTED = 5_000
"""Cells that are drawn from a multinomial law where values are summed."""


Group = tuple[tuple[str, ...], tuple[int, ...]]
"""Columns, and the places in the normal form of all terms that share them, directly or through others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupLaw:
    """What one record adds to the terms of a group.

    Parameters
    ----------
    mean : ndarray of shape (terms,)
    covariance : ndarray of shape (terms, terms)
    most : ndarray of shape (terms,)
        The most that a record can add; the least is 0.
    cells : ndarray of shape (terms, cells) or None
        What each cell adds, if cells determine that.
    probabilities : ndarray of shape (cells,) or None
    """

    mean: FloatArray
    covariance: FloatArray
    most: FloatArray
    cells: FloatArray | None
    probabilities: FloatArray | None

    def sums(self, records: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Return `draws` sums over `records` independent records, of shape (draws, terms)."""
        if self.cells is not None and self.probabilities is not None:
            counts = random.multinomial(records, self.probabilities, size=draws)
            return counts @ self.cells.T
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = records * self.mean + math.sqrt(records) * random.standard_normal((draws, len(values))) @ root.T
        return np.clip(drawn, 0.0, records * self.most)


def groups(form: NormalForm) -> tuple[Group, ...]:
    """The terms of a normal form in groups that share no column."""
    found: list[tuple[set[str], list[int]]] = []
    for place, term in enumerate(form.terms):
        columns, places = set(columns_of(term)), [place]
        for group in [group for group in found if group[0] & columns]:
            found.remove(group)
            columns, places = columns | group[0], [*group[1], *places]
        found.append((columns, places))
    return tuple((tuple(sorted(names)), tuple(sorted(places))) for names, places in found)


def record_law(form: NormalForm, group: Group, laws: Mapping[str, ColumnLaw]) -> GroupLaw:
    """What one record adds to a group of terms, given the laws of its columns.

    Raises
    ------
    SizeError
        If too many combinations of comparisons are possible.
    """
    columns, places = group
    terms = [form.terms[place] for place in places]
    powers = [None if isinstance(term, Indicator) else term.powers for term in terms]
    summed = frozenset(name for each in powers if each is not None for name in each)
    parts = {
        name: _column_cells(form.schema[name], _leaves(terms, name), laws[name], summed=name in summed)
        for name in columns
    }
    shape = tuple(len(part.probabilities) for part in parts.values())
    if math.prod(shape) * len(terms) > MOST_SUM_CELLS:
        raise SizeError(
            f"a rehearsal may look at {MOST_SUM_CELLS:,} combinations of comparisons",
            found=f"{math.prod(shape):,} for {len(terms)} terms that share columns",
            remedy="Rehearse parts of the query.",
        )

    def spread(name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers per cell of one column as numbers per combination of cells."""
        along = [-1 if name == other else 1 for other in parts]
        return np.broadcast_to(values.reshape(along), shape).ravel()

    def mean_of(product: Mapping[str, int]) -> FloatArray:
        """The mean of a product of powers of grid steps in each combination."""
        return reduce(np.multiply, (spread(name, parts[name].moments[k]) for name, k in product.items()))

    def holds(leaf: Leaf) -> Truths:
        return spread(leaf.column, parts[leaf.column].truth[leaf])

    chances = reduce(np.multiply.outer, (part.probabilities for part in parts.values())).ravel()
    values = np.stack(
        [
            truth(term.predicate, holds).astype(np.float64) if isinstance(term, Indicator) else mean_of(term.powers)
            for term in terms
        ]
    )
    mean = values @ chances
    # what reads a column in common varies together inside a combination too
    within = np.zeros((len(terms), len(terms)))
    for (i, one), (j, other) in itertools.product(enumerate(powers), repeat=2):
        if one is not None and other is not None and one.keys() & other.keys():
            both = {name: one.get(name, 0) + other.get(name, 0) for name in columns_of(terms[i]) | columns_of(terms[j])}
            within[i, j] = float((mean_of(both) - values[i] * values[j]) @ chances)
    covariance = (values * chances) @ values.T - np.outer(mean, mean) + within
    most = np.array([float(most_of(term, form.schema)) for term in terms])
    law = GroupLaw(mean=mean, covariance=covariance, most=most, cells=None, probabilities=None)
    if not all(parts[name].single for name in summed):
        return law
    cells, alike = np.unique(values, axis=1, return_inverse=True)
    if summed and cells.shape[1] > MOST_COUNTED:
        return law
    merged = np.bincount(alike.ravel(), weights=chances)
    return replace(law, cells=cells, probabilities=merged / merged.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class _ColumnCells:
    """A column cut into cells by comparisons.

    Parameters
    ----------
    truth : mapping from leaf to ndarray of shape (cells,)
    probabilities : ndarray of shape (cells,)
    moments : ndarray of shape (5, cells)
        Means of the powers 0 to 4 of the grid step in each cell; empty for categories.
    single : bool
        Whether each cell is a single grid step.
    """

    truth: Mapping[Leaf, Truths]
    probabilities: FloatArray
    moments: FloatArray
    single: bool


def _column_cells(column: Column, leaves: Sequence[Leaf], law: ColumnLaw, *, summed: bool) -> _ColumnCells:
    cuts = [float(value) for leaf in leaves for value in leaf.constants if not isinstance(value, str)]
    values, chances = law.atoms(cuts)
    values, chances = values[chances > 0], chances[chances > 0]
    if isinstance(column, Categorical):
        steps = np.zeros(len(values))
    elif is_whole(column):
        steps = np.floor(values + 0.5) - column.lower
    else:
        steps = np.floor((values - column.lower) * column.rate + 0.5)
    single = summed and len(np.unique(steps)) <= FEW_STEPS
    marks = [_holds(leaf, values).astype(np.float64) for leaf in leaves] + ([steps] if single else [])
    patterns, cell = np.zeros((0, 1)), np.zeros(len(values), dtype=np.intp)
    if marks:
        patterns, cell = np.unique(np.stack(marks), axis=1, return_inverse=True)
        cell = cell.ravel()
    masses: FloatArray = np.bincount(cell, weights=chances).astype(np.float64)
    moments = np.stack([np.bincount(cell, weights=chances * steps**power) for power in range(5)]) / masses
    truth = {leaf: pattern > 0 for leaf, pattern in zip(leaves, patterns, strict=False)}
    return _ColumnCells(truth=truth, probabilities=masses, moments=moments, single=single)


def _leaves(terms: Sequence[IntegerTerm], name: str) -> tuple[Leaf, ...]:
    conditions = [term.predicate for term in terms if isinstance(term, Indicator)]
    return tuple(
        dict.fromkeys(leaf for condition in conditions for leaf in condition.comparisons() if leaf.column == name)
    )


def _holds(leaf: Leaf, values: NDArray[Any]) -> Truths:
    """Compare values of a column, numbers or categories, with the constants of a comparison."""
    if isinstance(leaf, IsIn):
        return np.array([value in leaf.values for value in values.tolist()], dtype=bool)
    return np.asarray(COMPARED[leaf.operator](values, leaf.value))


# --------------------------------------------------------------------------------------------------
# What answers look like under two secrets, and how often somebody who knows both laws tells them apart.
# --------------------------------------------------------------------------------------------------

KnownNoise = Laplace | Gaussian | NoNoise
"""Noise whose density the guesser knows."""

MOST_GUESSED_SETTINGS = 2**22
"""Combinations of parameter states that are weighed."""

MOST_GUESSER_WORK = 20_000_000
"""Densities that the guesser computes: combinations it knows times answers times numbers of an answer."""


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
    _known: dict[tuple[Group, tuple[int, ...]], GroupLaw] = field(
        default_factory=dict[tuple[Group, tuple[int, ...]], GroupLaw]
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

    def _parts(self, states: Mapping[str, int]) -> list[tuple[FloatArray, GroupLaw]]:
        """The law of each group of terms, given the states of the parameters, and the weights of these terms."""
        parts: list[tuple[FloatArray, GroupLaw]] = []
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
    sides: list[tuple[FloatArray, FloatArray]] = []
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
        sides.append((one, other))
    return share_right(sides), len(places) == np.count_nonzero(total)


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


# --------------------------------------------------------------------------------------------------
# How often the best attacker is right who knows both laws of the answer and the law of the noise.
# --------------------------------------------------------------------------------------------------

CLOSED_FORM_ERROR = 1e-12
"""How far a number of a closed form may be off; added, as what is told is an upper bound."""

REACH_OF_LAPLACE = 60.0
"""Scales and standard deviations beyond which a density of normal and Laplace noise is taken for 0."""

MOST_WEIGHED = 2**26
"""Atoms times answers that are weighed at once."""


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
    with progress("attacking the release"):
        found = [
            (accuracy(pair.first, pair.second, calibration.noise, draws, random), pair, name)
            for pair, name in tracked(_pairs(calibration), "pairs of secrets")
        ]
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
        if any(pair.intervals is not None for pair in constraint.pairs):
            raise _unknown("a secret that lies anywhere in an interval")
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
    raise _unknown("distributions of two kinds")


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
    released = (noisy(noise, drawn_from(law, draws, random), NumpySampler(random)) for law in (first, second))
    sides = ((_log_density(values, first, noise), _log_density(values, second, noise)) for values in released)
    return Accuracy(value=share_right(sides), draws=draws)


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
            raise _unknown("normal distributions of several numbers with Laplace noise in several directions")
        _, along, variance = found
        return _normal_with_laplace(noise.scale, Normal(along, variance), Normal(0.0, variance))
    if isinstance(noise, (Laplace, DiscreteLaplace)):
        if first.dimension > 1 or isinstance(noise, DiscreteLaplace):
            raise _unknown("a normal distribution of several numbers with Laplace noise")
        return _normal_with_laplace(noise.scales[0], first, second)
    one, other = ((law.mean, law.covariance + noise.covariance) for law in (first, second))
    if np.array_equal(one[1], other[1]):
        return _from_variation(_one_covariance(first.mean - second.mean, one[1]))
    released = (random.multivariate_normal(*side, size=draws) for side in (one, other))
    sides = ((_log_normal(values, *one), _log_normal(values, *other)) for values in released)
    return Accuracy(value=share_right(sides), draws=draws)


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
    from_middle = [(values @ weights)[:, np.newaxis] - start for values in released]
    return share_right(
        (normal_laplace(x - along, spread, noise.scale)[:, 0], normal_laplace(x, spread, noise.scale)[:, 0])
        for x in from_middle
    )


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
