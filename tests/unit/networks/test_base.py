"""The face that every kind of network has, and what hashes read of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError
from bnpriv.frameworks.fingerprint import fingerprint
from bnpriv.networks.base import LEVELS, Level, Network
from bnpriv.networks.graph import Graph
from tests import kinds

KINDS: tuple[Callable[[], kinds.Kind], ...] = (
    kinds.discrete,
    kinds.interval,
    kinds.gaussian,
    kinds.density,
    kinds.chain,
    kinds.records,
)

MEMBERS = ("attributes", "graph", "models", "level", "reading", "drawn", "states", "kind_text", "require", "identity")


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


def coin(heads: float, **given: Any) -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables({"coin": [heads, 1 - heads]}, states={"coin": given.get("states", [0, 1])})


def test_identity_tells_networks_apart() -> None:
    different = [
        coin(0.5),
        coin(0.25),
        coin(0.5, states=["heads", "tails"]),
        bp.DiscreteNetwork.from_intervals({"coin": [0.5, 0.5]}, {"coin": [0.5, 0.5]}, states={"coin": [0, 1]}),
        bp.DiscreteNetwork.from_intervals({"coin": [0.4, 0.4]}, {"coin": [0.6, 0.6]}, states={"coin": [0, 1]}),
        bp.GaussianNetwork(["coin"], [0.5], [[1.0]]),
        bp.GaussianNetwork(["coin"], [0.5], [[2.0]]),
        bp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "stationary", 1),
        bp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "any", 1),
        bp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "stationary", 2),
    ]
    assert len({network.identity() for network in different}) == len(different)


def test_a_framework_hash_is_that_of_its_facts_and_the_identity() -> None:
    # what is stored beside calibrations: it must not change from one release to the next
    table = np.log([[0.5, 0.5]])
    known = repr((("coin",), table.shape, (0, 1))).encode() + table.tobytes()
    assert coin(0.5).identity() == known
    assert fingerprint("facts", [coin(0.5)]) == hashlib.sha256(b"'facts'" + known).hexdigest()


def test_a_chain_is_the_network_of_its_column() -> None:
    chain = bp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 10, states=["rest", "walk"])
    assert (chain.attributes, chain.graph.edges) == (("value",), ())
    named = chain.of_column("activity")
    assert (named.attributes, named.states) == (("activity",), {"activity": ("rest", "walk")})
    assert chain.attributes == ("value",)
    assert named.identity() == chain.identity()  # the framework's hash has the column
    schema = bp.Schema(records=10, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="a test")
    assert framework.network.attributes == ("activity",)
    with pytest.raises(NetworkError, match="column"):
        bp.MarkovChain([[1.0]], "stationary", 1, column="")
