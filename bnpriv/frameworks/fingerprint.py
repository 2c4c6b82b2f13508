"""A hash of everything that a calibration depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bnpriv.networks import DiscreteNetwork, GaussianNetwork


def fingerprint(facts: object, networks: Iterable[DiscreteNetwork | GaussianNetwork] = ()) -> str:
    """Return a hash of the representation of `facts` and of the tables of networks."""
    digest = hashlib.sha256(repr(facts).encode())
    for network in networks:
        if isinstance(network, GaussianNetwork):
            digest.update(repr((network.attributes, network.models, network.graph.edges)).encode())
            digest.update(network.mean.tobytes() + network.root.tobytes())
            continue
        for name in sorted(network.attributes):
            table = network.tables[name]
            digest.update(repr((table.axes, table.values.shape, network.states[name])).encode())
            digest.update(table.values.tobytes())
    return digest.hexdigest()
