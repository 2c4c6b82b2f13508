"""Law evidence, one registration per notion."""

from __future__ import annotations

from typing import cast

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.dataset import dataset_laws
from bnpriv.evidence.parameters import parameter_laws
from bnpriv.evidence.weighted import WeightedLaws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.value import ValuePrivacy
from bnpriv.kind import by_kind
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.weighted import Weighted
from bnpriv.services import service
from bnpriv.tables.schema import Schema

CUSTOM = Refusal(
    required="the law of the answer follows from the query",
    found="a custom query",
    remedy="Use a built-in query, or ColumnMechanism.",
)
MOST_ANSWER_NUMBERS = 128
"""Numbers of an answer whose law is worked out: each is tabulated over all values of a record."""

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
        return laws_of(framework, query) if found.closed_form else WeightedLaws(found, query.weights)
    if not isinstance(framework, Framework):
        return laws_of(framework, query)
    kept = cast("dict[str, tuple[Query | None, Laws | Refusal]]", framework.kept.table("laws"))
    if "last" not in kept or kept["last"][0] is not query:
        kept["last"] = query, laws_of(framework, query)
    return kept["last"][1]


@by_kind
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
        return too_many_numbers(query, framework.schema) or service("laws.given_property")(framework, query)
    return laws_of_records(framework.network, framework, query)


@by_kind
def laws_of_records(network: object, framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws that follow from one kind of network of records; by default from its tables."""
    return too_many_numbers(query, framework.schema) or dataset_laws(framework, query)


@laws_of.register
def _(framework: DistributionalAttributePrivacy, query: Query | None) -> Laws | Refusal:
    if framework.by_intervals:
        return NO_LAWS
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    return laws_of_network(framework.network, framework, query)


@by_kind
def laws_of_network(network: object, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws that follow from the parameters of one kind of network; by default from its tables."""
    return too_many_numbers(query, framework.schema) or parameter_laws(framework, query)


@laws_of_network.register
def _(network: DiscreteNetwork, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    found = too_many_numbers(query, framework.schema) or parameter_laws(framework, query)
    if not isinstance(found, Refusal) or network.forward is None:
        return found
    if not query.columns.issubset(network.reading.columns):
        return found
    return service("laws.of_tables_drawn")(network, framework, query)


def too_many_numbers(query: Query, schema: Schema | None) -> Refusal | None:
    """Return why the law of an answer of so many numbers is not worked out, or None if it is."""
    numbers = 0 if schema is None else query.dimension(schema)
    if numbers <= MOST_ANSWER_NUMBERS:
        return None
    return Refusal(
        required=f"the law of an answer is worked out for at most {MOST_ANSWER_NUMBERS} numbers",
        found=f"{numbers:,}",
        remedy="Use MarkovQuiltMechanism or ColumnMechanism, or ask for fewer numbers at once.",
    )
