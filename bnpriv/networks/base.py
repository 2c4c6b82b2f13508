"""What every kind of network has: all that frameworks, reports and mechanisms ask of one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast

from bnpriv.checks import member
from bnpriv.errors import NetworkError
from bnpriv.kind import ANY_KIND, NetworkKind
from bnpriv.networks.graph import Graph
from bnpriv.networks.posterior import Posterior
from bnpriv.networks.reading import Reading
from bnpriv.render.shown import HasCard
from bnpriv.services import service
from bnpriv.tables.schema import State

if TYPE_CHECKING:
    import networkx as nx

    from bnpriv.render.document import Document

Level = Literal["parameters", "records"]
"""What a node means: the parameter that governs the column of that name, or the column itself in one record."""

LEVELS: tuple[Level, ...] = ("parameters", "records")

NO_STATES: Mapping[str, tuple[State, ...]] = MappingProxyType({})
"""Of a network whose attributes may be any number."""


def level_of(declared: Level | None) -> Level:
    """Return a declared level, "parameters" by default.

    Raises
    ------
    NetworkError
        If it is none.
    """
    return "parameters" if declared is None else cast(Level, member("level", declared, LEVELS, error=NetworkError))


class Network(Protocol):
    """A Bayesian network over attributes, or several on one graph (the model class Theta).

    What differs from kind to kind is asked of its `bnpriv.kind.NetworkKind`. Nobody asks which kind a network is.
    """

    @property
    def kind(self) -> NetworkKind | str:
        """What its kind does in its own way, or where that stands, as "module:object"."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """The nodes."""
        ...

    @property
    def graph(self) -> Graph:
        """Which attribute depends directly on which."""
        ...

    @property
    def models(self) -> int:
        """Number of models in Theta; 1 where bounds hold for all of them at once."""
        ...

    @property
    def level(self) -> Level:
        """What a node means: the parameter that governs the column of that name, or the column in one record."""
        ...

    @property
    def reading(self) -> Reading:
        """How the model was read from another library, and what drives the columns that are no attribute."""
        ...

    @property
    def posterior_draws(self) -> Posterior | None:
        """Where the models were drawn from, if they are draws of a posterior."""
        ...

    @property
    def states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute that has finitely many; nothing for attributes that may be any number."""
        ...

    @property
    def kind_text(self) -> str:
        """What kind of network it is, with its article: "a linear-Gaussian network"."""
        ...

    def require(self, attribute: str) -> str:
        """Return `attribute` if it is a node.

        Raises
        ------
        NetworkError
            If it is not.
        """
        ...

    def same_law(self, other: Network, attribute: str) -> bool:
        """Return whether another network is of the same kind and has the same law of an attribute given its parents."""
        ...

    def identity(self) -> bytes:
        """Return all that tells the network from others, for a hash: what drives columns, laws, provenance."""
        ...


class NetworkMethods(HasCard):
    """What all kinds of networks do alike."""

    kind: ClassVar[NetworkKind | str] = ANY_KIND

    def require(self: Network, attribute: str) -> str:
        """Return `attribute` if it is a node.

        Raises
        ------
        NetworkError
            If it is not.
        """
        return member("an attribute", attribute, self.attributes, error=NetworkError)

    def same_law(self: Network, other: Network, attribute: str) -> bool:
        """Return whether another network is of the same kind and has the same laws, of all attributes."""
        return type(self) is type(other) and self.identity() == other.identity()

    def to_networkx(self: Network) -> nx.DiGraph[str]:
        """Return the graph as a `networkx.DiGraph` of its own: what depends directly on what.

        Every node has an attribute "states", empty where it may be any number.

        Examples
        --------
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> coin.to_networkx().nodes["coin"]
        {'states': ('heads', 'tails')}
        """
        import networkx as nx

        graph = nx.DiGraph(self.graph.directed)
        for name in graph:
            graph.add_node(name, states=self.states.get(name, ()))
        return graph

    @property
    def document(self: Network) -> Document:
        """Return what the network is, drawn where it is small enough to be read."""
        return service("network.document")(self)


def network_text(network: Network) -> str:
    """Return what a network is, in a line: its kind, and its size."""
    kind = network.kind_text.partition(" ")[2]
    models = "one model" if network.models == 1 else f"{network.models:,} models"
    attributes, edges = (
        f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
        for number, word in ((len(network.attributes), "attribute"), (len(network.graph.edges), "edge"))
    )
    return f"{kind[0].upper()}{kind[1:]}: {attributes}, {edges}, {models}, level {network.level}"


def columns_identity(reading: Reading) -> bytes:
    """Return what tells which attributes drive the columns, for a hash; empty where every column is an attribute."""
    if not reading.columns:
        return b""
    return repr(("columns", sorted(reading.columns.items()), reading.identity)).encode()
