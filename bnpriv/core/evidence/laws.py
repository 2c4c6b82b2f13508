"""The laws of an answer under the secrets of a framework, asked of its notion and its network's kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from bnpriv.checks import listing
from bnpriv.core.column_laws import MixedLaw, law_kind
from bnpriv.core.columns import State
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, LawPair, Laws, WeightedLaws
from bnpriv.core.evidence.dataset import dataset_laws
from bnpriv.core.evidence.records import (
    MOST_STEPS,
    Cells,
    law_cells,
    mixture_of,
    normalized,
    record_law,
    released,
    rounding_of,
    summed_exactly,
    too_large,
)
from bnpriv.core.evidence.structural import numbers_in_bins
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.influence.ratios import joint_law
from bnpriv.core.networks.base import drivers
from bnpriv.core.networks.discrete import DiscreteNetwork, no_tables, require_discrete
from bnpriv.core.networks.factors import LogTable, sum_out
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.custom import Custom
from bnpriv.core.queries.normal_form import NormalForm, normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import SecretPair, of_states
from bnpriv.core.whole_numbers import summed
from bnpriv.errors import BnprivError, Refusal
from bnpriv.kind import kind_of, notion_of
from bnpriv.services import service

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
