"""What a junction tree does with numbers at the end of the doubles, with errors of its tables, and with size limits."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.errors import SizeError
from bnpriv.kinds.junction import rows as junction_ratios
from bnpriv.kinds.junction.rows import NumberedNetwork, junction_rows, rows_one_by_one
from bnpriv.kinds.junction.tree import OutOfRangeError, inverse, peak_cells
from tests.unit.kinds.junction.test_junction import COLUMNS, hostile

RARE = (1e-40, 1e-75, 1e-110, 1e-150, 1e-200, 1e-290)


def rare_network(rng: np.random.Generator, nodes: int) -> DiscreteNetwork:
    """Return a network in which products of entries come near to the least doubles, or pass them."""
    names = [f"v{k}" for k in range(nodes)]
    sizes = {name: int(rng.choice([2, 2, 3])) for name in names}
    parents = {
        name: [str(p) for p in rng.permutation(names[max(0, k - 3) : k])[: int(rng.integers(1, 3))]]
        for k, name in enumerate(names)
    }
    few = [*rng.choice(RARE, size=2), 0.0]
    tables = {}
    for name in names:
        shape = (sizes[name], *(sizes[p] for p in parents[name]))
        table = rng.uniform(0.2, 1, size=shape)
        table[-1] = np.where(rng.random(shape[1:]) < 0.6, rng.choice(few, size=shape[1:]), table[-1])
        tables[name] = table / table.sum(axis=0)
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, normalize=True)


@pytest.mark.parametrize("factor", [0, 3])
def test_numbers_near_the_least_doubles_are_seen_or_left_to_logs(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", factor)
    rng, by_tree, left = np.random.default_rng(23), 0, 0
    for _ in range(150):
        network = rare_network(rng, int(rng.integers(3, 7)))
        chosen = dict.fromkeys(network.attributes)
        try:
            found = junction_rows(network, chosen)
        except OutOfRangeError:
            left += 1
            continue
        by_tree += 1
        others = rows_one_by_one(network, chosen)
        assert np.array_equal(np.isinf(found.values), np.isinf(others.values))
        assert np.allclose(found.values, others.values, rtol=1e-10, atol=1e-10, equal_nan=True)
    assert by_tree > 30
    assert left > 30


def test_the_least_weights_have_an_inverse() -> None:
    with np.errstate(divide="ignore"):
        assert inverse(np.array([0.0, 2.0**-1000, 0.5])).tolist() == [0.0, 2.0**1000, 2.0]


def certain_or_rare(rare: float, states: int) -> list[list[float]]:
    """Return a link on which the last state is impossible after the first one, and rare after all others."""
    first = [1.0, *[0.0] * (states - 1)]
    other = [(1 - rare) / (states - 1)] * (states - 1) + [rare]
    return np.array([first, other]).T.tolist()


@pytest.mark.parametrize("factor", [0, 3])
@pytest.mark.parametrize("links", range(1, 6))
def test_two_rare_ends_of_a_chain_of_copies(links: int, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", factor)
    names = [f"v{k}" for k in range(links + 1)]
    copied = [[1.0, 0.0], [0.0, 1.0]]
    for rare in (1e-200, 1e-170):
        tables = {names[0]: [1 - rare, rare], **dict.fromkeys(names[1:-1], copied), names[-1]: certain_or_rare(rare, 2)}
        parents = {b: [a] for a, b in itertools.pairwise(names)}
        network = DiscreteNetwork.from_tables(tables, states=dict.fromkeys(names, (0, 1)), parents=parents)
        for chosen in (dict.fromkeys(names), {names[0]: None}, {names[-1]: None}):
            with pytest.raises(OutOfRangeError):
                junction_rows(network, chosen)


@pytest.mark.parametrize("factor", [0, 3])
@pytest.mark.parametrize("sizes", list(itertools.product((2, 3, 70), repeat=2)))
def test_two_rare_leaves(sizes: tuple[int, int], factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two is carried to the other depends on their states; neither may lose what both have in common."""
    monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", factor)
    x, y = sizes
    tables = {"s": [0.5, 0.5], "x": certain_or_rare(1e-200, x), "y": certain_or_rare(1e-180, y)}
    tables |= {"z": [0.25, 0.75], "w": [[0.5, 0.25], [0.5, 0.75]]}
    network = DiscreteNetwork.from_tables(
        tables,
        states={"s": (0, 1), "x": range(x), "y": range(y), "z": (0, 1), "w": (0, 1)},
        parents={"x": ["s"], "y": ["s"], "w": ["z"]},
        normalize=True,
    )
    for chosen in (dict.fromkeys(network.attributes), {"x": None}, {"y": None}):
        with pytest.raises(OutOfRangeError):
            junction_rows(network, chosen)
    assert np.isfinite(bp.influence_matrix(network, {"s": None, "w": None}).loc["w", "z"])


def chain(error: float) -> tuple[DiscreteNetwork, DiscreteNetwork]:
    """Return a chain of rare links, and one whose tables are off by all of `error`, so that it seems to tell less."""
    names = ["a", "b", "c", "d"]
    first = [[1 - 1e-9, 1 - 1e-2], [1e-9, 1e-2]]
    link = [[1 - 1e-6, 1 - 1e-1], [1e-6, 1e-1]]
    true = DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": first, "c": link, "d": link},
        states=dict.fromkeys(names, (0, 1)),
        parents={"b": ["a"], "c": ["b"], "d": ["c"]},
    )
    signs = {"a": np.zeros((1, 2)), "b": np.array([[[1, 1], [-1, -1]]])}
    signs |= dict.fromkeys("cd", np.array([[[1, 1], [1, -1]]]))
    tables = {
        name: LogTable(axes=table.axes, values=table.values + error * signs[name], error=table.error + error)
        for name, table in true.tables.items()
    }
    return true, replace(true, tables=tables)


@pytest.mark.parametrize("error", [1e-3, 1e-6])
def test_errors_of_all_tables_add(error: float) -> None:
    true, off = chain(error)
    told = junction_rows(true, {"a": None}).values[0, 3]
    worse = junction_rows(off, {"a": None}).values[0, 3]
    numbered = NumberedNetwork.of(off)
    assert numbered.error >= 4 * error
    computed = worse - 4 * numbered.error
    assert computed < told - 5 * error  # more than the error of one table, four times
    assert worse >= told


def test_the_error_is_that_of_the_claim() -> None:
    rng = np.random.default_rng(31)
    for _ in range(30):
        network = hostile(rng, COLUMNS["kind"], int(rng.integers(1, 9)), 1)
        numbered = NumberedNetwork.of(network)
        cliques = numbered.tree.cliques
        sizes = dict(enumerate(numbered.sizes))
        widest, roundings = 64, 0
        for clique in cliques:
            separators = [clique.shared, *(cliques[child].shared for child in clique.children)]
            holders = [clique, *(cliques[child] for child in clique.children)]
            cells = [math.prod(sizes[v] for v in one.axes[:n]) for one, n in zip(holders, separators, strict=True)]
            around = max(64, *cells, *(sizes[v] for v in clique.axes))
            whole = math.prod(sizes[v] for v in clique.axes)
            roundings += min(whole, around + sum(max(256, sizes[v]) for v in clique.axes))
            roundings += len(clique.tables) + len(clique.children) + 8
            widest = max(widest, around)
        declared = sum(table.error for table in network.tables.values())
        least = declared + UNIT_ROUNDOFF * (8 * len(sizes) + widest + 2 + roundings)
        assert numbered.error >= least * 1.009
        assert numbered.error <= least * 1.011


def test_the_last_ratio_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.5, 0.25], [0.5, 0.75]]},
        states={"x": (0, 1), "y": (0, 1)},
        parents={"y": ["x"]},
    )
    monkeypatch.setattr(NumberedNetwork, "error", 0.0)
    told = junction_rows(network, {"x": None}).values[0, 1]
    assert told >= math.log(2) + UNIT_ROUNDOFF * (4 + 8)
    assert told == pytest.approx(math.log(2), rel=1e-14)


@pytest.mark.parametrize("factor", [0, 3])
def test_sets_of_states_are_mixed_by_their_probabilities(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", factor)
    prior = [Fraction(1, 16), Fraction(9, 16), Fraction(6, 16)]
    high = [Fraction(3, 4), Fraction(1, 8), Fraction(1, 2)]
    network = DiscreteNetwork.from_tables(
        {"x": [float(p) for p in prior], "y": [[float(p) for p in high], [float(1 - p) for p in high]]},
        states={"x": ("u", "v", "w"), "y": (0, 1)},
        parents={"y": ["x"]},
    )
    mixed = (prior[0] * high[0] + prior[1] * high[1]) / (prior[0] + prior[1])
    true = math.log(max(mixed / high[2], high[2] / mixed, (1 - mixed) / (1 - high[2]), (1 - high[2]) / (1 - mixed)))
    told = junction_rows(network, {"x": bp.pairs(({"u", "v"}, "w"))}).values[0, 1]
    assert true <= told <= true + 1e-12


@pytest.mark.parametrize("factor", [0, 3])
def test_row_45_no_clique_passes_the_limit(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = hostile(np.random.default_rng(7), COLUMNS["kind"], 5, 1)
    largest = max(clique.cells for clique in NumberedNetwork.of(network).tree.cliques)
    chosen = dict.fromkeys(network.attributes)
    monkeypatch.setattr(junction_ratios, "SWEEP_FACTOR", factor)
    monkeypatch.setattr(junction_ratios, "MOST_TABLE_CELLS", largest)
    junction_rows(network, chosen)
    monkeypatch.setattr(junction_ratios, "MOST_TABLE_CELLS", largest - 1)
    with pytest.raises(SizeError, match="the largest table"):
        junction_rows(network, chosen)


def test_row_45_a_node_of_many_states_makes_no_square_table() -> None:
    states = 4000
    rng = np.random.default_rng(9)
    network = DiscreteNetwork.from_tables(
        {"many": rng.dirichlet(np.ones(states)), "x": rng.dirichlet([1.0, 1.0], size=states).T},
        states={"many": range(states), "x": (0, 1)},
        parents={"x": ["many"]},
        normalize=True,
    )
    tracemalloc.start()
    told = junction_rows(network, {"x": None}).values
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told.shape == (1, 2)
    assert peak < states * states  # an eighth of a table of doubles


def test_row_45_the_laws_of_all_pairs_are_counted() -> None:
    network = hostile(np.random.default_rng(8), COLUMNS["kind"], 7, 1)
    tree = NumberedNetwork.of(network).tree
    assert peak_cells(tree) > 3 * sum(clique.cells for clique in tree.cliques) + 2 * sum(tree.sizes) ** 2
