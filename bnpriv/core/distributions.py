"""Laws of an answer: finitely many atoms, or normal; and laws that are known by draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind, up
from bnpriv.errors import LawError, ParameterError, SizeError

# --------------------------------------------------------------------------------------------------
# Limits and checks that all laws share, and sums in log space.
# --------------------------------------------------------------------------------------------------

SUM_TOLERANCE = 1e-9
"""How far from one the probabilities of a declared law may sum."""

FUNCTION_ERROR = 8
"""Relative error of exp and log in units of UNIT_ROUNDOFF: NumPy's vector versions may be off by 4 ulp."""

MOST_ATOMS = 2**24
"""The largest support that is allocated."""

LARGEST = 2.0**500
"""The largest coordinate or variance: differences and squares must not overflow."""


def refused(required: str, found: str, remedy: str = "Correct the distribution.") -> LawError:
    """The error for a law that is not well formed."""
    return LawError(required, found=found, remedy=remedy)


def numbers(what: str, values: ArrayLike, *, lowest: float = -LARGEST) -> FloatArray:
    """Values as an array of doubles between `lowest` and LARGEST; no strings, booleans or NaN."""
    try:
        raw = np.asarray(values)
    except ValueError:
        raise refused(f"{what} must be real numbers", "rows of different lengths") from None
    if raw.dtype.kind not in "iufO":
        raise refused(f"{what} must be real numbers", f"an array of type {raw.dtype}")
    try:
        array = raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refused(f"{what} must be real numbers", "something else in the array") from None
    inside = (array >= lowest) & (array <= LARGEST)
    if not np.all(inside):
        found = f"{float(array[~inside].flat[0]):g}"
        raise refused(f"{what} must be numbers of a size of at most {LARGEST:.3g}", found)
    return array


def check_atoms(count: int) -> None:
    """Refuse a support that is too large, before it is allocated."""
    if count > MOST_ATOMS:
        raise SizeError(
            f"a distribution may have at most {MOST_ATOMS:,} atoms",
            found=checks.shown(count),
            remedy="Round the answer to a coarser grid, or take fewer records or columns.",
        )


def magnitude(values: FloatArray) -> float:
    """The largest absolute value among the finite ones."""
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def log_sum(logs: FloatArray) -> float:
    """The log of a sum of exponentials; the numbers are finite or -inf, and at least one is finite."""
    top = float(np.max(logs))
    return top + math.log(float(np.sum(np.exp(logs - top))))


def log_sum_exp(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """The log of the sum of exponentials along `axis`; -inf where every entry is -inf."""
    top = np.max(values, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    shifted = values - shift
    np.exp(shifted, out=shifted)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(shifted, axis=axis))
    return total + np.squeeze(shift, axis=axis)


# --------------------------------------------------------------------------------------------------
# Binomial log masses from the logs of both probabilities, which may lie far below the range of doubles.
# --------------------------------------------------------------------------------------------------


def binomial_logs(n: int, log_p: float, log_q: float) -> tuple[FloatArray, float]:
    """The n + 1 log masses of a binomial law, and the largest error of one if `log_p` and `log_q` are exact.

    With k successes and s(k) = log k! - log(sqrt(2 pi k) (k/e)^k), for 0 < k < n

        log P(k) = k log p + (n-k) log q - k log(k/n) - (n-k) log((n-k)/n)
                   + s(n) - s(k) - s(n-k) + log(n / (2 pi k (n-k))) / 2.

    Log gamma functions would lose n log n to cancellation; here no term passes n and |log P(k)| by much.
    """
    k, first, second, rest = (_binomial_parts if n <= MOST_KEPT else _binomial_parts.__wrapped__)(n)
    logs = np.empty(n + 1)
    logs[0], logs[-1] = n * log_q, n * log_p
    logs[1:-1] = k * log_p + (n - k) * log_q - first - second + rest
    # The two last logarithms of the first line sum to at most .7 n, with an error of FUNCTION_ERROR and of two
    # roundings each, and one rounding of their quotients, n times at most; what they take away from is at most that and
    # |log P| together, and is rounded four times. 256: Stirling's corrections and the last logarithm.
    steps = (FUNCTION_ERROR + 2 + 4) * 0.7 * n + n + 5 * magnitude(logs) + 4 * math.log(n) + 256
    return logs, UNIT_ROUNDOFF * steps


MOST_KEPT = 1000
"""The most trials for which what all probabilities share is kept."""


@lru_cache(2 * MOST_KEPT)
def _binomial_parts(n: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The numbers k of successes but 0 and n, and the terms of `binomial_logs` without p."""
    k, stirling = np.arange(1.0, n), _stirling(np.arange(1.0, n + 1))
    rest = stirling[-1] - stirling[:-1] - stirling[-2::-1] + np.log(n / (2 * math.pi * k * (n - k))) / 2
    return k, k * np.log(k / n), (n - k) * np.log((n - k) / n), rest


def _stirling(k: FloatArray) -> FloatArray:
    """Stirling's correction log k! - log(sqrt(2 pi k) (k/e)^k); by its series beyond 15, accurate to 1e-16."""
    square = k * k
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / k
    few = range(1, min(15, len(k)) + 1)
    small = [math.lgamma(j + 1) - ((j + 0.5) * math.log(j) - j + 0.5 * math.log(2 * math.pi)) for j in few]
    series[: len(small)] = small
    return series


# --------------------------------------------------------------------------------------------------
# Laws with finitely many atoms.
#
# Masses are kept as logs, with a bound on their error, so that the far tails of a computed law neither vanish nor
# lose their relative accuracy: whether a mass of 1e-300 is there decides a pure guarantee.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Atoms:
    """A law with finitely many atoms.

    Parameters
    ----------
    support : array of shape (K,) or (K, d)
        The atoms, in the unit of the answer; repeated ones are merged, and they are sorted.
    probabilities : array of shape (K,)
        At least 0, with a sum of 1 to within 1e-9, by which they are then divided; atoms of probability 0 are dropped.

    Attributes
    ----------
    support : ndarray of shape (K,) or (K, d)
        Distinct and sorted (lexicographically); one-dimensional if d is 1.
    logs : ndarray of shape (K,)
        Natural logs of the masses, all finite.
    error : float
        Largest absolute error of a log: every true mass is within a factor of ``exp(error)`` of ``exp(logs)``.

    Raises
    ------
    LawError
        If a number is not finite, a probability is negative, the sum is not 1 or the shapes do not fit.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> law = Atoms([5, 0, 5], [0.25, 0.5, 0.25])
    >>> law, law.support, law.mean
    (Atoms(size=2, dimension=1), array([0., 5.]), array([2.5]))
    """

    support: FloatArray
    logs: FloatArray
    error: float

    def __init__(self, support: ArrayLike, probabilities: ArrayLike) -> None:
        points = _points(support)
        masses = _masses("probabilities", probabilities, points)
        if not np.all(masses >= 0):
            raise refused("probabilities must be at least 0", f"{float(np.min(masses)):g}")
        total = float(np.sum(masses))
        if not abs(total - 1) <= SUM_TOLERANCE:
            raise refused(
                "probabilities must sum to 1", f"a sum of {total:.12g}", "Correct or normalize the distribution."
            )
        with np.errstate(divide="ignore"):
            logs = np.log(masses) - math.log(total)
        # 64: pairwise summation of up to 2^24 numbers, the log of the sum and the difference
        self._set(points, logs, UNIT_ROUNDOFF * ((FUNCTION_ERROR + 1) * magnitude(logs) + 64))

    @classmethod
    def from_logs(cls, support: ArrayLike, log_probabilities: ArrayLike, error: float = 0.0) -> Atoms:
        """A law from computed log masses, which may lie far below the range of doubles.

        Parameters
        ----------
        support : array of shape (K,) or (K, d)
            The atoms.
        log_probabilities : array of shape (K,)
            Natural logs, ``-inf`` for no mass; the masses sum to 1 up to 1e-9 and `error`, and are divided by their
            sum where `error` does not explain it.
        error : float
            Largest absolute error of a log.

        Returns
        -------
        Atoms

        Raises
        ------
        LawError
            If a number is out of range, the sum is not 1 or the shapes do not fit.

        Examples
        --------
        >>> from bnpriv.laws import Atoms
        >>> float(Atoms.from_logs([0, 1], [0.0, -2000.0]).logs[1])
        -2000.0
        """
        points = _points(support)
        logs = _masses("log probabilities", log_probabilities, points, lowest=-math.inf)
        error = checks.number("error", error, error=LawError)
        if not error >= 0:
            raise refused("error must be at least 0", f"{error:g}", "Pass a bound on the error of the logs.")
        total = log_sum(logs) if np.max(logs) > -math.inf else -math.inf
        if not abs(total) <= SUM_TOLERANCE + error:
            found = f"a sum of {math.exp(min(total, 700.0)):.12g}"
            raise refused("probabilities must sum to 1", found, "Correct or normalize the distribution.")
        rounding = UNIT_ROUNDOFF * (4 * FUNCTION_ERROR + 64)
        # within the error the sum cannot be told from one: dividing would only add a rounding
        if abs(total) > error + rounding:
            logs = logs - total
            error += rounding + UNIT_ROUNDOFF * magnitude(logs)
        law = cls.__new__(cls)
        law._set(points, logs, error)
        return law

    @classmethod
    def binomial(cls, n: int, p: float, step: float = 1.0) -> Atoms:
        """The law of `step` times the number of successes in `n` independent trials.

        Parameters
        ----------
        n : int
            Number of trials, at least 1.
        p : float
            Probability of a success.
        step : float
            What a success adds to the answer, above 0.

        Returns
        -------
        Atoms

        Raises
        ------
        LawError
            If a parameter is out of range.
        SizeError
            If there are too many trials.

        Examples
        --------
        >>> from bnpriv.laws import Atoms
        >>> Atoms.binomial(2, 0.5, step=0.5).probabilities.round(12)
        array([0.25, 0.5 , 0.25])
        """
        n = checks.whole("n", n, error=LawError)
        p = checks.number("p", p, error=LawError)
        step = checks.positive("step", step, error=LawError)
        if not 0 <= p <= 1:
            raise refused("p must be between 0 and 1", f"{p:g}", "Pass a probability.")
        check_atoms(n + 1)
        if p in (0.0, 1.0):
            return cls([n * step * p], [1.0])
        log_p, log_q = math.log(p), math.log1p(-p)
        logs, error = binomial_logs(n, log_p, log_q)
        # log P(k) takes k of the one and n - k of the other, each off by its own size
        error += FUNCTION_ERROR * UNIT_ROUNDOFF * (magnitude(logs) + n)
        return cls.from_logs(np.arange(n + 1) * step, logs, error)

    def _set(self, points: FloatArray, logs: FloatArray, error: float) -> None:
        points, logs, rounding = _merged(points[logs > -math.inf], logs[logs > -math.inf])
        check_atoms(len(logs))
        points.flags.writeable = logs.flags.writeable = False
        vars(self).update(support=points, logs=logs, error=error + rounding)

    @property
    def size(self) -> int:
        """The number of atoms K."""
        return len(self.logs)

    @property
    def dimension(self) -> int:
        """The number of coordinates d of an atom."""
        return 1 if self.support.ndim == 1 else self.support.shape[1]

    @property
    def points(self) -> FloatArray:
        """The support in shape (K, d)."""
        return self.support.reshape(self.size, self.dimension)

    @cached_property
    def whole(self) -> bool:
        """Whether all coordinates are integers so small that their sums and differences are exact."""
        points = self.support
        return bool(np.array_equal(points, np.rint(points)) and np.max(np.abs(points)) < 2**52 / self.dimension)

    @cached_property
    def largest_log(self) -> float:
        """The largest absolute log mass."""
        return magnitude(self.logs)

    @property
    def probabilities(self) -> FloatArray:
        """The masses, of shape (K,); those below the range of doubles are 0 here."""
        return np.exp(self.logs)

    @property
    def mean(self) -> FloatArray:
        """The mean, of shape (d,)."""
        masses = self.probabilities
        return (masses / np.sum(masses)) @ self.points

    @property
    def covariance(self) -> FloatArray:
        """The covariance, of shape (d, d)."""
        masses = self.probabilities
        centred = self.points - self.mean
        return centred.T @ (centred * (masses / np.sum(masses))[:, None])

    def weighted(self, weights: Sequence[float]) -> Atoms:
        """The law with every coordinate multiplied by a power of two, without rounding.

        Parameters
        ----------
        weights : sequence of float, of length d
            Positive powers of two.

        Returns
        -------
        Atoms

        Raises
        ------
        LawError
            If an atom becomes too large for a double.

        Examples
        --------
        >>> from bnpriv.laws import Atoms
        >>> Atoms([[1, 3], [2, 0.5]], [0.5, 0.5]).weighted([1, 4]).support
        array([[ 1., 12.],
               [ 2.,  2.]])
        """
        factors = np.asarray(weights, dtype=np.float64)
        points = numbers("weighted atoms", self.support * (factors if self.support.ndim == 2 else factors[0]))
        points.flags.writeable = False
        return self.with_logs(self.logs, self.error, points)

    def with_logs(self, logs: FloatArray, error: float, support: FloatArray | None = None) -> Atoms:
        """A law with other log masses, on the same atoms or on as many others.

        Parameters
        ----------
        logs : ndarray
        error : float
            How far each log may be off.
        support : ndarray, optional
            The other atoms, sorted.
        """
        law = type(self).__new__(type(self))
        law.__dict__.update(support=self.support if support is None else support, logs=logs, error=error)
        return law

    def __repr__(self) -> str:
        return f"Atoms(size={self.size}, dimension={self.dimension})"


def log_mixture(log_weights: FloatArray, laws: Sequence[Atoms], error: float) -> Atoms:
    """The mixture of `laws` with probabilities given by their logs.

    Parameters
    ----------
    log_weights : ndarray of shape (len(laws),)
        All finite; the probabilities sum to 1 up to 1e-9 and `error`.
    laws : sequence of Atoms
        All of one dimension.
    error : float
        Largest absolute error of a log weight.

    Returns
    -------
    Atoms

    Raises
    ------
    LawError
        If the weights are no probabilities or the laws do not fit together.
    """
    check_parts(laws)
    logs = np.concatenate([law.logs + weight for law, weight in zip(laws, log_weights.tolist(), strict=True)])
    error += max(law.error for law in laws) + UNIT_ROUNDOFF * magnitude(logs)
    return Atoms.from_logs(np.concatenate([law.support for law in laws]), logs, error)


def check_parts(laws: Sequence[Atoms]) -> None:
    """Refuse laws that have no mixture, being none or of several dimensions."""
    if not laws or len({law.dimension for law in laws}) != 1:
        raise refused(
            "a mixture needs distributions of one dimension",
            f"{len(laws)} distributions",
            "Give distributions of one query's answer.",
        )


def _points(support: ArrayLike) -> FloatArray:
    points = numbers("the support", support)
    if points.ndim not in (1, 2) or points.size == 0:
        raise refused("a support must have shape (K,) or (K, d)", f"shape {points.shape}")
    if points.ndim == 2 and points.shape[1] == 1:
        points = points[:, 0]
    return points + 0.0  # a copy, and -0.0 becomes 0.0


def _masses(what: str, values: ArrayLike, points: FloatArray, *, lowest: float = 0.0) -> FloatArray:
    masses = numbers(what, values) if lowest == 0.0 else numbers(what, values, lowest=lowest)
    if masses.shape != (len(points),):
        raise refused(f"{what} must have shape ({len(points)},), one per atom", f"shape {masses.shape}")
    return masses


def _merged(points: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Sort atoms and add up the masses of repeated ones; give also the rounding error of that."""
    if points.ndim == 2 or not np.all(points[1:] > points[:-1]):
        order = np.argsort(points, kind="stable") if points.ndim == 1 else np.lexsort(points.T[::-1])
        points, logs = points[order], logs[order]
    differs = points[1:] != points[:-1]
    starts = np.concatenate([[True], differs if points.ndim == 1 else np.any(differs, axis=1)])
    if np.all(starts):
        return points, logs, 0.0
    merged, rounding = add_groups(logs, np.flatnonzero(starts))
    return points[starts], merged, rounding


def add_groups(logs: FloatArray, starts: NDArray[np.intp]) -> tuple[FloatArray, float]:
    """Add the masses of neighbours, where group k starts at starts[k]; give also the rounding error."""
    sizes = np.diff(np.append(starts, len(logs)))
    top = np.maximum.reduceat(logs, starts)
    sums = np.add.reduceat(np.exp(logs - np.repeat(top, sizes)), starts)
    result = top + np.log(sums)
    # Exponents and the result round by their size, exp by FUNCTION_ERROR, the sum by one step per term, and its log, at
    # most the log of the number of terms, by FUNCTION_ERROR times that.
    most = float(np.max(sizes))
    steps = 2 * magnitude(logs) + magnitude(result) + most + FUNCTION_ERROR * (1 + math.log(most))
    return result, UNIT_ROUNDOFF * steps


# --------------------------------------------------------------------------------------------------
# Normal laws in any dimension.
# --------------------------------------------------------------------------------------------------

ASYMMETRY = 1e-12
"""How far a covariance may be from symmetric and positive semidefinite, relative to its largest entry."""


@dataclass(frozen=True, init=False, eq=False)
class Normal:
    """A normal law.

    Parameters
    ----------
    mean : float or array of shape (d,)
        In the unit of the answer.
    covariance : float or array of shape (d, d)
        Symmetric and positive semidefinite, to within rounding; one number is the variance.
    kind : {"exact", "certified", "estimate"}
        How well mean and covariance are known: exact ones unless they were estimated.

    Raises
    ------
    LawError
        If a number is not finite, the shapes do not fit or it is no covariance.

    Examples
    --------
    >>> from bnpriv.laws import Normal
    >>> Normal(1.0, 4.0).dimension
    1
    """

    mean: FloatArray
    covariance: FloatArray
    kind: Kind

    def __init__(self, mean: ArrayLike, covariance: ArrayLike, *, kind: Kind = "exact") -> None:
        checks.member("kind", kind, ("exact", "certified", "estimate"), error=LawError)
        centre = np.atleast_1d(numbers("the mean", mean))
        spread = np.atleast_2d(numbers("the covariance", covariance))
        d = centre.size
        if centre.shape != (d,) or d == 0 or spread.shape != (d, d):
            found = f"shapes {centre.shape} and {spread.shape}"
            raise refused("mean and covariance must have shapes (d,) and (d, d)", found)
        size = float(np.max(np.abs(spread)))
        symmetric = (spread + spread.T) / 2
        if not np.max(np.abs(spread - symmetric)) <= ASYMMETRY * size:
            raise refused("a covariance must be symmetric", "entries that differ from those across the diagonal")
        least = float(np.min(np.linalg.eigvalsh(symmetric)))
        if not (least >= -ASYMMETRY * d * size and np.all(np.diag(symmetric) >= 0)):
            raise refused("a covariance must have no negative variance or eigenvalue", f"{least:g}")
        centre.flags.writeable = symmetric.flags.writeable = False
        vars(self).update(mean=centre, covariance=symmetric, kind=kind)

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return len(self.mean)

    def weighted(self, weights: Sequence[float]) -> Normal:
        """The law with every coordinate multiplied by a power of two, without rounding.

        Parameters
        ----------
        weights : sequence of float, of length d
            Positive powers of two.

        Returns
        -------
        Normal

        Raises
        ------
        LawError
            If a number becomes too large for a double.
        """
        factors = np.asarray(weights, dtype=np.float64)
        return Normal(self.mean * factors, self.covariance * np.outer(factors, factors))


ExactLaw = Atoms | Normal
"""A law of an answer that is known, not learned from draws."""


def mahalanobis(gap: FloatArray, covariance: FloatArray) -> float:
    """The Mahalanobis length sqrt(gap' covariance^-1 gap) of a gap, rounded up.

    Parameters
    ----------
    gap : ndarray of shape (d,)
    covariance : ndarray of shape (d, d)
        Symmetric.

    Returns
    -------
    float
        Infinite if the covariance is singular to within rounding.

    Notes
    -----
    docs/claims/attribute_gaussian.md: the factors that are computed are exact for a matrix whose entries differ by at
    most a share of the standard deviations, so the diagonal is made smaller by that share before.

    Examples
    --------
    >>> round(mahalanobis(np.array([3.0, 4.0]), np.diag([1.0, 4.0])), 9)
    3.605551275
    """
    d = len(gap)
    if not np.any(gap):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # powers of two, which change no bit, bring all deviations near 1: subnormal numbers have few digits
        units = np.ldexp(1.0, -np.frexp(np.sqrt(np.diag(covariance)))[1])
        scaled = covariance * units * units[:, None]
        # a smaller covariance gives a longer length: the rounding of the factors is paid for beforehand
        smaller = scaled - np.diag(np.diag(scaled)) * (8 * d * (d + 2) * UNIT_ROUNDOFF)
        try:
            factor = np.linalg.cholesky(smaller)
        except np.linalg.LinAlgError:
            # not positive definite even so: the gap may lie where there is no spread, and no bound holds
            return math.inf
        solved = np.zeros(d)
        for k in range(d):
            solved[k] = (gap[k] * units[k] - factor[k, :k] @ solved[:k]) / factor[k, k]
        length = float(np.linalg.norm(solved)) * (1 + 4 * (d + 4) * UNIT_ROUNDOFF)
    return length if math.isfinite(length) else math.inf


MOST_SIDES = 2**40
"""The most cells along each axis of the grid on which draws are gathered."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Draws:
    """Independent draws from the law of an answer.

    Parameters
    ----------
    values : array of shape (N,) or (N, d)
        In the unit of the answer.
    seed : int
        Where they came from.
    share : float
        Which share of all draws they are; below 1 where only those with a secret were kept.

    Raises
    ------
    LawError
        If there is no draw, or a number is not finite.

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> draws = Draws([3, 1, 3, 3], seed=0)
    >>> draws, draws.empirical().probabilities.round(12)
    (Draws(size=4, dimension=1, seed=0), array([0.25, 0.75]))
    """

    values: FloatArray
    seed: int
    share: float

    def __init__(self, values: ArrayLike, *, seed: int, share: float = 1.0) -> None:
        found = numbers("draws", values) + 0.0  # a copy, and -0.0 becomes 0.0
        if found.ndim not in (1, 2) or found.size == 0:
            raise refused("draws must have shape (N,) or (N, d)", f"shape {found.shape}", "Pass at least one draw.")
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        found.flags.writeable = False
        vars(self).update(values=found, seed=checks.whole("seed", seed, least=0, error=LawError), share=share)

    @property
    def size(self) -> int:
        """The number of draws N."""
        return len(self.values)

    @property
    def dimension(self) -> int:
        """The dimension of a draw."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def counts(self) -> tuple[FloatArray, FloatArray]:
        """The different draws, of shape (K, d), and their multiplicities, of shape (K,)."""
        points, counts = np.unique(self.values, axis=0, return_counts=True)
        return points.reshape(len(points), self.dimension), counts.astype(np.float64)

    def empirical(self) -> Atoms:
        """The empirical law: every draw has the same mass."""
        points, counts = self.counts()
        check_atoms(len(points))
        return Atoms(points, counts / self.size)

    def __repr__(self) -> str:
        return f"Draws(size={self.size}, dimension={self.dimension}, seed={self.seed})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Gathered:
    """The empirical laws of two sets of draws, with nearby draws gathered at their mean.

    Parameters
    ----------
    first, second : Atoms
    moved : float
        The two moves of a draw of each law together are at most so long, in the 1-norm, and each at most half of it.
    variance : float
        Mean square of the move of a draw, in the law where it is larger.
    drift : float
        How far rounding may have taken a mean off the draws that it stands for.
    """

    first: Atoms
    second: Atoms
    moved: float = 0.0
    variance: float = 0.0
    drift: float = 0.0


def gathered(first: Draws, second: Draws, most: int) -> Gathered:
    """The empirical laws of two sets of draws, with at most `most` atoms each.

    Parameters
    ----------
    first, second : Draws
        Of one dimension.
    most : int
        Where both have at most so many different draws they stay as they are; otherwise the range of all draws is cut
        into equal cells, of which at most so many hold draws of one law, and these are gathered at their mean.

    Returns
    -------
    Gathered

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> found = gathered(Draws([0, 1, 8, 9], seed=0), Draws([0, 2, 8, 8], seed=1), 2)
    >>> found.first.support, found.second.support, round(found.moved, 6), round(found.variance, 6)
    (array([0.5, 8.5]), array([1., 8.]), 2.0, 0.5)
    """
    counted = [draws.counts() for draws in (first, second)]
    if max(len(points) for points, _ in counted) <= most:
        return Gathered(first=first.empirical(), second=second.empirical())
    return _gathered(counted, most)


def gathered_again(laws: Gathered, draws: int, most: int) -> Gathered:
    """The empirical laws of so many draws on the line, gathered once more to at most `most` atoms each.

    Moves add up, and so do their mean squares, because gathered draws stand at their mean.

    Examples
    --------
    >>> from bnpriv.laws import Draws
    >>> fine = gathered(Draws([0, 1, 8, 9], seed=0), Draws([0, 2, 8, 8], seed=1), 3)
    >>> coarse = gathered_again(fine, 4, 1)
    >>> len(fine.first.support), coarse.first.support, round(coarse.moved, 6), round(coarse.variance, 6)
    (3, array([4.5]), 10.0, 16.25)
    """
    if max(len(law.points) for law in (laws.first, laws.second)) <= most:
        return laws
    # the masses are multiples of 1 / draws
    counted = [(law.points, np.rint(law.probabilities * draws)) for law in (laws.first, laws.second)]
    found = _gathered(counted, most)
    return Gathered(
        first=found.first,
        second=found.second,
        moved=up(laws.moved + found.moved),
        variance=up(laws.variance + found.variance + laws.drift * found.moved),
        drift=up(laws.drift + found.drift),
    )


def _gathered(counted: list[tuple[FloatArray, FloatArray]], most: int) -> Gathered:
    """Gather weighted points on the finest grid that leaves at most `most` atoms in each law."""
    both = np.concatenate([points for points, _ in counted])
    low, width = both.min(axis=0), np.ptp(both, axis=0)
    sides = _finest(counted, low, width, most)
    means = [_means(points, counts, low, width, sides) for points, counts in counted]
    most_met = max(len(points) for points, _ in counted)
    drift = 2 * UNIT_ROUNDOFF * (most_met + 8) * float(np.abs(both).sum(axis=1).max())
    (first, far, variance), (second, farther, wider) = means
    far = max(far, farther)
    variance = up(max(variance, wider) + 2 * drift * (far + drift))
    # twice the farthest move: each of the two draws that are compared may have moved
    return Gathered(first=first, second=second, moved=up(2 * (far + drift)), variance=variance, drift=drift)


def _finest(counted: list[tuple[FloatArray, FloatArray]], low: FloatArray, width: FloatArray, most: int) -> int:
    """The number of cells along each axis for which each law occupies at most `most` of them.

    It is the largest such power of two, or one of seven numbers between it and the next.
    """

    def fits(sides: int) -> bool:
        return all(len(np.unique(_places(points, low, width, sides), axis=0)) <= most for points, _ in counted)

    sides = 1
    while sides < MOST_SIDES and fits(2 * sides):
        sides *= 2
    for step in (sides // 2, sides // 4, sides // 8):
        if step and fits(sides + step):
            sides += step
    return sides


def _places(points: FloatArray, low: FloatArray, width: FloatArray, sides: int) -> FloatArray:
    """The grid cell of each point, with so many cells along each axis."""
    return np.minimum(np.floor((points - low) / np.where(width > 0, width, 1.0) * sides), sides - 1)


def _means(
    points: FloatArray, counts: FloatArray, low: FloatArray, width: FloatArray, sides: int
) -> tuple[Atoms, float, float]:
    """The law of the means of the points in each cell, and the farthest and the mean square move to them."""
    above = points - low
    _, inverse = np.unique(_places(points, low, width, sides), axis=0, return_inverse=True)
    cell = inverse.ravel()
    met = np.bincount(cell, counts)
    means = np.stack([np.bincount(cell, counts * axis) / met for axis in above.T], axis=1)
    moves = np.abs(above - means[cell]).sum(axis=1)
    total = float(counts.sum())
    return Atoms(means + low, met / total), float(moves.max()), float(counts @ moves**2) / total


def missed(draws: int, miss: float, ratio: float = 1.0) -> float:
    """How much a comparison of two empirical laws may fall short of that of the true laws.

    Parameters
    ----------
    draws : int
        Independent draws of each law.
    miss : float
        The probability with which it may fall short by more.
    ratio : float
        The excess that is compared is ``f(T) - ratio * g(T)``, at its largest over sets T; at least 1.

    Returns
    -------
    float
        The better of the bounds of Hoeffding and Bernstein, rounded up.

    Notes
    -----
    docs/claims/draws.md. It is a bound for the one set T at which the true excess is largest, so that no number of
    cells, pairs or scales enters.

    Examples
    --------
    >>> round(missed(1_000_000, 0.05), 6)
    0.001731
    """
    if not (draws >= 1 and 0 < miss < 1 and 1 <= ratio < math.inf):
        raise ParameterError(
            "draws must be at least 1, the probability between 0 and 1, the ratio at least 1",
            found=f"{draws}, {miss:g} and {ratio:g}",
            remedy="Correct them.",
        )
    nats = -math.log(miss)
    # two bounds for one fixed set of outputs, Hoeffding's and Bernstein's: the lesser holds
    hoeffding = math.sqrt((1 + ratio**2) * nats / (2 * draws))
    variance = (1 + ratio) ** 2 / 8 if ratio <= 3 else ratio - 1
    step = ratio * nats / (3 * draws)
    bernstein = step + math.sqrt(step**2 + 2 * variance * nats / draws)
    return up(min(hoeffding, bernstein), 16)
