"""Whether the secrets of a framework are possible: where none is, a guarantee would promise nothing and is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.errors import BnprivError, Refusal, SecretError, SizeError
from bnpriv.evidence.dataset import can_vary
from bnpriv.frameworks import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.influence.base import impossible_secrets, influence_of
from bnpriv.networks import DensityNetwork, DiscreteNetwork, GaussianNetwork, IntervalNetwork, MarkovChain, Network
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair
from bnpriv.secrets.values import IntervalPair

Secrets = Mapping[str, Sequence[SecretPair]] | Mapping[str, Sequence[IntervalPair]] | Mapping[str, Sequence[Pair]]
"""Protected attributes with their pairs."""


@singledispatch
def impossibility(framework: object) -> Refusal | None:
    """Return why the secrets of a protected attribute are no constraint under any model, or None if some are.

    Parameters
    ----------
    framework : Framework

    Returns
    -------
    Refusal or None
        Of the first attribute all of whose pairs hold a secret of probability zero, under every model.

    Examples
    --------
    >>> import bnpriv as bp
    >>> impossibility(bp.example("student")) is None
    True
    """
    return None


@impossibility.register
def _(framework: DistributionalAttributePrivacy) -> Refusal | None:
    if isinstance(framework.network, GaussianNetwork):
        return None  # every value of a normal parameter is possible
    if isinstance(framework.network, DensityNetwork):
        return _refusal(framework.network, framework.secrets)
    return _refusal(framework.network, framework.secrets)


@impossibility.register
def _(framework: ValuePrivacy) -> Refusal | None:
    if isinstance(framework.model, MarkovChain):
        chain = framework.model
        if any(chain.varies(model) for model in range(chain.models)):
            return None
        return Refusal(
            required="two values must be possible at some step of the chain",
            found="one at every step",
            remedy="Correct the transition matrix or the start.",
        )
    return _refusal(framework.model, framework.secrets)


@impossibility.register
def _(framework: DatasetAttributePrivacy) -> Refusal | None:
    for name, secret in framework.protect.items():
        try:
            varies = any(can_vary(framework, secret, model) for model in range(framework.models))
        except BnprivError:
            continue  # the law of the column is not known; mechanisms that need it say so
        if not varies:
            return Refusal(
                required=f"some two values of the secret of {name!r} must have positive probability",
                found="none in any model",
                remedy="Correct the model, or choose another secret.",
            )
    return None


def require_possible(network: Network | DensityNetwork, secrets: Secrets) -> None:
    """Refuse secrets all of whose pairs are impossible under every model.

    Parameters
    ----------
    network : DiscreteNetwork, IntervalNetwork or DensityNetwork
    secrets : mapping from str to sequence of pairs
        The pairs of every protected attribute.

    Raises
    ------
    SecretError
        If those of one attribute are.
    """
    for name, pairs in secrets.items():
        if isinstance(network, DensityNetwork):
            if not _inside(network, name, cast("Sequence[IntervalPair]", pairs)):
                raise SecretError(
                    f"some pair of secrets of {name!r} must have positive probability",
                    found="none: they lie outside its support",
                    remedy="Choose other secrets.",
                )
        elif isinstance(network, DiscreteNetwork | IntervalNetwork) and not _possible(
            network, name, cast("Sequence[SecretPair]", pairs)
        ):
            raise impossible_secrets(name)


def _refusal(network: Network | DensityNetwork, secrets: Secrets) -> Refusal | None:
    try:
        require_possible(network, secrets)
    except SecretError as error:
        return Refusal.of(error)
    return None


def _inside(network: DensityNetwork, name: str, pairs: Sequence[IntervalPair]) -> bool:
    """Return whether some pair of intervals lies in the support of a parameter, as far as its density is known."""
    return not bool(np.all(np.isneginf(influence_of(network, (), name, pairs).values)))


def _possible(network: Network, name: str, pairs: Sequence[SecretPair]) -> bool:
    """Return whether some pair is possible; by the tables of the attribute alone where they settle it."""
    sure = {state for state, always in zip(network.states[name], _always(network, name), strict=True) if always}
    if any(pair.first & sure and pair.second & sure for pair in pairs):
        return True
    try:
        return influence_of(network, (), name, pairs).pair is not None
    except SizeError:
        return True  # what needs the law of the attribute refuses its size


def _always(network: Network, name: str) -> NDArray[np.bool_]:
    """Return which states have positive probability in the first model (some model), whatever the parents are."""
    if isinstance(network, DiscreteNetwork):
        positive = network.tables[name].values[0] > -np.inf
    else:
        positive = network.upper[name] > 0
    return np.asarray(positive.reshape(len(positive), -1).all(axis=1), dtype=np.bool_)
