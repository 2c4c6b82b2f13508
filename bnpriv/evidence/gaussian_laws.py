"""Laws of answers of linear-Gaussian networks: normal where the query is linear, learned from draws otherwise."""

from __future__ import annotations

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.density_laws import too_many_draws
from bnpriv.evidence.draws import sampled_laws
from bnpriv.evidence.laws import laws_of_network, laws_of_records
from bnpriv.evidence.normal_columns import normal_column_laws
from bnpriv.evidence.normal_models import normal_parameter_laws, normal_record_laws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.queries.base import Query


@laws_of_records.register
def _(network: GaussianNetwork, framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    return normal_record_laws(framework, network, query)


@laws_of_network.register
def _(network: GaussianNetwork, framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    if network.forward is None:
        return normal_parameter_laws(framework, network, query)
    found = normal_column_laws(framework, network, query)
    return found or too_many_draws(network.forward) or sampled_laws(framework, network.forward, query)
