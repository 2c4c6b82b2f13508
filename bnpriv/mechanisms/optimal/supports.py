"""Programs over many answers: few outputs first, then more; and rows repaired to exact whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, IntArray, down
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.mechanisms.optimal.program import (
    USUAL_MARGIN,
    BoolArray,
    LawTable,
    Loss,
    Program,
    Solution,
    UnsolvedError,
    lower_bound,
    spread,
)
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# From a channel that a solver found to one whose whole-numbered rows meet every constraint exactly.
#
# docs/claims/optimal.md. Nothing that a solver says is relied on: the constraints are checked on the rows that are
# drawn from, in whole numbers, with bounds of the laws on the private side.
# --------------------------------------------------------------------------------------------------

ExactArray = NDArray[np.object_]

DENOMINATOR = 2**62
"""Of the rows."""

LAW_BITS = 200
"""Masses of laws are whole numbers over two to this power, rounded up and down."""

RATIO_BITS = 120
"""So is exp(epsilon), rounded down."""

MOST_TRIES = 40
"""Each try keeps twice as far away from the constraints as the last one; then the answer is left out altogether."""

RAREST_OUTPUT = 1e-12
"""Outputs that are rarer under every law are left out."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints on the rows of a channel, in whole numbers.

    Parameters
    ----------
    table : LawTable
    epsilon, delta : float
    """

    table: LawTable
    epsilon: float
    delta: float

    @cached_property
    def largest(self) -> ExactArray:
        """Return upper bounds of all masses, times two to the power LAW_BITS, of shape (L, K)."""
        return self._bounds(1)

    @cached_property
    def smallest(self) -> ExactArray:
        """Return lower bounds of all masses, times two to the power LAW_BITS, of shape (L, K)."""
        return self._bounds(-1)

    def _bounds(self, side: int) -> ExactArray:
        found = np.zeros(self.table.masses.shape, dtype=object)
        for law, (masses, error) in enumerate(zip(self.table.masses, self.table.errors.tolist(), strict=True)):
            factor = 1 + side * Fraction(error)
            for k in np.flatnonzero(self.table.possible[law]).tolist():
                exact = Fraction(float(masses[k])) * factor * 2**LAW_BITS
                # a mass below the range of doubles may be anything up to their least one
                found[law, k] = math.ceil(exact) + 1 if side > 0 else math.floor(exact)
        return found

    @cached_property
    def ratio(self) -> int:
        """Return exp(epsilon) times two to the power RATIO_BITS, rounded down."""
        context = Context(prec=80, rounding=ROUND_FLOOR)
        exact = context.exp(Decimal(self.epsilon))  # rounded to the nearest of 80 digits
        return math.floor(Fraction(exact) * (1 - Fraction(1, 10**70)) * 2**RATIO_BITS)

    def _passed(self, above: ExactArray, below: ExactArray) -> ExactArray:
        """By how much the first law of each pair passes the ratio times the second, shape (W, M), exactly."""
        first, second = self.table.ways.T
        return above[first] * 2**RATIO_BITS - self.ratio * below[second]

    def hold(self, rows: ExactArray, denominator: int) -> bool:
        """Return whether rows over a denominator meet every constraint, exactly."""
        return self._allowed(self._passed(self.largest @ rows, self.smallest @ rows), denominator)

    def hold_unchanged(self) -> bool:
        """Return whether they hold where every answer is released as it is."""
        return self._allowed(self._passed(self.largest, self.smallest), 1)

    def _allowed(self, passed: ExactArray, denominator: int) -> bool:
        most = math.floor(Fraction(self.delta) * denominator * 2 ** (LAW_BITS + RATIO_BITS))
        return all(sum(each for each in way if each > 0) <= most for way in passed.tolist())


def repaired(constraints: Constraints, rows: FloatArray, home: int) -> tuple[IntArray, IntArray]:
    """Return whole-numbered rows near those of a solver that meet every constraint, and their outputs.

    Parameters
    ----------
    constraints : Constraints
    rows : ndarray of shape (K, M)
        Probabilities; each row adds up to about 1.
    home : int
        The output to which every answer may go.

    Returns
    -------
    numerators : ndarray of shape (K, M')
    outputs : ndarray of shape (M',)
        Which of the outputs are left.
    """
    table = constraints.table
    kept = np.max(table.masses @ rows, axis=0) > RAREST_OUTPUT
    kept[home] = True
    outputs = np.flatnonzero(kept)
    rows = rows[:, outputs]
    home = int(np.searchsorted(outputs, home))
    rows[np.sum(rows, axis=1) == 0, home] = 1.0
    rows = rows / np.sum(rows, axis=1, keepdims=True)
    for attempt in range(MOST_TRIES):
        mixed = _mixed(constraints, rows, home, 2.0**attempt)
        whole = _whole(mixed, home)
        if constraints.hold(whole.astype(object), DENOMINATOR):
            return whole, outputs
    whole = np.zeros((len(rows), 1), dtype=np.int64) + DENOMINATOR
    return whole, outputs[[home]]


def _mixed(constraints: Constraints, rows: FloatArray, home: int, margin: float) -> FloatArray:
    """Return rows to which the same is added for every answer, at every output as much as its constraints miss.

    What is added to all answers alike takes (ratio - 1) times as much off every constraint.
    """
    table = constraints.table
    ratio, room = math.exp(constraints.epsilon), math.expm1(constraints.epsilon)
    first, second = table.ways.T
    off = 1 + table.errors[:, np.newaxis]
    laws = table.masses @ rows
    rounding = 4 * margin * (1 + ratio) * 2.0**-52
    passed = (laws * off)[first] - ratio * (laws / off)[second] + rounding
    missed = np.maximum(0.0, passed)
    # of what passes, delta allows this share
    total = np.sum(missed, axis=1, keepdims=True)
    share = np.minimum(1.0, constraints.delta * (1 - 1e-9 * margin) / np.where(total > 0, total, 1.0))
    added = np.max((1 - share) * missed, axis=0) * (1 + 1e-9 * margin) / room
    least = float(np.min(share))
    if least > 0 and 1 / least - 1 < float(np.sum(added)):
        added = np.zeros(len(added))
        added[home] = 1 / least - 1
    added[home] += 8 * margin * rows.shape[1] * (1 + ratio) * 2.0**-52 / room
    return (rows + added) / (1 + np.sum(added))


def _whole(rows: FloatArray, home: int) -> IntArray:
    """Return rows as numerators; what rounding down leaves goes home."""
    found = np.floor(rows * 2.0**52).astype(np.int64) << 10
    found[:, home] = 0
    left = DENOMINATOR - np.sum(found, axis=1)
    found[:, home] = left
    return found


# --------------------------------------------------------------------------------------------------
# Programs over many answers: few of them are outputs first, and what that finds says where to look among all.
#
# docs/claims/optimal.md.
# --------------------------------------------------------------------------------------------------

SMALL_WORK = 1_700_000
"""Programs with no larger product of answers, outputs and pairs are solved with all columns and rows at once."""

FEWEST = 20
"""There are never fewer outputs than a third of this."""

FEW_ROWS = 4_500
"""Where there are no more constraints, all are in sight from the start."""

OUTPUTS_A_LEVEL = 3
"""Every level has so many times the outputs of the one before."""

COARSE_GAP = 1e-3

MOST_RUNS = 2_000
"""Answers that are treated apart, at most; more are merged into runs of about the same weight."""

MOST_PROGRAM_WORK = 2**28
"""The same for pairs of laws times runs times outputs."""

GAPS = ((128, 1e-6), (300, 2e-5), (700, 5e-4))
LARGE_GAP = 8e-3
"""Relative difference of value and bound that is good enough, for so many runs, and for more."""

NEIGHBOURS = 4
"""Outputs on either side of a likely one that are tried as well."""

CANDIDATES = 32
"""Outputs with the least reduced costs that are tried first for every answer."""

TIGHTENED = 1e-7
"""The program is solved for an epsilon that is smaller by this share, which leaves room for what solvers violate."""

MOST_SOLVED_EPSILON = 14.0
"""The program is solved for no larger epsilon: its numbers would lie too far apart for a solver."""

LEAST_VALUE = 1e-300
"""An error of 0 has no relative gap."""

LEAST_DELTA = 1e-12
"""A smaller delta is no use to a solver."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """What is asked of a channel.

    Parameters
    ----------
    table : LawTable
    error : {"absolute", "squared", "zero-one"}
    priors : ndarray of shape (S, K)
        The expected error is the largest of those under these.
    epsilon, delta : float
    """

    table: LawTable
    error: Loss
    priors: FloatArray
    epsilon: float
    delta: float

    @property
    def ratio(self) -> float:
        """Return the ratio of probabilities that a solver is to keep."""
        room = math.expm1(min(self.epsilon, MOST_SOLVED_EPSILON)) * (1 - TIGHTENED)
        return (1 + room) * (1 - 4 * float(np.max(self.table.errors)))

    @property
    def allowed(self) -> float:
        """Return the delta that a solver is given."""
        return self.delta if self.delta >= LEAST_DELTA else 0.0

    def means(self, outputs: FloatArray, rows: FloatArray) -> FloatArray:
        """Return the expected error under each prior of rows of probabilities of some outputs."""
        return self.priors @ np.sum(self.table.losses(self.error, outputs) * rows, axis=1)

    def rounded_up(self, error: float) -> float:
        """Return an expected error with all that sums and laws may be off by added to it."""
        return error * (1 + 1e-12 + float(np.max(self.table.errors))) + self.off

    @property
    def off(self) -> float:
        """Return by how much a mean absolute error may be off, as exact answers may be beside their atoms."""
        return self.table.rounding if self.error == "absolute" else 0.0

    def normalized(self, place: int) -> FloatArray:
        """Return one of the priors, with a sum of 1."""
        return self.priors[place] / float(np.sum(self.priors[place]))

    def merged(self, starts: IntArray, outputs: IntArray) -> Program:
        """Return the program for channels to some answers that treat those of a run alike; runs begin at `starts`."""
        losses = self.table.losses(self.error, self.table.points[outputs])
        costs = [np.add.reduceat(prior[:, np.newaxis] * losses, starts) for prior in self.priors]
        return Program(
            masses=np.add.reduceat(self.table.masses, starts, axis=1),
            costs=np.array(costs),
            ways=self.table.ways,
            ratio=self.ratio,
            delta=self.allowed,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Prices:
    """Prices of the constraints at some outputs, which prove a lower bound of the error whatever they are.

    Parameters
    ----------
    outputs : ndarray of shape (M,)
        The places of these outputs among the answers, increasing.
    prices : ndarray of shape (W, M)
        At least 0, one for every ordered pair of laws; at other outputs they are on straight lines between these.
    shares : ndarray of shape (S,)
        Weights of the priors, at least 0.
    """

    outputs: IntArray
    prices: FloatArray
    shares: FloatArray

    def to_json(self) -> Json:
        """Return the prices as plain values: those above 0, each with its pair of laws and the index of its output."""
        listed = [[int(way), int(k), float(self.prices[way, k]).hex()] for way, k in np.argwhere(self.prices > 0)]
        shares = [float(share).hex() for share in self.shares]
        return {"outputs": self.outputs.tolist(), "prices": listed, "shares": shares}

    def bound(self, question: Question, margin: float = USUAL_MARGIN) -> float:
        """Return the error that these prices prove every channel to have, rounded down."""
        table = question.table
        prices = spread(self.prices, self.outputs, np.arange(table.size))
        losses = table.losses(question.error, table.points)
        found = lower_bound(
            table, losses, question.priors, question.epsilon, question.delta, prices, self.shares, margin
        )
        return max(0.0, down(found - question.off))


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """The channel with the least error that was found, and what is known of the least error there is.

    Parameters
    ----------
    channel : Channel
    value : float
        The error of the program's solution, before it was made exact.
    error : float
        That of the channel, rounded up.
    bound : float
        No channel with outputs on the answers has a smaller one.
    prices : Prices
        What proves the bound.
    runs : int
        Answers that are treated apart; fewer than there are where neighbours were merged.
    """

    channel: Channel
    value: float
    error: float
    bound: float
    prices: Prices
    runs: int


def optimum(question: Question) -> Optimum:
    """Return the best channel that was found, exact, and a lower bound of the error of all."""
    table = question.table
    found = solve(question)
    starts, solution = finest(question), found.solution
    outputs = table.points[found.outputs]
    losses = table.losses(question.error, outputs)
    home = int(np.argmin(np.max(question.priors @ losses, axis=0)))
    constraints = Constraints(table, question.epsilon, question.delta)
    rows, kept = repaired(constraints, solution.rows[run_of(starts, table.size)], home)
    means = question.means(outputs[kept], rows / DENOMINATOR)
    prior = question.normalized(int(np.argmax(means)))
    error = question.rounded_up(float(np.max(means)))
    bound = min(found.bound, error)
    return Optimum(
        channel=Channel(table.points.tolist(), outputs[kept].tolist(), rows, DENOMINATOR, prior),
        value=min(max(solution.value, bound), error),
        error=error,
        bound=bound,
        prices=found.prices,
        runs=len(starts),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ChannelSolution:
    """A channel that a solver found, with some of the answers as outputs, and a lower bound for channels to all.

    Parameters
    ----------
    outputs : ndarray of shape (M,)
        The answers that are outputs.
    solution : Solution
    prices : Prices
        Those that prove most.
    bound : float
        What they prove.
    """

    outputs: IntArray
    solution: Solution
    prices: Prices
    bound: float

    @property
    def gap(self) -> float:
        """Return the relative difference of value and lower bound."""
        return (self.solution.value - self.bound) / max(self.solution.value, LEAST_VALUE)


def solve(question: Question) -> ChannelSolution:
    """Return the best channel that was found: outputs are few at first, more where that is not good enough."""
    starts = finest(question)
    levels = [starts]
    while len(levels[-1]) * len(starts) * len(question.table.ways) > SMALL_WORK and len(levels[-1]) > FEWEST:
        levels.append(levels[-1][::OUTPUTS_A_LEVEL])
    wanted = _gap(len(starts))
    last: ChannelSolution | None = None
    best: ChannelSolution | None = None
    for outputs in reversed(levels):
        gap = wanted if len(outputs) == len(starts) else max(wanted / 2, COARSE_GAP)
        try:
            solution = _level(question.merged(starts, outputs), outputs, last, gap)
        except UnsolvedError:
            break
        prices = Prices(outputs=outputs, prices=solution.prices, shares=solution.shares)
        last = ChannelSolution(outputs=outputs, solution=solution, prices=prices, bound=prices.bound(question))
        best = last if best is None else _better(best, last)
        if best.gap <= wanted:
            break
    return best or _nothing_told(question.merged(starts, starts), starts)


def _nothing_told(program: Program, outputs: IntArray) -> ChannelSolution:
    """Return the channel whose output is the same for every answer."""
    rows = np.zeros(program.costs.shape[1:])
    costs = np.max(np.sum(program.costs, axis=1), axis=0)
    rows[:, int(np.argmin(costs))] = 1.0
    prices, shares = np.zeros((len(program.ways), len(outputs))), np.full(len(program.costs), 1 / len(program.costs))
    solution = Solution(rows=rows, prices=prices, shares=shares, value=float(np.min(costs)), bound=0.0)
    nothing = Prices(outputs=outputs, prices=prices, shares=shares)
    return ChannelSolution(outputs=outputs, solution=solution, prices=nothing, bound=0.0)


def _better(one: ChannelSolution, other: ChannelSolution) -> ChannelSolution:
    """Return the channel with the least value, and the largest lower bound."""
    found = other if other.solution.value <= one.solution.value else one
    proved = one if one.bound > other.bound else other
    return replace(found, prices=proved.prices, bound=proved.bound)


def _gap(runs: int) -> float:
    return next((gap for most, gap in GAPS if runs <= most), LARGE_GAP)


def run_of(starts: IntArray, size: int) -> IntArray:
    """Return the run of every answer, from where runs begin."""
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, size)))


def finest(question: Question) -> IntArray:
    """Return where runs begin: at every answer, but for answers that rounding does not tell apart, or too many."""
    table = question.table
    apart = np.diff(table.points) > 4 * table.rounding
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    most = min(MOST_RUNS, int(math.sqrt(MOST_PROGRAM_WORK / len(table.ways))))
    if len(starts) <= most:
        return starts
    weights = np.add.reduceat(table.largest, starts)
    reached = np.cumsum(weights / float(np.sum(weights)) + 1 / len(starts))
    shares = np.floor(reached * most / 2)
    return starts[np.concatenate([[True], shares[1:] > shares[:-1]])]


def _level(program: Program, outputs: IntArray, coarse: ChannelSolution | None, gap: float) -> Solution:
    size, ways, many = len(program.scale), len(program.ways), len(outputs)
    if coarse is None:
        return program.solved(np.ones((size, many), dtype=np.bool_), np.ones((ways, many), dtype=np.bool_), gap)
    shares = coarse.solution.shares
    prices = spread(coarse.solution.prices, coarse.outputs, outputs)
    priced = program.priced(prices, shares)
    most = min(CANDIDATES, many - 1)
    columns = priced <= np.partition(priced, most, axis=1)[:, most : most + 1]
    mean = np.tensordot(shares, program.costs, 1)
    columns[np.arange(size), np.argmin(mean, axis=1)] = True
    columns[:, int(np.argmin(np.sum(mean, axis=0)))] = True
    return program.solved(_widened(columns, NEIGHBOURS), _widened(prices > 0, 1) | (ways * many <= FEW_ROWS), gap)


def _widened(chosen: BoolArray, reach: int) -> BoolArray:
    """Return what is chosen, and its neighbours in the same row."""
    found = chosen.copy()
    for step in range(1, reach + 1):
        found[:, step:] |= chosen[:, :-step]
        found[:, :-step] |= chosen[:, step:]
    return found
