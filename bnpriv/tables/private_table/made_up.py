"""Made-up records: independent draws from the declared law of one record given its class, exactly.

A record is drawn node by node, and kept if it is of a class of which more are wanted. Every step is a uniform whole
number below a limit, compared with whole numbers proportional to the declared probabilities: doubles are fractions, and
rows of tables are divided by their exact sums. Nothing is rounded but the masses of a law of `scipy.stats`, and tables
that were drawn as logs: `RecordLaw.excess` bounds what that does.

What is handed on must not tell a made-up record from a real one. So made-up values are values as they count: categories
as they are declared, whole numbers rounded, a gap that is not counted None. Of a column of fractions a made-up number
is a step of the column's public grid, and **real numbers of the columns in `RecordLaw.rounded` are handed on as
`on_grid(column, column.step(x))`** of the clamped number x, after the class of the record was found out from x itself.
Both are then the same function of a record, in whatever precision a table holds its numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, chain, product
from typing import Any, NamedTuple, cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw, UniformLaw, bin_laws
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Categorical, State
from bnpriv.core.distributions import FUNCTION_ERROR, log_sum_exp, magnitude
from bnpriv.core.evidence.records import (
    MOST_STEPS,
    law_cells,
    node_cells,
    record_law as law_of_cells,
    state_cells,
    summed_exactly,
)
from bnpriv.core.frameworks.base import require_columns
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.noise import Sampler
from bnpriv.core.queries.asked import count
from bnpriv.core.queries.base import Indicator, NormalForm, Query, Steps, columns_of, normal_form
from bnpriv.core.queries.contribution import COMPARED
from bnpriv.core.queries.predicates import Comparison, IsIn, Predicate, truth
from bnpriv.core.schema import Column, NumberColumn, Schema, has_gaps, is_whole
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.errors import BnprivError, LawError, NetworkError, Refusal, RefusedError, SizeError
from bnpriv.kind import is_framework, kind_of, notion_of

# --------------------------------------------------------------------------------------------------
# The law of one record given its class, as others see it.
# --------------------------------------------------------------------------------------------------

RAREST_CLASS = 1e-5
"""The least probability of a class: about a second for each record of a rarer one."""

MADE_AT_ONCE = 2**14

ALIKE = 1e-9
"""Up to this log ratio models are alike given the class: it counts as an error of the law, not as another law."""

LARGEST_LOG = 1e5
"""The largest size of a log probability: whole numbers of so many nats are still drawn fast."""

UNIT = 2**1074
"""All doubles are whole numbers of 1 / UNIT."""

IMPOSSIBLE = Refusal(
    required="every class must be possible where records are made up, as any may lack some",
    found=f"a class with a probability below {RAREST_CLASS:g} in the model",
    remedy="Join it with another class, or use form='trim', which makes nothing up.",
)

NO_LAW = Refusal(
    required="records are made up from a network of level 'records' with exact tables",
    found="another model",
    remedy="Pass such a network, learned from other data, or use form='trim', which makes nothing up. Records of a "
    "public table itself would be told from real ones.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordLaw:
    """The law of one record given its class, from which records are drawn.

    Parameters
    ----------
    draw : callable
        From how many records of each class are wanted and a sampler to the columns of made-up records, those of one
        class after those of another.
    text : str
        Where the records come from, in words.
    gap : float
        The largest total variation between this law and any model's, over the classes, rounded up; 0 where all models
        agree.
    excess, shortfall : float
        Bounds on the log ratio of any model's law to this one, and of this one to any model's, given a class; 0 where
        it is exactly that of all models.
    shares : tuple of float
        The probability of each class under it.
    rounded : frozenset of str
        The columns whose real numbers are handed on as steps of the grid.
    """

    draw: Callable[[Sequence[int], Sampler], dict[str, list[Any]]] = field(repr=False)
    text: str
    gap: float = 0.0
    excess: float = 0.0
    shortfall: float = 0.0
    shares: tuple[float, ...] = ()
    rounded: frozenset[str] = frozenset()


def record_law(
    model: object, schema: Schema, predicates: Sequence[Predicate], columns: Sequence[str]
) -> RecordLaw | Refusal:
    """The law of one record given its class, or why there is none that can be drawn from.

    Parameters
    ----------
    model : DatasetAttributePrivacy, DistributionPrivacy or DiscreteNetwork
        The first model of a network of level "records".
    schema : Schema
    predicates : sequence of Predicate
        One per class; each record satisfies exactly one.
    columns : sequence of str
        Those that are handed on.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.core.noise import SecureSampler
    >>> hospital, ill = bp.example("hospital"), bp.col("disease") == "yes"
    >>> law = record_law(hospital, hospital.schema, [ill, ~ill], ["disease", "ward"])
    >>> law.draw([2, 1], SecureSampler())["disease"], law.excess, law.gap
    (['yes', 'yes', 'no'], 0.0, 0.0)
    """
    try:
        declared = _declared(model, schema, predicates, columns)
        if isinstance(declared, Refusal):
            return declared
        return _of_network(declared, predicates, columns)
    except BnprivError as error:
        return Refusal.of(error)


def on_grid(column: NumberColumn, step: int) -> float:
    """The number that a step of a column's grid is handed on as, with one rounding for each operation.

    Examples
    --------
    >>> from bnpriv.core.schema import Integer, Real
    >>> on_grid(Real(0, 1, steps=10), 3), on_grid(Integer(17, 90), 3)
    (0.30000000000000004, 20)
    """
    return column.lower + step if is_whole(column) else min(column.lower + step * float(column.grid), column.upper)


# --------------------------------------------------------------------------------------------------
# What is declared: a network, with the laws inside its bins.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Declared:
    """The law of one record as it is declared, and whether public records are further models of it."""

    schema: Schema
    network: Any
    laws: Mapping[str, Sequence[ColumnLaw]]
    beside_records: bool = False

    def law(self, form: NormalForm, model: int = 0) -> WholeLaw:
        """The law of what one record adds to the numerators of a form under one model."""
        names = sorted(set[str]().union(*map(columns_of, form.terms)))
        states = joint_law(self.network, names)
        table = LogTable(axes=states.axes, values=states.values[[model % len(states.values)]], error=states.error)
        return law_of_cells(form, node_cells(form, names, self.network.states, self.laws), table)


def _declared(
    model: Any, schema: Schema, predicates: Sequence[Predicate], columns: Iterable[str]
) -> _Declared | Refusal:
    read = sorted({*columns, *(name for each in predicates for name in each.columns)})
    network: Any = next(iter(notion_of(model).networks(model)), None) if is_framework(model) else model
    if not (kind_of(network).exact_tables and network.level == "records"):
        return NO_LAW
    missing = sorted(set(read).difference(network.attributes))
    if missing:
        return Refusal(
            required="every column that is handed on must be a node",
            found=f"{listing(map(repr, missing))}, of which no distribution is known",
            remedy="Leave it out of the schema, add it to the model, or use form='trim', which makes nothing up.",
        )
    if is_framework(model):
        try:  # only tables of independent records have a law of one record
            notion_of(model).record_law(model, count(predicates[0]), 0)
        except (NetworkError, RefusedError) as error:
            return replace(NO_LAW, found=error.found)
        return _Declared(schema, network, model.column_laws, model.public_records is not None)
    held = Schema(schema.records, {name: schema[name] for name in read})
    laws = bin_laws(held, network.states)
    require_columns(network, held, laws)
    return _Declared(schema, network, laws)


def _with_class(query: Query, schema: Schema, predicates: Sequence[Predicate]) -> NormalForm:
    """A query with one output before its own: the number of the record's class."""
    form = normal_form(query, schema)
    number = {len(form.terms) + k: Fraction(k) for k in range(len(predicates))}
    terms, rows, offset = (*form.terms, *map(Indicator, predicates)), (number, *form.rows), (Fraction(0), *form.offset)
    return replace(form, terms=terms, rows=rows, offset=offset)


def _classifier(names: Sequence[str], predicates: Sequence[Predicate]) -> Callable[[tuple[Any, ...]], int]:
    """From the values of some columns, as conditions see them, to the number of the class."""

    @lru_cache(2**16)
    def class_of(seen: tuple[Any, ...]) -> int:
        values = dict(zip(names, seen, strict=True))

        def holds(leaf: Comparison | IsIn) -> Any:
            value = values[leaf.column]
            return value in leaf.values if isinstance(leaf, IsIn) else COMPARED[leaf.operator](value, leaf.value)

        return next(k for k, each in enumerate(predicates) if truth(each, holds))

    return class_of


# --------------------------------------------------------------------------------------------------
# Exact draws of states, and of the values of columns.
# --------------------------------------------------------------------------------------------------


class _Value(NamedTuple):
    """A value of a column: what conditions compare, and what is handed on."""

    seen: Any
    handed: Any


DrawValue = Callable[[Sampler], _Value]


def _choice(masses: Iterable[Fraction]) -> Callable[[Sampler], int]:
    """DrawValue a place by masses of any sum, exactly."""
    exact = list(masses)
    if len(exact) == 1:
        return lambda sampler: 0
    common = math.lcm(*(mass.denominator for mass in exact))
    ends = list(accumulate(int(mass * common) for mass in exact))
    return lambda sampler: bisect_right(ends, sampler.below(ends[-1]))


def _mass(log: float) -> Fraction:
    """A probability from its log, however small; `_mass_error` bounds the relative error."""
    twos = math.floor(log / math.log(2)) if log > -math.inf else 0
    return Fraction(math.exp(log - twos * math.log(2))) * Fraction(2) ** twos


def _mass_error(logs: FloatArray) -> float:
    return UNIT_ROUNDOFF * (FUNCTION_ERROR + 4 + 4 * magnitude(logs))


def _counted(column: Column, value: Any, rounded: bool = False) -> _Value:
    """A value as it counts."""
    if has_gaps(column) and value in (GAP_MARK, NOT_COUNTED):
        return _Value(value, None)
    if isinstance(column, Categorical):
        return _Value(value, value)
    if is_whole(column):
        counted = math.floor(value + 0.5)
        return _Value(counted, counted)
    return _Value(value, on_grid(column, column.step(value)) if rounded else float(value) + 0.0)


def _on_steps(column: Column) -> bool:
    """Whether values of a column are handed on as steps of its grid: fractions, also declared one by one.

    A table may hold 0.1 as a float of 32 bits, or as a sum, where the law says 0.1.
    """
    return not isinstance(column, Categorical) and not is_whole(column)


def _draw_of(form: NormalForm, name: str, law: ColumnLaw, rounded: bool) -> tuple[DrawValue, float]:
    """Draws of a column by its law, and a bound on the error of the log of a mass."""
    if isinstance(law, UniformLaw):
        return _uniform(cast(NumberColumn, form.schema[name]), law), 0.0
    if isinstance(law, MixedLaw):
        parts = [_draw_of(form, name, part, rounded)[0] for part in law.parts]
        place = _choice(map(Fraction, law.probabilities))
        return (lambda sampler: parts[place(sampler)](sampler)), 0.0
    if isinstance(law, FiniteLaw):
        values = [_counted(form.schema[name], value, rounded) for value in law.values]
        masses, error = map(Fraction, law.probabilities), 0.0
    else:
        summed, column = replace(form, terms=(*form.terms, Steps(name))), law.column
        cells = law_cells(summed, name, [law]) if summed_exactly(summed, name, [law]) else None
        if cells is None or magnitude(cells.logs) > LARGEST_LOG:
            raise LawError(
                f"a distribution of scipy.stats of {name!r} is drawn from on at most {MOST_STEPS:,} steps, all of them "
                "possible",
                found=f"{column.steps:,} steps from {column.lower:g} to {column.upper:g}",
                remedy="Declare fewer steps, Real(lower, upper, steps=1000), narrower bounds, or bins with their "
                "distribution.",
            )
        values = [_Value(value, on_grid(column, column.step(float(value)))) for value in cells.values]
        masses, error = map(_mass, cells.logs[0]), cells.error + _mass_error(cells.logs)
    chosen = _choice(masses)
    return (lambda sampler: values[chosen(sampler)]), error


def _values_alone(name: str, column: Column, states: Sequence[State]) -> list[FiniteLaw]:
    """The laws of a column whose node's states are its values."""
    return [FiniteLaw(values=(value,), probabilities=(1.0,)) for value in state_cells(name, column, states).values]


def _uniform(column: NumberColumn, law: UniformLaw) -> DrawValue:
    unit = 1 if law.whole else UNIT
    first, end = int(Fraction(law.lower) * unit), int(Fraction(law.upper) * unit) + law.whole

    def draw(sampler: Sampler) -> _Value:
        drawn = first + sampler.below(end - first)
        if law.whole:
            return _Value(drawn, drawn)
        # The number lies between `drawn` and the next of 1 / UNIT, and is no double; its step is that of the one below.
        near = drawn / UNIT
        below = near if Fraction(near) * UNIT <= drawn else math.nextafter(near, -math.inf)
        return _Value(Fraction(2 * drawn + 1, 2 * UNIT), on_grid(column, column.step(below)))

    return draw


# --------------------------------------------------------------------------------------------------
# Records of a network.
# --------------------------------------------------------------------------------------------------


def _of_network(declared: _Declared, predicates: Sequence[Predicate], columns: Sequence[str]) -> RecordLaw | Refusal:
    network, schema, laws = cast(DiscreteNetwork, declared.network), declared.schema, declared.laws
    nodes, parents, above = network.graph.nodes, network.graph.parents, network.graph.ancestral
    form = _with_class(count(predicates[0]), schema, predicates)
    shares = _moments(declared, form, 0, len(predicates))[0]
    if min(shares) < RAREST_CLASS:
        return IMPOSSIBLE
    asked = [name for name in nodes if any(name in each.columns for each in predicates)]
    early = [name for name in nodes if name in above(asked)]
    late = [name for name in nodes if name in above(columns) and name not in early]
    rounded = frozenset(name for name in {*asked, *columns} if _on_steps(schema[name]))
    valued, error = dict[str, Sequence[DrawValue]](), 0.0
    for name in {*asked, *columns}:
        known = laws.get(name) or _values_alone(name, schema[name], network.states[name])
        valued[name], errors = zip(*(_draw_of(form, name, law, name in rounded) for law in known), strict=True)
        error += max(errors)
    for table in (network.tables[name] for name in (*early, *late)):
        error += table.error + _mass_error(table.values[0]) if table.weights is None else 0.0
    class_of = _classifier(asked, predicates)

    @cache
    def choice(name: str, above: tuple[int, ...]) -> Callable[[Sampler], int]:
        table, row = network.tables[name], (0, slice(None), *above)
        return _choice(map(_mass, table.values[row]) if table.weights is None else map(Fraction, table.weights[row]))

    def go_on(states: dict[str, Sequence[int]], names: Iterable[str], number: int, sampler: Sampler) -> None:
        for name in names:
            above = zip(*(states[parent] for parent in parents[name]), strict=True) if parents[name] else [()] * number
            states[name] = [choice(name, each)(sampler) for each in above]

    def values(states: Mapping[str, Sequence[int]], name: str, sampler: Sampler) -> list[_Value]:
        return [valued[name][state](sampler) for state in states[name]]

    def draw(numbers: Sequence[int], sampler: Sampler) -> dict[str, list[Any]]:
        kept: list[list[tuple[Sequence[int], Sequence[_Value]]]] = [[] for _ in numbers]
        while any(short := [max(0, number - len(held)) for number, held in zip(numbers, kept, strict=True)]):
            states: dict[str, Sequence[int]] = {}
            go_on(states, early, min(MADE_AT_ONCE, math.ceil(np.max(short / shares))), sampler)
            deciding = zip(*(values(states, name, sampler) for name in asked), strict=True)
            for record in zip(zip(*states.values(), strict=True), deciding, strict=True):
                chosen = class_of(tuple([value.seen for value in record[1]]))
                if len(kept[chosen]) < numbers[chosen]:
                    kept[chosen].append(record)
        records = list(chain.from_iterable(kept))
        states = {name: [record[0][k] for record in records] for k, name in enumerate(early)}
        go_on(states, late, len(records), sampler)
        made = {name: [record[1][k] for record in records] for k, name in enumerate(asked)}
        made |= {name: values(states, name, sampler) for name in columns if name not in asked}
        return {name: [value.handed for value in made[name]] for name in columns}

    # rows are divided by their sums, and the law by the probability of the class: twice each
    error *= 4
    gap, excess, shortfall = _apart(declared, form, asked, [*early, *late], class_of, error)
    if declared.beside_records:
        # draws of weights are about 1 / e from each other, and hold no record that the public table does not
        gap, excess, shortfall = 1.0, math.inf, math.inf
    models = f", by the first of its {network.models:,} models" if network.models > 1 else ""
    return RecordLaw(
        draw=draw,
        text=f"the declared network{models}",
        gap=gap,
        excess=up(error + excess),
        shortfall=up(error + shortfall),
        shares=tuple(shares.tolist()),
        rounded=rounded.intersection(columns),
    )


# --------------------------------------------------------------------------------------------------
# How far models are apart given the class.
# --------------------------------------------------------------------------------------------------


def _apart(
    declared: _Declared,
    form: NormalForm,
    asked: Sequence[str],
    needed: Sequence[str],
    class_of: Callable[[tuple[Any, ...]], int],
    error: float,
) -> tuple[float, float, float]:
    """How far other models are from the first one given a class: total variation, and both largest log ratios.

    Laws are compared of the nodes that decide the class, those whose tables differ, and those above either: given these
    the others are drawn alike.
    """
    network, schema = declared.network, declared.schema
    tables = {name: network.tables[name].values for name in needed}
    differing = [name for name, table in tables.items() if np.any(table != table[:1])]
    if not differing:
        return 0.0, 0.0, 0.0
    inside = network.graph.ancestral({*asked, *differing})
    kept = [name for name in network.graph.nodes if name in inside]
    try:
        joint = joint_law(network, kept)
    except SizeError:  # it is not worked out: no law is farther than 1 from another
        return 1.0, math.inf, math.inf
    cells = node_cells(form, asked, network.states, declared.laws)
    seen = product(*([_counted(schema[name], value).seen for value in cells[name].values] for name in asked))
    classes = np.array(list(map(class_of, seen))).reshape([len(cells[name].values) for name in asked])
    worst = excess = shortfall = 0.0
    for chosen in range(classes.max() + 1):
        likely = (classes == chosen).astype(np.float64)
        for axis, name in enumerate(asked):
            # what is possible stays possible, however small
            given = np.where(cells[name].logs > -math.inf, np.maximum(np.exp(cells[name].logs), math.ulp(0.0)), 0.0)
            likely = np.moveaxis(np.tensordot(given, likely, (1, axis)), 0, axis)
        shape = [len(network.states[name]) if name in asked else 1 for name in kept]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (joint.values + np.log(likely).reshape(shape)).reshape(len(joint.values), -1)
            totals = log_sum_exp(logs, 1)[:, np.newaxis]
            logs = (logs - totals)[np.isfinite(totals[:, 0])]  # a model without the class has no law given it
            differences = np.where(logs == logs[:1], 0.0, logs - logs[:1])
        steps = 2 * logs.shape[1] + FUNCTION_ERROR * (4 + math.log(logs.shape[1])) + 8 * magnitude(logs)
        off = 4 * (joint.error + error + sum(each.error for each in cells.values()) + UNIT_ROUNDOFF * steps)
        excess, shortfall = max(excess, float(differences.max()) + off), max(shortfall, off - float(differences.min()))
        worst = max(worst, float(np.abs(np.exp(logs) - np.exp(logs[:1])).sum(axis=1).max()) / 2 + off)
    alike = max(excess, shortfall) <= ALIKE
    return 0.0 if alike else min(1.0, up(worst)), excess, shortfall


# --------------------------------------------------------------------------------------------------
# What one record adds to an answer, by class, for planning.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
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
    model : DatasetAttributePrivacy, DiscreteNetwork or PublicRecords
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
    >>> found.shares.round(3).tolist(), found.means[0, :, 0].round(4).tolist()
    ([[0.097, 0.903]], [0.7, 0.04])
    """
    known = schema or cast(Any, model).schema
    declared = _declared(model, known, predicates, query.columns)
    if isinstance(declared, Refusal):
        raise declared.error()
    form = _with_class(query, known, predicates)
    found = [_moments(declared, form, each, len(predicates)) for each in range(declared.network.models)]
    return ClassMoments(*(np.array(part) for part in zip(*found, strict=True)))


def _moments(
    declared: _Declared, form: NormalForm, model: int, classes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The probabilities of the classes, and means and variances given each, under one model."""
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
