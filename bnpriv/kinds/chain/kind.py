"""Markov chains: one column as a whole, every value of which depends on the one before."""

from __future__ import annotations

from collections.abc import Iterable

from bnpriv.kind import NetworkKind
from bnpriv.kinds.chain.network import MarkovChain


def _frontier(network: MarkovChain, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
    """The column itself: the other values of it tell about one."""
    return (network.column,) if set(columns) and max(network.length) > 1 else ()


CHAIN_KIND = NetworkKind(
    whole_column=True,
    influence="bnpriv.kinds.chain.column:chain_influence",
    losses="bnpriv.kinds.chain.column:chain_losses",
    explain="bnpriv.kinds.chain.column:explain_place",
    conditional="bnpriv.kinds.chain.column:no_conditional",
    frontier=_frontier,
    extra_tables="bnpriv.kinds.chain.column:chain_tables",
    sampler="bnpriv.lab.sampling.answers:ChainSampler",
    section="bnpriv.io.framework_text:chain_section",
)
