"""Laws of answers of linear-Gaussian networks: normal where the query is linear, learned from draws otherwise."""

from __future__ import annotations

from typing import cast

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.density_laws import laws_of_draws
from bnpriv.evidence.normal_columns import normal_column_laws
from bnpriv.evidence.normal_models import normal_parameter_laws, normal_record_laws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.queries.base import Query


def laws_of_normal_records(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given a linear property of normal records."""
    return normal_record_laws(framework, cast(GaussianNetwork, framework.network), query)


def laws_of_normal_parameters(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given normal parameters: normal where the query is linear, learned from draws otherwise."""
    network = cast(GaussianNetwork, framework.network)
    if network.forward is None:
        return normal_parameter_laws(framework, network, query)
    found = normal_column_laws(framework, network, query)
    return found or laws_of_draws(framework, network.forward, query)
