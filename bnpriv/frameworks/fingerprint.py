"""A hash of everything that a calibration depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bnpriv.networks import ContinuousNetwork, DensityNetwork, GaussianNetwork, IntervalNetwork, Network


def fingerprint(facts: object, networks: Iterable[Network | ContinuousNetwork] = ()) -> str:
    """Return a hash of the representation of `facts` and of the tables or intervals of networks."""
    digest = hashlib.sha256(repr(facts).encode())
    for network in networks:
        if network.reading.columns:
            digest.update(repr(("columns", sorted(network.reading.columns.items()), network.reading.identity)).encode())
        if isinstance(network, DensityNetwork):
            digest.update(repr(("densities", network.identity, network.sampling)).encode())
            continue
        if isinstance(network, GaussianNetwork):
            digest.update(repr((network.attributes, network.models, network.graph.edges)).encode())
            digest.update(network.mean.tobytes() + network.root.tobytes())
            digest.update(b"" if network.drawn is None else repr(network.drawn).encode())
            digest.update(b"" if network.forward is None else repr(network.forward.sampling).encode())
            continue
        for name in sorted(network.attributes):
            if isinstance(network, IntervalNetwork):
                ends = (network.lower[name], network.upper[name])
                axes = (name, *network.graph.parents[name])
                digest.update(repr(("intervals", axes, ends[0].shape, network.states[name])).encode())
                digest.update(b"".join(end.tobytes() for end in ends))
                continue
            table = network.tables[name]
            digest.update(repr((table.axes, table.values.shape, network.states[name])).encode())
            digest.update(table.values.tobytes())
        if not isinstance(network, IntervalNetwork) and network.drawn is not None:
            digest.update(repr(network.drawn).encode())
    return digest.hexdigest()
