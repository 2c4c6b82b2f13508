"""The largest log ratio over assignments, by branch and bound: against all assignments, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.influence.finite as ratios_module
import bnpriv.core.influence.largest_ratio as assignments_module
from bnpriv.core.influence.finite import RatioTables, finite_influence, joint_law, losses_from
from bnpriv.core.influence.largest_ratio import largest_ratios
from bnpriv.core.networks.discrete import DiscreteNetwork

HOSTILE = (0.0, 5e-324, 1e-310, 1e-300, 1e-160, 1e-17, 0.1, 0.5)


def hostile_network(rng: np.random.Generator, nodes: int, models: int = 1):
    """Return a network of attributes with at most two parents and one to three states, and its hostile tables."""
    names = [f"v{k}" for k in range(nodes)]
    sizes = {name: int(rng.choice([1, 2, 2, 3])) for name in names}
    tables, parents = {}, {}
    for k, name in enumerate(names):
        above = [str(each) for each in rng.permutation(names[:k])[: int(rng.integers(0, 3))]]
        shape = (models, sizes[name], *(sizes[each] for each in above))
        odd = rng.choice(HOSTILE, size=shape)
        table = np.where(rng.random(shape) < 0.4, odd, rng.random(shape))
        table[:, 0] = np.where(table.max(axis=1) < 0.01, 1.0, table[:, 0])
        large = table * (table > 0.01)
        table = np.where(table > 0.01, table / large.sum(axis=1, keepdims=True), table)
        tables[name], parents[name] = table, above
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, normalize=True), tables


def weights(declared, model: int):
    """Return tables in fractions, every column divided by its sum."""
    found = {}
    for name, tables in declared.items():
        table = tables[model]
        exact = np.array([Fraction(float(value)) for value in table.ravel()], dtype=object).reshape(table.shape)
        found[name] = exact / exact.sum(axis=0)
    return found


def by_brute_force(network: DiscreteNetwork, declared, model: int, protected: str, columns: tuple[str, ...]):
    """Return the largest P(q | a) / P(q | b) for all states a, b; None where one is impossible, inf if unbounded."""
    tables, names = weights(declared, model), network.attributes
    place = {name: k for k, name in enumerate(names)}
    joint: dict[tuple[int, ...], dict[int, Fraction]] = {}
    prior: dict[int, Fraction] = {}
    for cell in itertools.product(*(range(len(network.states[name])) for name in names)):
        mass = Fraction(1)
        for name in names:
            mass *= tables[name][(cell[place[name]], *(cell[place[each]] for each in network.graph.parents[name]))]
        if mass:
            state = cell[place[protected]]
            row = joint.setdefault(tuple(cell[place[each]] for each in columns), {})
            row[state] = row.get(state, Fraction(0)) + mass
            prior[state] = prior.get(state, Fraction(0)) + mass
    for a, b in itertools.permutations(range(len(network.states[protected])), 2):
        if not prior.get(a) or not prior.get(b):
            yield (a, b), None
            continue
        rows = [(row[a] / prior[a], row.get(b, Fraction(0)) / prior[b]) for row in joint.values() if row.get(a)]
        unbounded = any(second == 0 for _, second in rows)
        yield (a, b), math.inf if unbounded else max(first / second for first, second in rows)


def log(ratio: Fraction | float) -> float:
    if isinstance(ratio, float):
        return ratio
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return math.log(ratio / Fraction(2) ** shift) + shift * math.log(2)


def compare(seed: int, *, nodes: int = 6, cases: int = 12, models: int = 1) -> tuple[int, int]:
    """Return how many ratios were compared, and how many of them were found exactly."""
    rng = np.random.default_rng(seed)
    compared = exact = 0
    for _ in range(cases):
        network, declared = hostile_network(rng, nodes, models)
        protected, *others = (str(name) for name in rng.permutation(network.attributes))
        columns = tuple(sorted(others[: int(rng.integers(1, nodes))]))
        states = range(len(network.states[protected]))
        sides = [(a, b) for a in states for b in states if a != b]
        if not sides:
            continue
        found = largest_ratios(network, protected, columns, joint_law(network, (protected,)), sides)
        if found is None:
            continue
        for model in range(models):
            for (a, b), ratio in by_brute_force(network, declared, model, protected, columns):
                upper, lower = found.upper[model, a, b], found.lower[model, a, b]
                if ratio is None:
                    assert upper == lower == -math.inf
                    continue
                true = log(ratio)
                slack = 1e-12 * max(1.0, abs(true)) if math.isfinite(true) else 0.0
                assert lower - slack <= true <= upper + slack
                if found.is_exact:
                    assert upper == true or abs(upper - true) <= found.error + slack
                    exact += 1
                compared += 1
    return compared, exact


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_and_meet_on_small_hostile_networks(seed: int) -> None:
    compared, exact = compare(1700 + seed, models=1 + seed % 2)
    assert compared > 10
    assert exact == compared


@pytest.mark.parametrize("cells", [27, 60])
def test_bounds_hold_where_assignments_are_merged(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", cells)
    compared = [compare(1750 + seed, nodes=7, cases=8)[0] for seed in range(3)]
    assert sum(compared) > 20


@pytest.mark.parametrize("states", [2, 3])
def test_a_leaf_of_a_star_sees_all_other_leaves_exactly(states: int) -> None:
    """Given a state of the hidden middle the leaves are independent, so that few mixtures can tell most."""
    rng = np.random.default_rng(5)
    names = [f"c{k}" for k in range(9)]
    tables = {"s": rng.dirichlet(np.ones(states))}
    tables |= {name: rng.dirichlet(np.ones(states), size=states).T for name in names}
    network = DiscreteNetwork.from_tables(
        tables, states={name: list(range(states)) for name in tables}, parents={name: ["s"] for name in names}
    )
    sides = [(a, b) for a in range(states) for b in range(states) if a != b]
    found = largest_ratios(network, "c0", tuple(names[1:]), joint_law(network, ("c0",)), sides)
    assert found is not None
    assert found.is_exact
    exact = bp.max_influence(network, names[1:], "c0")
    assert found.upper[0].max() == pytest.approx(float(exact), rel=1e-11)


def test_forty_leaves_of_a_star_are_searched_exactly() -> None:
    """The table would have 2^40 cells. With two hidden states the two most one-sided assignments decide."""
    rng = np.random.default_rng(6)
    names = [f"c{k:02d}" for k in range(40)]
    tables = {"s": np.array([0.3, 0.7])} | {name: rng.dirichlet([2.0, 2.0], size=2).T for name in names}
    network = DiscreteNetwork.from_tables(
        tables, states=dict.fromkeys(tables, ("no", "yes")), parents={name: ["s"] for name in names}
    )
    told = bp.max_influence(network, names[1:], "c00")
    assert told.kind == "exact"
    assert len(told.assignment) == 39
    values = []
    for end in (0, 1):  # all leaves speak for one state of s
        odds = sum(max(math.log(row[end] / row[1 - end]) for row in tables[name]) for name in names[1:])
        mixed = np.log([math.exp(odds), 1.0]) if end == 0 else np.log([1.0, math.exp(odds)])
        joint = tables["c00"] * tables["s"]
        law = [np.logaddexp.reduce(np.log(row) + mixed) - math.log(row.sum()) for row in joint]
        values += [law[0] - law[1], law[1] - law[0]]
    assert float(told) == pytest.approx(max(values), rel=1e-11)


def wide_star(seed: int = 8):
    """Return a star whose middle has six states, and its leaves: tables over the middle have no two ends."""
    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(9)]
    tables = {"s": rng.dirichlet(np.ones(6))} | {name: rng.dirichlet(np.ones(3), size=6).T for name in names}
    states = {"s": list(range(6))} | {name: list(range(3)) for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents={name: ["s"] for name in names}), names


def test_a_bound_that_does_not_close_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    network, names = wide_star()
    exact = bp.max_influence(network, names[1:], "c0")
    assert exact.kind == "exact"
    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", 200)
    monkeypatch.setattr(ratios_module, "MOST_ASSIGNMENT_WORK", 2**19)
    bounded = finite_influence(network, names[1:], "c0", exact.pairs, most_work=2**14)
    assert bounded.kind == "certified"
    assert not bounded.assignment
    assert (bounded.values >= exact.values - 2 * exact.error).all()
    assert isinstance(bounded.losses, bp.errors.Refusal) or bounded.losses.excess(0.1).shape == exact.values.shape


def test_losses_never_come_from_the_assignments_that_tell_most() -> None:
    network, names = wide_star()
    tables = RatioTables.of(network, "c0", tuple(names[1:]), bp.max_influence(network, names[1:], "c0").pairs, 2**10)
    assert tables.bounded
    with pytest.raises(bp.errors.SizeError):
        losses_from(tables, bp.max_influence(network, names[1:], "c0").pairs, 1)


def merged_bounds_hold() -> bool:
    for seed in range(3):
        network, names = wide_star(seed)
        sides = [(a, b) for a in range(3) for b in range(3) if a != b]
        columns = tuple(names[1:])
        found = largest_ratios(network, "c0", columns, joint_law(network, ("c0",)), sides, most_work=2**20)
        exact = bp.max_influence(network, columns, "c0")
        if found is not None and found.upper.max() < float(exact) - 2 * exact.error - 1e-11:
            return False
    return True


def keeps_the_first(self, most):
    return self.kept(np.arange(min(1, self.count)))


def merges_without_slack(self, rows, *, error=0.0, slack=0.0):
    return real_kept(self, rows)


def forgets_the_corners(logs):
    return np.array([0]), 0.0


real_kept = assignments_module.Assignments.kept


@pytest.mark.mutants
@pytest.mark.parametrize(
    ("place", "name", "planted"),
    [
        (assignments_module.Assignments, "thinned", keeps_the_first),
        (assignments_module.Assignments, "kept", merges_without_slack),
        (assignments_module, "extreme_rays", forgets_the_corners),
    ],
)
def test_planted_faults_are_found(place, name, planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", 200)
    assert merged_bounds_hold()
    monkeypatch.setattr(place, name, planted)
    if not merged_bounds_hold():
        return
    with pytest.raises(AssertionError):
        compare(1700, nodes=7, cases=150)
