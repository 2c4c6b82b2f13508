"""Law evidence of dataset attribute privacy: what a record adds, given that it counts for the secret."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from typing import final

import numpy as np

from bnpriv.bound import Kind
from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, law_kind
from bnpriv.core.columns import State
from bnpriv.core.distributions import Atoms, binomial_logs
from bnpriv.core.evidence.constraints import Constraint, LawPair
from bnpriv.core.evidence.records import (
    MOST_STEPS,
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
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.influence.ratios import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.networks.model_class import require_discrete
from bnpriv.core.progress import SHORTER, watched
from bnpriv.core.queries.asked import stack
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.normal_form import NormalForm, Wholes, normal_form
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
    side_text,
)
from bnpriv.core.whole_numbers import WholeLaw, summed
from bnpriv.errors import BnprivError, LawError, Refusal, RefusedError, SecretError, SizeError
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


@final
@dataclass(frozen=True, kw_only=True)
class Counts:
    """A property that is `low` plus `unit` for every one of `n` records that counts."""

    n: int
    low: Fraction
    unit: Fraction

    @classmethod
    def of(cls, scale: Wholes, n: int, low: int, high: int) -> Counts:
        """The property whose numerator one record raises by `low` or, if it counts, by `high`."""
        return cls(
            n=n,
            low=Fraction(n * low + scale.shift, scale.denominator),
            unit=Fraction(high - low, scale.denominator),
        )

    def possible(self, side: frozenset[State] | Interval) -> frozenset[int]:
        """The numbers of counting records for each value of a secret that the property can take."""
        if isinstance(side, Interval):
            first, last = ((Fraction(end) - self.low) / self.unit for end in (side.low, side.high))
            around = range(max(0, math.floor(first) - 1), min(self.n, math.ceil(last) + 1) + 1)
            inside = {self.low + k * self.unit: k for k in around}
            return frozenset(inside[value] for value in meant(side, inside))
        found: set[int] = set()
        for number in map(number_of, side):
            # all counts whose value rounds to this number are within one unit in its last place
            ends = (Fraction(number) + sign * Fraction(math.ulp(number)) for sign in (-1, 1))
            first, last = ((end - self.low) / self.unit for end in ends)
            around = range(max(0, math.floor(first)), min(self.n, math.ceil(last)) + 1)
            counts = {self.low + k * self.unit: k for k in around}
            found.update(counts[value] for value in (meant([number], counts) if counts else ()))
        return frozenset(found)

    def pairs(self, secret: Secret) -> CountPairs | None:
        """The chosen pairs that are possible, as sets of counts; None where a distance describes them."""
        if secret.pairs is None or isinstance(secret.pairs, Apart):
            return None
        sides = {k: (self.possible(p.first), self.possible(p.second)) for k, p in enumerate(secret.pairs.chosen)}
        for k, both in sides.items():
            require_disjoint(secret.pairs.chosen[k], *both)
        served = {k: both for k, both in sides.items() if all(both)}
        if not served:
            raise impossible(str(secret.pairs.chosen[0]))
        return served

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
        return side_text(frozenset(f"{float(self.low + self.unit * s):g}" for s in members))


def _gaps(first: frozenset[int], second: frozenset[int]) -> set[int]:
    """The distances between counts of two sets; for very many counts, all up to the largest distance."""
    if len(first) * len(second) > MOST_GAPS:
        return set(range(1, max(max(first) - min(second), max(second) - min(first)) + 1))
    return {max(1, abs(a - b)) for a in first for b in second}


# --------------------------------------------------------------------------------------------------
# The laws of an answer, from the laws of a record that counts for the secret and of one that does not.
# --------------------------------------------------------------------------------------------------

RECORDS_FROM_MODEL = "The records are independent draws from the declared model."


@final
@dataclass(frozen=True, eq=False)
class DatasetLaws:
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

    @property
    def closed_form(self) -> bool:
        """False: the laws are computed value by value."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """One constraint per protected attribute and model."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        protect = self.framework.protect.items()
        return tuple(each for name, secret in protect for each in self._of(name, secret))

    def _of(self, name: str, secret: Secret) -> list[Constraint]:
        """The constraints of one secret; what no model allows is a mistake, not a pair to be dropped."""
        found: list[Constraint] = []
        refused: list[SecretError] = []
        for model in watched(range(self.framework.models), "the laws of the answer under {}", "more model", SHORTER):
            try:
                each = constraint(self.framework, self.query, name, secret, model)
            except SecretError as error:
                refused.append(error)
            else:
                found += [] if each is None else [each]
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
    one = law_of_one_record(framework, secret.property, model)
    values = np.unique(one.columns[0])
    if len(values) != 2:
        return len(values) > 1
    scale = normal_form(secret.property, framework.schema).wholes()[0]
    try:
        Counts.of(scale, framework.schema.records, *map(int, values)).pairs(secret)
    except SecretError:
        return False
    return True


def unknown_law(framework: DatasetAttributePrivacy, query: Query) -> Refusal | None:
    """Why the law of what one record adds to an answer is not known; None if it is."""
    missing = query.columns.difference(framework.network.attributes)
    if missing:
        return Refusal(
            required="every queried column must be a node of the record network",
            found=listing(sorted(missing)),
            remedy="Add it to the network.",
        )
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


def constraint(
    framework: DatasetAttributePrivacy, query: Query, name: str, secret: Secret, model: int
) -> Constraint | None:
    """What one secret requires under one model; None if it has a single possible value."""
    task = _Task(
        name=name,
        secret=secret,
        model=model,
        models=framework.models,
        both=law_of_one_record(framework, stack(secret.property, query), model),
        form=normal_form(query, framework.schema),
        scale=normal_form(secret.property, framework.schema).wholes()[0],
        kind=law_kind(
            law for read in {*secret.property.columns, *query.columns} for law in framework.column_laws.get(read, ())
        ),
    )
    values = len(np.unique(task.both.columns[0]))
    # two values: a number of records, for which one record's laws suffice; more need the joint law with the answer
    return None if values == 1 else _of_count(task) if values == 2 else _of_sum(task)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """One secret under one model.

    Parameters
    ----------
    name : str
        The protected column.
    secret : Secret
    model : int
    models : int
        How many models there are, each of which is worked out.
    both : WholeLaw
        What one record adds to the numerator of the property, and to those of the answer.
    form : NormalForm
        The query.
    scale : Wholes
        The property in whole numbers.
    kind : {"exact", "certified", "estimate"}
        How well the probabilities are known.
    """

    name: str
    secret: Secret
    model: int
    models: int
    both: WholeLaw
    form: NormalForm
    scale: Wholes
    kind: Kind

    @property
    def records(self) -> int:
        return self.form.schema.records

    def value(self, numerator: int) -> Fraction:
        """The value of the property for a sum of numerators over the records."""
        return Fraction(numerator + self.scale.shift, self.scale.denominator)


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


def _of_count(task: _Task) -> Constraint:
    """A secret that is a number of records: the two laws of one record, and how many records may change."""
    low, high = (int(value) for value in np.unique(task.both.columns[0]))
    counts = Counts.of(task.scale, task.records, low, high)
    pairs = counts.pairs(task.secret)
    distances, label = counts.apart(task.secret, pairs)
    sides = task.both.given([high]), task.both.given([low])
    return Constraint(
        protected=task.name,
        model=task.model,
        record=record_pair(task.form, label, sides, distances, task.kind),
        pairs=_exact_pairs(task, counts, pairs, *sides),
        served=None if pairs is None else frozenset(pairs),
    )


def _exact_pairs(
    task: _Task, counts: Counts, pairs: CountPairs | None, first: WholeLaw, second: WholeLaw
) -> Sequence[LawPair] | Refusal:
    """The exact laws of the answer given the two secrets of every pair, where that is cheap."""
    listed = counts.listed(task.secret, pairs)
    if isinstance(listed, int):
        return Refusal(
            required=f"exact laws are compared for at most {MOST_EXACT_PAIRS:,} pairs of secrets",
            found=f"{listed:,}",
            remedy="Use TightMechanism, which needs the laws of one record only, or protect chosen pairs of secrets.",
        )
    needed = {s for sides in listed for side in sides for s in side}
    refusal = too_large([first, second], counts.n, len(needed))
    refusal = refusal or too_slow([first, second], counts.n, len(needed), len(listed), task.models)
    if refusal is not None or first.dimension > 1:
        return refusal or Refusal(
            required="exact laws of the answer are compared for one number",
            found=f"{first.dimension} numbers",
            remedy="Use Laplace noise, which needs the laws of one record only.",
        )
    low, high = (task.both.log_mass([value]) for value in np.unique(task.both.columns[0]))
    logs, error = binomial_logs(counts.n, high, low)
    error += 2 * counts.n * task.both.error
    at_once = service("laws.by_count")(task.form, first, second) if len(needed) >= FEWEST_AT_ONCE else None

    @cache
    def known(s: int) -> Atoms:
        # given s records that count, the table is s draws of the one law and n - s of the other
        return at_once[s] if at_once else released(task.form, summed((first, s), (second, counts.n - s)))

    @cache
    def given(members: frozenset[int]) -> tuple[str, Atoms]:
        chosen = sorted(members)
        laws = [known(s) for s in chosen]
        return counts.text(members), laws[0] if len(laws) == 1 else mixture_of(*normalized(logs[chosen], error), laws)

    try:
        sides = ((given(a), given(b)) for a, b in listed)
        return tuple(
            LawPair(pair=f"{a} against {b}", first=f, second=g, rounding=0.0, kind=task.kind)
            for (a, f), (b, g) in sides
        )
    except BnprivError as error_found:
        return Refusal.of(error_found)


def _of_sum(task: _Task) -> Constraint:
    """A secret that is a sum of several values: the joint law of secret and answer, conditioned on each value."""
    refusal = too_large([task.both], task.records)
    if refusal is not None:
        return Constraint(protected=task.name, model=task.model, record=None, pairs=refusal)
    try:
        total = summed((task.both, task.records))
    except SizeError as error:
        return Constraint(protected=task.name, model=task.model, record=None, pairs=Refusal.of(error))
    secret = task.secret
    chosen = _chosen(task, [int(value) for value in np.unique(total.columns[0])])
    served = None if secret.pairs is None or isinstance(secret.pairs, Apart) else frozenset(chosen)
    pairs = _cut(task, total, list(chosen.values()))
    return Constraint(protected=task.name, model=task.model, record=None, pairs=pairs, served=served)


PropertyValues = frozenset[int]
"""Values of a property, by their numerators."""


def _chosen(task: _Task, numerators: Sequence[int]) -> dict[int, tuple[PropertyValues, PropertyValues]]:
    """The pairs of sets of possible values that are compared, chosen ones by their index."""
    listed: list[tuple[PropertyValues, PropertyValues]]
    secret = task.secret
    if isinstance(secret.pairs, (SecretPairs, IntervalPairs)):
        values = {task.value(numerator): numerator for numerator in numerators}

        def side(states: frozenset[State] | Interval) -> PropertyValues:
            return frozenset(values[value] for value in meant(states, values))

        listed = [(side(pair.first), side(pair.second)) for pair in secret.pairs.chosen]
        for pair, both in zip(secret.pairs.chosen, listed, strict=True):
            require_disjoint(pair, *both)
    else:
        most = reach(secret.pairs.at_most) * task.scale.denominator if isinstance(secret.pairs, Apart) else None
        both = combinations(numerators, 2)
        listed = [(frozenset({a}), frozenset({b})) for a, b in both if most is None or b - a <= most]
    found = {k: sides for k, sides in enumerate(listed) if all(sides)}
    if not found:
        raise impossible(str(secret))
    return found


def _cut(
    task: _Task, total: WholeLaw, chosen: Sequence[tuple[PropertyValues, PropertyValues]]
) -> Sequence[LawPair] | Refusal:
    """The laws of the answer given the two sides of every pair."""
    if len(chosen) > MOST_EXACT_PAIRS:
        return Refusal(
            required=f"at most {MOST_EXACT_PAIRS:,} pairs of secrets are compared",
            found=f"{len(chosen):,}",
            remedy="Choose pairs with bnpriv.pairs or bnpriv.apart.",
        )
    known = {side: released(task.form, total.given(side)) for pair in chosen for side in pair}
    return tuple(
        LawPair(
            pair=" against ".join(side_text(frozenset(f"{float(task.value(v)):g}" for v in side)) for side in (a, b)),
            first=known[a],
            second=known[b],
            rounding=0.0,
            kind=task.kind,
        )
        for a, b in chosen
    )
