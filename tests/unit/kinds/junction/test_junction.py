"""The matrix of a network of tables against exact fractions, with hostile numbers; docs/claims/junction.md."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.secrets import SecretPair
from bnpriv.kinds.junction import rows as junction_ratios
from bnpriv.kinds.junction.rows import NumberedNetwork, junction_rows, rows_one_by_one
from bnpriv.kinds.junction.tree import OutOfRangeError, best_triangulation, members, moral_graph
from bnpriv.lab.matrix import InfluenceMatrix

Column = Callable[[np.random.Generator, int], list[float]]


def kind(rng: np.random.Generator, states: int) -> list[float]:
    return [float(x) for x in rng.dirichlet(np.ones(states))]


def with_zeros(rng: np.random.Generator, states: int) -> list[float]:
    weights = rng.integers(0, 3, states).astype(float)
    weights[rng.integers(states)] += 1
    return [float(x) for x in weights / weights.sum()]


def certain(rng: np.random.Generator, states: int) -> list[float]:
    return [float(x) for x in np.eye(states)[rng.integers(states)]]


def small(exponent: float) -> Column:
    def column(rng: np.random.Generator, states: int) -> list[float]:
        if states == 1:
            return [1.0]
        found = (kind if rng.random() < 0.5 else with_zeros)(rng, states - 1)
        found.insert(int(rng.integers(states)), 10.0**exponent * float(rng.uniform(0.5, 1)))
        return found

    return column


COLUMNS: dict[str, list[Column]] = {
    "kind": [kind],
    "zeros": [kind, with_zeros, certain],
    "small": [kind, small(-20), with_zeros],
    "1e-150": [kind, small(-150), with_zeros],
    "1e-300": [kind, small(-300), with_zeros],
    "subnormal": [kind, small(-315)],
    "least": [kind, small(-323)],
}


def hostile(rng: np.random.Generator, columns: list[Column], nodes: int, models: int) -> DiscreteNetwork:
    """Draw a network, some attributes of which have one state, and which may fall into parts."""
    names = [f"v{k}" for k in range(nodes)]
    sizes = {name: int(rng.choice([1, 2, 2, 3])) for name in names}
    chance = rng.uniform(0.2, 0.9)
    parents = {name: [p for p in names[:k] if rng.random() < chance][-3:] for k, name in enumerate(names)}
    tables = {}
    for name in names:
        own_models = models if rng.random() < 0.7 else 1
        shape = (own_models, *(sizes[p] for p in parents[name]))
        table = np.zeros((*shape, sizes[name]))
        for place in itertools.product(*map(range, shape)):
            table[place] = columns[rng.integers(len(columns))](rng, sizes[name])
        tables[name] = np.moveaxis(table, -1, 1)
    widest = {name: np.broadcast_to(table, (models, *table.shape[1:])) for name, table in tables.items()}
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    network = DiscreteNetwork.from_tables(widest, states=states, parents=parents)
    network.kept.table("declared")["tables"] = widest
    return network


def fractions(network: DiscreteNetwork, model: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Yield every assignment with its exact probability, each declared column divided by its sum."""
    declared = network.kept.table("declared")["tables"]
    names = network.attributes
    place = {name: k for k, name in enumerate(names)}
    sums: dict[object, Fraction] = {}
    for values in itertools.product(*(range(len(network.states[name])) for name in names)):
        mass = Fraction(1)
        for name in names:
            above = tuple(values[place[p]] for p in network.graph.parents[name])
            column = declared[name][model][(slice(None), *above)]
            key = (name, above)
            if key not in sums:
                sums[key] = sum(map(Fraction, column.tolist()), Fraction(0))
            mass *= Fraction(float(column[values[place[name]]])) / sums[key]
            if not mass:
                break
        if mass:
            yield values, mass


def true_influence(
    laws: list[dict[tuple[int, ...], Fraction]], i: int, j: int, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> float | None:
    """Return the influence of node j on node i by its definition; None where no pair is possible."""
    best: float | None = None
    with mpmath.workdps(60):
        for law in laws:
            both: dict[tuple[int, int], Fraction] = {}
            for values, mass in law.items():
                both[values[i], values[j]] = both.get((values[i], values[j]), Fraction(0)) + mass
            columns = {q for _, q in both}
            for a, b in pairs:
                over = [
                    sum((both.get((s, q), Fraction(0)) for s in side), Fraction(0)) for side in (a, b) for q in columns
                ]
                above, below = over[: len(columns)], over[len(columns) :]
                if not any(above) or not any(below):
                    continue
                told = 0.0
                for p, q in zip(above, below, strict=True):
                    if p:
                        ratio = None if not q else p * sum(below) / (q * sum(above))
                        told = max(
                            told,
                            math.inf
                            if ratio is None
                            else float(mpmath.log(ratio.numerator) - mpmath.log(ratio.denominator)),
                        )
                best = told if best is None else max(best, told)
    return best


def check(network: DiscreteNetwork, frame: np.ndarray, *, within: float) -> None:
    laws = [dict(fractions(network, model)) for model in range(network.models)]
    names = network.attributes
    rows = [k for k, name in enumerate(names) if len(network.states[name]) > 1]
    for row, i in enumerate(rows):
        pairs = [((a,), (b,)) for a, b in itertools.permutations(range(len(network.states[names[i]])), 2)]
        for j in range(len(names)):
            found = float(frame[row, j])
            true = None if i == j else true_influence(laws, i, j, pairs)
            if true is None:
                assert math.isnan(found)
            elif math.isinf(true):
                assert found == math.inf
            else:
                assert true <= found <= true + within * max(1.0, true)


@pytest.mark.parametrize("numbers", COLUMNS)
def test_the_matrix_is_never_below_exact_fractions(numbers: str) -> None:
    rng = np.random.default_rng(sorted(COLUMNS).index(numbers))
    by_tree = 0
    for _ in range(8):
        network = hostile(rng, COLUMNS[numbers], int(rng.integers(1, 6)), int(rng.integers(1, 3)))
        chosen = dict.fromkeys(network.attributes)
        within = 1e-12 if numbers in ("kind", "zeros", "small") else 2e-11
        check(network, InfluenceMatrix.of(network).values, within=within)
        try:
            rows = junction_rows(network, chosen)
        except OutOfRangeError:
            continue
        by_tree += 1
        check(network, rows.values, within=within)
        others = rows_one_by_one(network, chosen)
        assert (rows.protected, rows.refused, rows.dropped) == (others.protected, others.refused, others.dropped)
        assert np.array_equal(rows.values == 0, others.values == 0)
    if numbers in ("kind", "zeros", "small"):
        assert by_tree == 8
    elif numbers in ("1e-150", "1e-300"):
        assert by_tree > 0


def test_numbers_that_doubles_cannot_multiply_are_not_lost() -> None:
    """A chain of steps of 1e-120 each: its ends together are improbable beyond doubles, and not impossible."""
    names = [f"v{k}" for k in range(5)]
    rare = {names[0]: [1 - 1e-200, 1e-200]} | {name: [[0.5, 1e-120], [0.5, 1 - 1e-120]] for name in names[1:]}
    network = DiscreteNetwork.from_tables(
        rare, states=dict.fromkeys(names, ("a", "b")), parents={b: [a] for a, b in itertools.pairwise(names)}
    )
    with pytest.raises(OutOfRangeError):
        junction_rows(network, dict.fromkeys(names))
    values = InfluenceMatrix.of(network).values
    off = ~np.eye(5, dtype=bool)
    assert np.isfinite(values[off]).all()
    assert (values[off] > 0).all()


def test_a_log_below_all_doubles_is_no_zero() -> None:
    """Its exponential is 0, which must not be taken for a declared zero."""
    tables = {
        "x": LogTable(axes=("x",), values=np.log([[0.5, 0.5]])),
        "y": LogTable(axes=("y", "x"), values=np.array([[[0.0, math.log(0.5)], [-800.0, math.log(0.5)]]])),
    }
    network = replace(
        DiscreteNetwork.from_tables(
            {"x": [0.5, 0.5], "y": [[1.0, 0.5], [0.0, 0.5]]},
            states={"x": ("a", "b"), "y": ("a", "b")},
            parents={"y": ["x"]},
        ),
        tables=tables,
    )
    with pytest.raises(OutOfRangeError):
        junction_rows(network, {"x": None})
    assert bp.influence_matrix(network).loc["x", "y"] == pytest.approx(800 + math.log(0.5))


def test_every_chosen_pair_counts_and_no_other() -> None:
    rng = np.random.default_rng(5)
    for _ in range(8):
        network = hostile(rng, COLUMNS["zeros"], 4, 2)
        chosen = {}
        for name in network.attributes:
            states = network.states[name]
            if len(states) == 3:
                chosen[name] = bp.pairs((states[0], frozenset(states[1:])), (states[1], states[2]))
            elif len(states) == 2:
                chosen[name] = bp.pairs((states[1], states[0]))
        found, others = junction_rows(network, chosen), rows_one_by_one(network, chosen)
        assert (found.protected, found.refused, found.dropped) == (others.protected, others.refused, others.dropped)
        assert np.allclose(found.values, others.values, rtol=1e-12, atol=1e-12, equal_nan=True)
        assert np.array_equal(found.values == 0, others.values == 0)


def test_no_block_of_models_changes_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    network = hostile(rng, COLUMNS["zeros"], 5, 7)
    whole = junction_rows(network, dict.fromkeys(network.attributes))
    monkeypatch.setattr(junction_ratios, "BLOCK_CELLS", 1)
    single = junction_rows(network, dict.fromkeys(network.attributes))
    assert np.array_equal(whole.values, single.values, equal_nan=True)
    assert (whole.refused, whole.dropped) == (single.refused, single.dropped)


def test_a_sweep_for_each_row_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    for _ in range(8):
        network = hostile(rng, COLUMNS["zeros"], int(rng.integers(2, 9)), 3)
        chosen = dict.fromkeys(network.attributes)
        monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", 3)
        whole = junction_rows(network, chosen)
        monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", 0)
        swept = junction_rows(network, chosen)
        assert np.allclose(whole.values, swept.values, rtol=1e-12, atol=1e-12, equal_nan=True)
        assert np.array_equal(whole.values == 0, swept.values == 0)
        assert (whole.refused, whole.dropped) == (swept.refused, swept.dropped)
        monkeypatch.setattr(junction_ratios, "sweep_cells", lambda tree: junction_ratios.MOST_TREE_CELLS // 2)
        monkeypatch.setattr(junction_ratios, "peak_cells", lambda tree: 2 * junction_ratios.MOST_TREE_CELLS)
        by_state = junction_rows(network, chosen)
        assert np.allclose(by_state.values, swept.values, rtol=1e-12, atol=1e-12, equal_nan=True)
        monkeypatch.undo()
        for name in whole.protected:
            row = junction_rows(network, {name: None})
            assert row.protected == (name,)
            assert np.allclose(row.values[0], whole.values[whole.protected.index(name)], atol=1e-12, equal_nan=True)


def test_a_tree_too_large_leaves_the_pairs_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    network = hostile(np.random.default_rng(7), COLUMNS["kind"], 4, 1)
    usual = InfluenceMatrix.of(network).values
    monkeypatch.setattr(junction_ratios, "MOST_TREE_CELLS", 1)
    with pytest.raises(bp.errors.SizeError, match="junction tree"):
        junction_rows(network, dict.fromkeys(network.attributes))
    assert np.allclose(InfluenceMatrix.of(network).values, usual, equal_nan=True)


def test_the_cliques_are_a_junction_tree() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        nodes = int(rng.integers(1, 12))
        chance = rng.uniform(0, 0.6)
        families = [(k, *(j for j in range(k) if rng.random() < chance)) for k in range(nodes)]
        sizes = [int(size) for size in rng.integers(1, 4, nodes)]
        found = best_triangulation(moral_graph(families), sizes)
        assert all(any(not sum(1 << v for v in family) & ~c for c in found.cliques) for family in families)
        for node in range(nodes):
            holders = {k for k, clique in enumerate(found.cliques) if clique >> node & 1}
            reached, todo = set(), [min(holders)]
            while todo:
                reached.add(k := todo.pop())
                todo += [each for each in found.near[k] if each in holders - reached]
            assert reached == holders
        assert sum(map(len, found.near)) // 2 < len(found.cliques)
        assert not any(not a & ~b for a, b in itertools.permutations(found.cliques, 2))
        assert [list(members(clique)) for clique in found.cliques]


def test_nodes_without_a_common_ancestor_are_not_connected() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        network = hostile(rng, COLUMNS["kind"], 6, 1)
        names, found = network.attributes, NumberedNetwork.of(network).connected()
        for i, j in itertools.permutations(range(6), 2):
            assert found[i, j] == bool(network.graph.frontier(names[i], {names[j]}))


def test_pairs_are_point_pairs_of_the_network() -> None:
    """Another kind of pair is refused by name, not by an attribute error."""
    network = hostile(np.random.default_rng(10), COLUMNS["kind"], 3, 1)
    with pytest.raises(bp.errors.SecretError, match="pairs of its states"):
        bp.influence_matrix(network, {network.attributes[0]: SecretPair(frozenset({"s0"}), frozenset({"s1"}))})  # type: ignore[dict-item]
