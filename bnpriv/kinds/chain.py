"""Markov chains: one column as a whole, every value of which depends on the one before."""

from __future__ import annotations

from collections.abc import Iterable

from bnpriv.kind import NetworkKind, method
from bnpriv.networks.chain import MarkovChain


class ChainKind(NetworkKind):
    """A `MarkovChain`."""

    whole_column = True
    sampler = "bnpriv.studies.answers:ChainSampler"

    influence = method("bnpriv.influence.chain.column:chain_influence")
    extra_tables = method("bnpriv.influence.chain.tables:chain_tables")
    section = method("bnpriv.frameworks.file_network:chain_section")

    def frontier(self, network: MarkovChain, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
        """The column itself: the other values of it tell about one."""
        return (network.column,) if set(columns) and max(network.length) > 1 else ()


CHAIN_KIND = ChainKind()
