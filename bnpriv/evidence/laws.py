"""Law evidence, one registration per notion."""

from __future__ import annotations

from functools import singledispatch
from typing import cast

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.dataset import dataset_laws
from bnpriv.evidence.draws import sampled_laws
from bnpriv.evidence.given_pairs import given_laws
from bnpriv.evidence.normal import NormalLaws
from bnpriv.evidence.normal_columns import NormalColumnLaws, normal_column_laws
from bnpriv.evidence.normal_models import normal_parameter_laws, normal_record_laws
from bnpriv.evidence.parameters import parameter_laws
from bnpriv.evidence.properties import property_laws
from bnpriv.evidence.weighted import WeightedLaws
from bnpriv.frameworks import (
    DatasetAttributePrivacy,
    DistributionalAttributePrivacy,
    DistributionPrivacy,
    Framework,
    ValuePrivacy,
)
from bnpriv.networks import DensityNetwork, DiscreteNetwork, GaussianNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.weighted import Weighted
from bnpriv.tables.schema import Schema

CUSTOM = Refusal(
    required="the law of the answer follows from the query",
    found="a custom query",
    remedy="Use a built-in query, or ColumnMechanism.",
)
MOST_ANSWER_NUMBERS = 128
"""Numbers of an answer whose law is worked out: each is tabulated over all values of a record."""

MOST_LEARNED_MODELS = 100
"""Draws of a posterior for each of which laws of an answer are learned."""

NO_QUERY = Refusal(required="a query is needed", found="none", remedy="Pass the query to be released.")


NO_LAWS = Refusal(
    required="the law of the answer needs exact tables",
    found="an interval for every probability",
    remedy="Use MarkovQuiltMechanism or ColumnMechanism, or declare the models one by one.",
)


def laws(framework: object, query: Query | None) -> Laws | Refusal:
    """Return the laws of a query's answer under the secrets of a framework, or why they cannot be computed.

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
    if isinstance(query, Weighted):
        found = laws(framework, query.asked)
        if isinstance(found, Refusal):
            return found
        # closed forms are as quick for the weighted query, and bound what grids move more closely
        closed = isinstance(found, (NormalLaws, NormalColumnLaws))
        return laws_of(framework, query) if closed else WeightedLaws(found, query.weights)
    if not isinstance(framework, Framework):
        return laws_of(framework, query)
    kept = cast("dict[str, tuple[Query | None, Laws | Refusal]]", framework.kept.table("laws"))
    if "last" not in kept or kept["last"][0] is not query:
        kept["last"] = query, laws_of(framework, query)
    return kept["last"][1]


@singledispatch
def laws_of(framework: object, query: Query | None) -> Laws | Refusal:
    """Return the laws as `laws`, computed anew; one registration per notion."""
    return Refusal(
        required="the mechanism compares laws of the answer, under properties of a table or of its columns",
        found=_secret_text(framework),
        remedy="Use MarkovQuiltMechanism, or MarkovChainMechanism for the steps of a chain.",
    )


def _secret_text(framework: object) -> str:
    if isinstance(framework, ValuePrivacy):
        return "secrets that are values of single records"
    return f"a {type(framework).__name__}"


@laws_of.register
def _(framework: DatasetAttributePrivacy, query: Query | None) -> Laws | Refusal:
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    if framework.forward is not None:
        # a linear model keeps all draws, for laws in closed form: there are none given a property
        many = _learned_models(framework.forward) if isinstance(framework.network, GaussianNetwork) else None
        refusal = _too_many(query, framework.schema) or many
        return refusal or property_laws(framework, framework.forward, query)
    return laws_of_records(framework.network, framework, query)


@singledispatch
def laws_of_records(network: object, framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws that follow from one kind of network of records; by default from its tables."""
    return _too_many(query, framework.schema) or dataset_laws(framework, query)


@laws_of_records.register
def _(network: GaussianNetwork, framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    return normal_record_laws(framework, network, query)


@laws_of.register
def _(framework: DistributionalAttributePrivacy, query: Query | None) -> Laws | Refusal:
    if framework.by_intervals:
        return NO_LAWS
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    return laws_of_network(framework.network, framework, query)


@singledispatch
def laws_of_network(network: object, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws that follow from the parameters of one kind of network; by default from its tables."""
    return _too_many(query, framework.schema) or parameter_laws(framework, query)


@laws_of_network.register
def _(network: DiscreteNetwork, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    found = _too_many(query, framework.schema) or parameter_laws(framework, query)
    if not isinstance(found, Refusal) or network.forward is None:
        return found
    if not query.columns.issubset(network.reading.columns):
        return found
    return _learned_models(network.forward) or sampled_laws(framework, network.forward, query)


@laws_of_network.register
def _(network: DensityNetwork, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    return sampled_laws(framework, network, query)


@laws_of_network.register
def _(network: GaussianNetwork, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    if network.forward is None:
        return normal_parameter_laws(framework, network, query)
    found = normal_column_laws(framework, network, query)
    return found or _learned_models(network.forward) or sampled_laws(framework, network.forward, query)


def _learned_models(forward: DensityNetwork) -> Refusal | None:
    """Return why laws of an answer are not learned for so many draws, each a model; None if they are."""
    if forward.models <= MOST_LEARNED_MODELS:
        return None
    return Refusal(
        required=f"laws of an answer are learned for each draw of a posterior, for {MOST_LEARNED_MODELS} at most",
        found=f"{forward.models:,}, and an answer whose law has no closed form",
        remedy=f"Take fewer: from_pymc(..., thin={-(-forward.models // 25)}), or use MarkovQuiltMechanism.",
    )


@laws_of.register
def _(framework: DistributionPrivacy, query: Query | None) -> Laws | Refusal:
    if isinstance(query, Custom):
        return CUSTOM
    refusal = _too_many(query, framework.schema) if framework.of_records and query is not None else None
    return refusal or given_laws(framework, query)


def _too_many(query: Query, schema: Schema | None) -> Refusal | None:
    numbers = 0 if schema is None else query.dimension(schema)
    if numbers <= MOST_ANSWER_NUMBERS:
        return None
    return Refusal(
        required=f"the law of an answer is worked out for at most {MOST_ANSWER_NUMBERS} numbers",
        found=f"{numbers:,}",
        remedy="Use MarkovQuiltMechanism or ColumnMechanism, or ask for fewer numbers at once.",
    )
