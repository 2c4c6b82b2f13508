"""Workloads: what is asked in place of many questions, and answers to all of them by least squares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, down
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry
from bnpriv.core.columns import Categorical
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import Laplace
from bnpriv.core.queries.asked import count, crosstab, histogram, number_labels, parts_of, proportion, stack
from bnpriv.core.queries.base import Indicator, IntegerTerm, NormalForm, Query, columns_of, normal_form
from bnpriv.core.queries.builtin import Count, Custom, Derived, derivation
from bnpriv.core.queries.contribution import Leaf, cells
from bnpriv.core.queries.predicates import Comparison, Constant, Truths, truth
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.release import Release
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError, QueryError, RefusedError, SizeError
from bnpriv.ledger.history import total_with
from bnpriv.ledger.split import (
    MOST_COARSE,
    TOGETHER,
    AskedQuestion,
    BudgetSplit,
    PlannedCosts,
    error_of,
    rate_of,
    realised,
    scaled,
    shares,
    split,
)
from bnpriv.ledger.values import Budget
from bnpriv.progress import tracked
from bnpriv.render.document import Code, Document, Paragraph, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import number_text, shorter, upper_percent, upper_text, visible

# --------------------------------------------------------------------------------------------------
# Queries as rows of one matrix: over counts of records, of which some add up to others.
#
# A column falls into pieces on which every condition is constant. What a condition on some columns counts is a sum of
# how many records are in chosen pieces of some of these columns; the first piece of each is left out, because the
# number of records is public. So no two rows of different numbers are the same, and a table of some columns has no
# more unknowns when other columns are asked about beside it.
# --------------------------------------------------------------------------------------------------

MOST_SINGLE = 32
"""A column of at most so many whole numbers that is summed falls into these."""

MOST_UNKNOWN = 2000
"""Unknown counts of a workload; beyond that each question is asked by itself."""

Unknown = frozenset[tuple[str, int]] | IntegerTerm | tuple[str, int]
"""How many records are in chosen pieces of some columns; a sum of values; or a number of an unknown function."""


@dataclass(kw_only=True)
class QueryMatrix:
    """Rows of queries over unknown counts.

    Parameters
    ----------
    schema : Schema
    queries : sequence of Query
        All that are to have rows.
    """

    schema: Schema
    queries: Sequence[Query]
    places: dict[Unknown, int] = field(default_factory=dict[Unknown, int])
    _rows: dict[IntegerTerm, tuple[float, dict[Unknown, float]]] = field(default_factory=dict)  # type: ignore[type-arg]

    def __post_init__(self) -> None:
        forms = [form for form in map(self._form, self.queries) if form is not None]
        terms = dict.fromkeys(term for form in forms for term in form.terms)
        leaves: dict[str, dict[Leaf, None]] = {}
        for term in terms:
            for leaf in term.predicate.comparisons() if isinstance(term, Indicator) else ():
                leaves.setdefault(leaf.column, {})[leaf] = None
        for name in {name for term in terms if not isinstance(term, Indicator) for name in columns_of(term)}:
            column = self.schema[name]
            if not isinstance(column, Categorical) and column.whole and column.steps < MOST_SINGLE:
                each = range(int(column.lower), int(column.upper) + 1)
                leaves.setdefault(name, {}).update((Comparison(name, "==", value), None) for value in each)
        self._pieces = {name: self._cut(name, tuple(found)) for name, found in leaves.items()}

    def _cut(self, name: str, leaves: tuple[Leaf, ...]) -> tuple[dict[Leaf, Truths], FloatArray | None]:
        """The truth of every comparison on each piece of a column, and the steps of pieces of one value."""
        parts = cells(self.schema[name], leaves)
        _, first = np.unique(parts.truth, axis=1, return_index=True)
        steps = (
            np.array(parts.low, dtype=float)[first]
            if len(first) == len(parts.low) and parts.low == parts.high
            else None
        )
        return dict(zip(leaves, parts.truth[:, first], strict=True)), steps

    def _form(self, query: Query) -> NormalForm | None:
        try:
            return normal_form(query, self.schema)
        except QueryError:
            return None

    def rows(self, query: Query) -> tuple[FloatArray, list[dict[int, float]]]:
        """Return the constant and the weights of every number of a query."""
        form = self._form(query)
        if form is None:
            size = query.dimension(self.schema)
            return np.zeros(size), [{self._place((str(query), k)): 1.0} for k in range(size)]
        constants, found = [float(each) for each in form.offset], [dict[int, float]() for _ in form.rows]
        for k, row in enumerate(form.rows):
            for term, weight in row.items():
                constant, parts = self._term(form.terms[term])
                constants[k] += float(weight) * constant * self.schema.records
                for unknown, part in parts.items():
                    place = self._place(unknown)
                    found[k][place] = found[k].get(place, 0.0) + float(weight) * part
        return np.array(constants), found

    def _place(self, unknown: Unknown) -> int:
        return self.places.setdefault(unknown, len(self.places))

    def _term(self, term: IntegerTerm) -> tuple[float, dict[Unknown, float]]:
        if term not in self._rows:
            self._rows[term] = self._expanded(term)
        return self._rows[term]

    def _expanded(self, term: IntegerTerm) -> tuple[float, dict[Unknown, float]]:
        """What a record adds, as a constant and weights of the pieces that it is in."""
        names = sorted(columns_of(term))
        pieces = [self._pieces.get(name) for name in names]

        def along(values: NDArray[Any], k: int) -> NDArray[Any]:
            return values.reshape([-1 if axis == k else 1 for axis in range(len(names))])

        if isinstance(term, Indicator):
            held = {leaf: along(row, k) for k, piece in enumerate(pieces) if piece for leaf, row in piece[0].items()}
            values = truth(term.predicate, held.__getitem__).astype(float)
        else:
            steps = [piece[1] for piece in pieces if piece is not None and piece[1] is not None]
            if len(steps) < len(names):
                return 0.0, {term: 1.0}
            powers = [each ** term.powers[name] for name, each in zip(names, steps, strict=True)]
            values = reduce(np.multiply, [along(each, k) for k, each in enumerate(powers)])
        sizes = [len(next(iter(piece[0].values()))) for piece in pieces if piece]
        values = np.array(np.broadcast_to(values, sizes))
        for axis in range(len(names)):  # from here on the first piece stands for whatever the column holds
            first = np.take(values, [0], axis)
            values = np.concatenate([first, np.delete(values, 0, axis) - first], axis)
        parts: dict[Unknown, float] = {}
        for place in np.argwhere(values):
            key = frozenset((name, int(piece)) for name, piece in zip(names, place, strict=True) if piece)
            parts[key] = float(values[tuple(place)])
        return parts.pop(frozenset(), 0.0), parts

    def matrix(self, queries: Iterable[Query]) -> tuple[FloatArray, FloatArray]:
        """Return the constants and the dense rows of queries, one after the other."""
        found = [self.rows(query) for query in queries]
        rows = [row for _, each in found for row in each]
        dense = np.zeros((len(rows), len(self.places)))
        for k, row in enumerate(rows):
            dense[k, list(row)] = list(row.values())
        return np.concatenate([constant for constant, _ in found]), dense


# --------------------------------------------------------------------------------------------------
# Least squares: the best linear answers, their exact mean errors, and answers that no table contradicts.
# --------------------------------------------------------------------------------------------------

SMALL_NUMBER = 1e-9
"""Relative size below which a number of a matrix is rounding."""

QUADRATURE_NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
"""Of the integral of a mean error."""


def estimator(wanted: FloatArray, asked: FloatArray, deviations: FloatArray) -> FloatArray | None:
    """Return the matrix from noisy numbers to the best linear answers; None where they do not determine these.

    Parameters
    ----------
    wanted : ndarray of shape (answers, unknown)
    asked : ndarray of shape (numbers, unknown)
    deviations : ndarray of shape (numbers,)
        Of the noise of each number; 0 for an exact one.
    """
    exact = deviations == 0
    inverse = np.linalg.pinv(asked[exact], rcond=SMALL_NUMBER)
    free = np.eye(asked.shape[1]) - inverse @ asked[exact]  # of unknowns, what exact numbers leave open
    weighted = asked[~exact] @ free / deviations[~exact, None]
    # not by the square, as rates may be very far apart
    sides, values, vectors = np.linalg.svd(weighted, full_matrices=False)
    kept = values > SMALL_NUMBER**1.25 * float(np.max(values, initial=0.0))
    basis, left = vectors[kept].T, wanted @ free
    known = left @ basis
    if not np.allclose(known @ basis.T, left, atol=1e-6 * max(1.0, float(np.abs(wanted).max(initial=0.0)))):
        return None
    found = np.zeros((len(wanted), len(asked)))
    found[:, ~exact] = (known / values[kept]) @ sides[:, kept].T / deviations[~exact]
    found[:, exact] = (wanted - found[:, ~exact] @ asked[~exact]) @ inverse
    return found


def mean_errors(found: FloatArray, scales: FloatArray) -> FloatArray:
    """Return the mean absolute error of each linear answer to numbers with Laplace noise.

    Notes
    -----
    A sum of independent Laplace variables of scales c has the characteristic function ``prod 1 / (1 + c^2 t^2)``, and
    the mean absolute value of a variable is ``2 / pi`` times the integral of ``(1 - function) / t^2`` over t above 0;
    here with ``t = tan(angle) / sqrt(sum c^2)``.

    Examples
    --------
    >>> mean_errors(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([3.0, 3.0])).round(9).tolist()
    [6.0, 4.5]
    """
    sizes = np.abs(found) * scales
    length = np.sqrt(np.sum(sizes**2, axis=1))
    angle = (QUADRATURE_NODES + 1) * math.pi / 4
    parts = np.divide(sizes, length[:, None], out=np.zeros_like(sizes), where=length[:, None] > 0)
    logs = np.stack([np.sum(np.log1p((parts * math.tan(each)) ** 2), axis=1) for each in angle], axis=1)
    return length / 2 * np.sum(WEIGHTS * -np.expm1(-logs) / np.sin(angle) ** 2, axis=1)


def within(values: FloatArray, spread: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the answers inside their ranges that need the least change of the noisy numbers.

    Parameters
    ----------
    values : ndarray
        The best linear answers.
    spread : ndarray of shape (answers, numbers)
        How they change with the noise of each number, in its deviations: changes keep all sums of answers.
    lower, upper : ndarray
    """
    from scipy.optimize import nnls

    missing = np.concatenate([lower - values, values - upper])
    if np.all(missing <= 0):
        return values
    size = max(1.0, float(np.abs(missing).max()))
    # the least change is in the cone of the sides: nonnegative least squares finds it (Lawson and Hanson, chapter 23)
    left, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    kept, scaling = sizes > SMALL_NUMBER * float(sizes[0]), float(sizes[0])
    moves = left[:, kept] * sizes[kept]
    sides = np.concatenate([moves, -moves])
    system = np.concatenate([sides.T / scaling, missing[None] / size])
    goal = np.append(np.zeros(len(system) - 1), 1.0)
    weights, _ = nnls(system, goal, maxiter=50 * system.shape[1])
    rest = system @ weights - goal
    change = -rest[:-1] / rest[-1] * size / scaling
    return np.clip(values + moves @ change, lower, upper)


# --------------------------------------------------------------------------------------------------
# What to ask instead: tables of which the questions are sums, with the noise that suits all answers.
# --------------------------------------------------------------------------------------------------

MOST_TABLE_ANSWERS = 128
"""Numbers of one table that is asked."""

MOST_WHOLE = 64
"""Numbers of a table of all columns that are asked about."""

WEIGHT_STEPS = 20
"""Steps of the search for rates that takes what each number costs alone."""

LEAST_WEIGHT = 1e-5
"""Share of the budget below which a number is not asked."""


def tables(schema: Schema, queries: Sequence[Query]) -> list[Query]:
    """Return tables of which questions are sums: of the columns of a condition, of some of these, and of all.

    Parameters
    ----------
    schema : Schema
    queries : sequence of Query
    """
    terms = [term for query in queries for term in _terms(query, schema) if isinstance(term, Indicator)]
    bins = {name: _bins(schema, name, terms) for name in sorted({name for term in terms for name in term.columns})}
    sets = {term.columns for term in terms}
    smaller = {
        frozenset(some) for each in sets for size in range(1, len(each)) for some in itertools.combinations(each, size)
    }
    whole = frozenset[str]().union(*sets)
    found: dict[str, Query] = {}
    for names in sorted({*sets, *smaller, whole} - {frozenset[str]()}, key=lambda each: (-len(each), sorted(each))):
        given = {name: bins[name] for name in sorted(names)}
        edges = sum(not isinstance(schema[name], Categorical) for name in names)  # one more than bins
        if (
            math.prod(map(len, given.values()))
            > (MOST_TABLE_ANSWERS if names in sets or names in smaller else MOST_WHOLE) * 2**edges
        ):
            continue
        query = _table(given, schema)
        found.setdefault(str(query), query)
    return list(found.values())


def _terms(query: Query, schema: Schema) -> Sequence[IntegerTerm]:
    try:
        return normal_form(query, schema).terms
    except QueryError:
        return ()


def _bins(schema: Schema, name: str, terms: Iterable[Indicator]) -> tuple[Constant, ...]:
    """The categories of a column, or edges at which some condition on it changes."""
    column = schema[name]
    if isinstance(column, Categorical):
        return tuple(column.categories)
    cuts: set[float] = set()
    for leaf in (leaf for term in terms for leaf in term.predicate.comparisons() if leaf.column == name):
        for value in map(float, leaf.constants):
            before = float(math.ceil(value)) if column.whole else value
            after = float(math.floor(value) + 1) if column.whole else math.nextafter(value, math.inf)
            operator = leaf.operator if isinstance(leaf, Comparison) else "=="
            cuts |= {before} if operator in ("<", ">=") else {after} if operator in (">", "<=") else {before, after}
    inside = sorted(cut for cut in cuts if column.lower < cut <= column.upper)
    top = column.upper + (1 if inside and inside[-1] == column.upper else 0)
    return tuple(int(edge) if column.whole else float(edge) for edge in (column.lower, *inside, top))


def _table(bins: Mapping[str, tuple[Constant, ...]], schema: Schema) -> Query:
    if len(bins) == 1:
        ((name, each),) = bins.items()
        return histogram(name, _unless_all(each, schema, name))
    given = {name: kept for name, each in bins.items() if (kept := _unless_all(each, schema, name)) is not None}
    return crosstab(*bins, bins=given or None)


def _unless_all(bins: tuple[Constant, ...], schema: Schema, name: str) -> tuple[Constant, ...] | None:
    column = schema[name]
    return None if isinstance(column, Categorical) and len(bins) == len(column.categories) else bins


class LinearAnswers(NamedTuple):
    """The best linear answers from noisy numbers, and their exact mean errors."""

    found: FloatArray
    shift: FloatArray
    spread: FloatArray
    errors: FloatArray

    @staticmethod
    def of(
        matrix: QueryMatrix, queries: Sequence[Query], asked: Sequence[Query], scales: FloatArray
    ) -> LinearAnswers | None:
        """Return the answers to queries from others with noise of some scales; None where they determine none."""
        (shift, wanted), (constants, rows) = matrix.matrix(queries), matrix.matrix(asked)
        found = estimator(wanted, rows, scales * math.sqrt(2))
        if found is None:
            return None
        return LinearAnswers(
            found, shift - found @ constants, found * scales * math.sqrt(2), mean_errors(found, scales)
        )

    @staticmethod
    def from_calibrations(
        matrix: QueryMatrix, queries: Sequence[Query], made: Sequence[Calibration]
    ) -> LinearAnswers | None:
        """Return the answers from what some calibrations release."""
        scales = np.concatenate([np.asarray(each.noise.scales, dtype=float) for each in made])
        return LinearAnswers.of(matrix, queries, [each.query for each in made], scales)


@dataclass(kw_only=True)
class _Choice:
    """Rates of single numbers, each with noise of its own, and what they are worth to the answers."""

    matrix: QueryMatrix
    queries: Sequence[Query]
    asked: Sequence[AskedQuestion]
    worth: FloatArray

    def __post_init__(self) -> None:
        schema = self.matrix.schema
        self.wanted = self.matrix.matrix(self.queries)[1]
        self.rows = self.matrix.matrix([each.query for each in self.asked])[1]
        self.owner = np.repeat(range(len(self.asked)), [each.query.dimension(schema) for each in self.asked])
        self.weights = np.concatenate([each.entry.weights or (1.0,) * each.made.noise.dimension for each in self.asked])

    def worths(self, rates: FloatArray) -> FloatArray | None:
        """Return how much of the summed error comes from the noise of each; None where answers are not determined."""
        used = rates[self.owner] > 0
        deviations = 1 / (rates[self.owner][used] * self.weights[used])
        found = estimator(self.wanted, self.rows[used], deviations)
        if found is None:
            return None
        variances = (found * deviations) ** 2
        roots = np.sqrt(variances.sum(axis=1))
        parts = np.divide(self.worth, roots, out=np.zeros_like(roots), where=roots > 0) @ variances
        return np.bincount(self.owner[used], parts, len(rates)).astype(float)

    def rates(self, costs: FloatArray) -> FloatArray | None:
        """Return rates of the least error for their cost, if each costs what it costs alone."""
        rates = 1 / costs
        for _ in range(WEIGHT_STEPS):
            worths = self.worths(rates)
            if worths is None:
                return None
            # the error never rises by this step: a root is below its tangent
            rates = np.cbrt(worths * rates / costs)
            rates /= float(rates @ costs)
        few = np.where(rates * costs < LEAST_WEIGHT, 0.0, rates)
        return rates if self.worths(few) is None else few


def single_numbers(queries: Iterable[Query], matrix: QueryMatrix) -> list[Query]:
    """Return questions for the single numbers of queries, each once; a query that is no list of counts stays whole.

    Of a number and its complement, which is the number of records less it, the first alone is asked.
    """
    found: dict[bytes, Query] = {}
    for query in queries:
        for each in _apart(query, matrix.schema):
            rows = matrix.matrix([each])[1].round(9) + 0.0  # no negative zeros
            if len(rows) == 1 and rows.any() and rows[rows != 0][0] < 0:
                rows = 0.0 - rows
            found.setdefault(rows.tobytes(), each)
    return list(found.values())


def _apart(query: Query, schema: Schema) -> list[Query]:
    if isinstance(query, (Custom, Derived)):
        return [query]
    outputs = query.outputs(schema)
    counted = [output.terms[0][1] for output in outputs if len(output.terms) == 1 and output.terms[0][0] == 1]
    conditions = [term.predicate for term in counted if isinstance(term, Indicator)]
    if len(conditions) < len(outputs):
        return [query]
    return [proportion(each) if outputs[0].averaged else count(each) for each in conditions]


def asked_numbers(accountant: Accountant, queries: Sequence[Query], limit: Fraction) -> list[AskedQuestion]:
    """Return the questions that a mechanism answers with an equal part of what is left."""
    found: list[AskedQuestion] = []
    for query in tracked(queries, f"{len(queries):,} numbers that may be asked"):
        with suppress(RefusedError, SizeError):
            found.append(AskedQuestion.of(accountant, query, float(limit - (accountant.total or 0)) / len(queries)))
    return found


def stacks_of(
    accountant: Accountant, limit: Fraction, choice: _Choice
) -> tuple[Sequence[AskedQuestion], FloatArray] | None:
    """Return stacks of numbers, each with a weight of its own, and rates that keep a limit; None where none do."""
    schema, asked = choice.matrix.schema, choice.asked
    costs = np.array([each.made.epsilon / rate_of(each.made) for each in asked])
    if not costs.any():
        return None
    # what costs nothing alone costs something beside others
    rates = choice.rates(np.maximum(costs, LEAST_COST * float(costs[costs > 0].min())))
    if rates is None:
        return None
    stacks, given = list[AskedQuestion](), list[float]()
    # weights in a stack are powers of two: numbers between these go into stacks of their own
    between = np.round(STACKS_BETWEEN * np.log2(np.where(rates > 0, rates, 1.0))).astype(int) % STACKS_BETWEEN
    order: list[int] = np.argsort(-rates).tolist()
    left = [[place for place in order if rates[place] > 0 and between[place] == k] for k in range(STACKS_BETWEEN)]
    while left:
        chosen = left.pop()
        if not chosen:
            continue
        group = [asked[place] for place in chosen]
        parts = np.repeat(rates[chosen], [len(parts_of(each.query, schema)) for each in group])
        weights = tuple((parts / parts.min()).tolist()) if len(parts) > 1 else None
        try:
            query = stack(*(each.query for each in group)) if len(group) > 1 else group[0].query
            found = AskedQuestion.of(accountant, query, group[0].made.epsilon, weights=weights)
        except (RefusedError, SizeError, QueryError):
            found = group[0]
        if len(group) > 1 and (found is group[0] or found.entry.family == "column" or found.entry.query is None):
            left += [chosen[::2], chosen[1::2]]  # what is too large as one is not so in halves
            continue
        stacks.append(found)
        given.append(float(parts.min()))
    together = PlannedCosts(accountant=accountant, questions=stacks)
    fitting = scaled(together, np.array(given), down(float(limit)))
    return None if fitting is None else (stacks, fitting)


def pairs(queries: Iterable[Query], asked: Sequence[AskedQuestion], schema: Schema) -> list[Query]:
    """Return counts of two cells of a table together: where one tells as much as the other, both may tell little.

    Parameters
    ----------
    queries : iterable of Query
    asked : sequence of AskedQuestion
        Of single numbers: cells are paired that cost about the same.
    schema : Schema
    """
    costs = {str(each.query): each.made.epsilon / rate_of(each.made) for each in asked}
    found: dict[str, Query] = {}
    for query in queries:
        counted = [each for each in _apart(query, schema) if isinstance(each, Count) and str(each) in costs]
        counted.sort(key=lambda each: costs[str(each)])
        for k, each in enumerate(counted):
            for other in counted[k + 1 : k + 1 + PARTNERS]:
                both = count(each.predicate | other.predicate)
                found.setdefault(str(both), both)
    return list(found.values())


MEANS_KEPT = 3
"""The error that Laplace noise keeps in 95 % of releases is about so many times its mean."""

MOST_TAKEN_IN_PAIRS = 150
"""Numbers that are also asked in pairs; more take too long."""

PARTNERS = 4
"""Cells with which each cell is counted together."""

LEAST_COST = 0.1
"""What a number costs at least, as a share of the least cost of the others."""

STACKS_BETWEEN = 4
"""Stacks whose weights lie evenly between powers of two."""

OVER_BY = 1.03
"""What they are given more than they miss, so that few times are enough."""

MOST_OVER = 1e6
"""The most by which an error counts as too large: what is exact by itself has none that it may pass."""

MOST_WORTHS = 3
"""Times that answers which got worse than asked by themselves are given more worth."""


# --------------------------------------------------------------------------------------------------
# A workload: what is asked, the answers that follow, and how much they err.
# --------------------------------------------------------------------------------------------------


WORKLOAD_NUMBERS = 6
"""Numbers of an answer that are printed."""


@dataclass(frozen=True, kw_only=True)
class WorkloadAnswer:
    """The answer to a question of a workload.

    Parameters
    ----------
    query : Query
    labels : tuple of str
    values : tuple of float
    errors : tuple of float
        The mean error of each number that the answer is computed from, before it was brought into its range.
    """

    query: Query
    labels: tuple[str, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def value(self) -> float | tuple[float, ...]:
        """The number if there is one, else the tuple of all."""
        return self.values[0] if len(self.values) == 1 else self.values

    def __str__(self) -> str:
        known = len(self.values) == len(self.errors)
        errs = [f" (mean error at most {upper_text(error)})" if error else " (exact)" for error in self.errors]
        errs = errs if known else [""] * len(self.values)
        numbers = zip(self.labels, self.values, errs, strict=True)
        lines = [f"{visible(label)} = {number_text(value)}{told}" for label, value, told in numbers]
        return "\n".join(shorter(lines, WORKLOAD_NUMBERS))


WORKLOAD_NEXT = "Next: session.release_workload(workload) charges it and works out all answers. Nothing is spent yet."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Workload(Shown):
    """What is asked in place of many questions, and how their answers follow; nothing is spent yet.

    Parameters
    ----------
    queries : tuple of Query
    schema : Schema
    split : BudgetSplit
        The releases.
    alone : float
        The summed error if each question is asked by itself, with the best split of the budget.
    found, spread : ndarray of shape (numbers, released)
        From released numbers to answers; the same times the deviation of the noise of each.
    shift, errors : ndarray of shape (numbers,)
    """

    queries: tuple[Query, ...]
    schema: Schema
    split: BudgetSplit
    alone: float
    found: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)
    shift: FloatArray = field(repr=False)
    errors: FloatArray = field(repr=False)

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """What is released: each to be passed to `Session.release`, or all to `Session.release_workload`."""
        return self.split.calibrations

    @property
    def error(self) -> float:
        """The sum of the mean errors of all numbers, each as a share of its range."""
        return float(self.errors @ np.concatenate([shares(query, self.schema) for query in self.queries]))

    def require_room(self, accountant: Accountant, budget: Budget) -> None:
        """Refuse what passes a budget, before the first of its releases is charged.

        Parameters
        ----------
        accountant : Accountant
            Of what was released.
        budget : Budget

        Raises
        ------
        RefusedError
            If all of them together do.
        """
        total = total_with(accountant, map(Entry.of, self.calibrations))
        if total is None or total > budget.epsilon:
            raise RefusedError(
                "all releases of a workload must fit into the budget",
                found="more than is left of it",
                remedy="Choose a workload anew: Session.workload(questions).",
            )

    def answers(self, releases: Sequence[Release]) -> tuple[WorkloadAnswer, ...]:
        """Return the answers to all questions from what was released: post-processing, which costs nothing.

        They are the best linear ones, and then brought into their ranges by the least change of the released numbers:
        counts are not negative, and sums that hold in every table hold among them.

        Parameters
        ----------
        releases : sequence of Release
            Of `calibrations`, in order.

        Raises
        ------
        ParameterError
            If they are others.
        """
        if [each.calibration.seal for each in releases] != [each.seal for each in self.calibrations]:
            raise ParameterError(
                "the answers of a workload follow from the releases of its own calibrations, in order",
                found=f"{len(releases)} other releases, or another order",
                remedy="Call Session.release_workload(workload).",
            )
        released = np.array([value for each in releases for value in each.base])
        ends = [answer_range(query, self.schema) for query in self.queries]
        lower, upper = (np.concatenate([np.asarray(end[k], dtype=float) for end in ends]) for k in (0, 1))
        values = within(self.found @ released + self.shift, self.spread, lower, upper)
        answers: list[WorkloadAnswer] = []
        start = 0
        for query in self.queries:
            stop = start + query.dimension(self.schema)
            base, derived = values[start:stop].tolist(), derivation(query, self.schema)
            labels = number_labels(query, self.schema)
            answers.append(
                WorkloadAnswer(
                    query=query,
                    labels=labels if derived is None else derived.labels(labels),
                    values=tuple(base) if derived is None else derived.values(base),
                    errors=tuple(self.errors[start:stop].tolist()),
                )
            )
            start = stop
        return tuple(answers)

    @property
    def document(self) -> Document:
        """Return what is asked, and how much each answer errs."""
        sizes = np.cumsum([0, *(query.dimension(self.schema) for query in self.queries)])
        errors = [self.errors[first:last].max() for first, last in itertools.pairwise(sizes)]
        asked = len(self.calibrations)
        return Document(
            kind="workload",
            kicker="bnpriv workload: nothing is spent by asking",
            headline=f"{len(self.queries):,} questions from {asked:,} release{'s' if asked > 1 else ''} for epsilon "
            f"{upper_text(self.split.epsilon, 6)}",
            short=(*self.split.short_lines(self.error), WORKLOAD_NEXT),
            number=upper_text(self.split.epsilon, 6),
            facts=(
                self.split.error_fact(self.error),
                fact("If each question is asked by itself", f"{upper_percent(self.alone)}"),
            ),
            answer=(Paragraph(WORKLOAD_NEXT, soft=True),),
            sections=(
                Section(
                    title="What each question gets",
                    blocks=(
                        Table(
                            caption="In the order in which they were asked",
                            header=("question", "mean error, at most of all numbers"),
                            rows=[
                                ((Code(str(query)),), upper_text(float(error)))
                                for query, error in zip(self.queries, errors, strict=True)
                            ],
                            numbers=(1,),
                        ),
                    ),
                    explained=True,
                ),
                Section(
                    title="What is released for it",
                    blocks=(
                        self.split.releases_table("The answers are worked out of these"),
                        Paragraph(TOGETHER, soft=True),
                    ),
                    explained=True,
                ),
            ),
            data={
                "epsilon": self.split.epsilon,
                "error": self.error,
                "alone": self.alone,
                "errors": self.errors.tolist(),
                "releases": self.split.to_rows(),
            },
        )

    def __repr__(self) -> str:
        asked = len(self.calibrations)
        return f"Workload(questions={len(self.queries)}, releases={asked}, epsilon={self.split.epsilon:.6g})"


def workload(accountant: Accountant, queries: Sequence[Query], limit: Fraction, budget: Budget) -> Workload:
    """Choose what to ask in place of questions: never worse than each by itself.

    Parameters
    ----------
    accountant : Accountant
        Of what was released.
    queries : sequence of Query
    limit : Fraction
        What all releases may tell together then.
    budget : Budget

    Raises
    ------
    ParameterError, RefusedError
        As `bnpriv.ledger.split.split`.
    """
    schema = accountant.framework.schema
    apart = split(accountant, queries, limit, budget)
    parts = tables(schema, queries)
    matrix = QueryMatrix(schema=schema, queries=[*queries, *parts])
    for query in tracked((*queries, *parts), "questions in numbers"):
        matrix.rows(query)
    kept = [query for query in queries if str(query) not in apart.left_out]
    best, least = LinearAnswers.from_calibrations(matrix, kept, apart.calibrations), apart
    assert best is not None  # its own answers determine each question
    asked = asked_numbers(accountant, single_numbers([*queries, *parts], matrix), limit)
    both = pairs([*queries, *parts], asked, schema) if len(asked) <= MOST_TAKEN_IN_PAIRS else []
    asked += asked_numbers(accountant, both, limit)
    alone = {text: error_of(made) for (text, *_), made in zip(apart.questions, apart.calibrations, strict=True)}
    most = np.array([alone.get(str(query), math.inf) for query in queries])
    if apart.left_out:  # then what others get by themselves is more than beside all; none is to become useless
        most = np.maximum(most, [MOST_COARSE / MEANS_KEPT * query.dimension(schema) for query in queries])
    few, worth = (
        set(map(str, single_numbers(queries, matrix))),
        np.concatenate([shares(each, schema) for each in queries]),
    )
    tried = ([each for each in asked if str(each.query) in few], asked)
    ways = [found for some in tried if (found := _together(accountant, queries, limit, matrix, some, most)) is not None]
    if ways:
        best, made, total = min(ways, key=lambda way: float(way[0].errors @ worth))
        texts = tuple((str(each.query),) for each in made)
        least, kept = replace(apart, calibrations=tuple(made), questions=texts, total=total, left_out={}), [*queries]
    return Workload(
        queries=tuple(kept),
        schema=schema,
        split=least,
        alone=apart.error,
        found=best.found,
        spread=best.spread,
        shift=best.shift,
        errors=best.errors,
    )


def _sums(answers: LinearAnswers, queries: Sequence[Query], schema: Schema) -> FloatArray:
    """The sum of the errors of each question, as shares of its ranges."""
    parts = answers.errors * np.concatenate([shares(query, schema) for query in queries])
    sizes = [query.dimension(schema) for query in queries]
    return np.add.reduceat(parts, np.cumsum([0, *sizes[:-1]]))


def _together(
    accountant: Accountant,
    queries: Sequence[Query],
    limit: Fraction,
    matrix: QueryMatrix,
    asked: Sequence[AskedQuestion],
    most: FloatArray,
) -> tuple[LinearAnswers, Sequence[Calibration], Fraction] | None:
    """Stacks from which no answer errs by more than by itself; None where none were found."""
    schema = matrix.schema
    sizes = [query.dimension(schema) for query in queries]
    worth = np.concatenate([shares(query, schema) for query in queries])
    noisy = [each for each in asked if each.entry.family != "column"]
    for _ in range(MOST_WORTHS):
        choice = _Choice(matrix=matrix, queries=queries, asked=noisy, worth=worth)
        stacked = stacks_of(accountant, limit, choice)
        if stacked is None:
            return None
        stacks, rates = stacked
        scales = [
            Laplace(1 / rate, each.made.noise.dimension, each.entry.weights).scales
            for each, rate in zip(stacks, rates.tolist(), strict=True)
        ]
        answers = LinearAnswers.of(matrix, queries, [each.query for each in stacks], np.concatenate(scales))
        if answers is None:
            return None
        over = _sums(answers, queries, schema) / np.maximum(most, 1e-300)
        if np.all(over <= 1):
            made = realised(accountant, stacks, rates, limit)
            answers = None if made is None else LinearAnswers.from_calibrations(matrix, queries, made[0])
            return None if made is None or answers is None else (answers, *made)
        worth = worth * np.repeat(np.clip(over * OVER_BY, 1, MOST_OVER) ** 3, sizes)
    return None
