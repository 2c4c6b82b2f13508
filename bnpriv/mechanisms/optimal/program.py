"""The laws that a channel must keep alike, the program for it, and rows repaired to exact whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray, Kind, down, weakest
from bnpriv.core.distributions import FUNCTION_ERROR, Atoms
from bnpriv.core.evidence.constraints import LawPair, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# The laws that a channel must keep alike, as arrays over all exact answers that are possible under one of them.
# --------------------------------------------------------------------------------------------------

Loss = Literal["absolute", "squared", "zero-one"]
"""What the expected error of a channel counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LawTable:
    """The distinct laws of an answer, and which of them must be alike.

    Parameters
    ----------
    points : ndarray of shape (K,)
        Every exact answer that some law allows, increasing.
    masses : ndarray of shape (L, K)
        One row per law; each true mass is within a factor of ``1 + error`` and its inverse of it, or both are below
        the range of doubles.
    logs : ndarray of shape (L, K)
        The logs of the masses, which lie in any range; -inf for none.
    possible : ndarray of shape (L, K)
        Which answers each law allows, some with a mass below the range of doubles.
    errors : ndarray of shape (L,)
        How far masses of each law may be off, as a share of themselves.
    ways : ndarray of shape (2 J, 2)
        Ordered pairs of laws: the first must be at most exp(epsilon) times the second, at every output.
    mean : ndarray of shape (K,)
        The mean of the laws over all pairs.
    kind : {"exact", "certified", "estimate"}
    rounding : float
        How far from its atom, at most, an exact answer may be.
    order : mapping from int to int
        The row of each law, by its identity.
    """

    points: FloatArray
    masses: FloatArray
    logs: FloatArray
    possible: NDArray[np.bool_]
    errors: FloatArray
    ways: IntArray
    mean: FloatArray
    kind: Kind
    rounding: float
    order: Mapping[int, int]

    @classmethod
    def of(cls, pairs: Iterable[LawPair]) -> LawTable:
        """Gather the laws of pairs, all of one number with finitely many atoms; a law that stands in many pairs once.

        Parameters
        ----------
        pairs : iterable of LawPair
            Each in one direction; both count.
        """
        listed = list(pairs)
        known: dict[int, int] = {}
        laws: list[Atoms] = []
        ways: dict[tuple[int, int], None] = {}
        for pair in listed:
            first, second = (_place(law, known, laws) for law in (pair.first, pair.second))
            ways.update({(first, second): None, (second, first): None})
        points = np.unique(np.concatenate([law.support for law in laws]))
        masses = np.zeros((len(laws), len(points)))
        logs = np.full(masses.shape, -np.inf)
        for row, row_logs, law in zip(masses, logs, laws, strict=True):
            places = np.searchsorted(points, law.support)
            row[places], row_logs[places] = law.probabilities, law.logs
        often = np.bincount([known[id(law)] for pair in listed for law in (pair.first, pair.second)])
        mean = often / (2 * len(listed)) @ masses
        # np.exp is off by a few units, and 1 + 2 x bounds exp(x) for an x of at most 1
        errors = 2 * np.array([law.error for law in laws]) + 2 * FUNCTION_ERROR * UNIT_ROUNDOFF
        return cls(
            points=points,
            masses=masses,
            logs=logs,
            possible=logs > -np.inf,
            errors=errors,
            ways=np.array(list(ways), dtype=np.int64),
            mean=mean / np.sum(mean),
            kind=weakest(pair.kind for pair in listed),
            rounding=max(pair.rounding for pair in listed),
            order=known,
        )

    @property
    def size(self) -> int:
        """Return the number of exact answers K."""
        return len(self.points)

    @cached_property
    def largest(self) -> FloatArray:
        """Return the largest mass of every answer under any law, of shape (K,)."""
        return np.max(self.masses, axis=0)

    def losses(self, error: Loss, outputs: FloatArray) -> FloatArray:
        """Return what releasing each output for each exact answer costs, of shape (K, M)."""
        away = np.abs(np.subtract.outer(self.points, outputs))
        if error == "zero-one":
            return (away > 0).astype(np.float64)
        return away if error == "absolute" else away**2

    def prior(self, given: Sequence[tuple[float, float]] | None) -> FloatArray:
        """Return a prior over the answers: that which is given, or the mean of the laws.

        Raises
        ------
        ParameterError
            If an answer of the given one is no answer that a law allows.
        """
        if given is None:
            return self.mean
        chances: Mapping[float, float] = dict(given)
        found = np.array([chances.get(x, 0.0) for x in self.points.tolist()])
        if len(set(chances).difference(self.points.tolist())) > 0:
            raise ParameterError(
                "a prior speaks of answers that some distribution allows",
                found="another answer in it",
                remedy="Leave it out; the mean of the distributions is then the prior.",
            )
        return found / float(np.sum(found))


def _place(law: object, known: dict[int, int], laws: list[Atoms]) -> int:
    assert isinstance(law, Atoms)
    if id(law) not in known:
        known[id(law)] = len(laws)
        laws.append(law)
    return known[id(law)]


# --------------------------------------------------------------------------------------------------
# The laws of an answer for mechanisms that need all of them at once, number by number.
# --------------------------------------------------------------------------------------------------

MOST_MASSES = 2**22
"""Atoms of all laws times laws, at most, of a table of laws."""


def law_table(framework: Framework, query: Query) -> LawTable | Refusal:
    """Return the laws of an answer under all secrets and models on common atoms, or why there is no such table."""
    evidence = laws(framework, query)
    return evidence if isinstance(evidence, Refusal) else table_of(evidence)


def table_of(evidence: Laws) -> LawTable | Refusal:
    """The laws of an answer on common atoms, or why there is no such table."""
    if evidence.dimension != 1:
        return _refusal("be of one number", f"{evidence.dimension} numbers", "Ask for one number.")
    pairs = list[LawPair]()
    for each in _pairs(evidence):
        refusal = each if isinstance(each, Refusal) else _unknown(each)
        if refusal is not None:
            return refusal
        if isinstance(each, LawPair):
            pairs.append(each)
    sizes = {id(law): law.size for pair in pairs for law in (pair.first, pair.second) if isinstance(law, Atoms)}
    if sum(sizes.values()) * len(sizes) > MOST_MASSES:
        cells = f"up to {sum(sizes.values()):,} answers under {len(sizes):,} distributions"
        return _refusal(
            f"have at most {MOST_MASSES:,} masses", cells, "Take a coarser grid, or fewer pairs of secrets."
        )
    return LawTable.of(pairs)


def _pairs(evidence: Laws) -> Iterator[LawPair | Refusal]:
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            yield constraint.pairs
        else:
            yield from constraint.pairs


def _unknown(pair: LawPair) -> Refusal | None:
    """Return what is not known of the laws of a pair, number by number; None if all is."""
    if not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms) or pair.departure is not None:
        return _refusal("have finitely many atoms", "normal distributions", "Count, or round the answer to a grid.")
    if pair.sampled is not None:
        return _refusal("be computed", "distributions that are learned from draws", "Use TightMechanism.")
    if not pair.free:
        return _refusal("have one atom for every answer", "answers that are rounded together", "Use TightMechanism.")
    return None


def _refusal(required: str, found: str, remedy: str) -> Refusal:
    return Refusal(required=f"the distributions of the answer must {required}", found=found, remedy=remedy)


# --------------------------------------------------------------------------------------------------
# A lower bound of the error that every channel has: the Lagrange function of its program, rounded down.
#
# docs/claims/optimal.md.
# --------------------------------------------------------------------------------------------------

OUTPUTS_AT_ONCE = 256
"""Outputs that are looked at together."""

USUAL_MARGIN = 2.0
"""Twice the rounding of the sums is taken off: that much is proved on every other machine too, once being enough."""


def lower_bound(
    table: LawTable,
    losses: FloatArray,
    priors: FloatArray,
    epsilon: float,
    delta: float,
    prices: FloatArray,
    shares: FloatArray,
    margin: float = USUAL_MARGIN,
) -> float:
    """Return an error that no channel with these outputs is below, for any laws within the errors of the table.

    Parameters
    ----------
    table : LawTable
    losses : ndarray of shape (K, M)
        What each output costs for each answer.
    priors : ndarray of shape (S, K)
        The error is the largest of the means under these.
    epsilon, delta : float
    prices : ndarray of shape (2 J, M)
        Of the constraint of every ordered pair of laws at every output; whatever they are, they prove a bound.
    shares : ndarray of shape (S,)
        Weights of the priors.
    margin : float
        How many times the rounding of the sums is taken off, at least 1.

    Returns
    -------
    float
        At least 0.
    """
    ratio = math.exp(epsilon) * (1 + 16 * UNIT_ROUNDOFF)
    prices, shares = np.maximum(prices, 0.0), np.maximum(shares, 0.0)
    # for each law and output what it costs that the law must not be too large, and that it must not be too small
    not_above, not_below = (np.zeros((len(table.masses), prices.shape[1])) for _ in range(2))
    np.add.at(not_above, table.ways[:, 0], prices)
    np.add.at(not_below, table.ways[:, 1], prices)
    total = float(np.sum(shares))
    shares = shares / total * (1 - 8 * len(shares) * UNIT_ROUNDOFF) if total > 0 else shares
    mean = shares @ priors
    # sums of L terms, products and differences round by their sizes; priors are sums of laws
    rounding = (2 * len(table.masses) + len(priors) + 32) * UNIT_ROUNDOFF
    least = np.full(table.size, math.inf)
    for start in range(0, losses.shape[1], OUTPUTS_AT_ONCE):
        block = slice(start, start + OUTPUTS_AT_ONCE)
        cost = mean[:, np.newaxis] * losses[:, block]
        above, below = table.masses.T @ not_above[:, block], ratio * (table.masses.T @ not_below[:, block])
        errors = table.errors[:, np.newaxis]
        off = table.masses.T @ (errors * not_above[:, block])
        off += ratio * (table.masses.T @ (errors * not_below[:, block]))
        off += rounding * (cost + above + below) + float(np.max(table.errors)) * cost
        least = np.minimum(least, np.min(cost + above - below - margin * off, axis=1))
    # what one unit of delta is worth: the largest price of every ordered pair at any output
    excess = math.fsum(np.max(prices, axis=1).tolist()) * (1 + 4 * UNIT_ROUNDOFF)
    found = math.fsum(least.tolist()) - delta * excess * (1 + 4 * UNIT_ROUNDOFF)
    return max(0.0, down(found - 4 * UNIT_ROUNDOFF * math.fsum(np.abs(least).tolist())))


# --------------------------------------------------------------------------------------------------
# The linear program for the channel with the least error, solved with few rows and columns at a time.
#
# docs/claims/optimal.md. What comes out meets the constraints as well as a solver does, and no better: it is made
# exact in `optimal_repair`, and how good it is follows from `optimal_bound`.
# --------------------------------------------------------------------------------------------------

BoolArray = NDArray[np.bool_]

MOST_SOLVES = 30
"""Times that rows and columns are added; it is rarely more than a few."""

BETWEEN_PRICES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Where between the best prices and the last ones better ones are looked for."""

PATIENT_ROUNDS = 10
"""After so many rounds that find violated constraints, those of the same pairs of laws are kept in sight everywhere."""

IDLE = 1e-6
MOST_IDLE = 4
"""After so many rounds that lower the value by less than this share of it nothing more is expected."""

MOST_NEW = 24
"""Columns that are added at once for an answer, and rows for an output."""

SMALLEST_UNIT = 1e-6
"""Masses are counted in units of the mass that must be moved, or of this."""

SIMPLEX_COLUMNS = 4_000
"""Larger programs are solved from their inside, and only then brought to a vertex; the simplex method is for others."""

DROPPED_COEFFICIENT = 1e-9
"""A solver drops coefficients below this share of the largest one."""

SOLVER = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}


class UnsolvedError(ArithmeticError):
    """The solver gave up; the numbers of the program lie too far apart for it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """A channel that nearly meets the constraints, and the prices of these.

    Parameters
    ----------
    rows : ndarray of shape (K, M)
        Probabilities of the outputs for every answer.
    prices : ndarray of shape (W, M)
        What it costs to tighten the constraint of an ordered pair of laws at an output.
    shares : ndarray of shape (S,)
        Weights of the priors.
    value, bound : float
        The loss of `rows`, and what the prices prove to be a lower bound but for rounding.
    """

    rows: FloatArray
    prices: FloatArray
    shares: FloatArray
    value: float
    bound: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Least mean loss over channels that keep laws alike.

    Parameters
    ----------
    masses : ndarray of shape (L, K)
        The laws, over answers or over runs of them.
    costs : ndarray of shape (S, K, M)
        What an output costs for an answer, times the probability of the answer, under each prior. The loss is the
        largest of the sums over answers.
    ways : ndarray of shape (W, 2)
        Ordered pairs of laws.
    ratio, delta : float
        At no set of outputs may the first law of a pair pass `ratio` times the second by more than `delta`.
    """

    masses: FloatArray
    costs: FloatArray
    ways: IntArray
    ratio: float
    delta: float

    @cached_property
    def scale(self) -> FloatArray:
        """Return the largest mass of every answer, of shape (K,)."""
        return np.maximum(np.max(self.masses, axis=0), 1e-290)

    @cached_property
    def excess(self) -> FloatArray:
        """Return by how much one law passes `ratio` times another at each answer, as a share of `scale`: (W, K)."""
        shares = self.masses / self.scale
        found = shares[self.ways[:, 0]] - self.ratio * shares[self.ways[:, 1]]
        return np.where(np.abs(found) < DROPPED_COEFFICIENT * self.ratio, 0.0, found)

    @cached_property
    def unit(self) -> float:
        """Return the mass that cannot stay where it is, in which masses are counted."""
        return max(SMALLEST_UNIT, float(np.sum(self.scale * np.maximum(0.0, np.max(self.excess, axis=0)))))

    @cached_property
    def longest(self) -> float:
        """Return the largest loss, in which losses are counted."""
        return max(1e-290, float(np.max(self.costs / self.scale[:, np.newaxis])))

    def solved(self, columns: BoolArray, rows: BoolArray, gap: float) -> Solution:
        """Return a solution, from some columns and rows on; others are added until none is missed.

        Parameters
        ----------
        columns : ndarray of shape (K, M)
            Which outputs each answer may have at first.
        rows : ndarray of shape (W, M)
            Which constraints are kept in sight at first.
        gap : float
            Relative difference of value and bound that is good enough.
        """
        columns, rows = columns.copy(), rows.copy()
        found, best, idle = None, None, 0
        for past in range(MOST_SOLVES):
            last = found
            found, reduced = self._once(columns, rows)
            best = found if best is None else self._between(best, found)
            reduced = np.minimum(reduced, self._reduced(best, found))
            more_rows = self._violated(found.rows) & ~rows
            more_columns = _most_negative(np.where(columns, 0.0, reduced))
            idle = idle + 1 if last is not None and last.value - found.value <= IDLE * found.value else 0
            close = found.value - best.bound <= gap * found.value
            if not more_rows.any() and (close or idle >= MOST_IDLE or not more_columns.any()):
                break
            columns |= more_columns
            rows |= more_rows
            if past >= PATIENT_ROUNDS and more_rows.any():
                rows[np.any(rows, axis=1)] = True
        assert found is not None
        assert best is not None
        return replace(found, prices=best.prices, shares=best.shares, bound=best.bound)

    def _once(self, columns: BoolArray, rows: BoolArray) -> tuple[Solution, FloatArray]:
        """Solve the program with some columns and rows; return the reduced costs of all columns, scaled, too."""
        from scipy import optimize

        x, w = np.nonzero(columns)
        way, output = np.nonzero(rows)
        priors, many, kept = len(self.costs), len(x), len(way)
        slacks, free = kept if self.delta > 0 else 0, int(priors > 1)
        scaled = self.costs[:, x, w] / self.scale[x] / self.longest  # their product may be below all doubles
        cost = np.concatenate([np.zeros(many) if free else scaled[0], np.zeros(slacks), np.ones(free)])
        above, limits = self._rows(rows, w, x, scaled, len(cost))
        bounds = np.zeros((len(cost), 2))
        bounds[:, 1] = np.inf
        equal = _matrix([(x, np.arange(many), np.ones(many))], (len(self.scale), len(cost)))
        for method in ("highs-ds",) if many <= SIMPLEX_COLUMNS else ("highs-ipm", "highs-ds"):
            solved: Any = cast(Any, optimize).linprog(
                cost,
                A_ub=above,
                b_ub=limits,
                A_eq=equal,
                b_eq=self.scale / self.unit,
                bounds=bounds,
                method=method,
                options=SOLVER,
            )
            if solved.x is not None:
                break
        else:
            raise UnsolvedError("the program has numbers too far apart")
        marginals: FloatArray = np.maximum(0.0, -np.asarray(solved.ineqlin.marginals, dtype=np.float64))
        prices = np.zeros(rows.shape)
        prices[way, output] = marginals[:kept] * self.longest
        shares = marginals[-priors:] if free else np.ones(1)
        channel = np.zeros(columns.shape)
        channel[x, w] = np.maximum(0.0, solved.x[:many])
        channel /= np.maximum(np.sum(channel, axis=1, keepdims=True), 1e-290)
        held = np.asarray(solved.eqlin.marginals)[:, np.newaxis] * self.longest * self.scale[:, np.newaxis]
        own = self.priced(prices, shares)
        prices, priced = self._completed(prices, shares, channel, own, held)
        bound = self._bound(priced, prices)
        value = float(np.max(np.sum(self.costs * channel, axis=(1, 2))))
        found = Solution(rows=channel, prices=prices, shares=shares, value=value, bound=bound)
        reduced = np.minimum(own, priced) - held
        return found, reduced / self.scale[:, np.newaxis] / self.longest

    def _between(self, best: Solution, new: Solution) -> Solution:
        """Return the one of two solutions with the larger bound, or prices between theirs where these prove more.

        The bound is a concave function of the prices.
        """
        found = new if new.bound > best.bound else best
        for part in BETWEEN_PRICES:
            prices = best.prices + part * (new.prices - best.prices)
            shares = best.shares + part * (new.shares - best.shares)
            bound = self._bound(self.priced(prices, shares), prices)
            if bound > found.bound:
                found = replace(new, prices=prices, shares=shares, bound=bound)
        return found

    def _bound(self, priced: FloatArray, prices: FloatArray) -> float:
        """Return what prices prove to be a lower bound of the loss, but for rounding."""
        return float(np.sum(np.min(priced, axis=1))) - self.delta * float(np.sum(np.max(prices, axis=1)))

    def _reduced(self, best: Solution, new: Solution) -> FloatArray:
        """Return reduced costs at the best prices, scaled: against what the outputs that are used cost at them."""
        priced = self.priced(best.prices, best.shares)
        held = np.min(np.where(new.rows > 0, priced, np.inf), axis=1, keepdims=True)
        return (priced - held) / self.scale[:, np.newaxis] / self.longest

    def priced(self, prices: FloatArray, shares: FloatArray) -> FloatArray:
        """Return what each output costs for each answer, its part in the constraints included, of shape (K, M)."""
        costs = np.tensordot(shares, self.costs, 1)
        return costs + self.scale[:, np.newaxis] * (self.excess.T @ prices)

    def _completed(
        self, prices: FloatArray, shares: FloatArray, channel: FloatArray, own: FloatArray, held: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return prices at all outputs, and what each output then costs for each answer.

        A solver knows no prices at outputs that it does not use. There those on straight lines between its outputs are
        taken, where they are better.
        """
        used: IntArray = np.flatnonzero(self.scale @ channel > 0)
        every = np.arange(prices.shape[1], dtype=np.int64)
        between = spread(prices[:, used], used, every)
        priced = self.priced(between, shares)
        better = np.sum(np.minimum(0.0, priced - held), axis=0) > np.sum(np.minimum(0.0, own - held), axis=0)
        return np.where(better, between, prices), np.where(better, priced, own)

    def _rows(self, rows: BoolArray, w: IntArray, x: IntArray, scaled: FloatArray, width: int) -> tuple[Any, Any]:
        """Return the constraints that are inequalities: of the laws, of delta, and of the priors."""
        way, output = np.nonzero(rows)
        many, kept = len(x), len(way)
        places = np.full(rows.shape, -1)
        places[way, output] = np.arange(kept)
        row, column = np.nonzero((at := places[:, w]) >= 0)
        entries = [(at[row, column], column, self.excess[row, x[column]])]
        limits = [np.zeros(kept)]
        if self.delta > 0:
            used, group = np.unique(way, return_inverse=True)
            slack = many + np.arange(kept)
            entries += [(np.arange(kept), slack, -np.ones(kept)), (kept + group, slack, np.ones(kept))]
            limits.append(np.full(len(used), self.delta / self.unit))
        if len(scaled) > 1:
            first = sum(map(len, limits))
            row, column = np.nonzero(scaled)
            ends = np.arange(len(scaled))
            entries.append((first + row, column, scaled[row, column]))
            entries.append((first + ends, np.full(len(scaled), width - 1), -np.ones(len(scaled))))
            limits.append(np.zeros(len(scaled)))
        below = np.concatenate(limits)
        return _matrix(entries, (len(below), width)), below

    def _violated(self, channel: FloatArray) -> BoolArray:
        """Return the worst constraints of every output that a channel violates."""
        laws = self.masses @ channel
        passed = (laws[self.ways[:, 0]] - self.ratio * laws[self.ways[:, 1]]) / self.unit
        if self.delta > 0 and np.all(np.sum(np.maximum(0.0, passed), axis=1) <= self.delta / self.unit):
            return np.zeros(passed.shape, dtype=np.bool_)
        return _most_negative(np.where(passed > 1e-8, -passed, 0.0).T).T


def spread(prices: FloatArray, known: IntArray, places: IntArray) -> FloatArray:
    """Return prices, shape (W, M), at other outputs, on straight lines between those that are known."""
    rows: list[FloatArray] = [np.interp(places, known, each) for each in prices]
    return np.array(rows)


def _matrix(entries: list[tuple[Any, Any, Any]], shape: tuple[int, int]) -> Any:
    from scipy import sparse

    row, column, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_array((values, (row, column)), shape=shape)


def _most_negative(values: FloatArray, least: float = -1e-8) -> BoolArray:
    """Return which numbers of every row are negative, of many only the least ones."""
    found = values < least
    if values.shape[1] > MOST_NEW:
        found &= values <= np.partition(values, MOST_NEW, axis=1)[:, MOST_NEW - 1 : MOST_NEW]
    return found


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
