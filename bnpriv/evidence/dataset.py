"""Law evidence of dataset attribute privacy: what one record adds, given that it counts for the secret or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np

from bnpriv.bound import Kind
from bnpriv.checks import listing
from bnpriv.errors import BnprivError, LawError, Refusal, SecretError, SizeError
from bnpriv.evidence.columns import numbers_in_bins
from bnpriv.evidence.constraints import Constraint, LawPair
from bnpriv.evidence.counts import MOST_EXACT_PAIRS, CountPairs, Counts, impossible, meant, reach, require_disjoint
from bnpriv.evidence.pace import SHORTER, watched
from bnpriv.evidence.records import MOST_STEPS, node_cells, record_law, summed_exactly
from bnpriv.evidence.sums import mixture_of, normalized, record_pair, released, rounding_of, too_large, too_slow
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.influence.elimination import joint_law
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.binomial import binomial_logs
from bnpriv.laws.whole import WholeLaw, summed
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import require_discrete
from bnpriv.networks.factors import LogTable
from bnpriv.queries.asked import stack
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import NormalForm, Wholes, normal_form
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import SecretPairs, side_text
from bnpriv.secrets.values import Interval, IntervalPairs
from bnpriv.tables.column_laws import ColumnLaw, law_kind
from bnpriv.tables.schema import Schema, State

RECORDS_FROM_MODEL = "The records are independent draws from the declared model."


@final
@dataclass(frozen=True, eq=False)
class DatasetLaws:
    """The laws of an answer given a count, proportion, total or mean of a protected column."""

    framework: DatasetAttributePrivacy
    query: Query

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return self.query.dimension(self.framework.schema)

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(normal_form(self.query, self.framework.schema))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold outside the library."""
        read = {
            *self.query.columns,
            *(name for each in self.framework.protect.values() for name in each.property.columns),
        }
        return (RECORDS_FROM_MODEL, *numbers_in_bins(self.framework.schema, read.difference(self.framework.laws or ())))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the secrets that are no constraint under a model, because no two values to be hidden are possible."""
        names = [
            f"{name} in model {model}: no two values to be hidden are possible"
            for name in self.framework.protect
            for model in range(self.framework.network.models)
            if not any(c.protected == name and c.model == model for c in self.constraints())
        ]
        return tuple(names)

    @property
    def closed_form(self) -> bool:
        """The laws are worked out value by value."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per protected attribute and model."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        protect = self.framework.protect.items()
        return tuple(each for name, secret in protect for each in self._of(name, secret))

    def _of(self, name: str, secret: Secret) -> list[Constraint]:
        """Return the constraints of one secret; what no model allows is a mistake, not a pair to be dropped."""
        found: list[Constraint] = []
        refused: list[SecretError] = []
        for model in watched(
            range(self.framework.network.models), "the laws of the answer under {}", "more model", SHORTER
        ):
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
    """Return whether a pair of values of a secret is possible, as far as the law of one record tells.

    Raises
    ------
    BnprivError
        If that law is not known.
    """
    network = require_discrete(framework.network, framework.notion)
    one = network_record_law(network, framework.schema, secret.property, framework.column_laws, model)
    values = np.unique(one.columns[0])
    if len(values) != 2:
        return len(values) > 1
    scale = normal_form(secret.property, framework.schema).wholes()[0]
    try:
        Counts.of(scale, framework.schema.records, *map(int, values)).pairs(secret)
    except SecretError:
        return False
    return True


def dataset_laws(framework: DatasetAttributePrivacy, query: Query) -> DatasetLaws | Refusal:
    """Return the laws, or why they cannot be computed."""
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
    """Return what one secret asks under one model; None when it has one possible value."""
    network = require_discrete(framework.network, framework.notion)
    laws = framework.column_laws
    both = network_record_law(network, framework.schema, stack(secret.property, query), laws, model)
    task = _Task(
        name=name,
        secret=secret,
        model=model,
        models=network.models,
        both=both,
        form=normal_form(query, framework.schema),
        scale=normal_form(secret.property, framework.schema).wholes()[0],
        kind=law_kind(
            law for read in {*secret.property.columns, *query.columns} for law in framework.column_laws.get(read, ())
        ),
    )
    values = len(np.unique(both.columns[0]))
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
        """Return the value of the property for a sum over the records."""
        return Fraction(numerator + self.scale.shift, self.scale.denominator)


def network_record_law(
    network: DiscreteNetwork,
    schema: Schema,
    query: Query,
    laws: Mapping[str, Sequence[ColumnLaw]] | None = None,
    model: int = 0,
) -> WholeLaw:
    """Return the law of what one record of a network adds to the numerators of the answer of `query`."""
    form = normal_form(query, schema)
    names = sorted(query.columns)
    cells = node_cells(form, names, network.states, laws)
    states = joint_law(network, names)
    values = states.values[[min(model, states.values.shape[0] - 1)]]
    return record_law(form, cells, LogTable(axes=states.axes, values=values, error=states.error))


def _of_count(task: _Task) -> Constraint:
    """A secret that is a number of records: the two laws of one record, and how many records may change."""
    low, high = (int(value) for value in np.unique(task.both.columns[0]))
    counts = Counts.of(task.scale, task.records, low, high)
    pairs = counts.pairs(task.secret)
    distances, label = counts.apart(task.secret, pairs)
    sides = _given(task.both, high), _given(task.both, low)
    return Constraint(
        protected=task.name,
        model=task.model,
        record=record_pair(task.form, label, sides, distances, task.kind),
        pairs=_exact_pairs(task, counts, pairs, *sides),
        served=None if pairs is None else frozenset(pairs),
    )


def _given(both: WholeLaw, value: int) -> WholeLaw:
    """Return the law of what a record adds to the answer given what it adds to the property."""
    return both.given([value])


def _exact_pairs(
    task: _Task, counts: Counts, pairs: CountPairs | None, first: WholeLaw, second: WholeLaw
) -> Sequence[LawPair] | Refusal:
    """Return the exact laws of the answer given the two secrets of every pair, where that is cheap."""
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
    known: dict[int, Atoms] = {}

    def given(members: frozenset[int]) -> Atoms:
        for s in members:
            if s not in known:
                known[s] = released(task.form, summed((first, s), (second, counts.n - s)))
        chosen = sorted(members)
        return mixture_of(*normalized(logs[chosen], error), [known[s] for s in chosen])

    try:
        return tuple(
            LawPair(
                pair=f"{counts.text(a)} against {counts.text(b)}",
                first=given(a),
                second=given(b),
                rounding=0.0,
                kind=task.kind,
            )
            for a, b in listed
        )
    except BnprivError as error_found:
        return Refusal.of(error_found)


def _of_sum(task: _Task) -> Constraint:
    """A secret that is a sum of several values: the joint law of secret and answer, cut at every value."""
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
    """Return the pairs of sets of possible values that are compared, the chosen ones by their place."""
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
    """Return the laws of the answer given the two sides of every pair."""
    if len(chosen) > MOST_EXACT_PAIRS:
        return Refusal(
            required=f"at most {MOST_EXACT_PAIRS:,} pairs of secrets are compared",
            found=f"{len(chosen):,}",
            remedy="Choose pairs with bnpriv.pairs or bnpriv.apart.",
        )
    known = {side: released(task.form, _given_any(total, side)) for pair in chosen for side in pair}
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


def _given_any(total: WholeLaw, side: PropertyValues) -> WholeLaw:
    """Return the law of the answer given that the property has one of several values."""
    return total.given(side)
