"""The laws of an answer under the secrets of a framework, asked of its notion and its network's kind."""

from __future__ import annotations

from typing import Any, cast

from bnpriv.core.evidence.constraints import Laws, WeightedLaws
from bnpriv.core.evidence.dataset import dataset_laws
from bnpriv.core.evidence.parameters import parameter_laws
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.model_class import no_tables
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.custom import Custom
from bnpriv.core.schema import Schema
from bnpriv.errors import Refusal
from bnpriv.kind import kind_of, notion_of
from bnpriv.services import service

CUSTOM = Refusal(
    required="the law of the answer follows from the query",
    found="a custom query",
    remedy="Use a built-in query, or ColumnMechanism.",
)
MOST_ANSWER_NUMBERS = 128
"""The most outputs of an answer whose law is computed: each is tabulated over all values of a record."""

NO_QUERY = Refusal(required="a query is needed", found="none", remedy="Pass the query to be released.")


NO_LAWS = Refusal(
    required="the law of the answer needs exact tables",
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
        required="the mechanism compares laws of the answer, under properties of a table or of its columns",
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
    return too_many_numbers(query, framework.schema) or Refusal.of(no_tables(framework.network, "the law of an answer"))


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
        required=f"the law of an answer is worked out for at most {MOST_ANSWER_NUMBERS} numbers",
        found=f"{numbers:,}",
        remedy="Use MarkovQuiltMechanism or ColumnMechanism, or ask for fewer numbers at once.",
    )
