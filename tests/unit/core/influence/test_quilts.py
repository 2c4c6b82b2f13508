"""Markov quilts against their definition, by brute force over all subsets, and on named graphs."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass

import networkx as nx
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.quilts import MarkovQuilt, markov_quilt, markov_quilts
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Graph
from bnpriv.errors import NetworkError, ParameterError, SeparationError
from tests import oracles

Parents = dict[str, tuple[str, ...]]

CHAIN: Parents = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}
FORK: Parents = {"a": ("b",), "b": (), "c": ("b",)}
COLLIDER: Parents = {"a": (), "b": ("a", "c"), "c": ()}
COLLIDER_WITH_CHILD: Parents = {**COLLIDER, "d": ("b",)}
TREE: Parents = {"r": (), "a": ("r",), "b": ("r",), "a1": ("a",), "a2": ("a",), "b1": ("b",)}
LOOP: Parents = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
LONG_LOOP: Parents = {"a": (), "b": ("a",), "c": ("a",), "d": ("b",), "e": ("c",), "f": ("d", "e")}
DISCONNECTED: Parents = {"a": (), "b": ("a",), "x": (), "y": ("x",)}


def random_parents(rng: random.Random, most: int) -> Parents:
    names = [f"n{k}" for k in range(rng.randint(2, most))]
    rng.shuffle(names)
    density = rng.choice([0.15, 0.3, 0.5])
    above = {name: tuple(other for other in names[:k] if rng.random() < density) for k, name in enumerate(names)}
    return {name: above[name] for name in sorted(above)}


def drawn(parents: Mapping[str, tuple[str, ...]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((parent, name) for name, given in parents.items() for parent in given)
    return graph


def by_definition(parents: Parents, protected: str) -> dict[frozenset[str], frozenset[str]]:
    """Return every quilt with all that it separates: all subsets are tried for all attributes r."""
    graph = drawn(parents)
    others = sorted(parents.keys() - {protected})
    subsets = [frozenset(names) for size in range(len(others)) for names in itertools.combinations(others, size)]
    remote = {
        quilt: frozenset(r for r in others if r not in quilt and nx.is_d_separator(graph, {protected}, {r}, set(quilt)))
        for quilt in subsets
    }
    separate = {r: {quilt for quilt in subsets if r in remote[quilt]} for r in others}
    return {
        quilt: remote[quilt]
        for quilts in separate.values()
        for quilt in quilts
        if not any(smaller < quilt for smaller in quilts)
    }


def sets(parents: Parents, protected: str) -> list[tuple[str, str, str]]:
    """Return (quilt, near, remote) of every quilt, each as its sorted letters."""
    return [
        ("".join(sorted(found.quilt)), "".join(sorted(found.near)), "".join(sorted(found.remote)))
        for found in markov_quilts(Graph(parents), protected)
    ]


# enumeration


def test_enumeration_is_the_definition_on_random_graphs() -> None:
    rng = random.Random(5)
    sizes: set[int] = set()
    total = 0
    for _ in range(600):
        parents = random_parents(rng, 8)
        protected = rng.choice(sorted(parents))
        expected = by_definition(parents, protected)
        found = list(markov_quilts(Graph(parents), protected))
        assert len({quilt.quilt for quilt in found}) == len(found)  # each once
        assert {quilt.quilt: quilt.remote for quilt in found} == expected
        for quilt in found:
            assert quilt.protected == protected
            assert quilt.near == parents.keys() - quilt.quilt - quilt.remote
            assert protected in quilt.near
        sizes |= {len(quilt.quilt) for quilt in found}
        total += len(found)
    assert sizes >= {0, 1, 2, 3}  # the graphs are rich enough to tell
    assert total > 600


@pytest.mark.parametrize("parents", [CHAIN, FORK, COLLIDER_WITH_CHILD, TREE, LOOP, LONG_LOOP, DISCONNECTED])
def test_enumeration_is_the_definition_on_named_graphs(parents: Parents) -> None:
    for protected in parents:
        found = {quilt.quilt: quilt.remote for quilt in markov_quilts(Graph(parents), protected)}
        assert found == by_definition(parents, protected)


@pytest.mark.parametrize(
    ("parents", "protected", "expected"),
    [
        pytest.param(CHAIN, "a", [("b", "a", "cd"), ("c", "ab", "d")], id="chain-end"),
        pytest.param(CHAIN, "b", [("c", "ab", "d")], id="chain-middle"),
        pytest.param(FORK, "a", [("b", "a", "c")], id="fork"),
        pytest.param(COLLIDER, "a", [("", "ab", "c")], id="collider"),
        # b lies on the only way to d, and d is no reason to condition on the collider's other parent alone
        pytest.param(COLLIDER_WITH_CHILD, "a", [("", "abd", "c"), ("b", "ac", "d")], id="collider-child"),
        pytest.param(LOOP, "a", [("bc", "a", "d")], id="loop"),
        pytest.param(LOOP, "b", [("a", "bd", "c")], id="loop-side"),
        pytest.param(
            LONG_LOOP,
            "a",
            [
                ("b", "acef", "d"),
                ("c", "abdf", "e"),
                ("bc", "a", "def"),
                ("be", "ac", "df"),
                ("cd", "ab", "ef"),
                ("de", "abc", "f"),
            ],
            id="long-loop",
        ),
        pytest.param(DISCONNECTED, "a", [("", "ab", "xy")], id="disconnected"),
        pytest.param({"a": ()}, "a", [], id="alone"),
        pytest.param({"a": (), "b": ("a",)}, "a", [], id="adjacent"),
    ],
)
def test_quilts_of_named_graphs(parents: Parents, protected: str, expected: list[tuple[str, str, str]]) -> None:
    assert sorted(sets(parents, protected)) == sorted(expected)


def test_every_quilt_of_a_tree_is_one_attribute() -> None:
    for protected in TREE:
        assert all(len(quilt.quilt) == 1 for quilt in markov_quilts(Graph(TREE), protected))


def test_of_the_separators_known_for_a_target_the_smallest_comes_first() -> None:
    # behind p the way to t is three wide, behind q it is one wide
    fan: Parents = {"a": (), "p": ("a",), "q": ("a",), "x": ("p",), "y": ("p",), "z": ("p",), "q1": ("q",)}
    graph = Graph({**fan, "t": ("x", "y", "z", "q1")})
    assert [sorted(quilt.quilt) for quilt in markov_quilts(graph, "a")] == [
        ["p"],
        ["q"],
        ["p", "q"],
        ["p", "q1"],
        ["q", "x", "y", "z"],
        ["q1", "x", "y", "z"],
    ]


def test_limit_is_a_prefix() -> None:
    graph = Graph(LONG_LOOP)
    every = list(markov_quilts(graph, "a"))
    for limit in range(1, len(every) + 3):
        assert list(markov_quilts(graph, "a", limit)) == every[:limit]
    assert list(markov_quilts(graph, "a", limit=None)) == every


@pytest.mark.parametrize("limit", [0, -1, True, 2.0, "2", float("nan")])
def test_bad_limits_are_refused_at_once(limit: object) -> None:
    with pytest.raises(ParameterError, match="limit"):
        markov_quilts(Graph(CHAIN), "a", limit)  # type: ignore[arg-type]


def test_unknown_attribute_is_refused_at_once() -> None:
    with pytest.raises(NetworkError, match="ghost"):
        markov_quilts(Graph(CHAIN), "ghost")


def layered(layers: int, width: int) -> Graph:
    """Return a network in which every node of a layer has all of the layer above as parents."""
    names = [[f"{layer}.{k}" for k in range(width)] for layer in range(layers)]
    return Graph({name: tuple(names[layer - 1]) if layer else () for layer in range(layers) for name in names[layer]})


def test_first_quilts_of_a_large_network_come_at_once() -> None:
    # parallel chains with rungs: the number of quilts grows exponentially with the number of chains
    rng = random.Random(6)
    names = [[f"{layer}.{k}" for k in range(6)] for layer in range(10)]
    ladder = Graph(
        {
            name: tuple({names[layer - 1][k], rng.choice(names[layer - 1])}) if layer else ()
            for layer in range(10)
            for k, name in enumerate(names[layer])
        }
    )
    for graph in (ladder, layered(10, 6)):
        start = time.process_time()
        found = list(itertools.islice(markov_quilts(graph, "4.0"), 5))
        assert time.process_time() - start < 2
        assert len({quilt.quilt for quilt in found}) == 5
        for quilt in found:
            assert nx.is_d_separator(drawn(graph.parents), {"4.0"}, quilt.remote, quilt.quilt)


def parallel(paths: int) -> Parents:
    """Return `paths` ways from a to z, each with two attributes on it: 2 ** paths quilts keep z remote."""
    ways = {f"u{k}": ("a",) for k in range(paths)} | {f"v{k}": (f"u{k}",) for k in range(paths)}
    return {"a": (), **ways, "z": tuple(f"v{k}" for k in range(paths))}


def test_all_of_exponentially_many_quilts_are_found() -> None:
    assert len(list(markov_quilts(Graph(parallel(8)), "a"))) == 8 + 2**8  # and each u alone


def test_enumeration_is_lazy() -> None:
    start = time.process_time()
    found = list(markov_quilts(Graph(parallel(20)), "a", limit=100))  # of more than a million
    assert time.process_time() - start < 2
    assert len({quilt.quilt for quilt in found}) == 100


def test_order_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from bnpriv.networks import Graph; from bnpriv.core.influence.quilts import markov_quilts;"
        f"print(list(markov_quilts(Graph({parallel(5)!r}), 'a')))"
    )
    path = ":".join(entry for entry in sys.path if entry)
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop().count("MarkovQuilt(protected='a', quilt=") == 5 + 2**5


# one quilt, claimed or not


def test_remote_is_the_largest_possible() -> None:
    rng = random.Random(7)
    for _ in range(150):
        parents = random_parents(rng, 8)
        protected = rng.choice(sorted(parents))
        others = sorted(parents.keys() - {protected})
        names = frozenset(rng.sample(others, rng.randint(0, len(others))))
        quilt = markov_quilt(Graph(parents), protected, names)
        reference = drawn(parents)
        assert quilt.remote == {
            r for r in others if r not in names and nx.is_d_separator(reference, {protected}, {r}, set(names))
        }
        assert quilt.near == parents.keys() - quilt.quilt - quilt.remote


def test_a_true_claim_yields_the_largest_remote_side() -> None:
    assert markov_quilt(Graph(CHAIN), "a", {"b"}, remote={"d"}).remote == {"c", "d"}
    assert markov_quilt(Graph(CHAIN), "a", {"b"}, remote=()).remote == {"c", "d"}
    assert markov_quilt(Graph(CHAIN), "a", set(), remote=()).near == set(CHAIN)


@pytest.mark.parametrize(
    ("parents", "quilt", "remote", "path"),
    [
        (CHAIN, {"c"}, {"b", "d"}, ("a", "b")),
        (CHAIN, set(), {"d"}, ("a", "b", "c", "d")),
        (FORK, set(), {"c"}, ("a", "b", "c")),
        (COLLIDER, {"b"}, {"c"}, ("a", "b", "c")),
        (COLLIDER_WITH_CHILD, {"d"}, {"c"}, ("a", "b", "c")),
        (LOOP, {"b"}, {"d"}, ("a", "c", "d")),
    ],
)
def test_a_false_claim_is_refused_with_the_open_path(
    parents: Parents, quilt: set[str], remote: set[str], path: tuple[str, ...]
) -> None:
    with pytest.raises(SeparationError) as refusal:
        markov_quilt(Graph(parents), "a", quilt, remote)
    assert refusal.value.path == path
    assert " - ".join(path) in str(refusal.value)
    assert repr(path[-1]) in refusal.value.remedy


def test_claims_are_judged_like_networkx_judges_them() -> None:
    rng = random.Random(8)
    verdicts = {True: 0, False: 0}
    for _ in range(200):
        parents = random_parents(rng, 7)
        names = sorted(parents)
        rng.shuffle(names)
        protected, rest = names[0], names[1:]
        cut = rng.randint(0, len(rest) - 1)
        quilt, remote = set(rest[:cut]), set(rest[cut : cut + rng.randint(1, 2)])
        holds = nx.is_d_separator(drawn(parents), {protected}, remote, quilt)
        verdicts[holds] += 1
        if holds:
            assert markov_quilt(Graph(parents), protected, quilt, remote).remote >= remote
        else:
            with pytest.raises(SeparationError):
                markov_quilt(Graph(parents), protected, quilt, remote)
    assert min(verdicts.values()) > 30


@pytest.mark.parametrize(
    ("protected", "quilt", "remote", "found"),
    [
        ("ghost", {"b"}, None, "ghost"),
        ("a", {"ghost"}, None, "ghost"),
        ("a", {"b"}, {"ghost"}, "ghost"),
        ("a", {"a", "b"}, None, "'a' in the quilt"),
        ("a", {"b"}, {"b", "c"}, "found b"),
        ("a", {"b"}, {"a", "c"}, "found a"),
    ],
)
def test_malformed_claims_are_refused(protected: str, quilt: set[str], remote: set[str] | None, found: str) -> None:
    with pytest.raises(NetworkError, match=found) as refusal:
        markov_quilt(Graph(CHAIN), protected, quilt, remote)
    assert not isinstance(refusal.value, SeparationError)


# the value


@pytest.mark.parametrize(
    ("quilt", "near", "remote"),
    [("b", "ab", "c"), ("b", "a", "bc"), ("b", "ac", "c"), ("b", "c", "d"), ("ab", "c", "d"), ("b", "", "a")],
)
def test_sides_that_overlap_or_lose_the_protected_attribute_are_refused(quilt: str, near: str, remote: str) -> None:
    with pytest.raises(NetworkError):
        MarkovQuilt(protected="a", quilt=frozenset(quilt), near=frozenset(near), remote=frozenset(remote))


def test_a_quilt_is_a_value() -> None:
    one, two = (markov_quilt(Graph(CHAIN), "a", names) for names in (["c"], {"c"}))
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one) == "MarkovQuilt(protected='a', quilt={c}, near={a, b}, remote={d})"
    with pytest.raises(FrozenInstanceError):
        one.near = frozenset()  # type: ignore[misc]


def test_anything_with_a_graph_is_a_network() -> None:
    @dataclass(frozen=True)
    class Other:
        graph: Graph

    network = DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.5, 0.1], [0.5, 0.9]], "c": [[0.5, 0.1], [0.5, 0.9]]},
        states={name: ["no", "yes"] for name in "abc"},
        parents={"b": ["a"], "c": ["b"]},
    )
    expected = [markov_quilt(network.graph, "a", "b")]
    assert list(markov_quilts(network, "a")) == expected
    assert list(markov_quilts(Other(network.graph), "a")) == expected
    assert markov_quilt(network, "a", {"b"}, {"c"}) == expected[0]


def test_a_graph_of_networkx_or_a_mapping_is_a_network() -> None:
    expected = list(markov_quilts(Graph(LONG_LOOP), "a"))
    for declared in (drawn(LONG_LOOP), LONG_LOOP):
        assert list(markov_quilts(declared, "a")) == expected
        assert markov_quilt(declared, "a", expected[0].quilt) == expected[0]


@pytest.mark.parametrize("network", [None, "a", nx.Graph([("a", "b")]), [("a", "b")]])
def test_what_is_no_network_is_refused(network: object) -> None:
    with pytest.raises(NetworkError, match=r"networkx\.DiGraph"):
        markov_quilts(network, "a")  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match=r"networkx\.DiGraph"):
        markov_quilt(network, "a", {"b"})  # type: ignore[arg-type]


# the sequence


def test_quilts_are_a_sequence() -> None:
    quilts = markov_quilts(TREE, "a")
    every = list(markov_quilts(TREE, "a"))
    assert len(every) > 1
    assert (quilts[0], quilts[-1], quilts[1:]) == (every[0], every[-1], every[1:])
    assert quilts[:1] == every[:1]
    assert list(quilts) == list(quilts) == every  # it can be read again
    assert len(quilts) == len(every)
    assert every[1] in quilts
    assert quilts.index(every[1]) == 1
    assert list(reversed(quilts)) == every[::-1]
    assert quilts
    with pytest.raises(IndexError):
        quilts[len(every)]
    assert not markov_quilts({"a": ()}, "a")
    assert len(markov_quilts(TREE, "a", limit=1)) == 1


def test_quilts_are_found_as_they_are_asked_for() -> None:
    quilts = markov_quilts(parallel(20), "a")  # more than a million
    assert quilts
    assert quilts[3] == next(itertools.islice(iter(quilts), 3, None))
    assert len(quilts[:5]) == 5
    assert repr(quilts).endswith(", ...)")
    assert quilts._repr_html_().count("<svg") == 3


def test_quilts_say_and_draw_what_they_are() -> None:
    assert repr(markov_quilts(CHAIN, "a")) == "MarkovQuilts(protected='a', {b}, {c})"
    assert repr(markov_quilts({"a": ()}, "a")) == "MarkovQuilts(protected='a', none)"
    card = markov_quilts(CHAIN, "a")._repr_html_()
    assert card.count("<svg") == 2
    assert 'All Markov quilts of <bdi class="name">a</bdi>' in card
    assert card.count("node protected") == 2
    assert "No Markov quilts of" in markov_quilts({"a": ()}, "a")._repr_html_()


def test_a_false_claim_is_answered_with_a_quilt_that_would_do() -> None:
    with pytest.raises(SeparationError, match=r"for example \{b\}"):
        markov_quilt(CHAIN, "a", (), remote={"c", "d"})
    with pytest.raises(SeparationError) as refusal:
        markov_quilt(CHAIN, "a", (), remote={"b"})  # nothing separates neighbours
    assert refusal.value.remedy == "Leave 'b' out of remote."


FOUR = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("c",)})


def made(quilt: str, near: str, remote: str, graph: Graph = FOUR) -> MarkovQuilt:
    """Build a quilt by hand, of attributes that are single letters; the first near one is protected."""
    sides = (frozenset(side) for side in (quilt, near, remote))
    return MarkovQuilt(protected=near[0], **dict(zip(("quilt", "near", "remote"), sides, strict=True)), graph=graph)


@pytest.mark.parametrize(
    ("quilt", "near", "remote"), [("b", "a", "cd"), ("c", "ab", "d"), ("b", "acd", ""), ("", "abcd", "")]
)
def test_sides_that_a_network_separates_are_a_quilt_of_it(quilt: str, near: str, remote: str) -> None:
    assert made(quilt, near, remote).remote == frozenset(remote)


@pytest.mark.parametrize(
    ("quilt", "near", "remote", "path"),
    [
        ("", "a", "bcd", "a - b"),
        ("c", "a", "bd", "a - b"),
        ("d", "ab", "c", "a - b - c"),
        ("", "ab", "cd", "a - b - c"),
    ],
)
def test_sides_that_a_network_does_not_separate_are_refused_with_the_path(quilt, near, remote, path) -> None:
    with pytest.raises(SeparationError, match=f"open path {path}"):
        made(quilt, near, remote)
    sides = {name: frozenset(side) for name, side in (("quilt", quilt), ("near", near), ("remote", remote))}
    assert MarkovQuilt(protected="a", **sides).graph is None  # nothing to be checked against


def test_a_collider_that_is_given_opens_a_path() -> None:
    collider = Graph({"a": (), "b": (), "c": ("a", "b"), "d": ("c",)})
    assert made("", "acd", "b", collider).remote == {"b"}
    for given, near in (("c", "ad"), ("d", "ac")):
        with pytest.raises(SeparationError, match="open path"):
            made(given, near, "b", collider)


def test_the_sides_are_the_attributes_of_the_network() -> None:
    with pytest.raises(NetworkError, match="'d' on none"):
        made("b", "a", "c")
    with pytest.raises(NetworkError, match="'z' that is no attribute"):
        made("b", "a", "cdz")


def test_quilts_are_a_table_with_what_they_tell() -> None:
    network = oracles.random_network(np.random.default_rng(3), 7, deterministic=0.0)
    protected = network.attributes[0]
    quilts = markov_quilts(network, protected)
    frame = quilts.to_pandas()
    assert list(frame.columns) == ["quilt", "near", "remote", "influence", "sensitivity", "scale", "used", "witness"]
    assert set(frame.index) == {protected}
    assert frame["quilt"].to_list() == [tuple(sorted(each.quilt)) for each in quilts]
    assert frame["near"].to_list() == [tuple(sorted(each.near)) for each in quilts]
    told = [float(bp.max_influence(network, each.quilt, protected)) for each in quilts]
    assert frame["influence"].to_list() == told
    assert not frame["used"].any()
    assert not frame.attrs["more"]


def test_of_a_graph_alone_nothing_is_known_of_what_quilts_tell() -> None:
    frame = markov_quilts({"a": [], "b": ["a"], "c": ["b"]}, "a", limit=1).to_pandas()
    assert frame["influence"].isna().all()
    assert frame["quilt"].to_list() == [("b",)]


def test_exponentially_many_quilts_are_cut_short_in_a_table() -> None:
    parents = {"a": ()} | {f"m{k}": ("a",) for k in range(24)} | {f"n{k}": (f"m{k}",) for k in range(24)}
    frame = markov_quilts(parents | {"z": tuple(f"n{k}" for k in range(24))}, "a").to_pandas()
    assert len(frame) == 200
    assert frame.attrs["more"]


@pytest.mark.parametrize("seed", range(3))
def test_in_a_graph_every_node_has_the_role_of_its_side(seed: int) -> None:
    network = oracles.random_network(np.random.default_rng(seed), 8)
    for quilt in markov_quilts(network, network.attributes[0]):
        graph = quilt.to_networkx()
        roles = nx.get_node_attributes(graph, "role")
        sides = {"protected": {quilt.protected}, "quilt": quilt.quilt, "remote": quilt.remote}
        sides["near"] = quilt.near - {quilt.protected}
        assert {side: {name for name, role in roles.items() if role == side} for side in sides} == sides
        assert set(graph.edges) == set(network.graph.edges)
        # what is near reaches what is remote through a child only that nobody sees
        open_edges = [edge[:2] for edge in graph.edges(data="side") if edge[2] != "blocked"]
        reached = nx.node_connected_component(
            nx.subgraph(nx.Graph([*open_edges, (quilt.protected,) * 2]), set(graph) - quilt.quilt), quilt.protected
        )
        assert not reached & quilt.remote


def test_a_quilt_without_its_network_is_not_drawn() -> None:
    quilt = MarkovQuilt(protected="a", quilt=frozenset("b"), near=frozenset("a"), remote=frozenset("c"))
    with pytest.raises(NetworkError, match="made without one"):
        quilt.to_networkx()


def test_quilts_draw_themselves_without_widgets_in_light_and_dark() -> None:
    page = markov_quilts({"a": [], "b": ["a"], "c": ["b"]}, "a")[0]._repr_html_()
    assert "<svg" in page
    assert all(f'class="node {role}"' in page for role in ("protected", "quilt", "remote"))
    assert "light-dark(" in page
    assert "dashed border" in page
