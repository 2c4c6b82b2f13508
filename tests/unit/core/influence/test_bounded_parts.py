"""Parts of a frontier too large for a table, beside others: their bounds add, and are never called exact unproved."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv.core.influence.finite as ratios_module
import bnpriv.core.influence.largest_ratio as assignments_module
from bnpriv.core.influence.finite import RatioTables, finite_influence
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import SecretPair, all_pairs

LEAVES = tuple(f"c{k}" for k in range(5))
SMALL_WORK = 2**10


def two_sides(rng: np.random.Generator, *, parent: bool = False) -> DiscreteNetwork:
    """Return an attribute of three states that drives `x`, and a hidden middle, which it drives or is driven by."""

    def given(states: int, *others: int):
        return np.moveaxis(rng.dirichlet(np.ones(states), size=others), -1, 0)

    tables = {"i": given(3, 6) if parent else given(3), "s": given(6) if parent else given(6, 3), "x": given(2, 3)}
    parents = {"x": ["i"], **({"i": ["s"]} if parent else {"s": ["i"]})}
    tables |= {name: given(3, 6) for name in LEAVES}
    parents |= {name: ["s"] for name in LEAVES}
    states = {"i": range(3), "s": range(6), "x": range(2)} | {name: range(3) for name in LEAVES}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, normalize=True)


@pytest.mark.parametrize("parent", [False, True])
def test_what_parts_tell_adds_where_one_is_searched(parent: bool) -> None:
    network, pairs = two_sides(np.random.default_rng(3), parent=parent), all_pairs(range(3))
    exact = finite_influence(network, ("x", *LEAVES), "i", pairs)
    assert exact.kind == "exact"
    assert not exact.too_large
    alone = finite_influence(network, LEAVES, "i", pairs).values, finite_influence(network, ("x",), "i", pairs).values
    found = finite_influence(network, ("x", *LEAVES), "i", pairs, most_work=SMALL_WORK)
    assert found.too_large
    assert (found.values >= exact.values - 2 * exact.error).all()
    assert (found.values >= alone[0] + alone[1] - 1e-9).all()
    if found.kind == "exact":
        assert np.allclose(found.values, exact.values, rtol=1e-9)
        assert set(found.assignment) == {"x", *LEAVES}


@pytest.mark.parametrize("work", [SMALL_WORK, 2**16])
def test_sets_of_states_are_told_as_much_as_by_tables(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = tuple(
        SecretPair(frozenset(first), frozenset(second))
        for first, second in (({0, 1}, {2}), ({2}, {0, 1}), ({1, 2}, {0}), ({0}, {1, 2}))
    )
    monkeypatch.setattr(ratios_module, "MOST_ASSIGNMENT_WORK", 2**22)
    for seed in range(3):
        network = two_sides(np.random.default_rng(seed))
        exact = finite_influence(network, ("x", *LEAVES), "i", pairs)
        found = finite_influence(network, ("x", *LEAVES), "i", pairs, most_work=work)
        assert exact.kind == "exact"
        assert (found.values >= exact.values - 2 * exact.error).all()
        if found.too_large:
            assert found.kind == "certified"
            assert not found.assignment


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_every_state_of_a_set_is_searched(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ratios_module.largest_ratios
    monkeypatch.setattr(ratios_module, "largest_ratios", lambda *given: real(*given[:-1], 2**20))
    network = two_sides(np.random.default_rng(seed))
    pair = SecretPair(frozenset({0, 1}), frozenset({2}))
    tables = RatioTables.of(network, "i", LEAVES, (pair, pair.reverse), SMALL_WORK)
    (part,) = tables.bounded
    assert part.searched is not None
    for state in (0, 1):
        single = SecretPair(frozenset({state}), frozenset({2}))
        exact = finite_influence(network, LEAVES, "i", (single, single.reverse))
        for told, each in zip(exact.values[0], (pair, pair.reverse), strict=True):
            assert tables.ratios((each,)).max() + tables.error >= told - 2 * exact.error
        assert part.searched.upper[0, state, 2] >= exact.values[0, 0] - 2 * exact.error - 1e-9
        assert part.searched.upper[0, 2, state] >= exact.values[0, 1] - 2 * exact.error - 1e-9


@pytest.mark.parametrize("parent", [False, True])
def test_a_search_that_does_not_close_is_one_bound_of_several(parent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", 60)
    pairs, open_ = all_pairs(range(3)), 0
    real = ratios_module.largest_ratios
    monkeypatch.setattr(ratios_module, "largest_ratios", lambda *given: real(*given[:-1], 2**17))
    for seed in range(4):
        network = two_sides(np.random.default_rng(seed), parent=parent)
        exact = finite_influence(network, LEAVES, "i", pairs)
        found = finite_influence(network, LEAVES, "i", pairs, most_work=SMALL_WORK)
        (part,) = RatioTables.of(network, "i", LEAVES, pairs, SMALL_WORK).bounded
        assert (found.values >= exact.values - 2 * exact.error).all()
        if part.searched is None or part.searched.is_exact:
            continue
        open_ += 1
        assert found.kind == "certified"
        assert not found.assignment
        for k, (a, b) in enumerate((a, b) for a in range(3) for b in range(3) if a != b):
            assert found.values[0, k] <= max(0, part.searched.upper[0, a, b]) + 1e-9
            for separator in part.separators:
                assert found.values[0, k] <= float(separator.ratios((pairs[k],)).max()) + 1e-9
    assert open_
