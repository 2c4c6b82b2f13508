"""From what a user declared about the secrets of an attribute to pairs of secrets."""

from __future__ import annotations

from functools import singledispatch
from typing import cast

from bnpriv.networks import DensityNetwork, DiscreteNetwork, IntervalNetwork
from bnpriv.secrets.properties import Apart
from bnpriv.secrets.states import SecretPair, SecretPairs, state_pairs
from bnpriv.secrets.values import ContinuousPair, IntervalPairs, continuous_secrets_of, density_secrets_of

Pair = SecretPair | ContinuousPair
"""A pair of secrets: sets of states, or values."""

Declared = SecretPairs | Apart | IntervalPairs
"""What a user may declare about the secrets of one attribute."""


@singledispatch
def pairs_of(network: object, attribute: str, given: object) -> tuple[Pair, ...]:
    """Return the pairs of secrets of an attribute; of finitely many states all pairs by default.

    Raises
    ------
    SecretError
        If what was declared does not fit the attribute.
    """
    return continuous_secrets_of((attribute,), {attribute: given})[attribute]


@pairs_of.register
def _(network: DiscreteNetwork | IntervalNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    return state_pairs(attribute, network.states[attribute], given)


@pairs_of.register
def _(network: DensityNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    return cast("tuple[Pair, ...]", density_secrets_of(network.parameters, {attribute: given})[attribute])
