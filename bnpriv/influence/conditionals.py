"""The law of one parameter given each of two secrets, to be drawn."""

from __future__ import annotations

from typing import cast

import numpy as np

from bnpriv.influence.base import Influence
from bnpriv.influence.elimination import joint_law
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.states import SecretPair, side_text


def two_conditionals(influence: Influence, name: str) -> TwoCurves:
    """The law of an attribute of a network of tables given each of the two secrets that are told apart best."""
    network, pair = cast(DiscreteNetwork, influence.network), cast(SecretPair, influence.pair)
    protected, model = influence.protected, influence.model
    joint = joint_law(network, (protected, name))
    logs = joint.values[min(model, len(joint.values) - 1)]
    sides: list[list[float]] = []
    for secret in (pair.first, pair.second):
        inside = np.array([state in secret for state in network.states[protected]])
        law = np.exp(logs[inside]).sum(axis=0)
        sides.append((law / law.sum()).tolist())
    labels = [str(state) for state in network.states[name]]
    return TwoCurves(
        values=[float(k) for k in range(len(labels))],
        first=sides[0],
        second=sides[1],
        finite=True,
        names=(f"{protected}: {side_text(pair.first)}", f"{protected}: {side_text(pair.second)}"),
        title=f"{name} given two secrets",
        desc=overlap_text(name, str(pair)),
        labels=labels,
    )


def overlap_text(name: str, pair: str) -> str:
    """Return what such a drawing shows."""
    return f"The law of {name} given {pair}: the more the two overlap, the less it tells."
