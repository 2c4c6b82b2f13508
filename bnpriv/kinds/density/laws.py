"""Laws of answers of models that are known by draws of whole tables."""

from __future__ import annotations

from typing import cast

from bnpriv.core.evidence.constraints import Laws
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal
from bnpriv.kind import kind_of
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.draws.laws import property_laws, sampled_laws

MOST_LEARNED_MODELS = 100
"""Draws of a posterior for each of which laws of an answer are learned."""


def laws_of_densities(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws of an answer of a network of densities, learned from draws."""
    return sampled_laws(framework, cast(DensityNetwork, framework.network), query)


def too_many_draws(forward: DensityNetwork) -> Refusal | None:
    """Return why laws of an answer are not learned for so many draws, each a model; None if they are."""
    if forward.models <= MOST_LEARNED_MODELS:
        return None
    return Refusal(
        required=f"laws of an answer are learned for each draw of a posterior, for {MOST_LEARNED_MODELS} at most",
        found=f"{forward.models:,}, and an answer whose law has no closed form",
        remedy=f"Take fewer: from_pymc(..., thin={-(-forward.models // 25)}), or use MarkovQuiltMechanism.",
    )


def laws_given_property(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws of an answer given properties of tables that are drawn as a whole."""
    forward = framework.forward
    assert forward is not None
    # a linear model keeps all draws, for laws in closed form: there are none given a property
    many = too_many_draws(forward) if kind_of(framework.network).keeps_draws else None
    return many or property_laws(framework, forward, query)


def laws_of_draws(framework: DistributionalAttributePrivacy, forward: DensityNetwork, query: Query) -> Laws | Refusal:
    """The laws of an answer of columns that parameters drive, learned from draws of them."""
    return too_many_draws(forward) or sampled_laws(framework, forward, query)
