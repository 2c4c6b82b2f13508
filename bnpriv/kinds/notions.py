"""Notions of privacy: which evidence follows from a framework of each."""

from __future__ import annotations

from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.kind import PrivacyNotion, method
from bnpriv.queries.base import Query
from bnpriv.queries.given import GivenAnswer


class ParameterNotion(PrivacyNotion):
    """`DistributionalAttributePrivacy`."""

    sampler = "bnpriv.studies.made_up:OfParameters"
    influences = method("bnpriv.evidence.structural:possible_influences")
    structure = method("bnpriv.evidence.structural:structure_of_parameters")
    laws = method("bnpriv.evidence.laws:laws_of_parameters")
    impossibility = method("bnpriv.evidence.possible:impossible_in_structure")


class ValueNotion(PrivacyNotion):
    """`ValuePrivacy`."""

    sampler = "bnpriv.studies.made_up:OfValues"
    secret_text = "secrets that are values of single records"

    influences = method("bnpriv.evidence.structural:possible_influences")
    structure = method("bnpriv.evidence.structural:structure_of_values")
    impossibility = method("bnpriv.evidence.possible:impossible_values")


class DatasetNotion(PrivacyNotion):
    """`DatasetAttributePrivacy`."""

    sampler = "bnpriv.studies.made_up:OfProperty"
    secret_text = "a property of the whole table"

    laws = method("bnpriv.evidence.laws:laws_of_property")
    subject = method("bnpriv.evidence.subject:property_subject")
    impossibility = method("bnpriv.evidence.possible:impossible_properties")


class DistributionNotion(PrivacyNotion):
    """`DistributionPrivacy`."""

    sampler = "bnpriv.studies.made_up:OfPairs"
    secret_text = "the distribution that the table comes from"

    laws = method("bnpriv.evidence.given_pairs:laws_of_pairs")
    subject = method("bnpriv.evidence.subject:pairs_subject")

    def own_query(self, framework: DistributionPrivacy) -> Query | None:
        """Its query, or the answer whose laws are declared."""
        if framework.of_records:
            return framework.query
        return framework.query or GivenAnswer(size=framework.dimension)


PARAMETER_NOTION, VALUE_NOTION = ParameterNotion(), ValueNotion()
DATASET_NOTION, DISTRIBUTION_NOTION = DatasetNotion(), DistributionNotion()
