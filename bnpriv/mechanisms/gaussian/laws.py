"""Normal laws for mechanisms: pairs with one covariance, laws that stand for others, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, down, up, weakest
from bnpriv.core.distributions import Atoms, Normal, mahalanobis
from bnpriv.core.evidence.constraints import AnswerLaw, LawPair, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.gaussian_curve import GaussianConstant, gaussian_delta, gaussian_ratio
from bnpriv.core.mechanisms.base import least_scale
from bnpriv.core.mechanisms.law_decision import LawDecision
from bnpriv.core.privacy_curves import NormalMixture
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal, SizeError
from bnpriv.text import full_text, nats_text, number_text

# --------------------------------------------------------------------------------------------------
# What mechanisms for normal laws read: pairs of normal laws with one covariance, and how far apart their means are.
# --------------------------------------------------------------------------------------------------

SAME_COVARIANCE = 1e-12
"""How far two covariances may be apart, relative to themselves, and still be called one; what it costs is paid."""

SINGULAR = 1e-12
"""Least eigenvalue, per dimension, of the correlations of an answer that is told from a singular one."""

NOT_NORMAL = Refusal(
    required="the answer must have a normal distribution under each secret",
    found="a distribution with atoms, from which every normal distribution is infinitely far without noise",
    remedy="Use TightMechanism or WassersteinMechanism.",
)


OF_TABLES = Refusal(
    required="the distribution of the answer must be normal, not nearly so",
    found="answers of tables whose records are clamped to their bounds and rounded to their grid",
    remedy="Use TightMechanism with Gaussian noise.",
)


class NormalPair(NamedTuple):
    """Two normal laws of one answer, of one protected attribute under one model; both directions count.

    Parameters
    ----------
    pair : LawPair
        Holds two `Normal` laws with one covariance.
    protected : str
        The protected attribute.
    model : int
        The index in Theta.
    """

    pair: LawPair
    protected: str
    model: int

    @property
    def first(self) -> Normal:
        """The law under the first secret."""
        return cast(Normal, self.pair.first)

    @property
    def second(self) -> Normal:
        """The law under the second secret."""
        return cast(Normal, self.pair.second)

    @property
    def gap(self) -> FloatArray:
        """The difference of the means, shape (d,), each entry correctly rounded."""
        return self.first.mean - self.second.mean

    @property
    def far(self) -> float:
        """The 2-norm of the gap, rounded up."""
        return up(math.hypot(*self.gap.tolist()), 2 * len(self.gap) + 8)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of both laws, shape (d, d)."""
        return self.first.covariance

    @property
    def departure(self) -> float:
        """How far apart in total variation the laws may be because their covariances differ, rounded up."""
        return covariance_departure(self.first, self.second) / 2


def laws_by_pairs(framework: Framework, query: Query) -> tuple[Laws, list[NormalPair]] | Refusal:
    """The laws of an answer, also pair by pair over all protected attributes and models, or why some are not known.

    The laws of the pairs may be of any kind; `not_normal` tells whether they are normal.
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return evidence
    found: list[NormalPair] = []
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            return constraint.pairs
        found += [NormalPair(pair, constraint.protected, constraint.model) for pair in constraint.pairs]
    return evidence, found


def not_normal(pairs: Sequence[NormalPair]) -> Refusal | None:
    """Why pairs of laws are not normal laws with one covariance in each pair; None if they are.

    Answers of tables will do, which are normal but for a departure that whoever asks pays for:
    docs/claims/normal_records.md.
    """
    for each in pairs:
        of_table = each.pair.departure is not None and isinstance(each.pair.first, Normal)
        refusal = singular_refusal(each.first) if of_table else normal_refusal(each)
        if refusal is not None:
            return refusal
    return None


def normal_refusal(each: NormalPair) -> Refusal | None:
    """Return why the laws of a pair are not normal laws with one covariance, or None if they are."""
    if not (isinstance(each.pair.first, Normal) and isinstance(each.pair.second, Normal)):
        return NOT_NORMAL
    if each.pair.departure is not None:
        return OF_TABLES
    refusal = singular_refusal(each.first) or singular_refusal(each.second)
    apart = 0.0 if refusal else covariance_departure(each.first, each.second)
    if apart > SAME_COVARIANCE:
        return Refusal(
            required="the two normal distributions of a pair must have the same covariance",
            found=f"covariances that differ by {nats_text(apart, 3)} of themselves "
            f"({each.protected}, {each.pair.pair})",
            remedy="Use AttributeGaussianMechanism(relaxation=...) or WassersteinMechanism, or declare one covariance "
            'for both, as laws_by_property(..., covariance="mean") does.',
        )
    return refusal


def singular_refusal(law: Normal) -> Refusal | None:
    """Return why a covariance cannot be told from a singular one, or None if it can."""
    least = _least_eigenvalue(law.covariance)
    if least > 0:
        return None
    return Refusal(
        required="the covariance of the answer must have an inverse",
        found="a covariance that is singular to within rounding",
        remedy="Leave out the parts of the answer that follow from the others, or use ColumnMechanism.",
    )


def covariance_departure(first: Normal, second: Normal) -> float:
    """Return how far apart two covariances are, relative to the smaller one: 0 if they are the same, rounded up.

    It is the Frobenius norm of their difference, in units of the standard deviations of the answer's parts, over the
    least eigenvalue of the correlations; half of it bounds the total variation of two such laws with one mean.
    """
    if np.array_equal(first.covariance, second.covariance):
        return 0.0
    least = min(_least_eigenvalue(first.covariance), _least_eigenvalue(second.covariance))
    if least <= 0:
        return math.inf
    units = np.sqrt(np.minimum(np.diag(first.covariance), np.diag(second.covariance)))
    apart = (first.covariance - second.covariance) / np.outer(units, units)
    return float(np.linalg.norm(apart)) / least * (1 + 1e-9)


def _least_eigenvalue(covariance: FloatArray) -> float:
    """Return a lower bound of the least eigenvalue of the correlations, 0 if it cannot be told from 0."""
    variances = np.diag(covariance)
    if not np.all(variances > 0):
        return 0.0
    units = np.sqrt(variances)
    least = float(np.linalg.eigvalsh(covariance / units / units[:, None])[0])
    least -= 16 * len(units) ** 2 * UNIT_ROUNDOFF
    return least if least > SINGULAR * len(units) else 0.0


def normal_ratio(
    pairs: Sequence[NormalPair], epsilon: float, delta: float, constant: GaussianConstant = "analytic"
) -> float | Refusal:
    """Return the largest gap in standard deviations that is private, once what differs in covariances is paid for.

    Parameters
    ----------
    pairs : sequence of NormalPair
    epsilon, delta : float
        Above 0.
    constant : {"analytic", "textbook", "lecture"}

    Returns
    -------
    float or Refusal
        Rounded down; a refusal where delta does not cover that the covariances of a pair differ by rounding.
    """
    left = delta_for_one_covariance(pairs, epsilon, delta)
    if left > 0:
        return gaussian_ratio(epsilon, left, constant)
    departure = max(each.departure for each in pairs)
    return Refusal(
        required="delta must cover that the covariances of a pair differ by rounding",
        found=f"delta {full_text(delta)} for a difference of {number_text(departure, 3)} in total variation",
        remedy="Declare one covariance for both distributions of a pair, or ask for a larger delta.",
    )


def delta_for_one_covariance(pairs: Sequence[NormalPair], epsilon: float, delta: float) -> float:
    """Return what is left of delta once both laws of a pair are moved to one covariance, rounded down.

    docs/claims/attribute_gaussian.md.
    """
    departure = max((each.departure for each in pairs), default=0.0)
    return delta if departure == 0 else down(delta - math.exp(min(epsilon, 700.0)) * departure)


# --------------------------------------------------------------------------------------------------
# How far a law is from a normal one that stands for it, once Gaussian noise is added to both: both directions.
# --------------------------------------------------------------------------------------------------

CELLS_PER_DEVIATION = 4
"""Cells per standard deviation of the first grid."""

CUTS, TIMES_CUT = 4, 6
"""A cell in which the sign of the difference may change is cut into so many, so many times."""

NORMAL_REACH = 12.0
"""Standard deviations beyond the outer atoms; what lies further out is counted in full."""

MOST_APPROXIMATION_TERMS = 2**24
"""Cells of the first grid times atoms."""

MOST_CUT_TERMS = 2**21
"""Cells that are cut up at once times atoms; the bound of more of them is taken as it is."""

SETTLED_RATIO = 1e-11
"""A cell in which the log of the ratio is known so well is not cut up."""

SETTLED_SHARE = 1e-3
"""Cells that hold no more than this share of the bound are not cut up."""

LOG_RATIO_ERROR = 1e-12
"""Bound on the error of a log of a ratio of densities, relative to the size of the logs."""

CELL_MASS_ERROR = 1e-11
"""Bound on the relative error of the mass of a cell."""

MOST_UNSURE = 1e-3
"""Variances that are off by more, in units of another law's, are not told apart from any others."""

MOST_ORDERS = 60
"""Orders of Renyi divergence that are tried."""


def mixture_excess(mixture: NormalMixture, mean: float, variance: float, level: float) -> float:
    """Return an upper bound of the larger hockey-stick divergence between a mixture and a normal law.

    Parameters
    ----------
    mixture : NormalMixture
        A law with Gaussian noise.
    mean, variance : float
        Of the normal law, with the same noise.
    level : float
        At least 0.

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    SizeError
        If the atoms are too many, or too far apart for their deviation.

    Notes
    -----
    docs/claims/normal_approximations.md: cell by cell, with bounds on the log of the ratio of the densities, which need
    no more than the two ends of a cell.

    Examples
    --------
    >>> fair = NormalMixture(np.array([0.0, 1.0]), np.log([0.5, 0.5]), 1.0)
    >>> round(mixture_excess(fair, 0.5, 1.25, 0.0), 4)
    0.0059
    """
    origin = float(mixture.means[0])
    centred = NormalMixture(mixture.means - origin, mixture.logs, mixture.variance)
    normal = NormalMixture(np.array([mean - origin]), np.zeros(1), variance)
    reaches = [NORMAL_REACH * math.sqrt(law.variance) for law in (centred, normal)]
    low = min(float(law.means.min()) - reach for law, reach in zip((centred, normal), reaches, strict=True))
    high = max(float(law.means.max()) + reach for law, reach in zip((centred, normal), reaches, strict=True))
    width = math.sqrt(min(mixture.variance, variance)) / CELLS_PER_DEVIATION
    terms = (high - low) / width * mixture.means.size
    if not terms <= MOST_APPROXIMATION_TERMS:
        raise SizeError(
            f"the distance of a distribution from a normal one may take at most {MOST_APPROXIMATION_TERMS:,} terms",
            found=f"{terms:.3g} for {mixture.means.size:,} atoms",
            remedy="Use TightMechanism or WassersteinMechanism.",
        )
    ends = np.linspace(low, high, math.ceil((high - low) / width) + 1)
    found = _cut_up(_Ends.of(ends[:-1], ends[1:], centred, normal), centred, normal, level)
    # what lies beyond the grid, and that means were rounded when they were centred
    moved = (
        UNIT_ROUNDOFF
        * (abs(origin) + float(np.abs(centred.means).max()) + abs(mean))
        / math.sqrt(min(mixture.variance, variance))
    )
    return min(1.0, max(found) + math.exp(-(NORMAL_REACH**2) / 2) + (1 + math.exp(min(level, 700.0))) * moved)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Cells, with bounds of the log of the ratio of the two densities in each."""

    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray

    @staticmethod
    def of(low: FloatArray, high: FloatArray, first: NormalMixture, second: NormalMixture) -> _Ends:
        """Bound the log ratio: the mean of the component given a point grows with the point."""
        at, place = np.unique(np.concatenate([low, high]), return_inverse=True)
        logs, means = first.log_density(at)
        others, _ = second.log_density(at)
        ratio = logs - others
        error = LOG_RATIO_ERROR * (1 + np.abs(logs) + np.abs(others))
        left, right = place[: low.size], place[low.size :]
        bend = 1 / second.variance - 1 / first.variance
        shift = float(second.means[0]) / second.variance
        rises = [means[each] / first.variance - shift for each in (left, right)]
        slack = LOG_RATIO_ERROR * (1 + np.abs(rises[0]) + np.abs(rises[1]) + abs(shift))
        steepest = rises[1] + np.maximum(low * bend, high * bend) + slack
        flattest = rises[0] + np.minimum(low * bend, high * bend) - slack
        length = high - low
        up, down = np.maximum(steepest, 0) * length, np.minimum(flattest, 0) * length
        most = np.minimum(ratio[left] + error[left] + up, ratio[right] + error[right] - down)
        least = np.maximum(ratio[left] - error[left] + down, ratio[right] - error[right] - up)
        return _Ends(low, high, least, most)

    def cut(self, some: NDArray[np.bool_], first: NormalMixture, second: NormalMixture) -> _Ends:
        """Return some of the cells, cut into smaller ones."""
        shares = np.arange(CUTS + 1) / CUTS
        ends = self.low[some][:, None] + (self.high - self.low)[some][:, None] * shares
        ends[:, -1] = self.high[some]
        return _Ends.of(ends[:, :-1].ravel(), ends[:, 1:].ravel(), first, second)


def _cut_up(cells: _Ends, first: NormalMixture, second: NormalMixture, level: float) -> list[float]:
    """Bound both integrals of positive parts over all cells; cells that are not certain are cut up."""
    total = np.zeros(2)
    for time in range(TIMES_CUT + 1):
        found, unsure = _bounds(cells, first, second, level)
        left = found[:, unsure].sum(axis=1)
        settled = np.all(left <= SETTLED_SHARE * (total + found.sum(axis=1)))
        if settled or time == TIMES_CUT or np.sum(unsure) * CUTS * first.means.size > MOST_CUT_TERMS:
            unsure[:] = False
        total += found[:, ~unsure].sum(axis=1) * (1 + CELL_MASS_ERROR)
        if not unsure.any():
            break
        cells = cells.cut(unsure, first, second)
    return total.tolist()


def _bounds(
    cells: _Ends, first: NormalMixture, second: NormalMixture, level: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return bounds of both integrals over each cell, shape (2, cells), and which cells are worth cutting up."""
    masses = [law.mass(cells.low, cells.high) * (1 + CELL_MASS_ERROR) for law in (first, second)]
    # how far the log of the ratio is above the level, for either direction: at most, and surely
    most = np.maximum(np.stack([cells.most, -cells.least]) - level, 0.0)
    sure = np.stack([cells.least, -cells.most]) > level
    found = np.stack(masses) * -np.expm1(-most)
    for way in range(2):
        exact = masses[way] - math.exp(min(level, 700.0)) * masses[1 - way] * (1 - 3 * CELL_MASS_ERROR)
        found[way] = np.where(sure[way], np.minimum(found[way], np.maximum(exact, 0.0)), found[way])
    unsure = np.any((most > 0) & ~sure, axis=0) & (cells.most - cells.least > SETTLED_RATIO)
    return found, unsure


def normal_excess_bound(
    mean: FloatArray, covariance: FloatArray, other_mean: FloatArray, other_covariance: FloatArray, level: float
) -> float:
    """Return an upper bound of the hockey-stick divergence of a normal law from another one, in any dimension.

    Parameters
    ----------
    mean, other_mean : ndarray of shape (d,)
    covariance, other_covariance : ndarray of shape (d, d)
        Positive definite.
    level : float
        At least 0.

    Returns
    -------
    float
        At most 1: by Pinsker's inequality at level 0, and by Renyi divergences of many orders.

    Notes
    -----
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (NeurIPS 2020), proposition 12.

    Examples
    --------
    >>> one = np.eye(2)
    >>> round(normal_excess_bound(np.zeros(2), 1.1 * one, np.zeros(2), one, 0.2), 4)
    0.0203
    """
    found = _relative_variances(mean - other_mean, covariance, other_covariance)
    if found is None:
        return 1.0
    variances, gaps, error = found
    # both sums below are convex in each variance, so that the largest value is at one of two ends
    ends = np.stack([variances - error, variances + error])
    slack = 1e-12 * (1 + float(np.abs(np.log(variances)).max())) * len(gaps)
    kullback = float(np.sum(np.max(ends - 1 - np.log(ends), axis=0))) / 2 + float(gaps.sum()) / 2 + slack
    best = min(1.0, math.sqrt(kullback / 2))
    for power in range(MOST_ORDERS):
        order = 1 + 10.0 ** (-2 + power / 10)
        mixed = order - (order - 1) * ends
        # the second mixed variances are the smaller ones
        if not float(mixed[1].min()) > 4 * (order - 1) * error:
            break
        far = float(np.sum(gaps / mixed[1])) / (1 - (order - 1) * error / float(mixed[1].min()))
        logs = (np.log(mixed) + (order - 1) * np.log(ends)) / (order - 1)
        renyi = order * far / 2 - float(np.sum(np.min(logs, axis=0))) / 2
        rounding = slack * (1 + far) * order / (order - 1)
        exponent = (order - 1) * (renyi + rounding - level) + (order - 1) * math.log1p(-1 / order)
        if exponent < 0:
            best = min(best, math.exp(exponent) / order)
    return best * (1 + 1e-9)


def _relative_variances(
    gap: FloatArray, covariance: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return the variances of a law in units of another one, the squared gaps along them, and how far both are off.

    Returns
    -------
    tuple or None
        Variances, each off by at most the error; gaps, rounded up but for which direction they lie in, which an error
        of the matrix that belongs to them makes up for. None where the covariances are too near to singular ones.
    """
    d = len(gap)
    # powers of two, which change no bit, bring all deviations of the other law near 1
    units = np.ldexp(1.0, -np.frexp(np.sqrt(np.diag(other)))[1])
    try:
        scaled, inner = (each * units * units[:, None] for each in (other, covariance))
        least = float(np.linalg.eigvalsh(scaled)[0]) - 16 * d * d * UNIT_ROUNDOFF
        factor = np.linalg.cholesky(scaled)
        half = np.linalg.solve(factor, inner)
        whole = np.linalg.solve(factor, half.T)
        variances, turned = np.linalg.eigh((whole + whole.T) / 2)
        seen = np.asarray(turned.T @ np.linalg.solve(factor, gap * units), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    # solving with the factor is exact for a matrix that is off by this share of the least eigenvalue
    error = 64 * d**3 * UNIT_ROUNDOFF * (1 + float(np.abs(variances).max())) / least if least > 0 else math.inf
    if not (error <= MOST_UNSURE and float(variances[0]) > 2 * error):
        return None
    return variances, np.square(seen) * (1 + 4 * error), error


# --------------------------------------------------------------------------------------------------
# Normal laws that stand for others, and what that costs: how far the two are from each other after the noise.
# --------------------------------------------------------------------------------------------------

APPROXIMATION_PRECISION = 1e-4
"""Relative precision of a scale that is found with approximations: every trial integrates two densities."""

FARTHEST_TRIAL = 2.0**30
"""Noise so many times the spread of the answer and its gap is tried first: if it does not do, none does."""

MOST_RELAXED = 700.0
"""Epsilon from which on its exponential is counted as infinite."""

RELAXED_RULE = "the two normal distributions that stand for those of the answer"

TOO_FAR = Refusal(
    required="delta must cover how far the distributions of the answer are from the normal ones that stand for them",
    found="no scale of noise at which it does",
    remedy="Choose a larger relaxation, or use TightMechanism, which needs no normal distributions.",
)

FROM_DRAWS = Refusal(
    required="how far a distribution is from a normal one must be computed",
    found="distributions that are known from draws alone",
    remedy="Use TightMechanism or WassersteinMechanism.",
)

SEVERAL_ATOMS = Refusal(
    required="closeness to a normal distribution is computed for distributions of one number",
    found="distributions with atoms of several numbers",
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
            required="there must be two normal distributions for every pair of distributions",
            found=f"{len(chosen)} for {len(pairs)} pairs",
            remedy="Give one for each, in their order, or none for the distributions' own means and covariances.",
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
            required="normal distributions must have the dimension of the answer",
            found=f"{first.dimension} and {second.dimension} for {each.pair.first.dimension}",
            remedy="Give distributions of the same answer.",
        )
    if covariance_departure(first, second):
        return Refusal(
            required="the two normal distributions that stand for a pair must have the same covariance",
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
