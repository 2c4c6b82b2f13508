"""Notions of privacy: which evidence follows from a framework of each."""

from __future__ import annotations

from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.kind import PrivacyNotion
from bnpriv.queries.base import Query
from bnpriv.queries.given import GivenAnswer

PARAMETER_NOTION = PrivacyNotion(
    influences="bnpriv.evidence.structural:possible_influences",
    structure="bnpriv.evidence.structural:structure_of_parameters",
    laws="bnpriv.evidence.laws:laws_of_parameters",
    impossibility="bnpriv.evidence.possible:impossible_in_structure",
    sampler="bnpriv.studies.made_up:ParameterSampler",
)
"""Of `DistributionalAttributePrivacy`."""

VALUE_NOTION = PrivacyNotion(
    secret_text="secrets that are values of single records",
    influences="bnpriv.evidence.structural:possible_influences",
    structure="bnpriv.evidence.structural:structure_of_values",
    impossibility="bnpriv.evidence.possible:impossible_values",
    sampler="bnpriv.studies.made_up:ValueSampler",
)
"""Of `ValuePrivacy`."""

DATASET_NOTION = PrivacyNotion(
    secret_text="a property of the whole table",
    laws="bnpriv.evidence.laws:laws_of_property",
    subject="bnpriv.evidence.subject:property_subject",
    impossibility="bnpriv.evidence.possible:impossible_properties",
    sampler="bnpriv.studies.made_up:PropertySampler",
)
"""Of `DatasetAttributePrivacy`."""


def _own_query(framework: DistributionPrivacy) -> Query | None:
    """Its query, or the answer whose laws are declared."""
    if framework.of_records:
        return framework.query
    return framework.query or GivenAnswer(size=framework.dimension)


DISTRIBUTION_NOTION = PrivacyNotion(
    secret_text="the distribution that the table comes from",
    laws="bnpriv.evidence.given_pairs:laws_of_pairs",
    subject="bnpriv.evidence.subject:pairs_subject",
    own_query=_own_query,
    sampler="bnpriv.studies.made_up:PairSampler",
)
"""Of `DistributionPrivacy`."""
