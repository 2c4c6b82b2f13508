"""What one record can add to the outputs of a query, and how that changes when some of its columns change.

An answer is a sum over records, so how far it moves is a question about one record (see `sensitivity`). The terms of a
query fall into parts that share no column, and which therefore move on their own; a part is tabulated over the corners
of its columns (see `cells`). All numbers here are per record times the number of records, because tables that differ in
some columns can differ in the same way in all of their records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TypeVar, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.queries.base import Indicator
from bnpriv.queries.cells import ColumnCells, Corners, Leaf, Truths, cells, ends, every_cell, has_holes, patterns, turns
from bnpriv.queries.normal_form import IntegerTerm, NormalForm, StepProduct, Steps, columns_of, most_of
from bnpriv.queries.predicates import truth
from bnpriv.tables.schema import Categorical, Schema

MOST_TABLE_NUMBERS = 4_000_000  # of a table, before it is allocated
MOST_SIGNED_OUTPUTS = 10  # outputs whose signs are enumerated: 2^9 patterns
FINEST_GRAIN = 1000
MOST_EXACT_BITS = 51  # whole numbers of so many bits add up without rounding, and so do their differences

Key = TypeVar("Key")
Item = TypeVar("Item")

ColumnPart = frozenset[int]
"""Terms of a query, by their places, that share columns with each other and with no other term."""


@final
@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one record adds to every output of a query, of whose columns some change and the others rest.

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
        """What a record adds to a query, where all columns may change."""
        records = form.schema.records
        return cls(
            schema=form.schema,
            terms=form.terms,
            reads=tuple(map(columns_of, form.terms)),
            rows=tuple({term: weight * records for term, weight in row.items()} for row in form.rows),
            moving=frozenset(form.schema.columns),
        )

    def parts(self, outputs: Iterable[int]) -> list[ColumnPart]:
        """The terms of `outputs` that read a moving column, grouped so that groups share no column."""
        terms = sorted(set[int]().union(*(self.rows[output] for output in outputs)))
        groups = grouped((self.reads[term], (term,)) for term in terms if self.reads[term] & self.moving)
        return [frozenset(part) for _, part in groups]

    def fed(self, part: ColumnPart, outputs: Iterable[int]) -> tuple[int, ...]:
        """The outputs, among `outputs`, that the terms of `part` add to."""
        return tuple(output for output in outputs if not part.isdisjoint(self.rows[output]))

    def squared(self, part: ColumnPart) -> frozenset[str]:
        """The moving columns whose squares are summed."""
        terms = (self.terms[place] for place in part)
        return frozenset(term.column for term in terms if isinstance(term, Steps) and term.exponent == 2)

    def products(self, part: ColumnPart, output: int) -> list[tuple[StepProduct, Fraction]]:
        """The products of two columns in `output`, with their weights."""
        found = ((self.terms[place], weight) for place, weight in self.weights(part, output))
        return [(term, weight) for term, weight in found if isinstance(term, StepProduct)]

    def multiplied(self, part: ColumnPart, outputs: Iterable[int]) -> frozenset[str]:
        """The columns that are multiplied with another in one of `outputs`."""
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
        """Numbers between which `part` of `output` stays: loose, because every term is taken to be at its own worst."""
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
            values = self._extremes(name, part, output)
            low, high = low + min(values), high + max(values)
        return low, high

    def sizes(self, part: ColumnPart, outputs: Iterable[int]) -> Contribution | None:
        """The added whose one output is at least the 1-norm of `outputs`; None if values are summed."""
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

    def _extremes(self, name: str, part: ColumnPart, output: int) -> list[Fraction]:
        column = self.schema[name]
        steps = 0 if isinstance(column, Categorical) else column.steps
        slope, bend = self.parabola(name, part, output)
        beside = {math.floor(-slope / (2 * bend)), math.ceil(-slope / (2 * bend))} if bend else set[int]()
        return [(slope + bend * k) * k for k in sorted({0, steps, *(k for k in beside if 0 < k < steps)})]


def grouped(
    items: Iterable[tuple[frozenset[Key], Iterable[Item]]],
) -> list[tuple[frozenset[Key], tuple[Item, ...]]]:
    """Join what shares a key, directly or through others; the groups that are left share none.

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


@final
@dataclass(frozen=True, kw_only=True)
class ContributionTable:
    """What a record adds to some outputs, in units of a scale, for chosen values of the columns of a part.

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
    """A power of two near the largest number in `parts`, so that nothing relevant underflows or overflows."""
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
        corners = every_cell(cut[name]) if name == open_column else _corners(added, part, outputs, name, cut[name])
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
    """Yield what is added up for a part: the place of the output, numbers, their shape, and where they count.

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
    """The bits behind the binary point with which numbers of these denominators add up without rounding, if they do."""
    if any(denominator & (denominator - 1) for denominator in denominators):
        return None
    grain = max((denominator.bit_length() - 1 for denominator in denominators), default=0)
    # doubles hold no multiples of a much finer grain
    exact = grain <= FINEST_GRAIN and magnitude <= math.ldexp(1.0, MOST_EXACT_BITS - grain)
    return grain if exact else None


def _leaves(added: Contribution, part: ColumnPart, name: str) -> tuple[Leaf, ...]:
    """The comparisons of one column in a part, each once."""
    found: dict[Leaf, None] = {}
    for term in (added.terms[place] for place in sorted(part)):
        if isinstance(term, Indicator):
            found.update(dict.fromkeys(leaf for leaf in term.predicate.comparisons() if leaf.column == name))
    return tuple(found)


def _corners(
    added: Contribution, part: ColumnPart, outputs: Sequence[int], name: str, cut: ColumnCells
) -> Corners | None:
    """Choose the values of a column that matter; None if there are too many patterns of signs."""
    bends = [added.parabola(name, part, output) for output in outputs]
    bends = [bend for bend in bends if any(bend)]
    if not bends and name not in added.multiplied(part, outputs):
        return patterns(cut)  # so for a resting column that multiplies no other: what it adds by itself is no term here
    if not any(bend for _, bend in bends):
        return ends(cut)
    if len(bends) > MOST_SIGNED_OUTPUTS:
        return None
    return turns(cut, _vertices(bends))


def _vertices(parabolas: Sequence[tuple[Fraction, Fraction]]) -> set[Fraction]:
    """Where the signed sums of parabolas turn; turning all signs changes nothing."""
    found: set[Fraction] = set()
    for signs in product((1, -1), repeat=len(parabolas) - 1):
        signed = list(zip((1, *signs), parabolas, strict=True))
        slope = sum((sign * parabola[0] for sign, parabola in signed), Fraction(0))
        bend = sum((sign * parabola[1] for sign, parabola in signed), Fraction(0))
        if bend:
            found.add(-slope / (2 * bend))
    return found


def holes(added: Contribution, part: ColumnPart) -> bool:
    """Whether the corners inside cells might be no grid steps of real values, so that only upper bounds hold."""
    return any(has_holes(added.schema[name]) for name in added.squared(part))
