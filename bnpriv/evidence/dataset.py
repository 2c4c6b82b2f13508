"""Law evidence of dataset attribute privacy: what one record adds, given that it counts for the secret or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np

from bnpriv.checks import listing
from bnpriv.column_laws import ColumnLaw
from bnpriv.errors import BnprivError, Refusal, SecretError, SizeError
from bnpriv.evidence.constraints import Constraint, LawPair, RecordPair
from bnpriv.evidence.records import MOST_STEPS, cuts_of, law_cells, record_law, state_cells, summed_exactly
from bnpriv.evidence.sums import canonical, denominators, mixture_of, rounding_of, sum_law, too_large
from bnpriv.factors import FloatArray
from bnpriv.frameworks import DatasetAttributePrivacy
from bnpriv.inference import joint_law
from bnpriv.laws import Atoms, n_fold
from bnpriv.networks import DiscreteNetwork, State
from bnpriv.properties import Apart, Secret
from bnpriv.queries.base import Query
from bnpriv.queries.constructors import stack
from bnpriv.queries.normal_form import normal_form
from bnpriv.schema import Schema
from bnpriv.secrets import SecretPairs, side_text

MOST_PAIRS = 2000
"""Pairs of secrets whose exact laws are compared; more of them are served by the per-record rule."""

INDEPENDENT_RECORDS = "The records are independent draws from the declared model."


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
        return (INDEPENDENT_RECORDS,)

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
        for model in range(self.framework.network.models):
            try:
                each = constraint(self.framework, self.query, name, secret, model)
            except SecretError as error:
                refused.append(error)
            else:
                found += [] if each is None else [each]
        if refused and not found:
            raise refused[0]
        if found and isinstance(secret.pairs, SecretPairs) and all(each.served is not None for each in found):
            never = set(range(len(secret.pairs.chosen))).difference(*(each.served or frozenset() for each in found))
            if never:
                raise impossible(str(secret.pairs.chosen[min(never)]))
        return found


def impossible(value: str) -> SecretError:
    """Return the refusal of a value that the property cannot take."""
    return SecretError(
        "a value of the secret must be possible under some model",
        found=value,
        remedy="Name values that the property can take, for example whole counts.",
    )


def can_vary(framework: DatasetAttributePrivacy, secret: Secret, model: int) -> bool:
    """Return whether a pair of values of a secret is possible, as far as the law of one record tells.

    Raises
    ------
    BnprivError
        If that law is not known.
    """
    values = np.unique(record_law_of(framework, secret.property, model).points[:, 0])
    if values.size != 2:
        return values.size > 1
    n, (low, high) = framework.schema.records, values.tolist()
    counts = _Counts(n=n, low=n * low + _shift(framework, secret), unit=high - low)
    try:
        counts.pairs(secret)
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
    if not evidence.constraints():
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
    both = record_law_of(framework, stack(secret.property, query), model)
    units = denominators(normal_form(query, framework.schema))
    values = np.unique(both.points[:, 0])
    if values.size == 1:
        return None
    if values.size == 2:
        return _of_count(framework, name, secret, model, both, units)
    return _of_sum(framework, name, secret, model, both, units)


def record_law_of(framework: DatasetAttributePrivacy, query: Query, model: int) -> Atoms:
    """Return the law of what one record adds to the answer of `query`."""
    return network_record_law(framework.network, framework.schema, query, framework.column_laws, model)


def network_record_law(
    network: DiscreteNetwork,
    schema: Schema,
    query: Query,
    laws: Mapping[str, Sequence[ColumnLaw]] | None = None,
    model: int = 0,
) -> Atoms:
    """Return the law of what one record of a network adds to the answer of `query`."""
    form = normal_form(query, schema)
    names = sorted(query.columns)
    declared = laws or {}
    cells = {
        name: law_cells(declared[name], cuts_of(form, name))
        if name in declared
        else state_cells(name, schema[name], network.states[name])
        for name in names
    }
    return record_law(form, cells, _states(network, names, model))


def _states(network: DiscreteNetwork, names: Sequence[str], model: int) -> FloatArray:
    law = joint_law(network, names)
    return np.exp(law.values[min(model, law.values.shape[0] - 1)])


def _given(both: Atoms, value: float) -> Atoms:
    """Return the law of the other coordinates given that the first is `value`."""
    kept = both.points[:, 0] == value
    logs = both.logs[kept]
    total = float(np.logaddexp.reduce(logs))
    return Atoms.from_logs(both.points[kept, 1:], logs - total, 2 * both.error)


def _of_count(
    framework: DatasetAttributePrivacy, name: str, secret: Secret, model: int, both: Atoms, units: FloatArray
) -> Constraint:
    """A secret that is a number of records: the two laws of one record, and how many records may change."""
    low, high = np.unique(both.points[:, 0]).tolist()
    n = framework.schema.records
    counts = _Counts(n=n, low=n * low + _shift(framework, secret), unit=high - low)
    pairs = counts.pairs(secret)
    distance, label = counts.furthest(secret, pairs)
    served = None if pairs is None else frozenset(pairs)
    first, second = _given(both, high), _given(both, low)
    record = RecordPair(pair=label, first=first, second=second, distance=distance)
    return Constraint(
        protected=name,
        model=model,
        record=record,
        pairs=_exact_pairs(counts, secret, pairs, first, second, both, units),
        served=served,
    )


CountPairs = dict[int, tuple[frozenset[int], frozenset[int]]]
"""Pairs of sets of counts, by the place of the pair among the chosen ones."""


def number_of(value: State) -> float:
    """Return a value of a property, which must be a number."""
    if isinstance(value, (str, bool)):
        raise SecretError("values of a property are numbers", found=repr(value), remedy="Give numbers.")
    return float(value)


@final
@dataclass(frozen=True, kw_only=True)
class _Counts:
    """A property that grows by `unit` with every record that counts, from `low` for none of the `n`."""

    n: int
    low: float
    unit: float

    def possible(self, side: frozenset[State]) -> frozenset[int]:
        """Return how many records count for each value of a secret that the property can take."""
        counts = [(number_of(value) - self.low) / self.unit for value in side]
        return frozenset(round(c) for c in counts if abs(c - round(c)) <= 1e-6 and 0 <= round(c) <= self.n)

    def pairs(self, secret: Secret) -> CountPairs | None:
        """Return the chosen pairs that are possible as sets of counts; None where a distance describes them."""
        if secret.pairs is None or isinstance(secret.pairs, Apart):
            return None
        sides = {k: (self.possible(p.first), self.possible(p.second)) for k, p in enumerate(secret.pairs.chosen)}
        served = {k: both for k, both in sides.items() if all(both)}
        if not served:
            raise impossible(str(secret.pairs.chosen[0]))
        return served

    def furthest(self, secret: Secret, pairs: CountPairs | None) -> tuple[int, str]:
        """Return the largest number of records between two secrets of a pair, with the pair in words."""
        if isinstance(secret.pairs, Apart):
            steps = min(self.n, math.floor(secret.pairs.at_most / self.unit * (1 + 1e-12)))
            if steps < 1:
                raise SecretError(
                    f"two values of the secret are at least {self.unit:g} apart",
                    found=f"at_most {secret.pairs.at_most:g}",
                    remedy="Choose a larger distance.",
                )
            return steps, f"values {steps * self.unit:g} apart"
        if pairs is None or secret.pairs is None:
            return self.n, f"values up to {self.n * self.unit:g} apart"
        gaps = {k: max(abs(a - b) for a in first for b in second) for k, (first, second) in pairs.items()}
        worst = max(gaps, key=gaps.__getitem__)
        chosen = secret.pairs.chosen[worst]
        return gaps[worst], f"{side_text(chosen.first)} against {side_text(chosen.second)}"

    def listed(self, secret: Secret, pairs: CountPairs | None) -> list[tuple[frozenset[int], frozenset[int]]] | int:
        """Return all pairs, one direction each, or their number if there are too many."""
        if pairs is not None:
            return list(pairs.values()) if len(pairs) <= MOST_PAIRS else len(pairs)
        steps, _ = self.furthest(secret, pairs)
        number = sum(self.n + 1 - k for k in range(1, steps + 1)) if steps <= MOST_PAIRS else self.n * steps
        if number > MOST_PAIRS:
            return number
        return [(frozenset({s}), frozenset({s + k})) for k in range(1, steps + 1) for s in range(self.n + 1 - k)]


def _exact_pairs(
    counts: _Counts,
    secret: Secret,
    pairs: CountPairs | None,
    first: Atoms,
    second: Atoms,
    both: Atoms,
    units: FloatArray,
) -> Sequence[LawPair] | Refusal:
    """Return the exact laws of the answer given the two secrets of every pair, where that is cheap."""
    listed = counts.listed(secret, pairs)
    if isinstance(listed, int):
        return Refusal(
            required=f"exact laws are compared for at most {MOST_PAIRS:,} pairs of secrets",
            found=f"{listed:,}",
            remedy="Use Laplace noise, which needs the laws of one record only, or choose fewer pairs.",
        )
    needed = {s for sides in listed for side in sides for s in side}
    refusal = too_large(_answers(first, second), counts.n, len(needed))
    if refusal is not None or first.dimension > 1:
        return refusal or Refusal(
            required="exact laws of the answer are compared for one number",
            found=f"{first.dimension} numbers",
            remedy="Use Laplace noise, which needs the laws of one record only.",
        )
    logs = Atoms.binomial(counts.n, float(np.exp(both.logs[both.points[:, 0] == both.points[:, 0].max()]).sum())).logs
    known: dict[int, Atoms] = {}

    def given(members: frozenset[int]) -> Atoms:
        for s in members:
            if s not in known:
                known[s] = canonical(sum_law(first, s, second, counts.n - s), units)
        chosen = sorted(members)
        weights = np.exp(logs[chosen] - np.logaddexp.reduce(logs[chosen]))
        return mixture_of(weights, [known[s] for s in chosen])

    try:
        return tuple(
            LawPair(pair=f"{_text(a, counts)} against {_text(b, counts)}", first=given(a), second=given(b))
            for a, b in listed
        )
    except BnprivError as error:
        return Refusal.of(error)


def _answers(first: Atoms, second: Atoms) -> Atoms:
    """Return a law on all that a record can add to the answer: only its support is used."""
    points = np.unique(np.concatenate([first.points, second.points]), axis=0)
    return Atoms(points, np.full(len(points), 1 / len(points)))


def _text(members: frozenset[int], counts: _Counts) -> str:
    return side_text(frozenset(f"{counts.low + counts.unit * s:g}" for s in members))


def _of_sum(
    framework: DatasetAttributePrivacy, name: str, secret: Secret, model: int, both: Atoms, units: FloatArray
) -> Constraint:
    """A secret that is a sum of several values: the joint law of secret and answer, cut at every value."""
    n = framework.schema.records
    refusal = too_large(both, n)
    if refusal is not None:
        return Constraint(protected=name, model=model, record=None, pairs=refusal)
    try:
        total, shift = n_fold(both, n), _shift(framework, secret)
    except SizeError as error:
        return Constraint(protected=name, model=model, record=None, pairs=Refusal.of(error))
    chosen = _chosen(np.unique(total.points[:, 0]), secret, shift)
    served = frozenset(chosen) if isinstance(secret.pairs, SecretPairs) else None
    pairs = _cut(total, list(chosen.values()), shift, units)
    return Constraint(protected=name, model=model, record=None, pairs=pairs, served=served)


def _shift(framework: DatasetAttributePrivacy, secret: Secret) -> float:
    """Return the value of a property for a table of lower bounds; what records add is counted from there."""
    return float(normal_form(secret.property, framework.schema).offset[0])


def _chosen(values: FloatArray, secret: Secret, shift: float) -> dict[int, tuple[frozenset[float], frozenset[float]]]:
    """Return the pairs of sets of possible values that are compared, the chosen ones by their place."""
    listed: list[tuple[frozenset[float], frozenset[float]]]
    if isinstance(secret.pairs, SecretPairs):
        listed = [(_near(pair.first, values, shift), _near(pair.second, values, shift)) for pair in secret.pairs.chosen]
    else:
        most = secret.pairs.at_most * (1 + 1e-12) if isinstance(secret.pairs, Apart) else math.inf
        both = combinations(values.tolist(), 2)
        listed = [(frozenset({a}), frozenset({b})) for a, b in both if b - a <= most]
    found = {k: sides for k, sides in enumerate(listed) if all(sides)}
    if not found:
        raise impossible(str(secret))
    return found


def _cut(
    total: Atoms, chosen: Sequence[tuple[frozenset[float], frozenset[float]]], shift: float, units: FloatArray
) -> Sequence[LawPair] | Refusal:
    """Return the laws of the answer given the two sides of every pair."""
    if len(chosen) > MOST_PAIRS:
        return Refusal(
            required=f"at most {MOST_PAIRS:,} pairs of secrets are compared",
            found=f"{len(chosen):,}",
            remedy="Choose pairs with bnpriv.pairs or bnpriv.apart.",
        )
    known: Mapping[frozenset[float], Atoms] = {
        side: canonical(_given_any(total, side), units) for pair in chosen for side in pair
    }
    return tuple(
        LawPair(
            pair=" against ".join(side_text(frozenset(f"{v + shift:g}" for v in side)) for side in (a, b)),
            first=known[a],
            second=known[b],
        )
        for a, b in chosen
    )


def _near(side: frozenset[State], values: FloatArray, shift: float) -> frozenset[float]:
    """Return the values of a secret that are possible, as the doubles that the law has."""
    numbers = [number_of(value) - shift for value in side]
    nearest = [(number, float(values[np.argmin(np.abs(values - number))])) for number in numbers]
    return frozenset(value for number, value in nearest if abs(value - number) <= 1e-9 * max(1.0, abs(number)))


def _given_any(total: Atoms, side: frozenset[float]) -> Atoms:
    kept = np.isin(total.points[:, 0], sorted(side))
    logs = total.logs[kept]
    return Atoms.from_logs(total.points[kept, 1:], logs - np.logaddexp.reduce(logs), 2 * total.error)
