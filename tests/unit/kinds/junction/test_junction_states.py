"""Impossible states are left out of the junction tree, and nothing else changes; docs/claims/junction.md."""

from __future__ import annotations

import gzip
import importlib
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import SecretPair
from bnpriv.kinds.junction.rows import NumberedNetwork, junction_rows, rows_one_by_one
from bnpriv.kinds.junction.tree import states_left
from tests.unit.kinds.junction.test_junction import COLUMNS, check, hostile


def with_impossible_states(rng: np.random.Generator, nodes: int, models: int) -> DiscreteNetwork:
    """Draw a network some of whose states have probability zero, in all models or in one."""
    drawn = hostile(rng, COLUMNS["zeros"], nodes, models)
    tables = {name: table.copy() for name, table in drawn.kept.table("declared")["tables"].items()}
    for table in tables.values():
        if table.shape[1] > 1 and rng.random() < 0.7:
            never, other = rng.permutation(table.shape[1])[:2]
            for model in range(models if rng.random() < 0.6 else 1):
                table[model, other] += table[model, never]
                table[model, never] = 0.0
    made = DiscreteNetwork.from_tables(tables, states=drawn.states, parents=drawn.graph.parents)
    made.kept.table("declared")["tables"] = tables
    return made


@pytest.mark.parametrize("seed", range(6))
def test_the_matrix_is_that_of_exact_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left_out = 0
    for _ in range(4):
        network = with_impossible_states(rng, int(rng.integers(2, 6)), int(rng.integers(1, 3)))
        left_out += len(NumberedNetwork.of(network).left)
        chosen = dict.fromkeys(network.attributes)
        rows = junction_rows(network, chosen)
        check(network, rows.values, within=1e-12)
        others = rows_one_by_one(network, chosen)
        assert (rows.protected, rows.refused, rows.dropped) == (others.protected, others.refused, others.dropped)
        assert np.array_equal(rows.values == 0, others.values == 0)
    assert left_out


def test_chosen_secrets_may_hold_impossible_states() -> None:
    rng = np.random.default_rng(20)
    compared = 0
    for _ in range(40):
        network = with_impossible_states(rng, 4, int(rng.integers(1, 3)))
        names = [name for name in network.attributes if len(network.states[name]) == 3]
        if not names:
            continue
        pairs = bp.pairs(("s0", ["s1", "s2"]), (["s0", "s1"], "s2"), ("s0", "s1"))
        chosen = dict.fromkeys(names, pairs)
        rows, others = junction_rows(network, chosen), rows_one_by_one(network, chosen)
        assert (rows.protected, rows.refused, rows.dropped) == (others.protected, others.refused, others.dropped)
        np.testing.assert_allclose(rows.values, others.values, rtol=1e-9, atol=1e-12)
        compared += len(NumberedNetwork.of(network).left) > 0
    assert compared > 10


def test_impossible_states_shrink_the_tables() -> None:
    states = {"a": tuple("wxyz"), "b": tuple("wxyz"), "c": (0, 1)}
    copy = np.eye(4)
    tables = {"a": [0.5, 0.0, 0.5, 0.0], "b": copy, "c": np.full((2, 4, 4), 0.5)}
    network = DiscreteNetwork.from_tables(tables, states=states, parents={"b": ["a"], "c": ["a", "b"]})
    numbered = NumberedNetwork.of(network)
    assert numbered.sizes == [2, 2, 2]
    assert sum(clique.cells for clique in numbered.tree.cliques) == 8
    assert network.states == states
    rows = junction_rows(network, {"a": None})
    assert rows.dropped["a"][0] == str(SecretPair(frozenset("w"), frozenset("x"))) + " in model 0"


def test_a_state_that_one_model_allows_is_kept() -> None:
    one, other = np.log([[0.5, 0.5]]), np.array([[0.0, -np.inf]])
    assert states_left([np.concatenate([one, other])], [(0,)]) == {}
    assert {node: list(states) for node, states in states_left([other], [(0,)]).items()} == {0: [0]}


def test_a_probability_below_all_doubles_is_possible() -> None:
    assert states_left([np.array([[0.0, -1e300]])], [(0,)]) == {}


def test_parents_of_a_constant_are_not_joined() -> None:
    names = [f"v{k}" for k in range(6)]
    tables = {name: np.array([0.25, 0.75]) for name in names}
    shape = (2,) * len(names)
    tables |= {
        "never": np.stack([np.ones(shape), np.zeros(shape)]),
        "last": np.array([[[0.2, 0.5]] * 2, [[0.8, 0.5]] * 2]),
    }
    network = DiscreteNetwork.from_tables(
        tables, states=dict.fromkeys(tables, (0, 1)), parents={"never": names, "last": ["never", "v0"]}
    )
    tree = NumberedNetwork.of(network).tree
    assert max(clique.cells for clique in tree.cliques) == 4
    rows = junction_rows(network, dict.fromkeys(network.attributes))
    others = rows_one_by_one(network, dict.fromkeys(network.attributes))
    np.testing.assert_allclose(rows.values, others.values, rtol=1e-12, atol=1e-12)
    assert np.array_equal(rows.values == 0, others.values == 0)
    assert rows.refused.keys() == others.refused.keys() == {"never"}


def test_a_published_network_is_over_a_hundred_times_smaller(tmp_path: Path) -> None:
    models = Path(importlib.import_module("pgmpy").__file__ or "").parent / "utils" / "example_models"
    file = tmp_path / "water.bif"
    file.write_bytes(gzip.decompress((models / "water.bif.gz").read_bytes()))
    tree = NumberedNetwork.of(bp.read_network(file, normalize=True)).tree
    assert sum(clique.cells for clique in tree.cliques) < 3_657_180 / 120
