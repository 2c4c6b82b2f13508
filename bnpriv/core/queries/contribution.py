"""What one record can add to the outputs of a query, and how that changes with some of its columns."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.core.columns import GAP_MARK, Categorical
from bnpriv.core.queries.base import Indicator, IntegerTerm, NormalForm, StepProduct, Steps, Wholes, columns_of, most_of
from bnpriv.core.queries.predicates import Comparison, IsIn, Operator, Truths, truth
from bnpriv.core.schema import Column, NumberColumn, Schema, fill_of, has_gaps, is_whole
from bnpriv.core.whole_numbers import nearest_doubles

# --------------------------------------------------------------------------------------------------
# Cells of a column: pieces on which every comparison of a query is constant.
#
# A condition on age with the constant 18 cuts it into three cells: ages below 18, the age 18, and ages above. Inside
# a cell a record's value moves freely, and its grid step moves monotonically with it; so the most and the least that
# a query can make of a column is found by trying a few grid steps per cell, its corners, instead of all values.
# --------------------------------------------------------------------------------------------------

Leaf = Comparison | IsIn

COMPARED: dict[Operator, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, kw_only=True)
class ColumnCells:
    """A column cut into cells, with the truth of each comparison and the grid steps of each cell.

    Parameters
    ----------
    truth : ndarray of bool, shape (leaves, cells)
        Which comparisons hold in which cell.
    low, high : tuple of int, shape (cells,)
        The first and the last grid step of each cell; 0 for categories.
    """

    truth: Truths
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Corners:
    """The values of a column that are tried: the truth of comparisons, shape (leaves, values), and grid steps."""

    truth: Truths
    steps: tuple[int, ...]


def cells(column: Column, leaves: Sequence[Leaf]) -> ColumnCells:
    """Cut `column` at the constants of `leaves`, the comparisons of this column.

    Examples
    --------
    >>> from bnpriv.core.schema import Real
    >>> parts = cells(Real(0, 10, steps=10), [Comparison("x", ">=", 5)])
    >>> list(zip(parts.low, parts.high)), parts.truth.tolist()
    ([(0, 5), (5, 5), (5, 10)], [[False, True, True]])
    """
    if isinstance(column, Categorical):
        truth = np.array([holds_category(leaf, column) for leaf in leaves], dtype=bool)
        nothing = (0,) * len(column.outcomes)
        return ColumnCells(truth=truth.reshape(len(leaves), len(nothing)), low=nothing, high=nothing)
    cuts = {float(value) for leaf in leaves for value in leaf.constants}
    intervals = _intervals(column, sorted(cuts))
    gap = [GAP_MARK] if has_gaps(column) else []  # never summed: its step is nothing
    places = np.array([*gap, *(start for start, _ in intervals)])
    truth = np.array([holds_number(leaf, places) for leaf in leaves], dtype=bool)
    return ColumnCells(
        truth=truth.reshape(len(leaves), len(places)),
        low=(*(0 for _ in gap), *(column.step(start) for start, _ in intervals)),
        high=(*(0 for _ in gap), *(column.step(end) for _, end in intervals)),
    )


def patterns(parts: ColumnCells) -> Corners:
    """One value per combination of comparisons: enough for a column that is never summed."""
    chosen = [places[0] for places in _alike(parts).values()]
    return Corners(truth=parts.truth[:, chosen], steps=(0,) * len(chosen))


def ends(parts: ColumnCells) -> Corners:
    """The least and the greatest grid step for each combination of comparisons.

    A function that is affine in the grid step inside a cell is extreme at these.
    """
    found = [
        (places[0], step)
        for places in _alike(parts).values()
        for step in sorted({min(parts.low[place] for place in places), max(parts.high[place] for place in places)})
    ]
    return _corners(parts, found)


def turns(parts: ColumnCells, turning: Iterable[Fraction]) -> Corners:
    """The ends of every cell, and the grid steps next to each of the points `turning` inside a cell.

    A function that is a parabola in the grid step inside a cell, with its vertex in `turning`, is extreme at these.
    """
    beside = {step for point in turning for step in (math.floor(point), math.ceil(point))}
    found: dict[tuple[bytes, int], tuple[int, int]] = {}
    for places in _alike(parts).values():
        for place in places:
            low, high = parts.low[place], parts.high[place]
            for step in sorted({low, high, *(step for step in beside if low < step < high)}):
                found.setdefault((parts.truth[:, place].tobytes(), step), (place, step))
    return _corners(parts, list(found.values()))


def every_cell(parts: ColumnCells) -> Corners:
    """The first grid step of every cell."""
    return _corners(parts, list(enumerate(parts.low)))


def has_holes(column: Column) -> bool:
    """Whether doubles are so coarse that some grid step between the bounds belongs to no double."""
    if isinstance(column, Categorical) or column.whole:
        return False
    return 2 * math.ulp(max(abs(column.lower), abs(column.upper))) > column.grid


def _corners(parts: ColumnCells, found: list[tuple[int, int]]) -> Corners:
    return Corners(truth=parts.truth[:, [place for place, _ in found]], steps=tuple(step for _, step in found))


def _alike(parts: ColumnCells) -> dict[bytes, list[int]]:
    """The cells that no comparison tells apart, in groups."""
    groups: dict[bytes, list[int]] = {}
    # packed and contiguous, because a histogram with many bins has very many comparisons
    rows = np.ascontiguousarray(np.packbits(parts.truth, axis=0).T)
    for place in range(len(parts.low)):
        groups.setdefault(rows[place].tobytes(), []).append(place)
    return groups


def _intervals(column: NumberColumn, cuts: Sequence[float]) -> list[tuple[float, float]]:
    """The first and last value of each cell: single points at the cuts, and the intervals between them."""
    found: list[tuple[float, float]] = []
    start = float(column.lower)
    for cut in cuts:
        if not column.lower <= cut <= column.upper:
            continue
        before, after, held = _around(column, cut)
        if start <= before:
            found.append((start, before))
        if held:
            found.append((cut, cut))
        start = after
    if start <= column.upper:
        found.append((start, float(column.upper)))
    return found


def _around(column: NumberColumn, cut: float) -> tuple[float, float, bool]:
    """The column's value before `cut`, the one after it, and whether the column can hold `cut` itself."""
    if not column.whole:
        return math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf), True
    return float(math.ceil(cut) - 1), float(math.floor(cut) + 1), cut.is_integer()


def holds_number(leaf: Leaf, places: NDArray[np.float64]) -> Truths:
    """Where a comparison holds for doubles; its constants are exact as doubles (the normal form refuses others)."""
    values = [float(value) for value in leaf.constants]
    if isinstance(leaf, IsIn):
        return np.isin(places, values)
    return np.asarray(COMPARED[leaf.operator](places, values[0]), dtype=np.bool_)


def holds_category(leaf: Leaf, column: Categorical) -> Truths:
    """For which of the outcomes of a column a comparison holds."""
    held = set(leaf.constants)
    truth = np.array([category in held for category in column.outcomes], dtype=bool)
    return ~truth if isinstance(leaf, Comparison) and leaf.operator == "!=" else truth


# --------------------------------------------------------------------------------------------------
# A query evaluated on many made-up tables at once: the same sums as `bnpriv.tables.evaluate` has of one.
# --------------------------------------------------------------------------------------------------

Tables = Mapping[str, NDArray[Any]]

LARGEST_ADDED = 2**62
"""Integers up to this size are added in 64 bits, larger ones as Python integers."""


def answers(form: NormalForm, tables: Tables) -> NDArray[np.float64]:
    """The answers to many tables, as the doubles that a release would round them to.

    Parameters
    ----------
    form : NormalForm
    tables : mapping from str to ndarray of shape (tables, records)
        The queried columns as they are drawn, before bounds are applied: numbers, or the categories themselves.

    Returns
    -------
    ndarray of shape (tables,), or (tables, outputs) if there are several
        Exact answers, rounded once.

    Examples
    --------
    >>> from bnpriv.core.queries.asked import count
    >>> from bnpriv.core.queries.predicates import col
    >>> from bnpriv.core.queries.base import normal_form
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=3, columns={"height": Real(120, 220)})
    >>> answers(normal_form(count(col("height") > 165), schema), {"height": np.array([[150.0, 170.0, 999.0]])})
    array([2.])
    """
    totals = term_totals(form, tables)
    outputs = [_output(whole, totals) for whole in form.wholes()]
    return outputs[0] if len(outputs) == 1 else np.stack(outputs, axis=1)


def term_totals(form: NormalForm, tables: Tables) -> list[NDArray[np.int64]]:
    """The same as whole numbers, one array for each term."""
    columns = {name: cleaned(form.schema[name], values) for name, values in tables.items()}
    return [_sum(term, columns, form.schema) for term in form.terms]


def cleaned(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Column values as they count: numbers clamped to the bounds, categories as their places."""
    if isinstance(column, Categorical):
        places = np.full(values.shape, column.outcomes.index(column.missing), dtype=np.int64)
        for place, category in enumerate(column.categories):
            places[values == category] = place
        return places
    fill = fill_of(column)
    inside = np.where(np.isnan(values) | (values == fill), fill, np.clip(values, column.lower, column.upper))
    return np.floor(inside + 0.5) if is_whole(column) else inside


def _sum(term: IntegerTerm, columns: Tables, schema: Schema) -> NDArray[np.int64]:
    if not isinstance(term, Indicator):
        steps = (_steps(schema[name], columns[name]) ** power for name, power in term.powers.items())
        return np.add.reduce(reduce(np.multiply, steps), axis=1)
    return np.count_nonzero(truth(term.predicate, lambda leaf: _holds(leaf, columns, schema)), axis=1).astype(np.int64)


def _steps(column: Column, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The grid steps of cleaned values, as `Real.step` and `Integer.step` define them."""
    assert not isinstance(column, Categorical)
    above = values - float(column.lower)
    if not is_whole(column):  # in place: tables that are drawn are large
        above *= column.rate
        above += 0.5
        np.floor(above, out=above)
    return above.astype(np.int64)


def _holds(leaf: Comparison | IsIn, columns: Tables, schema: Schema) -> Truths:
    column, values = schema[leaf.column], columns[leaf.column]
    return holds_category(leaf, column)[values] if isinstance(column, Categorical) else holds_number(leaf, values)


def _output(whole: Wholes, totals: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    sizes = [max(1, int(np.max(np.abs(total)))) for total in totals]
    # no partial sum is larger than this bound
    largest = abs(whole.shift) + sum(abs(weight) * size for weight, size in zip(whole.weights, sizes, strict=True))
    kind = np.int64 if largest < LARGEST_ADDED else object
    added: NDArray[Any] = sum(
        (weight * total.astype(kind) for weight, total in zip(whole.weights, totals, strict=True)),
        start=np.full(totals[0].shape, whole.shift, dtype=kind),
    )
    return nearest_doubles(added, whole.denominator)


# --------------------------------------------------------------------------------------------------
# What one record can add to the outputs of a query, and how that changes when some of its columns change.
#
# An answer is a sum over records, so how far it moves is a question about one record (see `sensitivity`). The terms
# of a query fall into parts that share no column, and which therefore move on their own; a part is tabulated over the
# corners of its columns (above). All numbers here are per record times the number of records, because tables
# that differ in some columns can differ in the same way in all of their records.
# --------------------------------------------------------------------------------------------------

MOST_TABLE_NUMBERS = 4_000_000  # of a table, before it is allocated
MOST_SIGNED_OUTPUTS = 10  # outputs whose signs are enumerated: 2^9 patterns
FINEST_GRAIN = 1000
MOST_EXACT_BITS = 51  # whole numbers of so many bits add up without rounding, and so do their differences

Key = TypeVar("Key")
Item = TypeVar("Item")

ColumnPart = frozenset[int]
"""A connected group of terms of a query, by their places: it shares no column with any other term."""


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one record can add to each output when some columns move and the others rest.

    Parameters
    ----------
    schema : Schema
    terms : tuple of Indicator, Steps or StepProduct
    reads : tuple of frozenset of str
        The columns of each term.
    rows : tuple of mapping from int to Fraction, one per output
        The weights, other than 0, of the terms in each output: the matrix of the normal form, times the number of
        records.
    moving : frozenset of str
        The columns that change; all others rest.
    """

    schema: Schema
    terms: tuple[IntegerTerm, ...]
    reads: tuple[frozenset[str], ...]
    rows: tuple[Mapping[int, Fraction], ...]
    moving: frozenset[str]

    @classmethod
    def of(cls, form: NormalForm) -> Contribution:
        """The contribution of a record where all columns may move."""
        records = form.schema.records
        return cls(
            schema=form.schema,
            terms=form.terms,
            reads=tuple(map(columns_of, form.terms)),
            rows=tuple({term: weight * records for term, weight in row.items()} for row in form.rows),
            moving=frozenset(form.schema.columns),
        )

    def parts(self, outputs: Iterable[int]) -> list[ColumnPart]:
        """The terms of `outputs` that read a moving column, in groups that share no column."""
        terms = sorted(set[int]().union(*(self.rows[output] for output in outputs)))
        groups = grouped((self.reads[term], (term,)) for term in terms if self.reads[term] & self.moving)
        return [frozenset(part) for _, part in groups]

    def fed(self, part: ColumnPart, outputs: Iterable[int]) -> tuple[int, ...]:
        """Those of `outputs` that the terms of `part` contribute to."""
        return tuple(output for output in outputs if not part.isdisjoint(self.rows[output]))

    def squared(self, part: ColumnPart) -> frozenset[str]:
        """The columns whose squares are summed in `part`."""
        terms = (self.terms[place] for place in part)
        return frozenset(term.column for term in terms if isinstance(term, Steps) and term.exponent == 2)

    def products(self, part: ColumnPart, output: int) -> list[tuple[StepProduct, Fraction]]:
        """The products of two columns in `output`, with their weights."""
        found = ((self.terms[place], weight) for place, weight in self.weights(part, output))
        return [(term, weight) for term, weight in found if isinstance(term, StepProduct)]

    def multiplied(self, part: ColumnPart, outputs: Iterable[int]) -> frozenset[str]:
        """The columns that are multiplied with another column in one of `outputs`."""
        found = (term for output in outputs for term, _ in self.products(part, output))
        return frozenset(name for term in found for name in term.powers)

    def columns(self, part: ColumnPart) -> tuple[str, ...]:
        """The columns of `part`: the moving ones, then the resting ones."""
        names = frozenset[str]().union(*(self.reads[term] for term in part))
        return (*sorted(names & self.moving), *sorted(names - self.moving))

    def parabola(self, column: str, part: ColumnPart, output: int) -> tuple[Fraction, Fraction]:
        """The weights in `output` of the grid step of `column` and of its square."""
        found = {1: Fraction(0), 2: Fraction(0)}
        for place, weight in self.weights(part, output):
            term = self.terms[place]
            if isinstance(term, Steps) and term.column == column:
                found[term.exponent] = weight
        return found[1], found[2]

    def outer(self, part: ColumnPart, output: int) -> tuple[Fraction, Fraction]:
        """A loose range of what `part` adds to `output`: every term is taken at its own extreme."""
        low = high = Fraction(0)
        summed: set[str] = set()
        for place, weight in self.weights(part, output):
            term = self.terms[place]
            if isinstance(term, Steps):
                summed.add(term.column)
            else:
                most = most_of(term, self.schema)
                low, high = low + min(weight, 0) * most, high + max(weight, 0) * most
        for name in summed:
            column = self.schema[name]
            steps = 0 if isinstance(column, Categorical) else column.steps
            slope, bend = self.parabola(name, part, output)
            beside = {math.floor(-slope / (2 * bend)), math.ceil(-slope / (2 * bend))} if bend else set[int]()
            # a parabola in a whole number is extreme at an end or next to its vertex
            values = [(slope + bend * k) * k for k in sorted({0, steps, *(k for k in beside if 0 < k < steps)})]
            low, high = low + min(values), high + max(values)
        return low, high

    def sizes(self, part: ColumnPart, outputs: Iterable[int]) -> Contribution | None:
        """A contribution whose one output is at least the 1-norm of `outputs`; None if values are summed."""
        row: dict[int, Fraction] = {}
        for output in outputs:
            for place, weight in self.weights(part, output):
                if not isinstance(self.terms[place], Indicator):
                    return None
                row[place] = row.get(place, Fraction(0)) + abs(weight)
        return replace(self, rows=(row,))

    def weights(self, part: ColumnPart, output: int) -> list[tuple[int, Fraction]]:
        """The terms of `part` that `output` holds, with their weights."""
        row = self.rows[output]
        return [(term, row[term]) for term in sorted(part.intersection(row))]


def grouped(items: Iterable[tuple[frozenset[Key], Iterable[Item]]]) -> list[tuple[frozenset[Key], tuple[Item, ...]]]:
    """Join items that share a key, directly or through others, into groups that share none.

    Examples
    --------
    >>> [(sorted(keys), items) for keys, items in grouped([({1, 2}, "a"), ({3}, "b"), ({2, 3}, "c"), ({4}, "d")])]
    [([1, 2, 3], ('a', 'b', 'c')), ([4], ('d',))]
    """
    groups: list[tuple[frozenset[Key], tuple[Item, ...]]] = []
    for keys, fresh in items:
        met = [group for group in groups if group[0] & keys]
        groups = [group for group in groups if not group[0] & keys]
        groups.append((keys.union(*(group[0] for group in met)), (*(old for group in met for old in group[1]), *fresh)))
    return groups


@dataclass(frozen=True, kw_only=True)
class ContributionTable:
    """What a record adds to some outputs, in units of a scale, at the corners of the columns of a part.

    Parameters
    ----------
    outputs : tuple of int
        Which outputs.
    values : ndarray, shape (moving, resting, outputs)
        For every choice of the moving columns and of the resting ones.
    magnitude : float
        Sum over outputs of the largest sizes of what is added up; rounding errors are small against it.
    summands : int
        How many numbers are added up for one value, at most.
    grain : int or None
        All numbers are whole multiples of ``2**-grain``, if that is so.
    low, high : tuple of int, shape (moving,)
        With an open column: the first and last grid step of its cell. Its steps are left out of `values`.
    """

    outputs: tuple[int, ...]
    values: FloatArray
    magnitude: float
    summands: int
    grain: int | None
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()


def scale_of(added: Contribution, parts: Iterable[ColumnPart], outputs: Sequence[int]) -> Fraction:
    """A power of two near the largest number in `parts`, so that nothing that matters under- or overflows."""
    sizes = [abs(end) for part in parts for output in outputs for end in added.outer(part, output)]
    largest = max(sizes, default=Fraction(1)) or Fraction(1)
    return Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())


def tabulate(
    added: Contribution, part: ColumnPart, outputs: Sequence[int], scale: Fraction, open_column: str | None = None
) -> ContributionTable | None:
    """Tabulate `part` over the corners of its columns, or return None if the table would be too large.

    Why corners suffice: given the cells of all columns, every signed sum of the outputs is a sum over the columns of
    parabolas in their grid steps, or is affine in each grid step apart, and so it is extreme at a corner. Where it is
    neither there is no table. With `open_column`, a moving one, the cells of that column take the place of its corners.
    """
    names = added.columns(part)
    multiplied = added.multiplied(part, outputs)
    # with a square beside a product, the corners may not be extreme
    if any(added.parabola(name, part, output)[1] for name in multiplied for output in outputs):
        return None
    moving = sum(name in added.moving for name in names)
    if open_column is not None:
        names = (open_column, *(name for name in names if name != open_column))
    leaves = {name: _leaves(added, part, name) for name in names}
    cut = {name: cells(added.schema[name], leaves[name]) for name in names}
    if max(len(parts.low) for parts in cut.values()) * len(outputs) > 4 * MOST_TABLE_NUMBERS:
        return None  # few of the cells are alike, and finding these would take long
    axes: dict[str, Corners] = {}
    for name in names:
        corners = (
            every_cell(cut[name]) if name == open_column else _corners_of_records(added, part, outputs, name, cut[name])
        )
        if corners is None:
            return None
        axes[name] = corners
    shape = [len(axis.steps) for axis in axes.values()]
    if math.prod(shape) * len(outputs) > MOST_TABLE_NUMBERS:
        return None
    truths = {
        leaf: axis.truth[row].reshape(_along(axes, name))
        for name, axis in axes.items()
        for row, leaf in enumerate(leaves[name])
    }
    values: FloatArray = np.zeros((*shape, len(outputs)))
    magnitude, summands, denominators = 0.0, [0] * len(outputs), set[int]()
    for place, weights, along, where in _summands(added, part, outputs, axes, truths, open_column):
        exact = [weight / scale for weight in weights]
        numbers = np.array([float(number) for number in exact]).reshape(along)
        values[..., place] += numbers if where is None else numbers * where
        magnitude += float(np.abs(numbers).max())
        summands[place] += 1
        denominators.update(number.denominator for number in exact)
    rows = math.prod(shape[:moving])
    opened = None if open_column is None else cut[open_column]
    inner = rows // len(opened.low) if opened else 0
    return ContributionTable(
        outputs=tuple(outputs),
        values=values.reshape(rows, -1, len(outputs)),
        magnitude=magnitude,
        summands=max(summands),
        grain=_grain(denominators, magnitude),
        low=tuple(step for step in opened.low for _ in range(inner)) if opened else (),
        high=tuple(step for step in opened.high for _ in range(inner)) if opened else (),
    )


def _summands(
    added: Contribution,
    part: ColumnPart,
    outputs: Sequence[int],
    axes: Mapping[str, Corners],
    truths: Mapping[Leaf, Truths],
    open_column: str | None,
) -> Iterator[tuple[int, Sequence[Fraction], Sequence[int], Truths | None]]:
    """Yield what is added up for a part: the output's place, numbers, their shape, and where they count.

    Always in one order (conditions, then columns, then products), so that the sums are always the same bits.
    """
    known: dict[int, Truths] = {}
    for place, output in enumerate(outputs):
        for number, weight in added.weights(part, output):
            term = added.terms[number]
            if isinstance(term, Indicator):
                if number not in known:
                    known[number] = truth(term.predicate, truths.__getitem__)
                if known[number].any():
                    yield place, [weight], [1], known[number]
    for name, axis in axes.items():
        for place, output in enumerate(outputs if name != open_column else ()):
            slope, bend = added.parabola(name, part, output)
            if slope or bend:
                yield place, [(slope + bend * k) * k for k in axis.steps], _along(axes, name), None
    for place, output in enumerate(outputs):
        for term, weight in added.products(part, output):
            one, other = (axes[name].steps for name in axes if name in term.powers)
            yield place, [weight * k * m for k in one for m in other], _along(axes, *term.powers), None


def _along(axes: Mapping[str, Corners], *names: str) -> list[int]:
    """The shape of a table that varies along some of the axes only."""
    return [len(axis.steps) if name in names else 1 for name, axis in axes.items()]


def _grain(denominators: set[int], magnitude: float) -> int | None:
    """The number of binary places with which such numbers add up exactly, or None if they do not."""
    if any(denominator & (denominator - 1) for denominator in denominators):
        return None
    grain = max((denominator.bit_length() - 1 for denominator in denominators), default=0)
    # doubles hold no multiples of a much finer grain
    # with 51 bits a sum, and a difference of two sums, still fit into the 53 bits of a double
    exact = grain <= FINEST_GRAIN and magnitude <= math.ldexp(1.0, MOST_EXACT_BITS - grain)
    return grain if exact else None


def _leaves(added: Contribution, part: ColumnPart, name: str) -> tuple[Leaf, ...]:
    """The comparisons of one column in a part, each once."""
    found: dict[Leaf, None] = {}
    for term in (added.terms[place] for place in sorted(part)):
        if isinstance(term, Indicator):
            found.update(dict.fromkeys(leaf for leaf in term.predicate.comparisons() if leaf.column == name))
    return tuple(found)


def _corners_of_records(
    added: Contribution, part: ColumnPart, outputs: Sequence[int], name: str, cut: ColumnCells
) -> Corners | None:
    """The values of a column that must be tried; None if there are too many patterns of signs."""
    bends = [added.parabola(name, part, output) for output in outputs]
    bends = [bend for bend in bends if any(bend)]
    if not bends and name not in added.multiplied(part, outputs):
        return patterns(cut)  # a resting column too, unless it multiplies another: its own sum cancels in a change
    if not any(bend for _, bend in bends):
        return ends(cut)
    if len(bends) > MOST_SIGNED_OUTPUTS:
        return None
    return turns(cut, _vertices(bends))


def _vertices(parabolas: Sequence[tuple[Fraction, Fraction]]) -> set[Fraction]:
    """The vertices of all signed sums of parabolas; flipping all signs at once changes nothing."""
    found: set[Fraction] = set()
    for signs in product((1, -1), repeat=len(parabolas) - 1):
        signed = list(zip((1, *signs), parabolas, strict=True))
        slope = sum((sign * parabola[0] for sign, parabola in signed), Fraction(0))
        bend = sum((sign * parabola[1] for sign, parabola in signed), Fraction(0))
        if bend:
            found.add(-slope / (2 * bend))
    return found


def holes(added: Contribution, part: ColumnPart) -> bool:
    """Whether some corners may be grid steps of no real value, so that only upper bounds hold."""
    return any(has_holes(added.schema[name]) for name in added.squared(part))
