"""Workloads: what is asked in place of many questions, and answers to all of them by least squares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import final

import numpy as np

from bnpriv.bound import FloatArray, down
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.columns import Categorical
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.asked import crosstab, histogram
from bnpriv.core.queries.base import Indicator, Query
from bnpriv.core.queries.contribution import Leaf, cells
from bnpriv.core.queries.derived import derivation
from bnpriv.core.queries.normal_form import IntegerTerm, columns_of, normal_form
from bnpriv.core.queries.predicates import Comparison, Constant, Truths, truth
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.release import Release
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError, QueryError, RefusedError, SizeError
from bnpriv.ledger.split import (
    AskedQuestion,
    BudgetSplit,
    Costs,
    Sharing,
    best_sharing,
    rate_of,
    realised,
    shares,
    split,
)
from bnpriv.ledger.values import Budget
from bnpriv.render.document import Code, Document, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import number_text, upper_percent, upper_text

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


@final
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

    def _form(self, query: Query):  # type: ignore[no-untyped-def]
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

        def along(values: FloatArray, k: int) -> FloatArray:
            return values.reshape([-1 if axis == k else 1 for axis in range(len(names))])

        if isinstance(term, Indicator):
            held = {leaf: along(row, k) for k, piece in enumerate(pieces) if piece for leaf, row in piece[0].items()}
            values = truth(term.predicate, held.__getitem__).astype(float)
        else:
            steps = [None if piece is None else piece[1] for piece in pieces]
            if any(each is None for each in steps):
                return 0.0, {term: 1.0}
            values = reduce(
                np.multiply,
                [along(each ** term.powers[name], k) for k, (name, each) in enumerate(zip(names, steps, strict=True))],
            )
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

SMALL = 1e-9
"""Relative size below which a number of a matrix is rounding."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
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
    found = np.zeros((len(wanted), len(asked)))
    left, solved = wanted, asked[exact]
    free = np.eye(asked.shape[1])
    if exact.any():
        inverse = np.linalg.pinv(solved, rcond=SMALL)
        free -= inverse @ solved
        left = wanted @ free
    # deviations are of one size for the solver, since it takes what is much smaller than the largest for nothing
    weighted = asked[~exact] @ free / deviations[~exact, None]
    gram = weighted.T @ weighted
    values, vectors = np.linalg.eigh(gram)
    kept = values > SMALL**1.5 * max(float(values[-1]), 0.0) if len(values) else values > 0
    basis = vectors[:, kept]
    known = left @ basis
    if not np.allclose(known @ basis.T, left, atol=1e-6 * max(1.0, float(np.abs(wanted).max(initial=0.0)))):
        return None
    found[:, ~exact] = (known / values[kept]) @ basis.T @ weighted.T / deviations[~exact]
    if exact.any():
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
    angle = (NODES + 1) * math.pi / 4
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

    sides = np.concatenate([spread, -spread])
    missing = np.concatenate([lower - values, values - upper])
    if np.all(missing <= 0):
        return values
    size = max(1.0, float(np.abs(missing).max()))
    # the least change is in the cone of the sides: nonnegative least squares finds it (Lawson and Hanson, chapter 23)
    basis = np.linalg.svd(spread, full_matrices=False)
    kept = basis.S > SMALL * basis.S[0]
    sides = np.concatenate([basis.U, -basis.U])[:, kept] * basis.S[kept]
    scaling = float(basis.S[0])
    system = np.concatenate([sides.T / scaling, missing[None] / size])
    goal = np.append(np.zeros(len(system) - 1), 1.0)
    weights, _ = nnls(system, goal, maxiter=50 * system.shape[1])
    rest = system @ weights - goal
    change = -rest[:-1] / rest[-1] * size / scaling
    return np.clip(values + (basis.U[:, kept] * basis.S[kept]) @ change, lower, upper)


# --------------------------------------------------------------------------------------------------
# What to ask instead: tables of which the questions are sums, with the noise that suits all answers.
# --------------------------------------------------------------------------------------------------

MOST_NUMBERS = 128
"""Numbers of one table that is asked."""

MOST_LEFT_OUT = 4
"""Categories of a protected column of which each is left out once."""

MOST_TABLES = 60
"""Tables and questions among which is chosen."""

STEPS = 60
"""Steps of the search for rates that takes what each table costs alone."""

LEAST_SHARE = 2e-3
"""Share of the budget below which a table is not asked."""


def tables(framework_columns: Schema, queries: Sequence[Query], protected: Iterable[str]) -> list[Query]:
    """Return tables of which questions are sums: of the columns of a condition, of some of these, and of all.

    Where a protected column is among them, also the tables without one of its categories: what the others tell beside
    it costs less than a table that shows each record twice.

    Parameters
    ----------
    framework_columns : Schema
    queries : sequence of Query
    protected : iterable of str
    """
    schema = framework_columns
    terms = [term for query in queries for term in _terms(query, schema) if isinstance(term, Indicator)]
    bins = {name: _bins(schema, name, terms) for name in sorted({name for term in terms for name in term.columns})}
    sets = {term.columns for term in terms}
    whole = frozenset[str]().union(*sets)
    smaller = {
        frozenset(some) for each in sets for size in range(1, len(each)) for some in itertools.combinations(each, size)
    }
    found: dict[str, Query] = {}
    for names in sorted({*sets, *smaller, whole}, key=lambda each: (-len(each), sorted(each))):
        if names and all(bins[name] for name in names):
            open_ones = [name for name in protected if name in names and isinstance(schema[name], Categorical)]
            for chosen in _less_one({name: bins[name] for name in sorted(names)}, open_ones):
                edges = sum(not isinstance(schema[name], Categorical) for name in chosen)  # one more than bins
                if math.prod(map(len, chosen.values())) / 2**edges <= MOST_NUMBERS:
                    query = _table(chosen, schema)
                    if query.dimension(schema) <= MOST_NUMBERS:
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


def _less_one(
    bins: Mapping[str, tuple[Constant, ...]], protected: Sequence[str]
) -> Iterable[dict[str, tuple[Constant, ...]]]:
    """The bins, and the same without one category of a protected column."""
    yield dict(bins)
    for name in protected:
        for left_out in bins[name] if 1 < len(bins[name]) <= MOST_LEFT_OUT else ():
            yield {**bins, name: tuple(each for each in bins[name] if each != left_out)}


def _table(bins: Mapping[str, tuple[Constant, ...]], schema: Schema) -> Query:
    if len(bins) == 1:
        ((name, each),) = bins.items()
        return histogram(name, _unless_all(each, schema, name))
    given = {name: kept for name, each in bins.items() if (kept := _unless_all(each, schema, name)) is not None}
    return crosstab(*bins, bins=given or None)


def _unless_all(bins: tuple[Constant, ...], schema: Schema, name: str) -> tuple[Constant, ...] | None:
    column = schema[name]
    return None if isinstance(column, Categorical) and len(bins) == len(column.categories) else bins


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Fitted:
    """The least-squares answers that some calibrations allow, and their exact errors."""

    calibrations: tuple[Calibration, ...]
    found: FloatArray
    shift: FloatArray
    spread: FloatArray
    errors: FloatArray


def _fitted(matrix: QueryMatrix, queries: Sequence[Query], made: Sequence[Calibration]) -> _Fitted | None:
    shift, wanted = matrix.matrix(queries)
    constants, asked = matrix.matrix([each.query for each in made])
    scales = np.concatenate([np.asarray(each.noise.scales, dtype=float) for each in made])
    found = estimator(wanted, asked, scales * math.sqrt(2))
    if found is None:
        return None
    return _Fitted(
        calibrations=tuple(made),
        found=found,
        shift=shift - found @ constants,
        spread=found * scales * math.sqrt(2),
        errors=mean_errors(found, scales),
    )


@dataclass(kw_only=True)
class _Choice:
    """Rates of tables and questions, and what they are worth to the answers."""

    matrix: QueryMatrix
    queries: Sequence[Query]
    asked: Sequence[AskedQuestion]

    def __post_init__(self) -> None:
        schema = self.matrix.schema
        self.wanted = self.matrix.matrix(self.queries)[1]
        self.worth = np.concatenate([shares(query, schema) for query in self.queries])
        self.rows = self.matrix.matrix([each.query for each in self.asked])[1]
        sizes = [each.query.dimension(schema) for each in self.asked]
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.weights = np.concatenate(
            [each.entry.weights or (1.0,) * size for each, size in zip(self.asked, sizes, strict=True)]
        )

    def errors(self, rates: FloatArray) -> tuple[float, FloatArray]:
        """Return the summed error, about, and what each rate is worth: see `bnpriv.ledger.split.Errors`."""
        used = rates[self.owner] > 0
        deviations = math.sqrt(2) / (rates[self.owner][used] * self.weights[used])
        found = estimator(self.wanted, self.rows[used], deviations)
        if found is None:
            return math.inf, np.zeros(len(rates))
        variances = (found * deviations) ** 2
        roots = np.sqrt(variances.sum(axis=1))
        parts = np.divide(self.worth, roots, out=np.zeros_like(roots), where=roots > 0) @ variances
        helps = np.bincount(self.owner[used], parts, len(rates))
        return ABOUT * float(self.worth @ roots), ABOUT * helps * np.where(np.isfinite(rates), rates, 0.0)

    def rates(self, costs: FloatArray, limit: float) -> FloatArray | None:
        """Return the best rates if a table costs what it costs alone, without those that are hardly worth it."""
        rates = limit / len(costs) / costs
        for step in range(STEPS):
            error, helps = self.errors(rates)
            if math.isinf(error):
                return None
            # this step never raises the error: a root is below its tangent
            rates = np.cbrt(helps * rates / costs)
            rates *= limit / float(rates @ costs)
            if step % 20 == 19:
                for k in np.argsort(rates * costs):
                    less = np.where(np.arange(len(rates)) == k, 0.0, rates)
                    if 0 < rates[k] * costs[k] < LEAST_SHARE * limit and math.isfinite(self.errors(less)[0]):
                        rates = less
        return rates


ABOUT = 0.75
"""The mean error over the deviation, between that of Laplace noise (.71) and that of normal noise (.8)."""


def best_tables(
    accountant: Accountant, queries: Sequence[Query], limit: Fraction, matrix: QueryMatrix, candidates: Sequence[Query]
) -> Sequence[Calibration] | None:
    """Return calibrations of the tables and questions with which the answers to all questions err least."""
    left = float(limit - (accountant.total or 0))
    asked: list[AskedQuestion] = []
    for query in candidates:
        try:
            asked.append(AskedQuestion.of(accountant, query, left / len(candidates)))
        except (RefusedError, SizeError):
            continue
    modelled = [each for each in asked if each.entry.family != "column" and math.isfinite(rate_of(each.made))]
    choice = _Choice(matrix=matrix, queries=queries, asked=modelled)
    if not modelled:
        return None
    costs = np.array([left / len(candidates) / rate_of(each.made) for each in modelled])
    rates = choice.rates(costs, left)
    if rates is None:
        return None
    kept = [each for each, rate in zip(modelled, rates, strict=True) if rate > 0]
    choice = _Choice(matrix=matrix, queries=queries, asked=kept)
    together = Costs(accountant=accountant, questions=kept)
    best = best_sharing(choice.errors, together, [rates[rates > 0]], down(float(limit)))
    return None if best is None else realised(accountant, kept, best.rates, limit)
