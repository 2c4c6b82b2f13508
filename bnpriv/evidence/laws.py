"""Law evidence, one registration per notion."""

from __future__ import annotations

from functools import singledispatch

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.dataset import dataset_laws
from bnpriv.evidence.draws import drawn_laws
from bnpriv.evidence.given_pairs import given_laws
from bnpriv.evidence.intervals import NO_LAWS
from bnpriv.evidence.parameters import parameter_laws
from bnpriv.frameworks import DatasetAttributePrivacy, DistributionalAttributePrivacy, DistributionPrivacy
from bnpriv.networks import DensityNetwork, GaussianNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom

CUSTOM = Refusal(
    required="the law of the answer follows from the query",
    found="a custom query",
    remedy="Use a built-in query, or ColumnMechanism.",
)
NO_QUERY = Refusal(required="a query is needed", found="none", remedy="Pass the query to be released.")


@singledispatch
def laws(framework: object, query: Query | None) -> Laws | Refusal:
    """Return the laws of a query's answer under the secrets of a framework, or why they cannot be computed.

    Parameters
    ----------
    framework : Framework
    query : Query or None
        None for the framework's own.

    Returns
    -------
    Laws or Refusal
    """
    return Refusal(
        required="the mechanism needs the laws of the answer",
        found=f"a {type(framework).__name__}",
        remedy="Use a framework from which they follow.",
    )


@laws.register
def _(framework: DatasetAttributePrivacy, query: Query | None) -> Laws | Refusal:
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    return dataset_laws(framework, query)


@laws.register
def _(framework: DistributionalAttributePrivacy, query: Query | None) -> Laws | Refusal:
    if framework.by_intervals:
        return NO_LAWS
    if query is None or isinstance(query, Custom):
        return NO_QUERY if query is None else CUSTOM
    network = framework.network
    forward = network.forward if isinstance(network, GaussianNetwork) else network
    if isinstance(forward, DensityNetwork):
        return drawn_laws(framework, forward, query)
    return parameter_laws(framework, query)


@laws.register
def _(framework: DistributionPrivacy, query: Query | None) -> Laws | Refusal:
    return CUSTOM if isinstance(query, Custom) else given_laws(framework, query)
