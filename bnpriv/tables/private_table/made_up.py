"""Made-up records: independent draws from the declared law of one record given its class, exactly.

Every step of a draw is a uniform whole number below a limit, compared with whole numbers that are proportional to the
declared probabilities: doubles are fractions, and a row of a table is divided by its exact sum. Nothing is rounded,
except where a column has a law of `scipy.stats`, whose masses are known to an error that `RecordLaw.log_error` bounds,
and where tables were drawn as logarithms.

What is handed on must not tell a made-up record from a real one. So made-up values are values as they count: categories
as they are declared, whole numbers rounded, a gap that is not counted None. Where the law of a column of fractions is a
density, a made-up number is a step of the column's public grid, and **real numbers of the columns in
`RecordLaw.rounded` are handed on as `on_grid(column, column.step(x))`** of the clamped number x, after the class of the
record was found out from x itself. Both are then the same function of a record. All other numbers are handed on as they
count: under the model they are values that are declared one by one.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import accumulate, pairwise, repeat
from typing import Any, NamedTuple, Protocol, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw, UniformLaw, bin_laws
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Categorical
from bnpriv.core.distributions import FUNCTION_ERROR, log_sum_exp, magnitude
from bnpriv.core.evidence.records import (
    MOST_RECORD_COMBINATIONS,
    MOST_STEPS,
    cuts_of,
    law_cells,
    node_cells,
    state_cells,
    summed_exactly,
)
from bnpriv.core.evidence.records import record_law as law_of_cells
from bnpriv.core.frameworks.base import require_gaps
from bnpriv.core.influence.ratios import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.noise import Sampler
from bnpriv.core.queries.asked import count
from bnpriv.core.queries.base import Indicator, Query
from bnpriv.core.queries.contribution import COMPARED, cleaned
from bnpriv.core.queries.normal_form import NormalForm, Steps, columns_of, normal_form
from bnpriv.core.queries.predicates import Comparison, IsIn, Predicate, Truths, truth
from bnpriv.core.schema import Column, NumberColumn, Schema, has_gaps, is_whole
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.errors import BnprivError, LawError, Refusal, SizeError
from bnpriv.kind import ANY_KIND, is_framework, kind_of, notion_of
from bnpriv.kinds.public_records import PublicRecords, public_records_of
from bnpriv.tables.evaluate import guarded, keys_in
from bnpriv.tables.reader import collected, opened
from bnpriv.tables.readings import dialect_of

# --------------------------------------------------------------------------------------------------
# The law of one record given its class, as others see it.
# --------------------------------------------------------------------------------------------------

MOST_CELLS = 2**15
"""The most combinations of states that are listed, each with its exact weight."""

RAREST = 1e-4
"""The least probability of a class whose records are found by drawing records until one is in it."""

DRAWN_AT_ONCE = 2**14

ALIKE = 1e-9
"""Up to this log ratio models are alike given the class: it counts as an error of the law, not as another law."""

LARGEST_LOG = 1e5
"""The largest size of a log probability: whole numbers of so many nats are still drawn fast."""


class RecordLaw(Protocol):
    """The law of one record given its class, from which records are drawn."""

    @property
    def log_error(self) -> float:
        """A bound on the log ratio between the law that is drawn from and the declared one; 0 where it is exact."""
        ...

    @property
    def gap(self) -> float:
        """The largest total variation between it and any model's, over the classes; 0 where all models agree."""
        ...

    @property
    def text(self) -> str:
        """Where records come from, in words."""
        ...

    @property
    def rounded(self) -> frozenset[str]:
        """The columns whose real numbers are handed on as steps of the grid, `on_grid`."""
        ...

    def draw(self, numbers: Sequence[int], sampler: Sampler) -> dict[str, list[Any]]:
        """Draw so many records of each class, those of one class after those of another, as columns of values."""
        ...


def on_grid(column: NumberColumn, step: int) -> float:
    """The number that a step of a column's grid is handed on as.

    Examples
    --------
    >>> from bnpriv.core.schema import Integer, Real
    >>> on_grid(Real(0, 1, steps=10), 3), on_grid(Integer(17, 90), 3)
    (0.30000000000000004, 20)
    """
    return column.lower + step if is_whole(column) else min(column.lower + step * float(column.grid), column.upper)


def record_law(
    model: object, schema: Schema, predicates: Sequence[Predicate], columns: Sequence[str]
) -> RecordLaw | Refusal:
    """The law of one record given its class, or why there is none that can be drawn from.

    Parameters
    ----------
    model : DatasetAttributePrivacy, DiscreteNetwork, PublicRecords or table
        A framework, the first model of whose network is drawn from, or the public records that it holds; a network of
        level "records"; public records, or a public table, each record of which is as likely as another.
    schema : Schema
    predicates : sequence of Predicate
        One per class; each record satisfies exactly one.
    columns : sequence of str
        Those that are handed on.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.core.noise import SecureSampler
    >>> hospital = bp.example("hospital")
    >>> ill = bp.col("disease") == "yes"
    >>> law = record_law(hospital, hospital.schema, [ill, ~ill], ["disease", "ward"])
    >>> law.draw([2, 1], SecureSampler())["disease"], law.log_error, law.gap
    (['yes', 'yes', 'no'], 0.0, 0.0)
    """
    try:
        declared = _declared(model, schema, predicates, columns)
        if isinstance(declared, Refusal):
            return declared
        return (_network_law if declared.public is None else _public_law)(declared, predicates, columns)
    except BnprivError as error:
        return Refusal.of(error)


# --------------------------------------------------------------------------------------------------
# What is declared: a network, public records, or both.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Declared:
    """The law of one record as it is declared; `network` is None where there are public records alone."""

    schema: Schema
    network: Any = None
    laws: Mapping[str, Sequence[ColumnLaw]] = field(default_factory=dict[str, Sequence[ColumnLaw]])
    public: PublicRecords | None = None
    source: str = ""

    @property
    def models(self) -> int:
        """How many models of one record there are."""
        if self.network is None or self.public is None:
            return 1 if self.network is None else self.network.models
        return self.network.models + self.public.draws

    def law(self, form: NormalForm, model: int = 0) -> WholeLaw:
        """The law of what one record adds to the numerators of a form under one model."""
        if self.network is None:
            added, counts = cast(PublicRecords, self.public).counts(form)
            return WholeLaw.of(added, np.log(counts / counts.sum()), 0.0)
        draw = model - self.network.models
        names = sorted(set[str]().union(*map(columns_of, form.terms)))
        states = joint_law(self.network, names)
        chosen = min(model if draw < 0 else draw % self.network.models, len(states.values) - 1)
        table = LogTable(axes=states.axes, values=states.values[[chosen]], error=states.error)
        own = law_of_cells(form, node_cells(form, names, self.network.states, self.laws), table)
        return own if draw < 0 else cast(PublicRecords, self.public).law(form, draw, own)


NO_LAW = Refusal(
    required="records are made up from public records, or from a network of level 'records' with exact tables",
    found="none",
    remedy="Pass such a model as `law`, or use form='trim', which makes nothing up.",
)


def _declared(
    model: Any, schema: Schema, predicates: Sequence[Predicate], columns: Iterable[str]
) -> _Declared | Refusal:
    read = sorted(set(columns).union(*(each.columns for each in predicates)))
    framework = is_framework(model)
    if isinstance(model, PublicRecords) or not (framework or kind_of(model) is not ANY_KIND):
        public = model if isinstance(model, PublicRecords) else _as_records(model, schema, read)
        return _without(read, public.columns, "public table") or _Declared(schema=schema, public=public)
    network = next(iter(notion_of(model).networks(model)), None) if framework else model
    if not (kind_of(network).exact_tables and network.level == "records"):
        return NO_LAW
    missing = _without(read, network.attributes, "network")
    if missing is not None:
        return missing
    if framework:
        try:
            notion_of(model).record_law(model, count(predicates[0]), 0)
        except BnprivError as error:  # records of other notions have no law that is declared
            return replace(NO_LAW, found=error.found)
        return _Declared(
            schema=schema, network=network, laws=model.column_laws, public=model.public_records, source=model.source
        )
    held = Schema(schema.records, {name: schema[name] for name in read})
    laws = bin_laws(held, network.states)
    require_gaps(network, held, laws)
    return _Declared(schema=schema, network=network, laws=laws)


def _without(read: Iterable[str], held: Iterable[str], where: str) -> Refusal | None:
    missing = sorted(set(read).difference(held))
    if not missing:
        return None
    return Refusal(
        required=f"every column that is handed on must be in the {where} that records are made up from",
        found=f"{listing(map(repr, missing))} are not",
        remedy="Leave them out of the schema, add them, or use form='trim', which makes nothing up.",
    )


def _as_records(table: object, schema: Schema, names: Sequence[str]) -> PublicRecords:
    """The records of a public table, read as those of a table that is to be released."""
    columns = {name: schema[name] for name in names}

    def read() -> dict[str, list[Any]]:
        with opened(table, columns, dialect=dialect_of(schema)) as frame:
            keys, held = keys_in(frame, columns), collected(frame)
        values = {name: held[f"c{k}"].to_list() for k, name in enumerate(columns)}
        return {
            name: [keys[name].get(each) for each in values[name]] if name in keys else values[name]
            for name in keys | values
        }

    return public_records_of(guarded(table, read), columns)


def _classed(form: NormalForm, predicates: Sequence[Predicate]) -> NormalForm:
    """A form with one output before its own: the number of the record's class."""
    first = len(form.terms)
    return replace(
        form,
        terms=(*form.terms, *map(Indicator, predicates)),
        rows=({first + k: Fraction(k) for k in range(len(predicates))}, *form.rows),
        offset=(Fraction(0), *form.offset),
        labels=("class", *form.labels),
    )


def _classes_alone(schema: Schema, predicates: Sequence[Predicate]) -> NormalForm:
    return _classed(NormalForm(schema=schema, terms=(), rows=(), offset=(), labels=()), predicates)


def _holds(leaf: Comparison | IsIn, value: Any) -> bool:
    return value in leaf.values if isinstance(leaf, IsIn) else bool(COMPARED[leaf.operator](value, leaf.value))


# --------------------------------------------------------------------------------------------------
# Exact draws: rows of whole numbers, and what they stand for.
# --------------------------------------------------------------------------------------------------

UNIT = 2**1074
"""All doubles are whole numbers of 1 / UNIT."""


class _Row(NamedTuple):
    """The possible outcomes of one draw, whole numbers proportional to their probabilities, and the sums of these."""

    outcomes: Sequence[int]
    weights: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, masses: Iterable[float | Fraction], first: int = 0) -> _Row:
        """The row of masses of any sum, exactly; outcomes are counted from `first`."""
        found = {first + k: Fraction(mass) for k, mass in enumerate(masses) if mass}
        common = math.lcm(*(mass.denominator for mass in found.values()))
        weights = [mass.numerator * (common // mass.denominator) for mass in found.values()]
        shared = math.gcd(*weights)
        weights = [weight // shared for weight in weights]
        return cls(list(found), weights, list(accumulate(weights)))

    def draw(self, sampler: Sampler) -> int:
        """One outcome."""
        return self.outcomes[bisect_right(self.ends, sampler.below(self.ends[-1]))]


@final
@dataclass(frozen=True, slots=True)
class _Span:
    """Numbers of which each is as likely as another: whole ones, or all reals, handed on as steps of the grid."""

    column: NumberColumn
    first: int
    end: int
    whole: bool

    def draw(self, sampler: Sampler) -> float:
        """One number as it is handed on."""
        drawn = self.first + sampler.below(self.end - self.first)
        if self.whole:
            return drawn
        # a real number between `drawn` and the next multiple of 1 / UNIT: its step is that of the double below it
        near = drawn / UNIT
        below = near if Fraction(near) * UNIT <= drawn else math.nextafter(near, -math.inf)
        return on_grid(self.column, self.column.step(below))


class _Outcome(NamedTuple):
    """A value of a column, or a span of them: what conditions compare, and what is handed on."""

    seen: Any
    handed: Any


def _valued(column: Column, value: Any, rounded: bool = False) -> _Outcome:
    """A value as it counts."""
    if isinstance(column, Categorical):
        return _Outcome(value, None if value == NOT_COUNTED and has_gaps(column) else value)
    if value == GAP_MARK:
        return _Outcome(value, None)
    counted = math.floor(value + 0.5) if is_whole(column) else float(value)
    return _Outcome(counted, on_grid(column, column.step(counted)) if rounded else counted)


def _mass(log: float) -> Fraction:
    """A probability from its log, however small; `_mass_error` bounds the relative error."""
    if log == -math.inf:
        return Fraction(0)
    twos = math.floor(log / math.log(2))
    return Fraction(math.exp(log - twos * math.log(2))) * Fraction(2) ** twos


def _mass_error(logs: FloatArray) -> float:
    return UNIT_ROUNDOFF * (FUNCTION_ERROR + 4 + 4 * magnitude(logs))


def _on_steps(column: Column, laws: Sequence[ColumnLaw]) -> bool:
    """Whether numbers of a column are handed on as steps of its grid: some law of it is not one of single numbers."""
    if is_whole(column):
        return False
    return any(
        _on_steps(column, law.parts) if isinstance(law, MixedLaw) else not isinstance(law, FiniteLaw) for law in laws
    )


Pieces = tuple[list[_Outcome], list[Fraction]]


def _pieces(form: NormalForm, name: str, law: ColumnLaw, rounded: bool) -> tuple[Pieces, float]:
    """The outcomes of a law, each on one side of every condition, with their masses and the error of a log."""
    column = form.schema[name]
    if isinstance(law, FiniteLaw):
        outcomes = [_valued(column, value, rounded) for value in law.values]
        return (outcomes, list(map(Fraction, law.probabilities))), 0.0
    if isinstance(law, MixedLaw):
        found = [_pieces(form, name, part, rounded)[0] for part in law.parts]
        shares = [Fraction(p) / sum(masses) for p, (_, masses) in zip(law.probabilities, found, strict=True)]
        masses = [share * mass for share, (_, inside) in zip(shares, found, strict=True) for mass in inside]
        return ([outcome for outcomes, _ in found for outcome in outcomes], masses), 0.0
    assert not isinstance(column, Categorical)
    if isinstance(law, UniformLaw):
        return _spans(column, law, cuts_of(form, name)), 0.0
    summed = replace(form, terms=(*form.terms, Steps(name)))
    if not summed_exactly(summed, name, [law]):
        raise LawError(
            f"numbers of {name!r} are made up on a grid of at most {MOST_STEPS:,} steps",
            found=f"a law of scipy.stats on {column.steps:,} steps",
            remedy="Declare the column with fewer grid steps, steps=1000, or by probabilities of numbers or of bins.",
        )
    cells = law_cells(summed, name, [law])
    logs = cells.logs[0]
    if magnitude(logs) > LARGEST_LOG:
        raise LawError(
            f"numbers of {name!r} are made up where the log of every probability is at least -{LARGEST_LOG:,.0f}",
            found="bounds that lie farther from its law",
            remedy="Declare narrower bounds.",
        )
    outcomes = [_Outcome(value, on_grid(column, column.step(float(value)))) for value in cells.values]
    return (outcomes, list(map(_mass, logs.tolist()))), cells.error + _mass_error(logs)


def _spans(column: NumberColumn, law: UniformLaw, compared: Iterable[float]) -> Pieces:
    unit = 1 if law.whole else UNIT
    low, end = int(Fraction(law.lower) * unit), int(Fraction(law.upper) * unit) + law.whole
    cuts = [Fraction(cut) * unit for cut in compared]
    starts = {k for cut in cuts for k in (math.ceil(cut), math.floor(cut) + law.whole) if low < k < end}
    ends = [low, *sorted(starts), end]
    # a real number is never one that it is compared with
    seen = [first if law.whole else Fraction(2 * first + 1, 2 * unit) for first in ends[:-1]]
    spans = [_Span(column, first, last, law.whole) for first, last in pairwise(ends)]
    return list(map(_Outcome, seen, spans)), [Fraction(span.end - span.first) for span in spans]


# --------------------------------------------------------------------------------------------------
# Records of a network.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Draw:
    """One of the draws that make a record: the state of a node, or the value of a column given that state.

    Parameters
    ----------
    given : tuple of int
        The places of earlier draws.
    size : int
        The most outcomes that it has.
    row : callable
        From the outcomes of these to a row.
    """

    given: tuple[int, ...]
    size: int
    row: Callable[[tuple[int, ...]], _Row]


class _Listed(NamedTuple):
    """The combinations of outcomes of the first draws in one class, with whole weights, and the divisors of these."""

    cells: Sequence[tuple[int, ...]]
    ends: Sequence[int]
    divisors: Sequence[int]
    least: int

    @classmethod
    def of(cls, found: Sequence[tuple[tuple[int, ...], int, int]]) -> _Listed:
        """From combinations whose probabilities are proportional to weight / divisor."""
        bits = max(divisor.bit_length() for _, _, divisor in found)
        shifts = [bits - divisor.bit_length() for _, _, divisor in found]
        divisors = [divisor << shift for (_, _, divisor), shift in zip(found, shifts, strict=True)]
        weights = [weight << shift for (_, weight, _), shift in zip(found, shifts, strict=True)]
        return cls([cell for cell, _, _ in found], list(accumulate(weights)), divisors, min(divisors))

    def draw(self, sampler: Sampler) -> tuple[int, ...]:
        """One combination: by its weight, and kept with probability `least` / divisor, which is above one half."""
        while True:
            place = bisect_right(self.ends, sampler.below(self.ends[-1]))
            divisor = self.divisors[place]
            if divisor == self.least or sampler.below(divisor) < self.least:
                return self.cells[place]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkRecords:
    """Records of the first model of a network, by draws of one node after the other: a `RecordLaw`.

    The draws on which the class depends come first. Their combinations are listed with whole weights, or, where these
    are too many, are drawn until they are of the class: the law given the class, either way.

    Parameters
    ----------
    draws : tuple of _Draw
    deciding : int
        So many of them come first.
    classes : ndarray
        The class by the outcomes of the columns that decide it.
    asked : tuple of int
        The draws of these.
    shown : mapping from str to (int, sequence of _Outcome)
        For every column that is handed on its draw, and what the outcomes are.
    shares : ndarray of shape (classes,)
        The probabilities of the classes, nearly.
    log_error, gap, text, rounded
        As of `RecordLaw`.
    """

    draws: tuple[_Draw, ...]
    deciding: int
    classes: NDArray[np.int64]
    asked: tuple[int, ...]
    shown: Mapping[str, tuple[int, Sequence[_Outcome]]]
    shares: FloatArray
    log_error: float
    gap: float
    text: str
    rounded: frozenset[str]

    def draw(self, numbers: Sequence[int], sampler: Sampler) -> dict[str, list[Any]]:
        """Draw so many records of each class, those of one class after those of another, as columns of values."""
        parts = [self._records(place, number, sampler) for place, number in enumerate(numbers) if number]
        return {
            name: [
                handed.draw(sampler) if isinstance(handed := outcomes[each].handed, _Span) else handed
                for part in parts
                for each in part[place]
            ]
            for name, (place, outcomes) in self.shown.items()
        }

    @cached_property
    def ahead(self) -> int:
        """The number of draws whose combinations may be listed."""
        return bisect_right(list(accumulate((each.size for each in self.draws), operator.mul)), MOST_CELLS)

    @property
    def is_listed(self) -> bool:
        """Whether all that decides the class is listed."""
        return self.ahead >= self.deciding

    @cached_property
    def listed(self) -> Sequence[_Listed]:
        """What is listed, by class."""
        found: list[tuple[tuple[int, ...], int, int]] = [((), 1, 1)]
        for each in self.draws[: self.ahead]:
            rows = [(cell, weight, divisor, _row_of(each, cell)) for cell, weight, divisor in found]
            found = [
                ((*cell, outcome), weight * share, divisor * row.ends[-1])
                for cell, weight, divisor, row in rows
                for outcome, share in zip(row.outcomes, row.weights, strict=True)
            ]
        of_class: list[list[tuple[tuple[int, ...], int, int]]] = [[] for _ in self.shares]
        for each in found:
            of_class[self.classes[tuple(each[0][place] for place in self.asked)]].append(each)
        return [_Listed.of(each) for each in of_class]

    def _records(self, chosen: int, number: int, sampler: Sampler) -> list[list[int]]:
        """The outcomes of all draws for records of one class."""
        if self.is_listed:
            cells = [self.listed[chosen].draw(sampler) for _ in range(number)]
            return self._forward(list(map(list, zip(*cells, strict=True))), len(self.draws), number, sampler)
        kept: list[list[int]] = [[] for _ in range(self.deciding)]
        while (missing := number - len(kept[0])) > 0:
            tried = min(DRAWN_AT_ONCE, math.ceil(missing / self.shares[chosen]))
            block = self._forward([], self.deciding, tried, sampler)
            right = np.flatnonzero(self.classes[tuple(np.array(block[place]) for place in self.asked)] == chosen)
            for column, drawn in zip(kept, block, strict=True):
                column += [drawn[place] for place in right[:missing]]
        return self._forward(kept, len(self.draws), number, sampler)

    def _forward(self, drawn: list[list[int]], end: int, number: int, sampler: Sampler) -> list[list[int]]:
        """Go on with the draws up to `end`, of so many records."""
        for each in self.draws[len(drawn) : end]:
            given = zip(*(drawn[place] for place in each.given), strict=True) if each.given else repeat((), number)
            drawn.append([each.row(above).draw(sampler) for above in given])
        return drawn


def _row_of(each: _Draw, cell: tuple[int, ...]) -> _Row:
    return each.row(tuple(cell[place] for place in each.given))


def _table_row(table: LogTable, given: tuple[int, ...]) -> _Row:
    """A column of a table of the first model: as it was declared, else from its logs."""
    if table.weights is not None:
        return _Row.of(table.weights[(0, slice(None), *given)].tolist())
    return _Row.of(map(_mass, table.values[(0, slice(None), *given)].tolist()))


IMPOSSIBLE = Refusal(
    required="every class must be possible where records are made up: noise may ask for a record of any",
    found="a class that has probability 0 in the model, or no record in the public table",
    remedy="Join it with another class, or use form='trim', which makes nothing up.",
)

TOO_RARE = Refusal(
    required=f"a class must have a probability of at least {RAREST:g} where what decides it has more than "
    f"{MOST_CELLS:,} combinations of states",
    found="a rarer one",
    remedy="Join it with another class, or merge states.",
)

NO_PARTITION = Refusal(
    required="every record must be in one class", found="one in several or in none", remedy="Correct the conditions."
)


def _network_law(
    declared: _Declared, predicates: Sequence[Predicate], columns: Sequence[str]
) -> NetworkRecords | Refusal:
    network, schema, laws = cast(DiscreteNetwork, declared.network), declared.schema, declared.laws
    form, nodes = _classes_alone(schema, predicates), network.graph.nodes
    shares = _moments(declared, form, 0, len(predicates))[0]
    if min(shares) <= 0:
        return IMPOSSIBLE
    asked = [name for name in nodes if any(name in each.columns for each in predicates)]
    early, needed = network.graph.ancestral(asked), network.graph.ancestral({*asked, *columns})
    values = {name: _values_of(form, name, network, laws.get(name)) for name in {*asked, *columns}}
    # a node and, where the states of a node are no values, the column given the node
    order = [(name, False) for name in nodes if name in early]
    order += [(name, True) for name in asked if name in laws]
    deciding = len(order)
    order += [(name, False) for name in nodes if name in needed - early]
    order += [(name, True) for name in columns if name in laws and name not in asked]
    place = {key: k for k, key in enumerate(order)}
    draws: list[_Draw] = []
    for name, valued in order:
        if valued:
            rows = values[name].rows
            draws.append(_Draw(given=(place[name, False],), size=max(len(row.ends) for row in rows), row=_chosen(rows)))
        else:
            above = tuple(place[parent, False] for parent in network.graph.parents[name])
            row = cache(partial(_table_row, network.tables[name]))
            draws.append(_Draw(given=above, size=len(network.states[name]), row=row))
    classes = _class_of({name: values[name].outcomes for name in asked}, predicates)
    if classes is None:
        return NO_PARTITION
    error = sum(values[name].error for name in values)
    error += sum(_table_error(network.tables[name]) for name in needed)
    gap, apart = _apart(network, [values[name] for name in asked], asked, needed, classes, error)
    found = NetworkRecords(
        draws=tuple(draws),
        deciding=deciding,
        classes=classes,
        asked=tuple(place[name, name in laws] for name in asked),
        shown={name: (place[name, name in laws], values[name].outcomes) for name in columns},
        shares=shares,
        # rows are divided by their sums, and the law by the probability of the class: twice each
        log_error=up(4 * error + apart),
        gap=gap,
        text=_network_text(declared),
        rounded=frozenset(name for name in columns if _on_steps(schema[name], laws.get(name, ()))),
    )
    return found if found.is_listed or min(shares) >= RAREST else TOO_RARE


class _Values(NamedTuple):
    """The outcomes of a column, a row of them for every state of its node, and the error of a log of these."""

    outcomes: Sequence[_Outcome]
    rows: Sequence[_Row]
    error: float


def _values_of(form: NormalForm, name: str, network: DiscreteNetwork, laws: Sequence[ColumnLaw] | None) -> _Values:
    column = form.schema[name]
    if laws is None:
        held = state_cells(name, column, network.states[name]).values.tolist()
        return _Values([_valued(column, value) for value in held], [_Row([k], [1], [1]) for k in range(len(held))], 0.0)
    rounded = _on_steps(column, laws)
    outcomes: list[_Outcome] = []
    rows: list[_Row] = []
    errors: list[float] = []
    for law in laws:
        (found, masses), error = _pieces(form, name, law, rounded)
        rows.append(_Row.of(masses, len(outcomes)))
        outcomes += found
        errors.append(error)
    return _Values(outcomes, rows, max(errors))


def _chosen(rows: Sequence[_Row]) -> Callable[[tuple[int, ...]], _Row]:
    return lambda given: rows[given[0]]


def _table_error(table: LogTable) -> float:
    return 0.0 if table.weights is not None else table.error + _mass_error(table.values[0])


def _class_of(outcomes: Mapping[str, Sequence[_Outcome]], predicates: Sequence[Predicate]) -> NDArray[np.int64] | None:
    """The class by the outcomes of the columns that decide it, an axis each; None if some record is not in one."""
    names, shape = list(outcomes), tuple(map(len, outcomes.values()))
    if math.prod(shape) * len(predicates) > MOST_RECORD_COMBINATIONS:
        raise SizeError(
            f"classes may be decided by at most {MOST_RECORD_COMBINATIONS:,} combinations of values",
            found=f"{math.prod(shape):,} in the columns {listing(names)}, for {len(predicates):,} classes",
            remedy="Protect fewer columns at once, or declare fewer grid steps.",
        )

    def along(leaf: Comparison | IsIn) -> Truths:
        held = [_holds(leaf, outcome.seen) for outcome in outcomes[leaf.column]]
        return np.array(held).reshape([-1 if name == leaf.column else 1 for name in names])

    held = np.stack([np.broadcast_to(truth(each, along), shape) for each in predicates])
    return np.argmax(held, axis=0) if bool(np.all(np.count_nonzero(held, axis=0) == 1)) else None


def _network_text(declared: _Declared) -> str:
    models = declared.network.models
    first = f", by the first of its {models:,} models" if models > 1 else ""
    return f"the declared network{first}" + (f' (source: "{declared.source}")' if declared.source else "")


# --------------------------------------------------------------------------------------------------
# How far models are apart given the class.
# --------------------------------------------------------------------------------------------------


def _apart(
    network: DiscreteNetwork,
    values: Sequence[_Values],
    asked: Sequence[str],
    needed: frozenset[str],
    classes: NDArray[np.int64],
    error: float,
) -> tuple[float, float]:
    """The total variation of the first model and any other given a class, and the log ratio where that is next to 0.

    Laws are compared of the nodes that decide the class, those whose tables differ, and those above either: given these
    the others are drawn alike.
    """
    tables = {name: network.tables[name].values for name in needed}
    differing = [name for name, table in tables.items() if np.any(table != table[:1])]
    if not differing:
        return 0.0, 0.0
    inside = network.graph.ancestral({*asked, *differing})
    kept = [name for name in network.graph.nodes if name in inside]
    try:
        joint = joint_law(network, kept)
    except SizeError:  # it is not worked out: no law is farther than 1 from another
        return 1.0, 0.0
    worst = ratio = 0.0
    sizes = [len(network.states[name]) if name in asked else 1 for name in kept]
    for chosen in range(int(classes.max()) + 1):
        likely = (classes == chosen).astype(np.float64)
        for axis, each in enumerate(values):
            likely = np.moveaxis(np.tensordot(_matrix(each), likely, (1, axis)), 0, axis)
        with np.errstate(divide="ignore"):
            logs = (joint.values + np.log(likely).reshape(sizes)).reshape(len(joint.values), -1)
        totals = log_sum_exp(logs, 1)[:, np.newaxis]
        possible = np.isfinite(totals[:, 0])  # where the class is impossible there is no law given it
        logs = logs[possible] - totals[possible]
        steps = 2 * logs.shape[1] + FUNCTION_ERROR * (4 + math.log(logs.shape[1])) + 8 * magnitude(logs)
        off = 4 * (joint.error + error + UNIT_ROUNDOFF * steps)
        with np.errstate(invalid="ignore"):
            differences = np.where(logs == logs[:1], 0.0, np.abs(logs - logs[:1]))
        ratio = max(ratio, float(np.max(differences)) + off)
        worst = max(worst, float(np.max(np.sum(np.abs(np.exp(logs) - np.exp(logs[:1])), axis=1))) / 2 + off)
    return (0.0, ratio) if ratio <= ALIKE else (min(1.0, up(worst)), 0.0)


def _matrix(values: _Values) -> FloatArray:
    """P(outcome | state), of shape (states, outcomes); nothing possible has probability 0."""
    found = np.zeros((len(values.rows), len(values.outcomes)))
    for line, row in zip(found, values.rows, strict=True):
        line[list(row.outcomes)] = [weight / row.ends[-1] or math.ulp(0.0) for weight in row.weights]
    return found


# --------------------------------------------------------------------------------------------------
# Public records.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenRecords:
    """Records of a public table, each of a class as likely as another: a `RecordLaw`.

    Parameters
    ----------
    rows : sequence of ndarray
        The places of the records of each class.
    values : mapping from str to list
        The columns as they count.
    gap, text
        As of `RecordLaw`.
    """

    rows: Sequence[Sequence[int]]
    values: Mapping[str, Sequence[Any]]
    gap: float
    text: str
    log_error: float = 0.0
    rounded: frozenset[str] = frozenset()

    def draw(self, numbers: Sequence[int], sampler: Sampler) -> dict[str, list[Any]]:
        """Draw so many records of each class, those of one class after those of another, as columns of values."""
        places = [
            rows[sampler.below(len(rows))]
            for rows, number in zip(self.rows, numbers, strict=True)
            for _ in range(number)
        ]
        return {name: [values[place] for place in places] for name, values in self.values.items()}


def _public_law(
    declared: _Declared, predicates: Sequence[Predicate], columns: Sequence[str]
) -> ChosenRecords | Refusal:
    public, schema = cast(PublicRecords, declared.public), declared.schema
    counted = {
        name: _counted(schema[name], public.columns[name])
        for name in {*columns, *(name for each in predicates for name in each.columns)}
    }

    def along(leaf: Comparison | IsIn) -> Truths:
        return np.array([_holds(leaf, outcome.seen) for outcome in counted[leaf.column]])

    held = np.stack([truth(each, along) for each in predicates])
    if not np.all(np.count_nonzero(held, axis=0) == 1):
        return NO_PARTITION
    rows = [np.flatnonzero(each).tolist() for each in held]
    if not all(rows):
        return IMPOSSIBLE
    return ChosenRecords(
        rows=rows,
        values={name: [outcome.handed for outcome in counted[name]] for name in columns},
        # Beside a network the models are its own, in which a real number hardly ever is one of the table, and draws of
        # weights, which are about 1 / e from equal ones: too far to be worked out.
        gap=0.0 if declared.network is None else 1.0,
        text=f"the {public.records:,} records of the public table",
    )


def _counted(column: Column, values: NDArray[Any]) -> list[_Outcome]:
    found = cleaned(column, values).tolist()
    if isinstance(column, Categorical):
        return [_valued(column, column.outcomes[place]) for place in found]
    return [_valued(column, value) for value in found]


# --------------------------------------------------------------------------------------------------
# What one record adds to an answer, by class, for planning.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ClassMoments:
    """What a record of each class adds to the numbers of an answer, under each model: plain doubles, for planning.

    The answer is the sum over the records plus ``normal_form(query, schema).offset``.

    Parameters
    ----------
    shares : ndarray of shape (models, classes)
        The probabilities of the classes.
    means, variances : ndarray of shape (models, classes, outputs)
        In the units of the answer; 0 for a class that is impossible.
    """

    shares: FloatArray
    means: FloatArray
    variances: FloatArray


def moments(model: object, query: Query, predicates: Sequence[Predicate], schema: Schema | None = None) -> ClassMoments:
    """Mean and variance of what one record adds to the numbers of an answer, given its class.

    Parameters
    ----------
    model : DatasetAttributePrivacy, DiscreteNetwork, PublicRecords or table
        As for `record_law`; all models of a framework or a network are worked out.
    query : Query
    predicates : sequence of Predicate
        One per class; each record satisfies exactly one.
    schema : Schema, optional
        That of the framework by default.

    Raises
    ------
    BnprivError
        If the law is not known, or too large.

    Examples
    --------
    >>> import bnpriv as bp
    >>> hospital, ill = bp.example("hospital"), bp.col("disease") == "yes"
    >>> found = moments(hospital, bp.count(bp.col("inhaler") == "yes"), [ill, ~ill])
    >>> found.shares.round(4).tolist(), found.means[0, :, 0].round(4).tolist()
    ([[0.0967, 0.9033]], [0.7, 0.04])
    """
    chosen = cast(Any, model).schema if schema is None else schema
    declared = _declared(model, chosen, predicates, query.columns)
    if isinstance(declared, Refusal):
        raise declared.error()
    form = _classed(normal_form(query, chosen), predicates)
    found = [_moments(declared, form, each, len(predicates)) for each in range(declared.models)]
    shares, means, variances = (np.array(part) for part in zip(*found, strict=True))
    return ClassMoments(shares=shares, means=means, variances=variances)


def _moments(
    declared: _Declared, form: NormalForm, model: int, classes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    law = declared.law(form, model)
    values = np.zeros((len(form.rows) - 1, law.size))
    for output, added, whole in zip(values, law.columns[1:], form.wholes()[1:], strict=True):
        output[:] = added.astype(np.float64) / whole.denominator
    inside = np.exp(law.logs) * (law.columns[0] == np.arange(classes)[:, np.newaxis])
    shares = inside.sum(axis=1)
    given = inside / np.where(shares > 0, shares, 1.0)[:, np.newaxis]
    means = given @ values.T
    spread = (values[np.newaxis] - means[:, :, np.newaxis]) ** 2
    return shares, means, np.einsum("ca,coa->co", given, spread)
