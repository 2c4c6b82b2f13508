"""The face that every kind of network has, and what hashes read of it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.base import fingerprint
from bnpriv.core.networks.base import LEVELS, Level, Network
from bnpriv.core.networks.discrete import IntervalNetwork
from bnpriv.core.networks.graph import Graph, graph_of
from bnpriv.errors import NetworkError
from tests import kinds

KINDS: tuple[Callable[[], kinds.Kind], ...] = (
    kinds.discrete,
    kinds.interval,
    kinds.gaussian,
    kinds.density,
    kinds.chain,
    kinds.records,
)

MEMBERS = (
    *("kind", "attributes", "graph", "models", "level", "reading", "posterior_draws", "states", "kind_text"),
    *("require", "same_law", "identity"),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_network_has_the_whole_face(kind: Callable[[], kinds.Kind]) -> None:
    network: Network = kind().framework.network
    assert all(hasattr(network, name) for name in MEMBERS)
    assert isinstance(network.graph, Graph)
    assert set(network.graph.nodes) == set(network.attributes)
    assert set(network.states) <= set(network.attributes)
    assert network.level in LEVELS
    assert network.models >= 1
    assert network.kind_text.startswith(("a ", "an "))
    assert network.require(network.attributes[0]) == network.attributes[0]
    with pytest.raises(NetworkError, match="must be one of"):
        network.require("nowhere")


def test_kinds_have_names_of_their_own_and_states_where_there_are_finitely_many() -> None:
    networks = [kind().framework.network for kind in KINDS]
    assert len({type(network) for network in networks}) == len({network.kind_text for network in networks}) == 5
    assert [bool(network.states) for network in networks] == [True, True, False, False, True, True]
    assert get_args(Level) == LEVELS


def test_the_face_is_the_protocol() -> None:
    declared = {name for name in vars(Network) if not name.startswith("_")}
    assert declared == set(MEMBERS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_identity_is_the_same_for_the_same_network(kind: Callable[[], kinds.Kind]) -> None:
    first, second = kind().framework.network, kind().framework.network
    assert first.identity() == second.identity()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_network_has_the_laws_of_itself_and_not_of_another_kind(kind: Callable[[], kinds.Kind]) -> None:
    network, again = kind().framework.network, kind().framework.network
    assert all(network.same_law(again, name) for name in network.attributes)
    others = [other for other in (each().framework.network for each in KINDS) if type(other) is not type(network)]
    assert not any(network.same_law(other, network.attributes[0]) for other in others)


def test_tables_are_compared_one_by_one() -> None:
    def network(low: float, models: int = 1, states: tuple[str, str] = ("no", "yes")) -> Any:
        tables = {"a": np.array([[0.5, 0.5]] * models), "b": np.array([[[low, 0.1], [1 - low, 0.9]]] * models)}
        return bp.DiscreteNetwork.from_tables(tables, states={"a": states, "b": [0, 1]}, parents={"b": ["a"]})

    first, second = network(0.25), network(0.5)
    assert (first.same_law(second, "a"), first.same_law(second, "b")) == (True, False)
    assert first.same_law(network(0.25, models=3), "b")  # the same in every model
    renamed = network(0.25, states=("few", "many"))
    assert (first.same_law(renamed, "a"), first.same_law(renamed, "b")) == (False, False)
    wide, wider = (IntervalNetwork.around(first, width) for width in (0.1, 0.2))
    assert wide.same_law(IntervalNetwork.around(first, 0.1), "b")
    assert not wide.same_law(wider, "b")
    assert not wide.same_law(first, "b")


def coin(heads: float, **given: Any) -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables({"coin": [heads, 1 - heads]}, states={"coin": given.get("states", [0, 1])})


def test_identity_tells_networks_apart() -> None:
    different = [
        coin(0.5),
        coin(0.25),
        coin(0.5, states=["heads", "tails"]),
        bp.DiscreteNetwork.from_intervals({"coin": [0.5, 0.5]}, {"coin": [0.5, 0.5]}, states={"coin": [0, 1]}),
        bp.DiscreteNetwork.from_intervals({"coin": [0.4, 0.4]}, {"coin": [0.6, 0.6]}, states={"coin": [0, 1]}),
        bp.types.GaussianNetwork(["coin"], [0.5], [[1.0]]),
        bp.types.GaussianNetwork(["coin"], [0.5], [[2.0]]),
        bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "stationary", 1),
        bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "any", 1),
        bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "stationary", 2),
    ]
    assert len({network.identity() for network in different}) == len(different)


def test_identity_tells_both_ends_of_intervals() -> None:
    def within(low: list[float], high: list[float]) -> IntervalNetwork:
        return IntervalNetwork.of({"ill": low}, {"ill": high}, states={"ill": ["no", "maybe", "yes"]})

    ends = [([0.1] * 3, [0.7] * 3), ([0.1] * 3, [0.6] * 3), ([0.2] * 3, [0.6] * 3)]
    assert len({within(low, high).identity() for low, high in ends}) == len(ends)


def test_a_framework_hash_is_that_of_its_facts_and_the_identity() -> None:
    # what is stored beside calibrations: it must not change from one release to the next
    table = np.log([[0.5, 0.5]])
    known = repr((("coin",), table.shape, (0, 1))).encode() + table.tobytes()
    assert coin(0.5).identity() == known
    assert fingerprint("facts", [coin(0.5)]) == hashlib.sha256(b"'facts'" + known).hexdigest()


def test_a_chain_is_the_network_of_its_column() -> None:
    chain = bp.types.MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 10, states=["rest", "walk"])
    assert (chain.attributes, chain.graph.edges) == (("value",), ())
    named = chain.of_column("activity")
    assert (named.attributes, named.states) == (("activity",), {"activity": ("rest", "walk")})
    assert chain.attributes == ("value",)
    assert named.identity() == chain.identity()  # the framework's hash has the column
    schema = bp.Schema(records=10, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="a test")
    assert framework.network.attributes == ("activity",)
    with pytest.raises(NetworkError, match="column"):
        bp.types.MarkovChain([[1.0]], "stationary", 1, column="")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_network_is_a_graph_of_networkx(kind: Callable[[], kinds.Kind]) -> None:
    network: Any = kind().framework.network
    graph = network.to_networkx()
    assert type(graph) is nx.DiGraph
    assert graph_of(graph) == network.graph
    assert {name: graph.nodes[name]["states"] for name in graph} == {
        name: network.states.get(name, ()) for name in network.attributes
    }
    graph.remove_nodes_from(list(graph))  # a graph of its own
    assert set(network.graph.directed) == set(network.attributes)


def test_networks_are_declared_by_graphs_of_networkx() -> None:
    edges = nx.DiGraph([("b", "c"), ("a", "c")])
    tables = {"a": [0.5, 0.5], "b": [0.2, 0.3, 0.5], "c": np.full((2, 3, 2), 0.5)}
    states = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}
    by_graph = bp.DiscreteNetwork.from_tables(tables, states=states, parents=edges)
    by_names = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"c": ["b", "a"]})
    assert by_graph.identity() == by_names.identity()
    wide = bp.DiscreteNetwork.from_intervals(tables, tables, states=states, parents=edges)
    assert wide.graph == by_graph.graph
    import pandas as pd

    census = pd.DataFrame({"a": [0, 1, 0], "b": [0, 1, 2], "c": [1, 0, 1]})
    learned = [
        bp.DiscreteNetwork.posterior(given, census, public="made up", states=states, draws=5, seed=1)
        for given in (edges, {"c": ["b", "a"]}, by_graph, by_graph.graph, wide)
    ]
    assert {network.graph for network in learned} == {by_graph.graph}
    with pytest.raises(NetworkError, match="needs a table"):
        bp.DiscreteNetwork.from_tables({"a": [1.0]}, states={"a": [0]}, parents=edges)
    with pytest.raises(NetworkError, match=r"networkx\.DiGraph"):
        bp.DiscreteNetwork.posterior(nx.Graph(edges), census, public="made up")


def test_bnpriv_imports_no_networkx() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import bnpriv, sys; print('networkx' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "False"
