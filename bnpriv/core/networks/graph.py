"""Directed acyclic graphs: ancestors, moral graphs, and d-separation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from bnpriv.checks import closest, listing, spelling, text
from bnpriv.core.frozen import ReadOnly
from bnpriv.errors import NetworkError

if TYPE_CHECKING:
    import networkx as nx

Parents: TypeAlias = "Mapping[str, Sequence[str]] | nx.DiGraph[str]"
"""The parents of every node, as a mapping or a networkx graph."""

PathStep = tuple[str, bool]
"""A node on a path, and whether the path entered it from a parent."""

MOST_MORAL = 32
"""Number of moral graphs that a graph caches: the same few are asked for again and again."""


@dataclass(frozen=True, eq=False, init=False)
class Graph:
    """A directed acyclic graph, given by the parents of every node.

    Parameters
    ----------
    parents : mapping from str to sequence of str, or networkx.DiGraph
        Every node with its parents, in the order of their axes; of a `networkx.DiGraph` the order of its edges counts.

    Raises
    ------
    NetworkError
        If a parent is unknown, a node is its own parent, or there is a directed cycle (which is named).

    Examples
    --------
    >>> graph = Graph({"rain": (), "wet": ("rain",), "slip": ("wet",)})
    >>> graph.nodes
    ('rain', 'wet', 'slip')
    >>> graph.open_path("rain", {"slip"}, given={"wet"}) is None
    True
    """

    parents: Mapping[str, tuple[str, ...]]
    directed: nx.DiGraph[str] = field(repr=False, compare=False)
    """The same graph as a frozen `networkx.DiGraph`: nodes in declared order, parents in the order of their axes."""
    _ancestors: dict[str, frozenset[str]] = field(repr=False, compare=False)
    _moral: dict[frozenset[str], nx.Graph[str]] = field(repr=False, compare=False)

    def __init__(self, parents: Parents) -> None:
        above = _declared_parents(parents)
        vars(self).update(parents=ReadOnly(above), directed=_directed(above), _ancestors={}, _moral={})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.parents == other.parents

    def __hash__(self) -> int:
        return hash(frozenset(self.parents.items()))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in topological order; ties in the order of declaration."""
        rank = {name: k for k, name in enumerate(self.parents)}
        return tuple(_networkx().lexicographical_topological_sort(self.directed, key=rank.__getitem__))

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The children of every node, in the order of `nodes`."""
        rank = {name: k for k, name in enumerate(self.nodes)}
        return {name: tuple(sorted(self.directed.successors(name), key=rank.__getitem__)) for name in self.parents}

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All (parent, child) pairs."""
        return tuple((parent, name) for name in self.nodes for parent in self.parents[name])

    def ancestral(self, names: Iterable[str]) -> frozenset[str]:
        """The given nodes together with all their ancestors."""
        chosen = frozenset(names)
        for name in chosen - self._ancestors.keys():
            self._ancestors[name] = frozenset(_networkx().ancestors(self.directed, name))
        return chosen.union(*(self._ancestors[name] for name in chosen))

    def moral(self, names: Iterable[str]) -> nx.Graph[str]:
        """The moral graph of the ancestral set of `names`, frozen: there d-separation is plain separation."""
        inside = self.ancestral(names)
        if inside not in self._moral:
            if len(self._moral) >= MOST_MORAL:
                self._moral.clear()
            # networkx.moral_graph also copies the data of nodes and edges, and takes five times as long
            near = _networkx().Graph()
            near.add_nodes_from(inside)
            families = [frozenset((name, *self.parents[name])) for name in inside]
            largest = max(families, key=len, default=frozenset[str]())  # where all depends on all it holds the others
            apart = (family for family in families if not family < largest)
            near.add_edges_from(edge for family in apart for edge in combinations(family, 2))
            self._moral[inside] = _networkx().freeze(near)
        return self._moral[inside]

    def parts(self, names: Iterable[str], without: str) -> list[frozenset[str]]:
        """The connected components of the moral graph of the ancestors after deleting `without`.

        Members of different parts are independent given `without`.

        Examples
        --------
        >>> tree = Graph({"root": (), "left": ("root",), "right": ("root",)})
        >>> [sorted(part) for part in tree.parts(["left", "right"], "root")]
        [['left'], ['right']]
        """
        near = self.moral((*names, without))
        parts = _networkx().connected_components(near.subgraph(near.nodes - {without}))
        return sorted(map(frozenset, parts), key=min)

    def frontier(self, source: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those members of `names` that the other members do not d-separate from `source`, sorted.

        They are those that a walk from `source` runs into, in the moral graph of the ancestors of all of them.

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `names`.
        """
        wall = frozenset(names)
        self._check_known(wall | {source})
        _check_apart(source, wall)
        return tuple(sorted(wall & reached(self.moral((*wall, source)), source, wall)))

    def separates(self, given: Iterable[str], source: str, targets: Iterable[str]) -> bool:
        """Whether `given` d-separates `source` from all of `targets`.

        Raises
        ------
        NetworkError
            If a name is no node, or in two of the three.
        """
        known, ends = set(given), set(targets)
        self._check_known(known | ends | {source})
        for name in (source, *ends):
            _check_apart(name, known)
        _check_apart(source, ends)
        return _networkx().is_d_separator(self.directed, source, ends, known)

    def separator(self, source: str, targets: Iterable[str]) -> frozenset[str] | None:
        """An inclusion-minimal set that d-separates `source` from all of `targets`, or None if none does.

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `targets`.
        """
        ends = set(targets)
        self._check_known(ends | {source})
        _check_apart(source, ends)
        found = _networkx().find_minimal_d_separator(self.directed, source, ends)
        return None if found is None else frozenset(found)

    def open_paths(self, source: str, given: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """For every node that `given` does not d-separate from `source`, one open path to it.

        A path is open when each of its colliders is in `given` or has a descendant there, and no other node of it is
        in `given` (Pearl 1988; the reachability algorithm of Koller and Friedman 2009, algorithm 3.1).

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `given`.
        """
        blocked = frozenset(given)
        self._check_known(blocked | {source})
        _check_apart(source, blocked)
        above = self.ancestral(blocked)
        start: PathStep = (source, False)
        back: dict[PathStep, PathStep | None] = {start: None}
        first: dict[str, PathStep] = {}
        queue: deque[PathStep] = deque([start])
        while queue:
            here = queue.popleft()
            if here[0] not in blocked:
                first.setdefault(here[0], here)
            for step in self._steps(here, blocked, above):
                if step not in back:
                    back[step] = here
                    queue.append(step)
        return {name: _walk(back, end) for name, end in first.items() if name != source}

    def _steps(self, here: PathStep, blocked: frozenset[str], above: frozenset[str]) -> Iterator[PathStep]:
        name, from_parent = here
        if name not in blocked:
            yield from ((child, True) for child in self.children[name])
        # Between two parents the node is a collider, between a child and a parent it is not.
        if (from_parent and name in above) or (not from_parent and name not in blocked):
            yield from ((parent, False) for parent in self.parents[name])

    def open_path(self, source: str, targets: Iterable[str], *, given: Iterable[str]) -> tuple[str, ...] | None:
        """An open path between `source` and one of `targets` given `given`, or None if there is none.

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `given`.
        """
        ends = frozenset(targets)
        self._check_known(ends)
        paths = self.open_paths(source, given)
        return next((paths[name] for name in sorted(ends) if name in paths), None)

    def _check_known(self, names: Set[str]) -> None:
        # An unknown name is never reached, and would look separated from everything.
        unknown = sorted(names - self.parents.keys(), key=str)
        if unknown:
            raise NetworkError(
                "paths run between nodes of the network",
                found=f"the unknown {listing(unknown)}",
                remedy=spelling(unknown[0], self.parents),
            )


def _check_apart(source: str, given: Set[str]) -> None:
    if source in given:  # it would reach nothing, and everything would look separated
        raise NetworkError(
            "a node is not among the given when its own paths are asked for",
            found=repr(source),
            remedy="Leave it out of them.",
        )


def _networkx() -> Any:
    """Import networkx where it is used; its stubs leave the types of most of its functions open."""
    import networkx

    return networkx


def _declared_parents(declared: Parents) -> dict[str, tuple[str, ...]]:
    """Check that the parents of every node are nodes, and distinct."""
    above = parents_of(declared)
    for name, given in above.items():
        unknown = [parent for parent in given if parent not in above]
        if unknown:
            near = closest(unknown[0], above)
            raise NetworkError(
                f"every parent of {name!r} must be a node of the network",
                found=f"the unknown {listing(unknown)}",
                remedy="Add a table for it, or remove the edge." if near is None else f"Did you mean {near!r}?",
            )
        if len(set(given)) != len(given):
            raise NetworkError(
                f"the parents of {name!r} must be distinct", found=listing(given), remedy="List each once."
            )
    return above


def parents_of(declared: Parents) -> dict[str, tuple[str, ...]]:
    """The parents of every node of a mapping or a `networkx.DiGraph`, in the order of their axes.

    Those of a `networkx.DiGraph` are its predecessors, in the order in which their edges were added.

    Raises
    ------
    NetworkError
        If it is neither, has several edges between two nodes, a node is no text, or parents are one string.

    Examples
    --------
    >>> import networkx as nx
    >>> parents_of(nx.DiGraph([("age", "sat"), ("income", "sat")]))
    {'age': (), 'sat': ('age', 'income'), 'income': ()}
    """
    if isinstance(declared, Mapping):
        return {name: named_parents(name, given) for name, given in declared.items()}
    if not isinstance(declared, _networkx().DiGraph) or declared.is_multigraph():
        raise NetworkError(
            "a graph is a mapping from attributes to parents, or a networkx.DiGraph",
            found=f"a {type(declared).__name__}",
            remedy='Write {"sat": ["income"]}.',
        )
    names = [text("an attribute's name", name, error=NetworkError) for name in declared]
    return {name: tuple(declared.predecessors(name)) for name in names}


def named_parents(name: str, declared: Sequence[str]) -> tuple[str, ...]:
    """The parents of an attribute, checked to be a list of names.

    Raises
    ------
    NetworkError
        If they are one string instead of a list.
    """
    if isinstance(declared, str):  # its letters would be taken for names
        raise NetworkError(
            f"the parents of {name!r} must be a list of names",
            found=f"the string {declared!r}",
            remedy=f"Write [{declared!r}].",
        )
    return tuple(declared)


def graph_of(declared: object) -> Graph:
    """The graph meant by an argument: that of a network, or one declared by itself.

    Parameters
    ----------
    declared : network, Graph, networkx.DiGraph or mapping from str to sequence of str
        A pgmpy network is a `networkx.DiGraph` as well.

    Raises
    ------
    NetworkError
        If it is none of these, or not acyclic.

    Examples
    --------
    >>> graph_of({"sat": ["income"], "income": []}).edges
    (('income', 'sat'),)
    """
    if isinstance(declared, Graph):
        return declared
    # a networkx graph has an attribute `graph` as well, which is a mapping
    own: object = getattr(declared, "graph", None)
    return own if isinstance(own, Graph) else Graph(cast("nx.DiGraph[str]", declared))


def reached(near: nx.Graph[str], source: str, wall: Set[str]) -> set[str]:
    """All nodes that a walk from `source` reaches when it must stop at every member of `wall`."""
    found, todo, adjacent = {source}, [source], dict(near.adjacency())
    while todo:
        fresh = adjacent[todo.pop()].keys() - found
        found |= fresh
        todo.extend(fresh - wall)
    return found


def _directed(parents: Mapping[str, tuple[str, ...]]) -> nx.DiGraph[str]:
    """A frozen networkx graph, once it is known to be acyclic."""
    nx = _networkx()
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((parent, name) for name, given in parents.items() for parent in given)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
        first = cycle.index(min(cycle))
        cycle = cycle[first:] + cycle[:first]
        raise NetworkError(
            "the network must have no directed cycle",
            found=f"the cycle {' -> '.join([*cycle, cycle[0]])}",
            remedy="Remove or turn one of these edges.",
        )
    return nx.freeze(graph)


def _walk(back: Mapping[PathStep, PathStep | None], end: PathStep) -> tuple[str, ...]:
    path: list[str] = []
    here: PathStep | None = end
    while here is not None:
        path.append(here[0])
        here = back[here]
    return tuple(reversed(path))
