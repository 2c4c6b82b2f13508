"""The laws of an answer under the secrets of a framework, asked of its notion and its network's kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import chain, combinations, pairwise, starmap
from typing import Any, TypeVar, cast

import numpy as np

from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, MixedLaw, law_kind
from bnpriv.core.columns import State
from bnpriv.core.distributions import LARGEST, Atoms, binomial_logs
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, LawPair, Laws, WeightedLaws
from bnpriv.core.evidence.records import (
    MOST_STEPS,
    Cells,
    law_cells,
    mixture_of,
    node_cells,
    normalized,
    record_law,
    record_pair,
    released,
    rounding_of,
    summed_exactly,
    too_large,
    too_slow,
)
from bnpriv.core.evidence.structural import numbers_in_bins
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.frameworks.protected import predicate_text
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.base import Network, drivers
from bnpriv.core.networks.discrete import DiscreteNetwork, no_tables, require_discrete
from bnpriv.core.networks.factors import LogTable, sum_out
from bnpriv.core.queries.asked import Weighted, stack
from bnpriv.core.queries.base import Indicator, NormalForm, Output, Query, definite, normal_form
from bnpriv.core.queries.builtin import Custom, Difference
from bnpriv.core.queries.predicates import And, Not, Predicate
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import (
    BETWEEN,
    NEAR,
    Apart,
    Interval,
    IntervalPair,
    IntervalPairs,
    Secret,
    SecretPair,
    SecretPairs,
    of_states,
    side_text,
)
from bnpriv.core.whole_numbers import WholeLaw, summed
from bnpriv.errors import BnprivError, LawError, Refusal, RefusedError, SecretError, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.progress import SHORTER, watched
from bnpriv.services import service

# --------------------------------------------------------------------------------------------------
# The values of a property that a declared secret means, and the number of records between two of them.
# --------------------------------------------------------------------------------------------------

MOST_EXACT_PAIRS = 2000
"""The most pairs of secrets whose exact laws are compared; more are left to the per-record rule."""

FEWEST_AT_ONCE = 16
"""The fewest counts for which the laws given all counts are worked out at once."""

MOST_GAPS = 10**6
"""The most pairs of counts that are enumerated."""

CountPairs = dict[int, tuple[frozenset[int], frozenset[int]]]
"""Pairs of sets of counts, by the index of the pair among the chosen ones."""


def impossible(value: str) -> SecretError:
    """The refusal of a value that the property cannot take."""
    return SecretError(
        "a value of the secret must be possible under some model",
        found=value,
        remedy="Name values that the property can take, for example whole counts.",
    )


def require_disjoint(pair: SecretPair | IntervalPair, first: Collection[object], second: Collection[object]) -> None:
    """Refuse two secrets that stand for the same value of the property.

    Raises
    ------
    RefusedError
        If there is such a value.
    """
    if not set(first).isdisjoint(second):
        raise RefusedError(
            "the two secrets of a pair must be disjoint",
            found=f"{pair}, which stand for one value of the property",
            remedy="Name values that the property can take, each on one side only.",
        )


def number_of(value: State) -> float:
    """A value of a property, checked to be a number."""
    if isinstance(value, (str, bool)):
        raise SecretError("values of a property are numbers", found=repr(value), remedy="Give numbers.")
    return float(value)


def meant(side: Iterable[State] | Interval, values: Iterable[Fraction]) -> frozenset[Fraction]:
    """The exact values of a property that the numbers (or the interval) of a secret stand for.

    A number stands for every value that is rounded to it; where there is none, for the nearest one within `NEAR`, as
    one third is often written with fewer digits. An interval stands for the values in it, and for those that are
    rounded to an end of it.

    Raises
    ------
    SecretError
        If a value of the secret is no number.
    """
    listed = list(values)
    if isinstance(side, Interval):
        return frozenset(value for value in listed if side.low <= float(value) <= side.high)
    found: set[Fraction] = set()
    for number in map(number_of, side):
        same = [value for value in listed if float(value) == number]
        near = min(listed, key=lambda value: abs(value - Fraction(number)))
        close = abs(near - Fraction(number)) <= NEAR * max(1, abs(Fraction(number)))
        found.update(same or ([near] if close else []))
    return frozenset(found)


def reach(at_most: float) -> Fraction:
    """A declared distance between values of a property, widened by its rounding to a double."""
    return Fraction(at_most) * (1 + Fraction(1, 10**12))


Value = TypeVar("Value")


def chosen_sides(
    secret: Secret, side: Callable[[frozenset[State] | Interval], frozenset[Value]]
) -> dict[int, tuple[frozenset[Value], frozenset[Value]]] | None:
    """The chosen pairs that are possible, by their index, as sets of values; None where a distance describes them."""
    if secret.pairs is None or isinstance(secret.pairs, Apart):
        return None
    sides = {k: (side(pair.first), side(pair.second)) for k, pair in enumerate(secret.pairs.chosen)}
    for k, both in sides.items():
        require_disjoint(secret.pairs.chosen[k], *both)
    served = {k: both for k, both in sides.items() if all(both)}
    if not served:
        raise impossible(str(secret.pairs.chosen[0]))
    return served


@dataclass(frozen=True, kw_only=True)
class Counts:
    """A property that is `low` plus `unit` for every one of `n` records that counts, or of `n` steps of records."""

    n: int
    low: Fraction
    unit: Fraction

    @classmethod
    def of(cls, secret: Secret, schema: Schema, *values: int) -> Counts:
        """The property whose numerator one record raises by one of two or three values, equally far apart.

        Several counts at once are as far apart as the number of records that lie in other cells.
        """
        if secret.of_cells:
            return cls(n=schema.records, low=Fraction(0), unit=Fraction(1))
        scale, steps = normal_form(secret.property, schema).wholes()[0], len(values) - 1
        return cls(
            n=schema.records * steps,
            low=Fraction(schema.records * values[0] + scale.shift, scale.denominator),
            unit=Fraction(values[1] - values[0], scale.denominator),
        )

    def possible(self, side: frozenset[State] | Interval) -> frozenset[int]:
        """The numbers of counting records for each value of a secret that the property can take."""
        found: set[int] = set()
        for each in [side] if isinstance(side, Interval) else map(number_of, side):
            ends = (each.low, each.high) if isinstance(each, Interval) else (each, each)
            low, high = (min(max(end, -LARGEST), LARGEST) for end in ends)
            # all counts whose value rounds to a number are within one unit in its last place
            first = (Fraction(low) - Fraction(math.ulp(low)) - self.low) / self.unit
            last = (Fraction(high) + Fraction(math.ulp(high)) - self.low) / self.unit
            around = range(max(0, math.floor(first)), min(self.n, math.ceil(last)) + 1)
            counts = {self.low + k * self.unit: k for k in around}
            wanted = each if isinstance(each, Interval) else [each]
            found.update(counts[value] for value in (meant(wanted, counts) if counts else ()))
        return frozenset(found)

    def pairs(self, secret: Secret) -> CountPairs | None:
        """The chosen pairs that are possible, as sets of counts; None where a distance describes them."""
        return chosen_sides(secret, self.possible)

    def apart(self, secret: Secret, pairs: CountPairs | None) -> tuple[Sequence[int], str]:
        """The numbers of records that may lie between the secrets of a pair, and the farthest pair in words."""
        if isinstance(secret.pairs, Apart):
            steps = min(self.n, math.floor(reach(secret.pairs.at_most) / self.unit))
            if steps < 1:
                raise SecretError(
                    f"two values of the secret are at least {float(self.unit):g} apart",
                    found=f"at_most {secret.pairs.at_most:g}",
                    remedy="Choose a larger distance.",
                )
            return range(1, steps + 1), f"values {float(steps * self.unit):g} apart"
        if pairs is None or secret.pairs is None:
            return range(1, self.n + 1), f"values up to {float(self.n * self.unit):g} apart"
        gaps = {k: _gaps(first, second) for k, (first, second) in pairs.items()}
        worst = max(gaps, key=lambda k: max(gaps[k]))
        return sorted(set[int]().union(*gaps.values())), BETWEEN.join(secret.pairs.chosen[worst].sides)

    def listed(self, secret: Secret, pairs: CountPairs | None) -> list[tuple[frozenset[int], frozenset[int]]] | int:
        """All pairs, in one direction each, or their number if there are too many."""
        if pairs is not None:
            return list(pairs.values()) if len(pairs) <= MOST_EXACT_PAIRS else len(pairs)
        steps = self.apart(secret, pairs)[0][-1]
        number = sum(self.n + 1 - k for k in range(1, steps + 1)) if steps <= MOST_EXACT_PAIRS else self.n * steps
        if number > MOST_EXACT_PAIRS:
            return number
        return [(frozenset({s}), frozenset({s + k})) for k in range(1, steps + 1) for s in range(self.n + 1 - k)]

    def text(self, members: frozenset[int]) -> str:
        """A set of counts as values of the property, in words."""
        return _text(frozenset(self.low + self.unit * s for s in members))


def _text(values: frozenset[Fraction]) -> str:
    return side_text(frozenset(f"{float(value):g}" for value in values))


def _gaps(first: frozenset[int], second: frozenset[int]) -> set[int]:
    """The distances between counts of two sets; for very many counts, all up to the largest distance."""
    if len(first) * len(second) > MOST_GAPS:
        return set(range(1, max(max(first) - min(second), max(second) - min(first)) + 1))
    return {max(1, abs(a - b)) for a in first for b in second}


# --------------------------------------------------------------------------------------------------
# The classes of records that a secret is about, and how records move between them from one secret to the other.
#
# docs/claims/classes.md. A count has two classes, a difference three, several counts at once one for every cell.
# --------------------------------------------------------------------------------------------------

MOST_COMPARED_CLASSES = 64
"""The most classes of records of which each is compared with each other one."""

OTHERS = "other records"
"""The records in none of the cells."""


def cells_of(secret: Secret, schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells of counts of records, each with its condition; what no cell has is in none of them."""
    query = secret.property
    if isinstance(query, Difference):
        first, second = (definite(part.predicate, schema) for part in query.parts)
        names = [predicate_text(part.predicate) for part in query.parts]
        return [(names[0], And((first, Not(second)))), (names[1], And((second, Not(first))))]
    terms = [cast(Indicator, output.terms[0][1]) for output in query.outputs(schema)]
    # a gap that is not counted is in none of the cells
    return [(predicate_text(term.predicate), definite(term.predicate, schema)) for term in terms]


@dataclass(frozen=True, kw_only=True)
class ClassNumber(Query):
    """A number for the class of a record: one for every cell, 0 for records in none."""

    cells: tuple[Predicate, ...]
    numbers: tuple[int, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that tell the class."""
        return frozenset[str]().union(*(cell.columns for cell in self.cells))

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """The one number."""
        terms = zip(map(Fraction, self.numbers), map(Indicator, self.cells), strict=True)
        return (Output("class", tuple(term for term in terms if term[0])),)


def class_query(secret: Secret, schema: Schema) -> Query:
    """A query whose one number tells the class of a record: a property, or of several counts the place of its cell."""
    if not secret.of_cells:
        return secret.property
    cells = tuple(cell for _, cell in cells_of(secret, schema))
    if len(cells) >= MOST_COMPARED_CLASSES:
        raise LawError(
            f"a secret has at most {MOST_COMPARED_CLASSES} classes of records, each compared with all others",
            found=f"{len(cells):,} cells of {secret.property}",
            remedy="Hide coarser bins, or fewer columns; or hand on a private table.",
        )
    return ClassNumber(cells=cells, numbers=tuple(range(1, len(cells) + 1)))


@dataclass(frozen=True, kw_only=True)
class ClassMoves:
    """How records change from one secret of a pair to the other.

    Parameters
    ----------
    distances : sequence of int
        How many records may change.
    classes : mapping from str to (int, int)
        Every two classes between which one record may move, either way, by what `class_query` tells of a record; in
        words the secrets that are furthest apart and, unless there are but two, the classes. Empty where the secret has
        one possible value.
    mixed : tuple of (int, int)
        The same for all that records of one table may have become in the end; empty where all change in one way, or
        one alone does.

    Notes
    -----
    docs/claims/classes.md.
    """

    distances: Sequence[int]
    classes: Mapping[str, tuple[int, int]]
    mixed: tuple[tuple[int, int], ...] = ()


def moves(secret: Secret, schema: Schema, values: Sequence[int]) -> ClassMoves | None:
    """How records change between secrets, where `class_query` tells some values; None for a sum of many values.

    Raises
    ------
    SecretError
        If no two values that are to be hidden are possible.
    """
    if len(values) == 1:
        return ClassMoves(distances=(), classes={})
    if not secret.of_cells and len(values) > (3 if isinstance(secret.property, Difference) else 2):
        return None
    counts = Counts.of(secret, schema, *values)
    distances, text = counts.apart(secret, counts.pairs(secret))
    if not secret.of_cells and len(values) == 2:
        return ClassMoves(distances=distances, classes={text: (values[1], values[0])})
    names, ways = [name for name, _ in cells_of(secret, schema)], [(b, a) for a, b in combinations(values, 2)]
    # of a difference two units may be one record that leaves the one class for the other: a way of its own in the end
    mixed = tuple(ways) if len(ways) > 1 and distances[-1] > 1 else ()
    if secret.of_cells:
        text, names = f"{distances[-1]:,} record{'s' if distances[-1] > 1 else ''} in other cells", [OTHERS, *names]
        found = {f"{text}, {names[b]}{BETWEEN}{names[a]}": (b, a) for b, a in ways}
    else:
        steps = zip(reversed(names), pairwise(values), strict=True)
        found = {f"{text}, {name}{BETWEEN}{OTHERS}": (high, low) for name, (low, high) in steps}
    return ClassMoves(distances=distances, classes=found, mixed=mixed)


RecordLaws = Callable[[tuple[int, int]], tuple[WholeLaw, WholeLaw]]
"""From two classes to what a record of each adds to an answer."""


def class_laws(
    framework: DatasetAttributePrivacy, query: Query, secret: Secret, model: int
) -> tuple[WholeLaw, RecordLaws]:
    """What one record tells of its class and adds to an answer under one model; and from two classes the law of each.

    Raises
    ------
    LawError
        If there are too many classes, or a law is not known.
    """
    told = class_query(secret, framework.schema)
    both = law_of_one_record(framework, stack(told, query), model)

    @cache
    def between(classes: tuple[int, int]) -> tuple[WholeLaw, WholeLaw]:
        first, second = classes
        if framework.public_records is None or not isinstance(told, ClassNumber):
            return both.given([first]), both.given([second])
        # such models have further records in the classes of the least and the largest number; of none it is 0
        rest = int(second == 0)
        numbers = tuple(rest + (k == first) - (k == second) for k in told.numbers)
        alone = law_of_one_record(framework, stack(replace(told, numbers=numbers), query), model)
        return alone.given([rest + 1]), alone.given([rest - 1])

    return both, between


# --------------------------------------------------------------------------------------------------
# The laws of an answer, from the laws of a record that counts for the secret and of one that does not.
# --------------------------------------------------------------------------------------------------

RECORDS_FROM_MODEL = "The records are independent draws from the declared model."


@dataclass(frozen=True, eq=False)
class DatasetLaws(ComputedLaws):
    """The laws of an answer given a count, proportion, total or mean of a protected column."""

    framework: DatasetAttributePrivacy
    query: Query

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return self.query.dimension(self.framework.schema)

    @property
    def rounding(self) -> float:
        """How far, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(normal_form(self.query, self.framework.schema))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold outside the library."""
        read = {
            *self.query.columns,
            *(name for each in self.framework.protect.values() for name in each.property.columns),
        }
        return (RECORDS_FROM_MODEL, *numbers_in_bins(self.framework.schema, read.difference(self.framework.laws or ())))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The secrets that are no constraint under a model, because no two values to be hidden are possible."""
        names = [
            f"{name} in model {model}: no two values to be hidden are possible"
            for name in self.framework.protect
            for model in range(self.framework.models)
            if not any(c.protected == name and c.model == model for c in self.constraints())
        ]
        return tuple(names)

    def _compared(self) -> Iterable[Constraint]:
        return chain.from_iterable(starmap(self._of, self.framework.protect.items()))

    def _of(self, name: str, secret: Secret) -> list[Constraint]:
        """The constraints of one secret; what no model allows is a mistake, not a pair to be dropped."""
        found: list[Constraint] = []
        refused: list[SecretError] = []
        for model in watched(
            range(self.framework.models), "the distributions of the answer under {}", "more model", SHORTER
        ):
            try:
                found += constraints_of(self.framework, self.query, name, secret, model)
            except SecretError as error:
                refused.append(error)
        if refused and not found:
            raise refused[0]
        chosen = () if not isinstance(secret.pairs, (SecretPairs, IntervalPairs)) else secret.pairs.chosen
        if found and chosen and all(each.served is not None for each in found):
            never = set(range(len(chosen))).difference(*(each.served or frozenset() for each in found))
            if never:
                raise impossible(str(chosen[min(never)]))
        return found


def can_vary(framework: DatasetAttributePrivacy, secret: Secret, model: int) -> bool:
    """Whether some pair of values of a secret is possible, as far as the law of one record tells.

    Raises
    ------
    BnprivError
        If that law is not known.
    """
    one = law_of_one_record(framework, class_query(secret, framework.schema), model)
    values = np.unique(one.columns[0])
    if secret.of_cells or len(values) != 2:
        return len(values) > 1
    try:
        Counts.of(secret, framework.schema, *map(int, values)).pairs(secret)
    except SecretError:
        return False
    return True


def impossible_properties(framework: DatasetAttributePrivacy) -> Refusal | None:
    """Why a property of the table has a single possible value in every model."""
    if framework.forward is not None:
        return None  # draws cannot tell the impossible from the rare
    for name, secret in framework.protect.items():
        try:
            varies = any(can_vary(framework, secret, model) for model in range(framework.models))
        except BnprivError:
            continue  # the law of the column is not known; mechanisms that need it say so
        if not varies:
            return Refusal(
                required=f"some two values of the secret of {name!r} must have positive probability",
                found="none in any model",
                remedy="Correct the model, or choose another secret.",
            )
    return None


def missing_node(network: Network, query: Query) -> Refusal | None:
    """Why a query reads a column that a record network does not have; None if it has all."""
    missing = query.columns.difference(network.attributes)
    if not missing:
        return None
    return Refusal(
        required="every queried column must be a node of the record network",
        found=listing(sorted(missing)),
        remedy="Add it to the network.",
    )


def unknown_law(framework: DatasetAttributePrivacy, query: Query) -> Refusal | None:
    """Why the law of what one record adds to an answer is not known; None if it is."""
    missing = missing_node(framework.network, query)
    if missing is not None:
        return missing
    form = normal_form(query, framework.schema)
    for name, chosen in framework.column_laws.items():
        if name in query.columns and not summed_exactly(form, name, chosen):
            return Refusal(
                required=f"the sum of {name!r} needs a grid of at most {MOST_STEPS:,} steps, or probabilities",
                found="a density on a finer grid",
                remedy="Declare it as Real(lower, upper, steps=20), count it instead, or use another mechanism.",
            )
    return None


def dataset_laws(framework: DatasetAttributePrivacy, query: Query) -> DatasetLaws | Refusal:
    """The laws of the answer, or why they cannot be computed."""
    unknown = unknown_law(framework, query)
    if unknown is not None:
        return unknown
    evidence = DatasetLaws(framework, query)
    try:
        known = evidence.constraints()
    except LawError as error:
        return Refusal.of(error)
    if not known:
        return Refusal(
            required="some two values of the secret must have positive probability",
            found="none in any model",
            remedy="Correct the model, or choose another secret.",
        )
    return evidence


SEVERAL = Refusal(
    required="exact distributions of the answer are compared for secrets of one number",
    found="several counts at once",
    remedy="Use TightMechanism, which needs the distributions of one record only.",
)

Exact = tuple[Sequence[LawPair] | Refusal, frozenset[int] | None]
"""The exact laws of the answer, or why they are not computed; and which of the chosen pairs are possible."""


def constraints_of(
    framework: DatasetAttributePrivacy, query: Query, name: str, secret: Secret, model: int
) -> list[Constraint]:
    """What one secret requires under one model, for every two classes; nothing if it has a single possible value."""
    form, read = normal_form(query, framework.schema), secret.property.columns | query.columns
    kind = law_kind(law for column in read for law in framework.column_laws.get(column, ()))
    both, between = class_laws(framework, query, secret, model)
    values = [int(value) for value in np.unique(both.columns[0])]
    found, exact = moves(secret, framework.schema, values), (SEVERAL, None)
    if not secret.of_cells and len(values) == 2:  # a number of records, for which the laws of one suffice
        exact = _of_count(secret, Counts.of(secret, framework.schema, *values), both, form, framework.models)
    elif not secret.of_cells and len(values) > 2:  # more need the joint law with the answer
        exact = _of_sum(secret, both, form)
    pairs, served = exact
    if not isinstance(pairs, Refusal):
        pairs = tuple(replace(pair, kind=kind) for pair in pairs)
    alone = Constraint(protected=name, model=model, record=None, pairs=pairs, served=served)
    if found is None:
        return [alone]
    mixed = tuple(map(between, found.mixed))
    records = [
        record_pair(form, text, between(classes), found.distances, kind) for text, classes in found.classes.items()
    ]
    return [replace(alone, record=replace(record, mixed=mixed)) for record in records]


def network_record_law(
    network: DiscreteNetwork,
    schema: Schema,
    query: Query,
    laws: Mapping[str, Sequence[ColumnLaw]] | None = None,
    model: int = 0,
) -> WholeLaw:
    """The law of what one record of a network adds to the numerators of a query's answer."""
    form = normal_form(query, schema)
    names = sorted(query.columns)
    cells = node_cells(form, names, network.states, laws)
    states = joint_law(network, names)
    values = states.values[[min(model, states.values.shape[0] - 1)]]
    return record_law(form, cells, LogTable(axes=states.axes, values=values, error=states.error))


def law_of_one_record(framework: DatasetAttributePrivacy, query: Query, model: int) -> WholeLaw:
    """The law of what one record adds to the numerators of a query's answer, under one model of a framework."""
    network, public = require_discrete(framework.network, framework.notion), framework.public_records
    draw = model - network.models
    chosen = model if draw < 0 else draw % network.models
    own = network_record_law(network, framework.schema, query, framework.column_laws, chosen)
    return own if public is None or draw < 0 else public.law(normal_form(query, framework.schema), draw, own)


def _of_count(secret: Secret, counts: Counts, both: WholeLaw, form: NormalForm, models: int) -> Exact:
    """The exact laws of the answer given the two secrets of every pair, numbers of records, where that is cheap."""
    low, high = ([int(value)] for value in np.unique(both.columns[0]))
    first, second, pairs = both.given(high), both.given(low), counts.pairs(secret)
    listed, served = counts.listed(secret, pairs), None if pairs is None else frozenset(pairs)
    if isinstance(listed, int):
        return _too_many(listed), served
    needed = {s for sides in listed for side in sides for s in side}
    refusal = too_large([first, second], counts.n, len(needed))
    refusal = refusal or too_slow([first, second], counts.n, len(needed), len(listed), models)
    if refusal is not None or first.dimension > 1:
        refusal = refusal or Refusal(
            required="exact distributions of the answer are compared for one number",
            found=f"{first.dimension} numbers",
            remedy="Use Laplace noise, which needs the distributions of one record only.",
        )
        return refusal, served
    logs, error = binomial_logs(counts.n, both.log_mass(high), both.log_mass(low))
    error += 2 * counts.n * both.error
    at_once = service("laws.by_count")(form, first, second) if len(needed) >= FEWEST_AT_ONCE else None

    @cache
    def known(s: int) -> Atoms:
        # given s records that count, the table is s draws of the one law and n - s of the other
        return at_once[s] if at_once else released(form, summed((first, s), (second, counts.n - s)))

    def given(members: frozenset[int]) -> Atoms:
        chosen = sorted(members)
        return mixture_of(*normalized(logs[chosen], error), [known(s) for s in chosen])

    return _compared(listed, counts.text, given), served


def _of_sum(secret: Secret, both: WholeLaw, form: NormalForm) -> Exact:
    """The same of a sum of several values: the joint law of secret and answer, conditioned on each value."""
    records, scale = form.schema.records, normal_form(secret.property, form.schema).wholes()[0]
    refusal = too_large([both], records)
    if refusal is not None:
        return refusal, None
    try:
        total = summed((both, records))
    except SizeError as error:
        return Refusal.of(error), None
    values = {Fraction(int(each) + scale.shift, scale.denominator): int(each) for each in np.unique(total.columns[0])}
    chosen, served = chosen_sides(secret, partial(meant, values=values)), None
    if chosen is None:
        most = reach(secret.pairs.at_most) if isinstance(secret.pairs, Apart) else math.inf
        listed = [(frozenset({a}), frozenset({b})) for a, b in combinations(values, 2) if b - a <= most]
    else:
        listed, served = list(chosen.values()), frozenset(chosen)
    if not listed:
        raise impossible(str(secret))
    if len(listed) > MOST_EXACT_PAIRS:
        return _too_many(len(listed)), served
    return _compared(listed, _text, lambda side: released(form, total.given(values[value] for value in side))), served


def _too_many(pairs: int) -> Refusal:
    return Refusal(
        required=f"exact distributions are compared for at most {MOST_EXACT_PAIRS:,} pairs of secrets",
        found=f"{pairs:,}",
        remedy="Use TightMechanism, which for counts needs the distributions of one record only, or choose pairs with "
        "bnpriv.pairs or bnpriv.apart.",
    )


def _compared(
    listed: Sequence[tuple[frozenset[Value], frozenset[Value]]],
    text: Callable[[frozenset[Value]], str],
    law: Callable[[frozenset[Value]], Atoms],
) -> Sequence[LawPair] | Refusal:
    """The laws of the answer given the two sides of every pair."""
    given = cache(law)
    try:
        return tuple(
            LawPair(pair=f"{text(a)}{BETWEEN}{text(b)}", first=given(a), second=given(b), rounding=0.0)
            for a, b in listed
        )
    except BnprivError as error:
        return Refusal.of(error)


# --------------------------------------------------------------------------------------------------
# Of distributional attribute privacy: laws of an answer mixed over the queried parameters.
# --------------------------------------------------------------------------------------------------


MOST_CONFIGURATIONS = 10_000
"""The most configurations of the queried parameters over which the law of the answer is mixed."""

COLUMNS_BY_LAW = (
    "Given all parameters the columns are independent, and the records of a column are independent draws from the "
    "distribution declared for its parameter."
)


@dataclass(frozen=True, eq=False)
class ParameterLaws(ComputedLaws):
    """The laws of an answer given the parameter of a protected column."""

    framework: DistributionalAttributePrivacy
    form: NormalForm
    columns: tuple[str, ...]
    _answers: dict[tuple[int, ...], Atoms] = field(default_factory=dict[tuple[int, ...], Atoms])

    @cached_property
    def network(self) -> DiscreteNetwork:
        """The network of the parameters."""
        return require_discrete(self.framework.network, "the distribution of the answer")

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return len(self.form.rows)

    @property
    def rounding(self) -> float:
        """How far, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(self.form)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold outside the library."""
        laws = self.framework.column_laws
        mixed = [name for name in self.columns if any(isinstance(law, MixedLaw) for law in laws[name])]
        return (COLUMNS_BY_LAW, *numbers_in_bins(self.form.schema, mixed))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The pairs that are no constraint under a model because a secret has probability zero."""
        return tuple(
            f"{name}: {pair} in model {model}, a secret has probability zero"
            for name, pairs in self.framework.secrets.items()
            for model in range(self.network.models)
            for pair in _one_way(of_states(pairs))
            if not all(self._possible(name, side, model) for side in (pair.first, pair.second))
        )

    def _compared(self) -> Iterator[Constraint]:
        for name, pairs in self.framework.secrets.items():
            for model in range(self.network.models):
                laws = self._pairs(name, of_states(pairs), model)
                if isinstance(laws, Refusal) or laws:
                    yield Constraint(protected=name, model=model, record=None, pairs=laws)

    def _pairs(self, name: str, pairs: tuple[SecretPair, ...], model: int) -> tuple[LawPair, ...] | Refusal:
        kind = law_kind(law for column in self.columns for law in self.framework.column_laws[column])
        try:
            return tuple(
                LawPair(pair=str(pair), first=first, second=second, rounding=0.0, kind=kind)
                for pair in _one_way(pairs)
                if (first := self._answer(name, pair.first, model)) is not None
                and (second := self._answer(name, pair.second, model)) is not None
            )
        except BnprivError as error:
            return Refusal.of(error)

    def _possible(self, name: str, side: frozenset[State], model: int) -> bool:
        return bool(np.isfinite(self._joint(name, (), side, model).values).any())

    def _joint(self, name: str, others: tuple[str, ...], side: frozenset[State], model: int) -> LogTable:
        """The table of log P(name, others) under one model, -inf outside one side of the secret."""
        law = joint_law(self.network, (name, *others))
        values = law.values[[min(model, law.values.shape[0] - 1)]]
        outside = [k for k, state in enumerate(self.network.states[name]) if state not in side]
        # states outside the secret get no mass; what is left is normalized when the law is mixed
        values[:, outside] = -math.inf
        return LogTable(axes=law.axes, values=values, error=law.error)

    def _answer(self, name: str, side: frozenset[State], model: int) -> Atoms | None:
        """The law of the answer given that the parameter of `name` is in `side`; None if that is impossible."""
        nodes = drivers(self.network, frozenset(self.columns))
        law = self._joint(name, tuple(sorted(nodes - {name})), side, model)
        # the protected parameter stays in the mixture only if the answer reads what it drives
        law = law if name in nodes else sum_out(law, (name,))
        places = np.argwhere(law.values[0] > -math.inf).tolist()
        if not places:
            return None
        weights = normalized(law.values[0][law.values[0] > -math.inf], law.error)
        return mixture_of(*weights, [self._given(dict(zip(law.axes, index, strict=True))) for index in places])

    def _given(self, states: Mapping[str, int]) -> Atoms:
        """The law of the answer given the states of the queried parameters."""
        # configurations that give every column the same laws have the same law of the answer, computed once
        key = tuple(self.framework.law_place(column, states) for column in self.columns)
        if key not in self._answers:
            cells = {c: self._cells[c].given(k) for c, k in zip(self.columns, key, strict=True)}
            certain = LogTable(axes=self.columns, values=np.zeros((1,) * (1 + len(cells))))
            one, n = record_law(self.form, cells, certain), self.form.schema.records
            refusal = too_large([one], n)
            if refusal is not None:
                raise refusal.error()
            self._answers[key] = released(self.form, summed((one, n)))
        return self._answers[key]

    @cached_property
    def _cells(self) -> Mapping[str, Cells]:
        return {column: law_cells(self.form, column, self.framework.column_laws[column]) for column in self.columns}


def parameter_laws(framework: DistributionalAttributePrivacy, query: Query) -> ParameterLaws | Refusal:
    """The laws of the answer, or why they cannot be computed."""
    form = normal_form(query, framework.schema)
    columns = tuple(sorted(query.columns))
    missing = [name for name in columns if name not in framework.column_laws]
    if missing:
        return Refusal(
            required="the distribution of every queried column must be declared for each state of its parameter",
            found=f"none for {listing(missing)}",
            remedy="Pass laws={column: {state: scipy.stats.norm(165, 8), ...}}, or write [laws.COLUMN.STATE].",
        )
    for name in columns:
        if not summed_exactly(form, name, framework.column_laws[name]):
            return Refusal(
                required=f"the sum of {name!r} needs a grid of at most {MOST_STEPS:,} steps, or probabilities",
                found="a density on a finer grid",
                remedy="Declare it as Real(lower, upper, steps=20), count it instead, or use another mechanism.",
            )
    states = framework.network.states
    size = math.prod(len(states[name]) for name in drivers(framework.network, query.columns))
    if size > MOST_CONFIGURATIONS:
        return Refusal(
            required=f"the queried parameters may have at most {MOST_CONFIGURATIONS:,} configurations",
            found=f"{size:,}",
            remedy="Query fewer columns at once.",
        )
    evidence = ParameterLaws(framework, form, columns)
    if not evidence.constraints():
        return Refusal(
            required="some pair of secrets must have positive probability",
            found="none in any model",
            remedy="Correct the table of the protected attribute, or choose other secrets.",
        )
    return evidence


def _one_way(pairs: tuple[SecretPair, ...]) -> list[SecretPair]:
    """Each pair in one direction only: distances and curves look both ways."""
    kept: dict[frozenset[frozenset[State]], SecretPair] = {}
    for pair in pairs:
        kept.setdefault(frozenset({pair.first, pair.second}), pair)
    return list(kept.values())


# --------------------------------------------------------------------------------------------------
# Of a framework, asked of its notion and its network's kind.
# --------------------------------------------------------------------------------------------------


CUSTOM = Refusal(
    required="the distribution of the answer follows from the query",
    found="a custom query",
    remedy="Use a built-in query, or ColumnMechanism.",
)
MOST_ANSWER_NUMBERS = 128
"""The most outputs of an answer whose law is computed: each is tabulated over all values of a record."""

NO_QUERY = Refusal(required="a query is needed", found="none", remedy="Pass the query to be released.")


NO_LAWS = Refusal(
    required="the distribution of the answer needs exact tables",
    found="an interval for every probability",
    remedy="Use MarkovQuiltMechanism or ColumnMechanism, or declare the models one by one.",
)


def laws(framework: Any, query: Query | None) -> Laws | Refusal:
    """The laws of a query's answer under the secrets of a framework, or why they cannot be computed.

    The framework keeps those of the last query, which several mechanisms ask for one after the other.

    Parameters
    ----------
    framework : Framework
    query : Query or None
        None for the framework's own.

    Returns
    -------
    Laws or Refusal
    """
    notion = notion_of(framework)
    if isinstance(query, Weighted):
        found = laws(framework, query.asked)
        if isinstance(found, Refusal):
            return found
        # closed forms are as fast for the weighted query, and give closer bounds on what grids move
        return notion.laws(framework, query) if found.closed_form else WeightedLaws(found, query.weights)
    kept: dict[str, tuple[Query | None, Laws | Refusal]] = framework.kept.table("laws")
    if "last" not in kept or kept["last"][0] is not query:
        kept["last"] = query, notion.laws(framework, query)
    return kept["last"][1]


def no_laws(secrets: str) -> Refusal:
    """The refusal of laws for a notion whose secrets determine none."""
    return Refusal(
        required="the mechanism compares distributions of the answer, under properties of a table or of its columns",
        found=secrets,
        remedy="Use MarkovQuiltMechanism, or MarkovChainMechanism for the steps of a chain.",
    )


def laws_of_property(framework: DatasetAttributePrivacy, query: Query | None) -> Laws | Refusal:
    """The laws of an answer given the values of a property of the table."""
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    if framework.forward is not None:
        return too_many_numbers(query, framework.schema) or service("laws.given_property")(framework, query)
    return kind_of(framework.network).laws_of_records(framework, query)


def from_record_tables(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws that follow from the tables of a network of records."""
    return too_many_numbers(query, framework.schema) or dataset_laws(framework, query)


def laws_of_parameters(framework: DistributionalAttributePrivacy, query: Query | None) -> Laws | Refusal:
    """The laws of an answer given the parameters of protected columns."""
    if framework.by_intervals:
        return NO_LAWS
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    return kind_of(framework.network).laws_of_parameters(framework, query)


def laws_without_tables(framework: DistributionalAttributePrivacy, query: Query) -> Refusal:
    """The refusal of laws for a network of parameters without tables."""
    return too_many_numbers(query, framework.schema) or Refusal.of(
        no_tables(framework.network, "the distribution of an answer")
    )


def laws_of_tables(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws from tables of parameters; learned from draws where tables do not hold the columns."""
    found = too_many_numbers(query, framework.schema) or parameter_laws(framework, query)
    network = cast(DiscreteNetwork, framework.network)
    if isinstance(found, Refusal) and network.forward is not None and query.columns.issubset(network.reading.columns):
        return service("laws.of_tables_drawn")(framework, network.forward, query)
    return found


def too_many_numbers(query: Query, schema: Schema | None) -> Refusal | None:
    """Why the law of an answer of so many numbers is not computed; None if it is."""
    numbers = 0 if schema is None else query.dimension(schema)
    if numbers <= MOST_ANSWER_NUMBERS:
        return None
    return Refusal(
        required=f"the distribution of an answer is worked out for at most {MOST_ANSWER_NUMBERS} numbers",
        found=f"{numbers:,}",
        remedy="Use MarkovQuiltMechanism or ColumnMechanism, or ask for fewer numbers at once.",
    )
