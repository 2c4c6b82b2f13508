"""Notions of privacy: which evidence follows from a framework of each."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.structural import structural_evidence
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.guarantee import observer_text
from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.mechanisms.certificate import posterior_of
from bnpriv.core.networks.base import Network
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.errors import Refusal
from bnpriv.kind import PrivacyNotion


def _independent(framework: DistributionalAttributePrivacy) -> frozenset[str]:
    return frozenset(framework.independent)


def _own_network(framework: Any) -> tuple[Any, ...]:
    return (framework.network,)


def _impossible_in_structure(framework: DistributionalAttributePrivacy | ValuePrivacy) -> Refusal | None:
    """Why all pairs of secrets of an attribute are impossible, by the structural evidence."""
    return structural_evidence(framework).impossible()


def _impossible_values(framework: ValuePrivacy) -> Refusal | None:
    """Why all pairs of values are impossible; of a chain, whether no step has two possible values."""
    chain = framework.chain
    if chain is None:
        return _impossible_in_structure(framework)
    if any(chain.varies(model) for model in range(chain.models)):
        return None
    return Refusal(
        required="two values must be possible at some step of the chain",
        found="one at every step",
        remedy="Correct the transition matrix or the start.",
    )


PARAMETER_NOTION = PrivacyNotion(
    networks=_own_network,
    independent=_independent,
    influences="bnpriv.core.evidence.structural:possible_influences",
    structure="bnpriv.core.evidence.structural:structure_of_parameters",
    laws="bnpriv.core.evidence.laws:laws_of_parameters",
    impossibility=_impossible_in_structure,
    sampler="bnpriv.lab.sampling.game:ParameterSampler",
)
"""Of `DistributionalAttributePrivacy`."""

VALUE_NOTION = PrivacyNotion(
    networks=_own_network,
    secret_text="secrets that are values of single records",
    influences="bnpriv.core.evidence.structural:possible_influences",
    structure="bnpriv.core.evidence.structural:structure_of_values",
    impossibility=_impossible_values,
    sampler="bnpriv.lab.sampling.game:ValueSampler",
)
"""Of `ValuePrivacy`."""


def _models_beside_records(framework: DatasetAttributePrivacy) -> str:
    """The models of the network and the public records themselves; empty where there are none."""
    public, drawn = framework.public_records, posterior_of(framework)
    if public is None:
        return ""
    network = observer_text(framework.network.models) if drawn is None else drawn.models_text
    return f"{network}, or any of {public.draws:,} draws of weights for {public.records:,} public records themselves"


DATASET_NOTION = PrivacyNotion(
    networks=_own_network,
    models_text=_models_beside_records,
    secret_text="a property of the whole table",
    laws="bnpriv.core.evidence.laws:laws_of_property",
    record_law="bnpriv.core.evidence.laws:law_of_one_record",
    hidden="bnpriv.tables.private_table.rule:hidden_property",
    together="bnpriv.kinds.swapped_records:swapped_records",
    subject="bnpriv.kinds.report_target:property_subject",
    impossibility="bnpriv.core.evidence.laws:impossible_properties",
    sampler="bnpriv.lab.sampling.game:PropertySampler",
)
"""Of `DatasetAttributePrivacy`."""


def _own_query(framework: DistributionPrivacy) -> Query | None:
    """Its query, or the answer whose laws are declared."""
    if framework.of_records:
        return framework.query
    return framework.query or GivenAnswer(size=framework.dimension)


def _networks(framework: DistributionPrivacy) -> tuple[Network, ...]:
    """The sides of its pairs; none where these are laws of an answer."""
    return tuple(side for pair in framework.pairs for side in pair if not isinstance(side, (Atoms, Normal)))


DISTRIBUTION_NOTION = PrivacyNotion(
    secret_text="the distribution that the table comes from",
    networks=_networks,
    models_text=attrgetter("models_text"),
    stored="bnpriv.mechanisms.serialize:stored_pairs",
    laws="bnpriv.kinds.pairs_of_laws:laws_of_pairs",
    subject="bnpriv.kinds.report_target:pairs_subject",
    own_query=_own_query,
    hidden="bnpriv.tables.private_table.rule:hidden_share",
    sampler="bnpriv.lab.sampling.game:PairSampler",
)
"""Of `DistributionPrivacy`."""
