"""Networks of densities: parameters with any law, and columns that are drawn given them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from bnpriv.core.frameworks.protected import ProtectedSecret, interval_secret
from bnpriv.core.secrets import Apart, Pair, interval_pairs, neighbours_text, of_values
from bnpriv.errors import NetworkError, SecretError
from bnpriv.kind import NetworkKind
from bnpriv.kinds.density.network import DensityNetwork

SUGGESTED_FROM = 2000
"""Draws of a parameter from which intervals are suggested."""


def _pairs(network: DensityNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    if isinstance(given, Apart):
        raise _no_distance(network, attribute, given)
    # under a model that a draw is, what is protected has its law in the model, not that of the draws
    believed = network.drawn is not None and network.drawn.reading == "belief"
    drawn = network.drawn.values.get(attribute) if network.drawn is not None and believed else None
    return interval_pairs(network.parameters[attribute], given, drawn)


def _no_distance(network: DensityNetwork, attribute: str, given: Apart) -> SecretError:
    """Why values so far apart are refused where laws are learned from draws, with intervals to declare."""
    parameter = network.parameters[attribute]
    try:
        drawn = network.simulate((attribute,), SUGGESTED_FROM, seed=0, given={}, records=1)[attribute]
        text = neighbours_text(drawn, given.at_most, touching=parameter.is_continuous)
    except NetworkError:  # what cannot be drawn is refused where draws are needed
        text = ""
    ranges = (
        f"intervals next to each other, for example protect={{{attribute!r}: {text}}}"
        if text
        else "intervals that come up often, or a larger distance"
    )
    return SecretError(
        f"the secrets of {attribute!r} must be intervals: the law of an answer is learned from draws in a secret, and "
        "no two of them have one value",
        found=f"any two values at most {given.at_most:g} apart, infinitely many pairs",
        remedy=f"Declare {ranges}. What is protected is then in which interval it lies, not where in it.",
    )


def _usual_pairs(network: DensityNetwork, attribute: str) -> tuple[Pair, ...]:
    """All pairs of the values of a parameter that has finitely many; nothing for others."""
    parameter = network.parameters[attribute]
    return interval_pairs(parameter, None) if len(parameter.states or ()) > 1 else ()


def _protected_secret(network: DensityNetwork, attribute: str, secret: str, pairs: Sequence[Pair]) -> ProtectedSecret:
    return interval_secret(attribute, secret, of_values(pairs), network.parameters[attribute].states or ())


DENSITY_KIND = NetworkKind(
    forward=attrgetter("forward"),
    alike=DensityNetwork.alike,
    influence="bnpriv.kinds.density.influence:density_influence",
    losses="bnpriv.kinds.density.influence:density_losses",
    explain="bnpriv.kinds.density.influence:explain_refinement",
    conditional="bnpriv.kinds.density.influence:density_conditional",
    budgeted="bnpriv.kinds.density.influence:unlimited_influence",
    unsupported=DensityNetwork.refusal,
    pairs=_pairs,
    usual_pairs=_usual_pairs,
    protected_secret=_protected_secret,
    laws_of_parameters="bnpriv.kinds.density.laws:laws_of_densities",
    sampler="bnpriv.lab.sampling.drawn:DensitySampler",
)
