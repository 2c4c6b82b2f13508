"""Markov quilts: sets of attributes that separate a protected attribute from others.

A quilt for a protected attribute is a set of other attributes that d-separates it from the attributes that are
*remote*; what is neither in the quilt nor remote is *near*, the protected attribute included (Zhang, Ohrimenko,
Cummings 2022, section 5; Song, Wang, Chaudhuri 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, islice
from typing import TYPE_CHECKING, overload

from bnpriv.checks import listing, member, subset, whole
from bnpriv.core.networks.base import own_names
from bnpriv.core.networks.graph import Graph, graph_of, reached
from bnpriv.errors import NetworkError, SeparationError
from bnpriv.services import service
from bnpriv.shown import HasCard
from bnpriv.text import set_text

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from bnpriv.core.networks.base import Network
    from bnpriv.render.document import Document

    DeclaredGraph = Network | Graph | nx.DiGraph[str] | Mapping[str, Sequence[str]]

SHOWN = 3
"""The number of quilts that are named, or drawn, of all."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MarkovQuilt(HasCard):
    """A Markov quilt: a split of a network's attributes into quilt, near and remote, for one protected attribute.

    Parameters
    ----------
    protected : str
        The protected attribute.
    quilt : frozenset of str
        Given these, `protected` is independent of `remote`.
    near : frozenset of str
        The attributes on the near side, `protected` among them.
    remote : frozenset of str
        The attributes on the far side.
    graph : Graph, optional
        The network that it is one of, by which it is drawn; two quilts with the same sides are equal without it.
        Without it nothing is known of what the quilt separates.

    Raises
    ------
    NetworkError
        If two of the three sets overlap, `protected` is not near, or the three are not the attributes of `graph`.
    SeparationError
        If in `graph` the quilt leaves a path from `protected` to a remote attribute open; the path is named.

    Examples
    --------
    >>> MarkovQuilt(protected="a", quilt=frozenset("b"), near=frozenset("a"), remote=frozenset("cd"))
    MarkovQuilt(protected='a', quilt={b}, near={a}, remote={c, d})
    """

    protected: str
    quilt: frozenset[str]
    near: frozenset[str]
    remote: frozenset[str]
    graph: Graph | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        shared = (self.quilt & self.near) | (self.quilt & self.remote) | (self.near & self.remote)
        if shared:
            raise NetworkError(
                "an attribute is in one of quilt, near and remote",
                found=f"{listing(sorted(shared))} in two",
                remedy="Build the quilt with markov_quilt(network, protected, quilt).",
            )
        if self.protected not in self.near:
            raise NetworkError(
                "the protected attribute is near itself",
                found=f"{self.protected!r} outside near",
                remedy="Build the quilt with markov_quilt(network, protected, quilt).",
            )

        if self.graph is not None:
            _check_split(self.graph, (self.quilt, self.near, self.remote))
            _check_separated(self.graph, self.protected, self.quilt, self.remote)

    def __repr__(self) -> str:
        # Sorted, so that the same quilt prints the same way in every process.
        sides = (f"{side}={set_text(getattr(self, side))}" for side in ("quilt", "near", "remote"))
        return f"MarkovQuilt(protected={self.protected!r}, {', '.join(sides)})"

    def to_networkx(self) -> nx.DiGraph[str]:
        """The network; nodes have a role and a color, edges a side of the quilt (see `bnpriv.types.RankedQuilts`)."""
        return service("quilts.to_networkx")(self)

    @property
    def document(self) -> Document:
        """The quilt with its sides, drawn in its network if it comes from one."""
        return service("influence.quilt_document")(self)


class MarkovQuilts(Sequence[MarkovQuilt], HasCard):
    """The Markov quilts of a protected attribute, a sequence that is computed lazily and kept.

    Made by `markov_quilts`. There may be exponentially many: the length, and an index from the end, look for all;
    `to_pandas` has at most 200.

    Examples
    --------
    >>> quilts = markov_quilts({"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}, "a")
    >>> quilts
    MarkovQuilts(protected='a', {b}, {c})
    >>> quilts[1].near == {"a", "b"}, len(quilts)
    (True, 2)
    """

    def __init__(self, network: DeclaredGraph, protected: str, limit: int | None) -> None:
        self.network = network
        self.graph = graph = graph_of(network)
        self.protected = protected
        self._found: list[MarkovQuilt] = []
        self._rest = islice((_quilt(graph, protected, names) for names in _separators(graph, protected)), limit)

    def _find(self, most: int | None) -> list[MarkovQuilt]:
        """The quilts found so far, once these are at least `most`, or all."""
        missing = None if most is None else max(most - len(self._found), 0)
        self._found.extend(islice(self._rest, missing))
        return self._found

    def __len__(self) -> int:
        return len(self._find(None))

    def __bool__(self) -> bool:
        return bool(self._find(1))

    def __iter__(self) -> Iterator[MarkovQuilt]:
        for k in count():
            if len(self._find(k + 1)) <= k:
                return
            yield self._found[k]

    @overload
    def __getitem__(self, index: int) -> MarkovQuilt: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[MarkovQuilt]: ...

    def __getitem__(self, index: int | slice) -> MarkovQuilt | Sequence[MarkovQuilt]:
        ends = (index.start, index.stop) if isinstance(index, slice) else (index, index)
        if ends[1] is None or any(end is not None and end < 0 for end in ends):
            return self._find(None)[index]
        return self._find(ends[1] + 1)[index]

    def __repr__(self) -> str:
        first = [set_text(quilt.quilt) for quilt in self._find(SHOWN + 1)[: SHOWN + 1]]
        shown = [*first[:SHOWN], "..."] if len(first) > SHOWN else first
        return f"MarkovQuilts(protected={self.protected!r}, {', '.join(shown) or 'none'})"

    def to_pandas(self) -> pd.DataFrame:
        """A row for each quilt, with what it tells if it was made from a network with laws, not only from a graph."""
        return service("quilts.ranked")(self).to_pandas()

    def to_networkx(self, place: int = 0) -> nx.DiGraph[str]:
        """The network with the role of every node in one of the quilts."""
        return self[place].to_networkx()

    @property
    def document(self) -> Document:
        """The first quilts with their sides, drawn in their network."""
        first = self._find(SHOWN + 1)
        return service("influence.quilts_document")(self.protected, first[:SHOWN], self.graph, more=len(first) > SHOWN)


def markov_quilt(
    network: DeclaredGraph, protected: str, quilt: Iterable[str], remote: Iterable[str] | None = None
) -> MarkovQuilt:
    """The Markov quilt of these attributes, with everything remote that they separate from `protected`.

    Parameters
    ----------
    network : network, Graph, networkx.DiGraph or mapping from str to sequence of str
        The attributes with their dependences; a mapping gives the parents of each.
    protected : str
        The protected attribute.
    quilt : iterable of str
        Other attributes; the empty set is a quilt too.
    remote : iterable of str, optional
        A claim to be checked: attributes that `quilt` must separate from `protected`. The result does not depend on
        it; its remote side is always the largest possible.

    Returns
    -------
    MarkovQuilt

    Raises
    ------
    NetworkError
        If a name is unknown, the quilt contains `protected`, or `remote` overlaps the quilt or contains `protected`.
    SeparationError
        If `quilt` leaves a path from `protected` to an attribute of `remote` open; the path is named.

    Examples
    --------
    >>> chain = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("c",)})
    >>> markov_quilt(chain, "a", {"c"})
    MarkovQuilt(protected='a', quilt={c}, near={a, b}, remote={d})
    >>> markov_quilt(chain, "a", {"c"}, remote={"b"})
    Traceback (most recent call last):
    ...
    bnpriv.errors.SeparationError: the quilt {c} must separate 'a' from 'b'; found the open path a - b. \
Leave 'b' out of remote.
    """
    graph = graph_of(network)
    protected = member("the protected attribute", own_names(network, protected), graph.nodes, error=NetworkError)
    chosen = subset("the quilt's attributes", own_names(network, quilt), graph.nodes, error=NetworkError)
    if protected in chosen:
        raise NetworkError(
            "a quilt consists of other attributes than the protected one",
            found=f"{protected!r} in the quilt",
            remedy="Leave it out.",
        )
    if remote is not None:
        claimed = subset("the remote attributes", own_names(network, remote), graph.nodes, error=NetworkError)
        overlap = claimed & (chosen | {protected})
        if overlap:
            raise NetworkError(
                "remote attributes are neither protected nor in the quilt",
                found=listing(sorted(overlap)),
                remedy="Leave them out of remote.",
            )
        _check_separated(graph, protected, chosen, claimed)
    return _quilt(graph, protected, chosen)


def markov_quilts(network: DeclaredGraph, protected: str, limit: int | None = None) -> MarkovQuilts:
    """All Markov quilts of `protected` that are minimal separators, computed as far as they are read.

    These are all sets Q such that, for some attribute r, Q separates r from `protected` while no proper subset of Q
    does. Each comes once, with everything that it separates as its remote side. They are found as they are asked
    for, because there may be exponentially many; targets r come parents before children, and of those found so far
    for one target the smallest comes first.

    Parameters
    ----------
    network : network, Graph, networkx.DiGraph or mapping from str to sequence of str
        The attributes with their dependences; a mapping gives the parents of each.
    protected : str
        The protected attribute.
    limit : int, optional
        Stop after this many.

    Returns
    -------
    MarkovQuilts

    Raises
    ------
    NetworkError
        If `protected` is unknown.
    ParameterError
        If `limit` is not a whole number of at least 1.

    Notes
    -----
    A separator of which no proper subset separates r from `protected` lies among the ancestors of the two (Tian, Paz,
    Pearl, "Finding minimal d-separators", 1998), and there d-separation is separation in the moral graph. The minimal
    separators of two nodes of an undirected graph are listed as in Shen, Liang, "Efficient enumeration of all minimal
    separators in a graph", Theoretical Computer Science 180, 1997, with the step of Berry, Bordat, Cogis, "Generating
    all the minimal separators of a graph", International Journal of Foundations of Computer Science 11, 2000. Time
    between two separators of one target is polynomial; each is remembered, so memory grows with their number.

    Examples
    --------
    >>> chain = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("c",)})
    >>> for quilt in markov_quilts(chain, "a"):
    ...     print(repr(quilt))
    MarkovQuilt(protected='a', quilt={b}, near={a}, remote={c, d})
    MarkovQuilt(protected='a', quilt={c}, near={a, b}, remote={d})
    """
    graph = graph_of(network)
    protected = member("the protected attribute", own_names(network, protected), graph.nodes, error=NetworkError)
    most = None if limit is None else whole("limit", limit)
    return MarkovQuilts(network, protected, most)


def _quilt(graph: Graph, protected: str, names: frozenset[str]) -> MarkovQuilt:
    near = frozenset((protected, *graph.open_paths(protected, names)))
    remote = frozenset(graph.parents.keys() - near - names)
    return MarkovQuilt(protected=protected, quilt=names, near=near, remote=remote, graph=graph)


def _check_split(graph: Graph, sides: Iterable[frozenset[str]]) -> None:
    split = frozenset[str]().union(*sides)
    wrong = sorted(split ^ graph.parents.keys(), key=str)
    if wrong:
        raise NetworkError(
            "every attribute of the network is on one side of a quilt, and nothing else is",
            found=f"{wrong[0]!r} {'that is no attribute' if wrong[0] in split else 'on none'}",
            remedy="Build the quilt with markov_quilt(network, protected, quilt).",
        )


def _check_separated(graph: Graph, protected: str, quilt: frozenset[str], remote: frozenset[str]) -> None:
    path = graph.open_path(protected, remote, given=quilt) if remote else None
    if path is None:
        return
    other = graph.separator(protected, remote)
    choice = "" if other is None else f", or choose another quilt, for example {set_text(other)}"
    raise SeparationError(
        f"the quilt {{{listing(sorted(quilt))}}} must separate {protected!r} from {path[-1]!r}",
        path=path,
        remedy=f"Leave {path[-1]!r} out of remote{choice}.",
    )


def _separators(graph: Graph, protected: str) -> Iterator[frozenset[str]]:
    """Yield every minimal separator between `protected` and some other node, once each."""
    seen: set[frozenset[str]] = set()
    for target in graph.nodes:
        if target == protected:
            continue
        for names in _minimal_separators(graph.moral((protected, target)), protected, target):
            if names not in seen:
                seen.add(names)
                yield names


def separators_of(graph: Graph, protected: str, columns: Iterable[str]) -> Iterator[frozenset[str]]:
    """Yield minimal separators between an attribute and a set of others, the smallest of those found so far first.

    Each separates all of `columns` from `protected` that it does not hold itself.

    Examples
    --------
    >>> chain = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("c",)})
    >>> [sorted(names) for names in separators_of(chain, "a", ["c", "d"])]
    [['b'], ['c']]
    """
    targets = frozenset(columns)
    import networkx as nx

    # one extra node behind all targets turns a separator of many into a separator of two
    near = nx.Graph(graph.moral((*targets, protected)))
    beyond = ""  # stands for all targets together; no attribute has an empty name
    near.add_edges_from((beyond, name) for name in targets)
    return _minimal_separators(near, protected, beyond)


def _minimal_separators(near: nx.Graph[str], source: str, target: str) -> Iterator[frozenset[str]]:
    """Yield the minimal separators of two nodes of an undirected graph, in an order that depends on the graph only.

    Let S be a minimal separator and x in S. Remove S and the neighbours of x: what borders on the part of `target` is
    again a minimal separator, and the part of `source` has grown by x. Every minimal separator T is reached in this
    way from the one closest to `source`: as long as S is not T, some x of S lies in the part of `source` that T cuts
    off, and taking that x never passes T.
    """
    found: set[frozenset[str]] = set()
    queue: list[tuple[int, tuple[str, ...]]] = []

    def add(wall: Set[str]) -> None:
        if target in wall:
            return
        # the part of the wall that borders on the target's side separates already, and no proper subset of it does
        border = frozenset(wall & reached(near, target, wall))
        if border not in found:
            found.add(border)
            heappush(queue, (len(border), tuple(sorted(border))))

    add(near.adj[source].keys())
    while queue:
        _, names = heappop(queue)
        yield frozenset(names)
        for name in names:
            add(near.adj[name].keys() | set(names))
