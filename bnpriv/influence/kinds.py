"""What kinds of networks may say besides `influence_of`, each by registration; a kind that says nothing needs none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.errors import Refusal
from bnpriv.kind import by_kind
from bnpriv.networks.base import Network
from bnpriv.secrets.pair import Pair


@final
@dataclass(frozen=True, kw_only=True)
class Work:
    """How much work an influence takes.

    Parameters
    ----------
    cells : int
        Of the tables behind it.
    losses : int
        Of its privacy losses, of all models and pairs together; 0 where none are kept.
    """

    cells: int = 0
    losses: int = 0


@by_kind
def frontier_of(network: Network, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Return those of some attributes that the others do not separate from a protected one: by default by the graph."""
    return network.graph.frontier(protected, columns)


@by_kind
def assumptions_of(network: object) -> tuple[str, ...]:
    """Return what must hold of this kind of network for its influences to be right; nothing by default."""
    return ()


@by_kind
def work_of(network: object, border: tuple[str, ...], protected: str, pairs: Sequence[Pair]) -> Work:
    """Return what the influence of a frontier takes; nothing by default, where a kind has limits of its own."""
    return Work()


@by_kind
def road_refusal(network: object, names: Iterable[str]) -> Refusal | None:
    """Return why nothing can be said of some attributes, or None; by default something can."""
    return None
