"""How far a law is from a normal one that stands for it, once Gaussian noise is added to both: both directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.gaussian_mixture import NormalMixture
from bnpriv.errors import SizeError

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
            f"the distance of a law from a normal one may take at most {MOST_APPROXIMATION_TERMS:,} terms",
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


@final
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
