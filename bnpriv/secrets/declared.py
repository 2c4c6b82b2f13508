"""From what a user declared about the secrets of an attribute to pairs of secrets."""

from __future__ import annotations

from functools import singledispatch
from typing import cast

from bnpriv.networks import DensityNetwork
from bnpriv.networks.base import Network
from bnpriv.secrets.properties import Apart
from bnpriv.secrets.states import SecretPair, SecretPairs, state_pairs
from bnpriv.secrets.values import ContinuousPair, IntervalPairs, continuous_secrets_of, density_secrets_of

Pair = SecretPair | ContinuousPair
"""A pair of secrets: sets of states, or values."""

Declared = SecretPairs | Apart | IntervalPairs
"""What a user may declare about the secrets of one attribute."""


@singledispatch
def pairs_of(network: Network, attribute: str, given: object) -> tuple[Pair, ...]:
    """Return the pairs of secrets of an attribute; of finitely many states all ordered pairs by default.

    Parameters
    ----------
    network : network
        Its `states` tell whether the attribute has finitely many states, or may be any number.
    attribute : str
    given : SecretPairs, Apart, IntervalPairs or None
        What the user declared.

    Raises
    ------
    SecretError
        If what was declared does not fit the attribute.
    """
    states = network.states.get(attribute)
    return _of_values(attribute, given) if states is None else state_pairs(attribute, states, given)


def _of_values(attribute: str, given: object) -> tuple[Pair, ...]:
    return continuous_secrets_of((attribute,), {attribute: given})[attribute]


@pairs_of.register
def _(network: DensityNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    return cast("tuple[Pair, ...]", density_secrets_of(network.parameters, {attribute: given})[attribute])
