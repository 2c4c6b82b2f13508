"""The graph: what it refuses, its orders, and d-separation against networkx and against the definition."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping

import networkx as nx
import pytest

from bnpriv.errors import NetworkError
from bnpriv.networks import Graph

CHAIN = {"a": (), "b": ("a",), "c": ("b",)}
FORK = {"a": ("b",), "b": (), "c": ("b",)}
COLLIDER = {"a": (), "b": ("a", "c"), "c": (), "d": ("b",)}


def random_parents(rng: random.Random, most: int) -> dict[str, tuple[str, ...]]:
    """Return a random graph whose nodes are declared in an order that is not topological."""
    names = [f"n{k}" for k in range(rng.randint(2, most))]
    rng.shuffle(names)
    density = rng.choice([0.15, 0.3, 0.5, 0.8])
    above = {name: tuple(other for other in names[:k] if rng.random() < density) for k, name in enumerate(names)}
    return {name: above[name] for name in sorted(above)}


def drawn(parents: Mapping[str, tuple[str, ...]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((parent, name) for name, given in parents.items() for parent in given)
    return graph


def is_open(graph: nx.DiGraph, path: tuple[str, ...], given: set[str]) -> bool:
    """Tell whether `path` is open, word by word as the definition has it."""
    steps = list(itertools.pairwise(path))
    if len(set(path)) != len(path) or not all(graph.has_edge(a, b) or graph.has_edge(b, a) for a, b in steps):
        return False
    if path[0] in given or path[-1] in given:
        return False
    for before, name, after in zip(path, path[1:], path[2:], strict=False):
        if graph.has_edge(before, name) and graph.has_edge(after, name):
            if given.isdisjoint({name} | nx.descendants(graph, name)):
                return False
        elif name in given:
            return False
    return True


# what is refused


@pytest.mark.parametrize(
    "parents",
    [
        {"a": ("a",)},
        {"a": ("b",), "b": ("a",)},
        {"root": (), "a": ("c", "root"), "b": ("a",), "c": ("b",), "leaf": ("c",)},
        {"x": ("z",), "y": ("x",), "z": ("y",), "p": ("q",), "q": ("p",)},
    ],
)
def test_cycle_is_named(parents: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(NetworkError, match="directed cycle") as refusal:
        Graph(parents)
    named = re.search(r"the cycle (.*)\. ", str(refusal.value))
    assert named is not None
    cycle = named[1].split(" -> ")
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert all(parent in parents[name] for parent, name in itertools.pairwise(cycle))


def test_random_cycles_are_named_and_only_cycles_are_refused() -> None:
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        names = "abcdef"[: rng.randint(1, 6)]
        parents = {name: tuple(other for other in names if rng.random() < 0.2) for name in names}
        if nx.is_directed_acyclic_graph(drawn(parents)):
            assert set(Graph(parents).parents) == set(names)
            continue
        refused += 1
        with pytest.raises(NetworkError, match="the cycle") as refusal:
            Graph(parents)
        cycle = refusal.value.found.removeprefix("the cycle ").split(" -> ")
        assert cycle[0] == cycle[-1]
        assert all(parent in parents[name] for parent, name in itertools.pairwise(cycle))
    assert 100 < refused < 300


def test_self_loop_is_named() -> None:
    with pytest.raises(NetworkError, match="a -> a"):
        Graph({"b": (), "a": ("b", "a")})


def test_unknown_parent_is_named() -> None:
    with pytest.raises(NetworkError, match=r"every parent of 'b' must be a node.*the unknown ghost") as refusal:
        Graph({"a": (), "b": ("a", "ghost")})
    assert refusal.value.remedy


def test_repeated_parent_is_refused() -> None:
    with pytest.raises(NetworkError, match="the parents of 'b' must be distinct"):
        Graph({"a": (), "b": ("a", "a")})


@pytest.mark.parametrize(
    ("source", "given", "found"),
    [("ghost", set(), "ghost"), ("a", {"ghost"}, "ghost"), ("a", {"b", "a"}, "'a'")],
)
def test_paths_of_the_unknown_or_the_given_are_refused(source: str, given: set[str], found: str) -> None:
    with pytest.raises(NetworkError, match=found):
        Graph(CHAIN).open_paths(source, given)


def test_path_to_the_unknown_is_refused() -> None:
    with pytest.raises(NetworkError, match="ghost"):
        Graph(CHAIN).open_path("a", {"ghost"}, given=())


# orders and kin


def test_nodes_are_in_topological_order_and_otherwise_as_declared() -> None:
    assert Graph({"d": ("b", "c"), "c": (), "b": ("a",), "a": ()}).nodes == ("c", "a", "b", "d")
    assert Graph({"z": (), "y": (), "x": ()}).nodes == ("z", "y", "x")
    rng = random.Random(2)
    for _ in range(100):
        parents = random_parents(rng, 8)
        nodes = Graph(parents).nodes
        assert sorted(nodes) == sorted(parents)
        assert all(nodes.index(parent) < nodes.index(name) for name in nodes for parent in parents[name])


def test_children_edges_and_ancestors_agree_with_networkx() -> None:
    rng = random.Random(3)
    for _ in range(100):
        parents = random_parents(rng, 8)
        graph, reference = Graph(parents), drawn(parents)
        assert set(graph.edges) == set(reference.edges)
        assert len(graph.edges) == reference.number_of_edges()
        assert {name: set(below) for name, below in graph.children.items()} == {
            name: set(reference.successors(name)) for name in reference
        }
        chosen = rng.sample(sorted(parents), rng.randint(0, len(parents)))
        expected = set(chosen).union(*(nx.ancestors(reference, name) for name in chosen))
        assert graph.ancestral(chosen) == expected
        moral = nx.moral_graph(reference.subgraph(expected))
        assert graph.moral(chosen) == {name: set(moral.neighbors(name)) for name in moral}


def test_moral_graph_marries_parents_of_ancestors_only() -> None:
    graph = Graph(COLLIDER)
    assert graph.moral(("a", "c")) == {"a": set(), "c": set()}
    assert graph.moral(("d",)) == {"a": {"b", "c"}, "b": {"a", "c", "d"}, "c": {"a", "b"}, "d": {"b"}}


def test_equal_graphs_are_equal_and_hash_alike() -> None:
    assert Graph({"a": (), "b": ("a",)}) == Graph({"b": ("a",), "a": ()})
    assert hash(Graph({"a": (), "b": ("a",)})) == hash(Graph({"b": ("a",), "a": ()}))
    assert Graph({"a": (), "b": ("a",)}) != Graph({"a": (), "b": ()})


def test_graph_keeps_a_copy_of_its_declaration() -> None:
    declared: dict[str, tuple[str, ...]] = {"a": (), "b": ("a",)}
    graph = Graph(declared)
    declared["b"] = ()
    assert graph.edges == (("a", "b"),)


# separation


@pytest.mark.parametrize(
    ("parents", "given", "path"),
    [
        (CHAIN, (), ("a", "b", "c")),
        (CHAIN, "b", None),
        (FORK, (), ("a", "b", "c")),
        (FORK, "b", None),
        (COLLIDER, (), None),
        (COLLIDER, "b", ("a", "b", "c")),
        (COLLIDER, "d", ("a", "b", "c")),
        ({"a": (), "c": ()}, (), None),
    ],
)
def test_open_path_in_named_graphs(
    parents: dict[str, tuple[str, ...]], given: str, path: tuple[str, ...] | None
) -> None:
    assert Graph(parents).open_path("a", {"c"}, given=given) == path


def test_open_path_takes_one_of_several_targets() -> None:
    assert Graph(COLLIDER).open_path("a", {"c", "d"}, given=()) == ("a", "b", "d")
    assert Graph(COLLIDER).open_path("a", (), given=()) is None


def test_open_paths_agree_with_networkx_and_are_open() -> None:
    rng = random.Random(4)
    both = {True: 0, False: 0}
    for _ in range(800):
        parents = random_parents(rng, 8)
        graph, reference = Graph(parents), drawn(parents)
        source = rng.choice(sorted(parents))
        others = sorted(parents.keys() - {source})
        for _ in range(4):
            given = set(rng.sample(others, rng.randint(0, len(others))))
            paths = graph.open_paths(source, given)
            for target in set(others) - given:
                assert (target not in paths) == nx.is_d_separator(reference, {source}, {target}, given)
                both[target in paths] += 1
            assert source not in paths
            assert given.isdisjoint(paths)
            for target, path in paths.items():
                assert (path[0], path[-1]) == (source, target)
                assert is_open(reference, path, given)
    assert min(both.values()) > 2000  # neither answer is rare


def test_open_paths_on_every_small_graph_and_every_conditioning_set() -> None:
    # every graph on four nodes that is topological in one order, so every graph up to names
    pairs = list(itertools.combinations("abcd", 2))
    for kept in itertools.product([False, True], repeat=len(pairs)):
        edges = [pair for pair, keep in zip(pairs, kept, strict=True) if keep]
        parents = {name: tuple(above for above, below in edges if below == name) for name in "abcd"}
        graph, reference = Graph(parents), drawn(parents)
        for source in "abcd":
            others = set("abcd") - {source}
            for size in range(3):
                for given in map(set, itertools.combinations(sorted(others), size)):
                    paths = graph.open_paths(source, given)
                    for target in others - given:
                        separated = nx.is_d_separator(reference, {source}, {target}, given)
                        assert (target not in paths) == separated
                    assert all(is_open(reference, path, given) for path in paths.values())
