"""Law evidence of a property of tables that a model draws as a whole (docs/claims/conditional_draws.md)."""

from __future__ import annotations

from typing import cast

from bnpriv.errors import Refusal
from bnpriv.evidence.believed import confidence_refusal
from bnpriv.evidence.conditions import OfProperty
from bnpriv.evidence.draws import WHOLE_TABLES, columns_refusal, one_way, samplers_of
from bnpriv.evidence.forward import AnswerSampler
from bnpriv.evidence.sampled import SampledConstraint, SampledLaws, conditioned
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.digest import first_digest
from bnpriv.networks.density import DensityNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import SecretPair
from bnpriv.secrets.values import IntervalPair
from bnpriv.tables.schema import Schema

AS_UNKNOWN = (
    "The parameters are as unknown to the observer as the model says; somebody who knows them holds another model."
)


def property_laws(framework: DatasetAttributePrivacy, network: DensityNetwork, query: Query) -> SampledLaws | Refusal:
    """Return the laws of an answer given properties of the table, or why they cannot be learned.

    Nothing is drawn before they are asked for.
    """
    first_digest(framework)  # what is kept is about the framework as it is now
    read = query.columns.union(*(secret.property.columns for secret in framework.protect.values()))
    refusal = columns_refusal(network, framework.schema, read) or confidence_refusal(network)
    if refusal is not None:
        return refusal
    sampler = AnswerSampler(
        network=network,
        form=normal_form(query, framework.schema),
        columns=tuple(sorted(query.columns)),
        independent={},
        sampling=network.sampling,
    )
    return SampledLaws(
        form=sampler.form,
        sampling=sampler.sampling,
        asked=tuple(
            _asked(framework, each, name, model)
            for name in framework.protect
            for model, each in enumerate(samplers_of(sampler))
        ),
        drawn=network.drawn,
        assumptions=(WHOLE_TABLES, AS_UNKNOWN) if network.parameters else (WHOLE_TABLES,),
    )


def _asked(framework: DatasetAttributePrivacy, sampler: AnswerSampler, name: str, model: int) -> SampledConstraint:
    """Return what one protected column asks: every chosen pair in one direction, as both count."""
    condition = property_condition(framework.protect[name], framework.schema)
    listed = one_way(framework.secrets[name])
    pairs = [conditioned(sampler, condition, cast("IntervalPair | SecretPair", pair)) for pair in listed]
    return SampledConstraint(protected=name, model=model, pairs=pairs)


def property_condition(secret: Secret, schema: Schema) -> OfProperty:
    """Return the condition that a property of a table has some value."""
    form = normal_form(secret.property, schema)
    return OfProperty(form=form, columns=tuple(sorted(secret.property.columns)), name=str(secret.property))
