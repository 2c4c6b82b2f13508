"""The graph: what it refuses, its orders, and d-separation against networkx and against the definition."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping

import networkx as nx
import pytest

import bnpriv as bp
from bnpriv.core.networks.graph import MOST_MORAL, Graph, graph_of
from bnpriv.digest import digest
from bnpriv.errors import NetworkError

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


def neighbours(graph: nx.Graph) -> dict[str, set[str]]:
    return {name: set(graph.neighbors(name)) for name in graph}


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
        assert neighbours(graph.moral(chosen)) == neighbours(moral)


def test_moral_graph_marries_parents_of_ancestors_only() -> None:
    graph = Graph(COLLIDER)
    assert neighbours(graph.moral(("a", "c"))) == {"a": set(), "c": set()}
    assert neighbours(graph.moral(("d",))) == {"a": {"b", "c"}, "b": {"a", "c", "d"}, "c": {"a", "b"}, "d": {"b"}}


def test_moral_graphs_are_kept_and_cannot_be_changed() -> None:
    graph = Graph({"root": (), **{f"n{k}": ("root",) for k in range(2 * MOST_MORAL)}})
    assert graph.moral(("n1", "n2")) is graph.moral(("n2", "n1"))
    for k in range(2 * MOST_MORAL):
        assert neighbours(graph.moral((f"n{k}",))) == {"root": {f"n{k}"}, f"n{k}": {"root"}}
    for frozen in (graph.directed, graph.moral(("n1",))):
        with pytest.raises(nx.NetworkXError, match=r"[Ff]rozen"):
            frozen.add_edge("n1", "n2")


def test_what_a_graph_keeps_does_not_tell_it_from_others() -> None:
    graph = Graph(COLLIDER)
    before = digest(graph)
    graph.moral(("a", "d"))
    assert digest(graph) == before == digest(Graph(drawn(COLLIDER)))


def test_nodes_come_parents_first_otherwise_as_they_were_declared() -> None:
    rng = random.Random(11)
    for _ in range(200):
        parents = random_parents(rng, 9)
        left = list(parents)
        expected: list[str] = []
        while left:  # the first of those declared whose parents are all there
            expected.append(next(name for name in left if set(parents[name]) <= set(expected)))
            left.remove(expected[-1])
        assert list(Graph(parents).nodes) == expected


# declared by networkx


def test_a_digraph_declares_nodes_and_axes_in_its_own_order() -> None:
    rng = random.Random(12)
    for _ in range(100):
        parents = random_parents(rng, 8)
        shuffled = {name: tuple(rng.sample(given, len(given))) for name, given in parents.items()}
        graph = Graph(drawn(shuffled))
        assert list(graph.parents.items()) == list(shuffled.items())
        assert Graph(graph.directed).parents == shuffled
    assert Graph(nx.DiGraph([("z", "y"), ("a", "y")])).parents == {"z": (), "y": ("z", "a"), "a": ()}


def test_a_digraph_is_copied() -> None:
    declared = drawn(CHAIN)
    graph = Graph(declared)
    declared.remove_edge("a", "b")
    assert graph.edges == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize(
    ("declared", "match"),
    [
        (nx.Graph([("a", "b")]), "networkx.DiGraph"),
        (nx.MultiDiGraph([("a", "b")]), "networkx.DiGraph"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), "the cycle a -> b -> a"),
        (nx.DiGraph([("a", "a")]), "the cycle a -> a"),
        (nx.DiGraph([(1, 2)]), "name"),
        (nx.DiGraph([("", "b")]), "name"),
        ([("a", "b")], "found a list"),
        (None, "found a NoneType"),
        ({"a": (), "bc": "a"}, "the string 'a'"),
    ],
)
def test_what_is_no_graph_is_refused(declared: object, match: str) -> None:
    for declare in (Graph, graph_of):
        with pytest.raises(NetworkError, match=match):
            declare(declared)  # type: ignore[operator]


def test_the_graph_of_a_network_is_its_own() -> None:
    graph = Graph(CHAIN)
    assert graph_of(graph) is graph
    network = bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.5, 0.1], [0.5, 0.9]]}, states={"a": [0, 1], "b": [0, 1]}, parents={"b": ["a"]}
    )
    assert graph_of(network) is network.graph
    assert graph_of(drawn(CHAIN)) == graph_of(CHAIN) == graph


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


@pytest.mark.unhurried
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


def separated_by_definition(graph: nx.DiGraph, given: set[str], source: str, targets: set[str]) -> bool:
    skeleton = graph.to_undirected()
    paths = itertools.chain.from_iterable(nx.all_simple_paths(skeleton, source, target) for target in targets)
    return not any(is_open(graph, tuple(path), given) for path in paths)


def test_separation_and_separators_agree_with_the_definition() -> None:
    rng = random.Random(13)
    seen = {True: 0, False: 0, None: 0}
    for _ in range(300):
        parents = random_parents(rng, 6)
        graph, reference = Graph(parents), drawn(parents)
        source, *others = rng.sample(sorted(parents), len(parents))
        many = rng.randint(1, 2)
        targets, rest = set(others[:many]), others[many:]
        given = set(rng.sample(rest, rng.randint(0, len(rest))))
        expected = separated_by_definition(reference, given, source, targets)
        assert graph.separates(given, source, targets) is expected
        seen[expected] += 1
        found = graph.separator(source, targets)
        inside = [set(each) for k in range(len(rest) + 1) for each in itertools.combinations(sorted(rest), k)]
        between = [each for each in inside if separated_by_definition(reference, each, source, targets)]
        if found is None:
            seen[None] += 1
            assert not between
        else:
            assert set(found) in between
            assert not any(each < found for each in between)
    assert min(seen.values()) > 50


def test_separation_of_nothing_and_of_strange_names() -> None:
    graph = Graph(CHAIN)
    assert graph.separates((), "a", ())
    with pytest.raises(NetworkError, match="unknown"):
        graph.separates({"ghost"}, "a", {"c"})
    with pytest.raises(NetworkError, match="unknown"):
        graph.separator("a", {"ghost"})
    for given, targets in (({"a"}, {"c"}), ({"c"}, {"c"}), ({"b"}, {"a", "c"})):
        with pytest.raises(NetworkError, match="own paths"):
            graph.separates(given, "a", targets)
    with pytest.raises(NetworkError, match="own paths"):
        graph.separator("a", {"a"})


def test_parts_are_the_components_of_the_moral_graph_without_a_node() -> None:
    rng = random.Random(14)
    several = 0
    for _ in range(200):
        parents = random_parents(rng, 8)
        graph, reference = Graph(parents), drawn(parents)
        without, *others = rng.sample(sorted(parents), len(parents))
        names = set(others[: rng.randint(1, len(others))])
        inside = names.union({without}, *(nx.ancestors(reference, name) for name in (*names, without)))
        moral = nx.Graph(nx.moral_graph(reference.subgraph(inside)))
        moral.remove_node(without)
        found = graph.parts(names, without)
        assert {frozenset(part) for part in nx.connected_components(moral)} == set(found)
        assert len(found) == len(set(found))
        several += len(found) > 1
    assert several > 50


def test_the_frontier_is_what_the_others_do_not_separate() -> None:
    rng = random.Random(15)
    for _ in range(300):
        parents = random_parents(rng, 7)
        source, *others = rng.sample(sorted(parents), len(parents))
        names = set(others[: rng.randint(0, len(others))])
        expected = [
            name for name in sorted(names) if not nx.is_d_separator(drawn(parents), source, name, names - {name})
        ]
        assert list(Graph(parents).frontier(source, names)) == expected
