"""Directed acyclic graphs: ancestors, the moral graph, and which paths are open (d-separation)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import final

from bnpriv.checks import listing
from bnpriv.errors import NetworkError

Step = tuple[str, bool]
"""A node of a path, and whether the path came to it from a parent."""


@final
@dataclass(frozen=True)
class Graph:
    """A directed acyclic graph, given by the parents of every node.

    Parameters
    ----------
    parents : mapping from str to tuple of str
        Every node with its parents, in the order of their axes.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", {name: tuple(given) for name, given in self.parents.items()})
        for name, given in self.parents.items():
            unknown = [parent for parent in given if parent not in self.parents]
            if unknown:
                raise NetworkError(
                    f"every parent of {name!r} must be a node of the network",
                    found=f"the unknown {listing(unknown)}",
                    remedy="Add a table for it, or remove the edge.",
                )
            if len(set(given)) != len(given):
                raise NetworkError(
                    f"the parents of {name!r} must be distinct", found=listing(given), remedy="List each once."
                )
        try:
            TopologicalSorter(self.parents).prepare()
        except CycleError:
            cycle = _cycle(self.parents)
            raise NetworkError(
                "the network must have no directed cycle",
                found=f"the cycle {' -> '.join([*cycle, cycle[0]])}",
                remedy="Remove or turn one of these edges.",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.parents == other.parents

    def __hash__(self) -> int:
        return hash(frozenset(self.parents.items()))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes, parents before children, otherwise in the order of declaration."""
        rank = {name: k for k, name in enumerate(self.parents)}
        sorter = TopologicalSorter(self.parents)
        sorter.prepare()
        ready = [(rank[name], name) for name in sorter.get_ready()]
        heapify(ready)
        ordered: list[str] = []
        while ready:
            _, name = heappop(ready)
            ordered.append(name)
            sorter.done(name)
            for freed in sorter.get_ready():
                heappush(ready, (rank[freed], freed))
        return tuple(ordered)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Return the children of every node."""
        below: dict[str, list[str]] = {name: [] for name in self.parents}
        for name in self.nodes:
            for parent in self.parents[name]:
                below[parent].append(name)
        return {name: tuple(names) for name, names in below.items()}

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Return every (parent, child)."""
        return tuple((parent, name) for name in self.nodes for parent in self.parents[name])

    def ancestral(self, names: Iterable[str]) -> frozenset[str]:
        """Return `names` with all their ancestors."""
        found: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo.extend(self.parents[name])
        return frozenset(found)

    def moral(self, names: Iterable[str]) -> dict[str, set[str]]:
        """Return the neighbours of every node in the moral graph of the ancestral set of `names`."""
        inside = self.ancestral(names)
        near: dict[str, set[str]] = {name: set() for name in inside}
        for name in inside:
            family = {name, *self.parents[name]}
            for member in family:
                near[member] |= family - {member}
        return near

    def frontier(self, source: str, names: Iterable[str]) -> tuple[str, ...]:
        """Return the members of `names` that the others do not separate from `source`, sorted.

        They are those that a walk from `source` runs into, in the moral graph of the ancestors of all of them.

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `names`.
        """
        wall = frozenset(names)
        self._check_known(wall | {source})
        _check_apart(source, wall)
        near = self.moral((*wall, source))
        reached, todo = {source}, [source]
        while todo:
            fresh = near[todo.pop()] - reached
            reached |= fresh
            todo.extend(fresh - wall)
        return tuple(sorted(reached & wall))

    def open_paths(self, source: str, given: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return, for every node that `given` does not separate from `source`, one path that it leaves open.

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
        start: Step = (source, False)
        back: dict[Step, Step | None] = {start: None}
        first: dict[str, Step] = {}
        queue: deque[Step] = deque([start])
        while queue:
            here = queue.popleft()
            if here[0] not in blocked:
                first.setdefault(here[0], here)
            for step in self._steps(here, blocked, above):
                if step not in back:
                    back[step] = here
                    queue.append(step)
        return {name: _walk(back, end) for name, end in first.items() if name != source}

    def _steps(self, here: Step, blocked: frozenset[str], above: frozenset[str]) -> Iterator[Step]:
        name, from_parent = here
        if name not in blocked:
            yield from ((child, True) for child in self.children[name])
        # Between two parents the node is a collider, between a child and a parent it is not.
        if (from_parent and name in above) or (not from_parent and name not in blocked):
            yield from ((parent, False) for parent in self.parents[name])

    def open_path(self, source: str, targets: Iterable[str], *, given: Iterable[str]) -> tuple[str, ...] | None:
        """Return a path between `source` and one of `targets` that `given` leaves open, or None if there is none.

        Raises
        ------
        NetworkError
            If a name is no node, or `source` is in `given`.
        """
        ends = frozenset(targets)
        self._check_known(ends)
        paths = self.open_paths(source, given)
        return next((paths[name] for name in sorted(ends) if name in paths), None)

    def _check_known(self, names: frozenset[str]) -> None:
        # An unknown name is never reached, and would look separated from everything.
        unknown = sorted(names - self.parents.keys(), key=str)
        if unknown:
            raise NetworkError(
                "paths run between nodes of the network",
                found=f"the unknown {listing(unknown)}",
                remedy="Check the spelling.",
            )


def _check_apart(source: str, given: frozenset[str]) -> None:
    if source in given:  # it would reach nothing, and everything would look separated
        raise NetworkError(
            "a node is not among the given when its own paths are asked for",
            found=repr(source),
            remedy="Leave it out of them.",
        )


def _cycle(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return a directed cycle, parents before children; there must be one."""
    left = set(parents)
    while loose := {name for name in left if left.isdisjoint(parents[name])}:
        left -= loose
    # Every node that is left has a parent that is left, so the way up must come back to where it has been.
    path = [min(left)]
    while (above := min(left.intersection(parents[path[-1]]))) not in path:
        path.append(above)
    return path[path.index(above) :][::-1]


def _walk(back: Mapping[Step, Step | None], end: Step) -> tuple[str, ...]:
    path: list[str] = []
    here: Step | None = end
    while here is not None:
        path.append(here[0])
        here = back[here]
    return tuple(reversed(path))
