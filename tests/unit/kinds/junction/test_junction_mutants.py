"""Tests of the tests: planted bugs in the junction tree, found by exact fractions; docs/claims/junction.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnpriv.bound import FloatArray
from bnpriv.kinds.junction import rows as junction_network, rows as junction_ratios, tree
from bnpriv.kinds.junction.rows import NumberedNetwork, junction_rows
from bnpriv.kinds.junction.tree import ColumnSource, OutOfRangeError, StatesLeft, WeightTable
from tests.unit.kinds.junction.test_junction import COLUMNS, check, hostile

pytestmark = pytest.mark.mutants


def run(numbers: str, *, nodes: int = 5, times: int = 10) -> None:
    """Compare the matrices of some networks with exact fractions."""
    rng = np.random.default_rng(3)
    for _ in range(times):
        network = hostile(rng, COLUMNS[numbers], nodes, 1)
        try:
            rows = junction_rows(network, dict.fromkeys(network.attributes))
        except OutOfRangeError:
            continue
        check(network, rows.values, within=2e-11)


@pytest.mark.parametrize("numbers", ["kind", "zeros", "1e-150"])
def test_without_a_bug_nothing_is_found(numbers: str) -> None:
    run(numbers)


def test_products_that_underflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "LOWEST", -math.inf)
    with pytest.raises(AssertionError):
        run("1e-300", times=20)


def test_no_rounding_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NumberedNetwork, "error", -1e-15)
    with pytest.raises(AssertionError):
        run("kind")


def test_independent_attributes_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_connected(self: NumberedNetwork) -> np.ndarray:
        return np.ones((len(self.sizes), len(self.sizes)), dtype=np.bool_)

    monkeypatch.setattr(NumberedNetwork, "connected", all_connected)
    rng = np.random.default_rng(4)
    found = []
    for _ in range(10):
        network = hostile(rng, COLUMNS["kind"], 5, 1)
        rows = junction_rows(network, dict.fromkeys(network.attributes))
        apart = [not network.graph.frontier(i, {j}) for i in rows.protected for j in network.attributes if i != j]
        off = [
            float(rows.values[k, j])
            for k, i in enumerate(rows.protected)
            for j, name in enumerate(network.attributes)
            if i != name
        ]
        found += [value for value, separated in zip(off, apart, strict=True) if separated]
    assert any(value > 0 for value in found)


def test_a_message_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "inverse", np.ones_like)
    with pytest.raises(AssertionError):
        run("kind")


def test_laws_below_a_clique_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "inverse", np.ones_like)
    with pytest.raises(AssertionError):
        run("kind")


def test_the_least_state_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_least(given: FloatArray, inside: list[int], starts: list[int]) -> FloatArray:
        ratios = np.fmax.reduceat(given, inside, axis=1) / given[:, inside]
        return np.fmax.reduce(np.fmax.reduceat(ratios, starts, axis=2), axis=0)

    monkeypatch.setattr(junction_ratios, "_all_pairs", no_least)
    with pytest.raises(AssertionError):
        run("kind")


def test_own_nodes_meet_as_if_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tree._meet

    def meet(law: WeightTable, sources: list[ColumnSource], own: int, found: FloatArray) -> None:
        usual(law, sources, own, found)
        for source in sources[:own]:
            block = found[:, source.columns, source.columns]
            single = np.diagonal(block, axis1=1, axis2=2)
            found[:, source.columns, source.columns] = np.where(
                np.eye(source.width, dtype=bool), block, single[:, :, None] * single[:, None, :]
            )

    monkeypatch.setattr(tree, "_meet", meet)
    with pytest.raises(AssertionError):
        run("kind")


def test_states_of_the_first_model_alone_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tree.states_left

    def of_first_model(logs: list[FloatArray], families: list[tuple[int, ...]]) -> StatesLeft:
        return usual([each[:1] for each in logs], families)

    monkeypatch.setattr(junction_network, "states_left", of_first_model)
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(10):
        network = hostile(rng, COLUMNS["zeros"], 4, 2)
        try:
            check(network, junction_rows(network, dict.fromkeys(network.attributes)).values, within=2e-11)
        except (AssertionError, ValueError):
            found += 1
    assert found
