"""Bets against a claim of privacy: a wealth that a claim that holds lets grow by chance alone, and seldom far.

docs/claims/audit.md has the proof. A fair secret is drawn, then an output; a bettor stakes on which secret it was, by
what earlier outputs taught, at odds that are fair at best if (epsilon, delta) holds. By Ville's inequality its wealth
ever reaches 100 with probability 1 % at most, whenever somebody looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, down, up

FIRST_BLOCK, BLOCK_GROWTH = 64, 1.4
"""Outputs from which is learned before the first bet, and by how much longer each block is than all before it."""

LONGEST_BLOCK = 2**16
"""Outputs of a block at most."""

MOST_NUMBERS_ALONE, MOST_COMBINED = 6, 64
"""Numbers of an output on which is bet alone, and of which a combination is learned: those that differ most."""

EVEN_CELLS, MOST_TAILS, LEAST_IN_TAIL = 32, 16, 8
"""How outputs are divided: into cells of equal probability, or into tails that halve, down to so many outputs."""

PLANNED = 1.2
"""Every second bettor stakes as if outputs told so many times the claim, wherever they seem to tell more than it."""

LARGEST_OUTPUT = 1e150
"""Outputs from there on count as infinite where others are combined: their squares have no double."""

DOUBT = 0.5
"""The others stake by the shares that they saw, less so many standard errors."""

FEWEST_SAMPLED = 2**15
"""Outputs from which the ends of cells are learned at most."""

CAPS = 4.0 ** -np.arange(5.0)
"""Shares of the largest stake to which the others are cut where delta makes large stakes cost."""

ROUNDED_OFF, LOST_BY_SUMS = 2.0**-50, 2.0**-44
"""More than three roundings take from a sum of a few numbers relative to their sizes, and than summing logs takes."""

SIMULATED = 200
"""Audits that are simulated to tell how often one would have seen something."""

Secrets = NDArray[np.bool_]
"""Which secret held, for every output."""


def log_factors(
    ones: FloatArray, zeros: FloatArray, epsilons: FloatArray, delta: float, *, planned: bool = False
) -> tuple[FloatArray, FloatArray]:
    """The logs, rounded down, of what a wealth is multiplied by if the secret is 1, and if it is 0, for every cell.

    Parameters
    ----------
    ones, zeros : ndarray of shape (..., cells)
        How often each secret was seen in a cell, in earlier outputs alone.
    epsilons : ndarray of shape (..., 1)
        The claims that are bet against.
    delta : float
    planned : bool
        Whether stakes are those for `PLANNED` times the claim, or those that the counts tell.

    Returns
    -------
    tuple of two ndarray of shape (..., cells)

    Notes
    -----
    docs/claims/audit.md: with stakes u on 1 and v on 0 the factors are 1 + 2 u - 2 e^eps v - c and
    1 + 2 v - 2 e^eps u - c, where c is delta times the largest of each. With delta = 0 the stakes are those of Kelly,
    r / m and (1 - r) / (1 - m) for m = e^eps / (1 + e^eps).

    Examples
    --------
    >>> won, lost = log_factors(np.array([98.0, 1.0]), np.array([1.0, 98.0]), np.array([[0.0]]), 0.0)
    >>> np.round(np.exp(won), 2).tolist(), np.round(np.exp(lost), 2).tolist()
    ([[1.96, 0.04]], [[0.04, 1.96]])
    """
    odds = np.exp(epsilons) * (1 + ROUNDED_OFF)
    most = odds / (1 + odds)
    seen = ones + zeros + 1
    shares = (ones + 0.5) / seen, (zeros + 0.5) / seen
    if planned:
        told = 1 / (1 + np.exp(-PLANNED * epsilons))
        expected = tuple(np.where(share > most, told, 0.0) for share in shares)
    else:
        error = DOUBT * np.sqrt(shares[0] * shares[1] / seen)
        expected = tuple(share - error for share in shares)
    stakes = tuple(np.maximum(share / most - 1, 0.0) / 2 for share in expected)
    charge: FloatArray = np.zeros(np.broadcast_shapes(odds.shape, seen[..., :1].shape))
    if delta:
        counts = (ones + 0.5, zeros + 0.5), (zeros + 0.5, ones + 0.5)
        cut = [_cut(stake, *seen, odds, delta) for stake, seen in zip(stakes, counts, strict=True)]
        stakes = cut[0][0], cut[1][0]
        charge = (cut[0][1] + cut[1][1]) * (1 + ROUNDED_OFF)
    one, zero = stakes
    lost = ROUNDED_OFF * (2 + 2 * (1 + odds) * (one + zero) + charge)
    first, second = (1 + 2 * a - 2 * odds * b - charge - lost for a, b in ((one, zero), (zero, one)))
    logs = np.log(first), np.log(second)
    return logs[0] - ROUNDED_OFF * np.abs(logs[0]), logs[1] - ROUNDED_OFF * np.abs(logs[1])


def _cut(
    stakes: FloatArray, right: FloatArray, wrong: FloatArray, odds: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Stakes of one direction, none above what made the wealth grow most so far, and what delta charges for them."""
    largest: FloatArray = stakes.max(axis=-1, keepdims=True)
    best, cap = np.zeros(largest.shape), np.zeros(largest.shape)
    total = (right + wrong).sum(axis=-1, keepdims=True)
    for share in CAPS:
        top = share * largest
        stake = np.minimum(stakes, top)
        # a bet that might lose half of all that is left to the charge is none
        least = (1 - 2 * odds * stake).min(axis=-1, keepdims=True)
        charge = np.where(delta * top < least / 4, delta * top, 0.0)
        grown = right * np.log(1 + 2 * stake - charge) + wrong * np.log(1 - 2 * odds * stake - charge)
        mean = np.where(delta * top < least / 4, grown.sum(axis=-1, keepdims=True) / total, -np.inf)
        cap, best = np.where(mean > best, top, cap), np.maximum(mean, best)
    return np.minimum(stakes, cap), delta * cap


# --------------------------------------------------------------------------------------------------
# What is bet on: numbers of the output and combinations of them, in cells that were learned.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Features:
    """The numbers of an output that are bet on, each by itself.

    Parameters
    ----------
    chosen, combined : ndarray of int
        Numbers of the output that stand for themselves, and those that are combined.
    centre, size, weights : ndarray of shape (combined,)
        Of Fisher's discriminant: the direction in which the outputs of the two secrets differ most.
    """

    chosen: NDArray[np.intp]
    combined: NDArray[np.intp]
    centre: FloatArray
    size: FloatArray
    weights: FloatArray

    @classmethod
    def learned(cls, outputs: FloatArray, secrets: Secrets) -> Features:
        """Learn from outputs of shape (outputs, numbers)."""
        finite = np.where(np.abs(outputs) < LARGEST_OUTPUT, outputs, np.nan)
        none = np.isnan(finite).all(axis=0)
        finite[:, none] = 0.0
        centre, size = np.nanmedian(finite, axis=0), np.nanstd(finite, axis=0)
        size = np.where(size > 0, size, 1.0)
        standard = _standard(outputs, centre, size)
        apart = standard[secrets].mean(axis=0) - standard[~secrets].mean(axis=0)
        order = np.argsort(-np.abs(apart), kind="stable")
        chosen = np.sort(order[:MOST_NUMBERS_ALONE])
        combined = np.sort(order[:MOST_COMBINED])
        spread = np.atleast_2d(np.cov(standard[:, combined], rowvar=False)) + 1e-3 * np.eye(len(combined))
        weights: FloatArray = np.asarray(np.linalg.solve(spread, apart[combined]), dtype=np.float64)
        return cls(chosen=chosen, combined=combined, centre=centre[combined], size=size[combined], weights=weights)

    def of(self, outputs: FloatArray) -> FloatArray:
        """Return what is bet on, of shape (outputs, features)."""
        alone = outputs[:, self.chosen]
        if outputs.shape[1] == 1:
            return alone
        standard = _standard(outputs[:, self.combined], self.centre, self.size)
        return np.column_stack([alone, standard @ self.weights, np.square(standard).sum(axis=1)])


def _standard(outputs: FloatArray, centre: FloatArray, size: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(np.clip((outputs - centre) / size, -8.0, 8.0), nan=8.0)


def cell_ends(values: FloatArray) -> tuple[FloatArray, ...]:
    """Four ways to divide numbers into cells: at the median, in three, evenly, and by tails that halve."""
    sampled = np.sort(values[:: max(1, len(values) // FEWEST_SAMPLED)])
    depth = min(MOST_TAILS, max(1, int(math.log2(len(sampled) / LEAST_IN_TAIL))))
    halves = 2.0 ** -np.arange(1.0, depth + 1)
    even, tails = np.arange(1, EVEN_CELLS) / EVEN_CELLS, np.concatenate([halves, 1 - halves])
    levels = np.array([0.5]), np.array([0.3, 0.7]), even, tails
    # an end that an output takes exactly is a cell of its own, and none is between two doubles
    return tuple(np.unique(sampled[(each * (len(sampled) - 1)).astype(int)]) for each in levels)


def counted(values: FloatArray, ends: FloatArray, secrets: Secrets) -> tuple[FloatArray, FloatArray]:
    """How often each secret was seen in each cell: between two ends, or at one; under secret 1 and under 0."""
    cells = np.searchsorted(ends, values, side="left") + np.searchsorted(ends, values, side="right")
    size = 2 * len(ends) + 1
    both = np.bincount(cells, minlength=size)
    ones = np.bincount(cells[secrets], minlength=size)
    return ones.astype(np.float64), (both - ones).astype(np.float64)


def cautious(ones: FloatArray, zeros: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Counts whose shares are two standard errors nearer to one half: as little as cells may tell."""
    both = ones + zeros
    share = (ones + 0.5) / (both + 1)
    told = np.maximum(0, np.abs(share - 0.5) - 2 * np.sqrt(share * (1 - share) / (both + 1)))
    less = 0.5 + np.copysign(told, share - 0.5)
    return both * less, both * (1 - less)


# --------------------------------------------------------------------------------------------------
# The wealth of all bettors, and what it says.
# --------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class Wealth:
    """Bettors who start with one together, and bet on every output against every claim of a grid.

    Parameters
    ----------
    epsilons : ndarray of shape (claims,)
        Increasing.
    delta : float
        Of all claims.
    confidence : float
    numbers : int
        Of an output.
    """

    epsilons: FloatArray
    delta: float
    confidence: float
    numbers: int
    trail: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """After each block how many outputs were seen, and the bound on epsilon."""

    def __post_init__(self) -> None:
        self.features = 1 if self.numbers == 1 else min(self.numbers, MOST_NUMBERS_ALONE) + 2
        self.bettors = 8 * self.features
        self._logs: FloatArray = np.zeros((self.bettors, len(self.epsilons)))
        self.now: FloatArray = np.zeros(len(self.epsilons))
        """The log of the wealth against each claim, rounded down."""
        self.best: FloatArray = self.now
        """The largest of it so far."""
        self._outputs: list[FloatArray] = []
        self._secrets: list[Secrets] = []
        self._learned: tuple[Features, list[tuple[FloatArray, FloatArray, FloatArray]]] | None = None

    @property
    def seen(self) -> int:
        """The number of outputs."""
        return sum(map(len, self._secrets))

    @property
    def bound(self) -> float:
        """The largest epsilon of the grid that is refuted with all below it; 0 where none is."""
        refuted = self.best >= up(-math.log1p(-self.confidence), 4)
        first = int(np.argmin(refuted)) if not refuted.all() else len(refuted)
        return float(self.epsilons[first - 1]) if first else 0.0

    def see(self, outputs: FloatArray, secrets: Secrets) -> None:
        """Bet on a block of outputs by what was learned from those before it, then learn from it.

        Parameters
        ----------
        outputs : ndarray of shape (outputs, numbers)
        secrets : ndarray of bool, shape (outputs,)
        """
        outputs = np.where(np.isnan(outputs), np.inf, outputs)
        if self._learned is not None:
            features, bets = self._learned
            values = features.of(outputs)
            for place, (ends, won, lost) in enumerate(bets):
                ones, zeros = counted(values[:, place // 8], ends, secrets)
                grown, sizes = won @ ones + lost @ zeros, np.abs(won) @ ones + np.abs(lost) @ zeros
                self._logs[place] += grown - LOST_BY_SUMS * (sizes + np.abs(self._logs[place]))
            peak = self._logs.max(axis=0)
            total = peak + np.log(np.exp(self._logs - peak).sum(axis=0)) - math.log(self.bettors)
            self.now = total - LOST_BY_SUMS * (1 + np.abs(peak))
            self.best = np.maximum(self.best, self.now)
        self._outputs.append(outputs)
        self._secrets.append(secrets)
        self.trail.append((self.seen, self.bound))
        self._learn()

    def _learn(self) -> None:
        outputs, secrets = np.concatenate(self._outputs), np.concatenate(self._secrets)
        self._outputs, self._secrets = [outputs], [secrets]
        if not 0 < np.count_nonzero(secrets) < len(secrets):
            return
        features = Features.learned(outputs, secrets)
        bets: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for column in features.of(outputs).T:
            for ends in cell_ends(column):
                ones, zeros = counted(column, ends, secrets)
                for planned in (False, True):
                    found = log_factors(ones, zeros, self.epsilons[:, np.newaxis], self.delta, planned=planned)
                    bets.append((ends, *found))
        self._learned = features, bets


def blocks(outputs: int) -> Iterator[int]:
    """The sizes of the blocks in which so many outputs are seen.

    Examples
    --------
    >>> list(blocks(200))
    [64, 26, 36, 51, 23]
    """
    done = 0
    while done < outputs:
        size = FIRST_BLOCK if not done else min(LONGEST_BLOCK, math.ceil((BLOCK_GROWTH - 1) * done))
        yield min(size, outputs - done)
        done += size


# --------------------------------------------------------------------------------------------------
# How often an audit would have seen something.
# --------------------------------------------------------------------------------------------------


def power(
    ones: FloatArray, zeros: FloatArray, epsilon: float, delta: float, confidence: float, outputs: int, bettors: int
) -> float:
    """How often one bettor alone would refute a claim, in simulated audits of outputs that fall into known cells.

    Parameters
    ----------
    ones, zeros : ndarray of shape (cells,)
        Probabilities of the cells under secret 1 and 0, or counts that stand for them.
    epsilon, delta, confidence : float
        The claim, and how sure the audit is.
    outputs : int
    bettors : int
        Among whom the wealth is divided.

    Returns
    -------
    float

    Examples
    --------
    >>> power(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.5, 0.0, 0.99, 1000, 3)
    1.0
    """
    random = np.random.default_rng(0)
    joint = np.concatenate([ones / ones.sum(), zeros / zeros.sum()]) / 2
    known = np.zeros((SIMULATED, 2, len(ones)))
    logs, best = np.zeros((2, SIMULATED)), np.zeros((2, SIMULATED))
    for size in blocks(outputs):
        drawn = random.multinomial(size, joint / joint.sum(), size=SIMULATED).reshape(known.shape).astype(np.float64)
        for place in range(2) if known.any() else ():
            bets = log_factors(known[:, 0], known[:, 1], np.array([[epsilon]]), delta, planned=place > 0)
            logs[place] += sum((bet * drawn[:, k]).sum(axis=1) for k, bet in enumerate(bets))
            best = np.maximum(best, logs)
        known += drawn
    return float(np.mean(best >= math.log(bettors) - math.log1p(-confidence), axis=1).max())


def best_pair(epsilon: float, delta: float) -> tuple[FloatArray, FloatArray]:
    """The two distributions that are told apart best among those that are (epsilon, delta)-close: four outputs.

    Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (ICML 2015).

    Examples
    --------
    >>> [np.round(each, 3).tolist() for each in best_pair(1.0, 0.0)]
    [[0.0, 0.731, 0.269, 0.0], [0.0, 0.269, 0.731, 0.0]]
    """
    likely = down((1 - delta) / (1 + math.exp(-epsilon)))
    first = np.array([delta, likely, max(0.0, 1 - delta - likely), 0.0])
    return first, first[::-1]
