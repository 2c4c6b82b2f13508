"""Which columns of a tree are best hidden: against all sets of columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bnpriv.core.influence.finite as tree_module
from bnpriv.core.influence.finite import tree_choice
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import SecretPair
from tests import oracles


def random_tree(rng: np.random.Generator, nodes: int) -> tuple[DiscreteNetwork, str]:
    """Return a tree with edges in any direction that make no collider, and an attribute of two or three states."""
    names = [f"v{k}" for k in range(nodes)]
    protected = str(rng.choice(names))
    sizes = {name: 3 if name == protected and rng.random() < 0.5 else 2 for name in names}
    tables, parents = {}, {}
    for k, name in enumerate(names):
        parents[name] = [names[int(rng.integers(max(0, k - 3), k))]] if k and rng.random() < 0.95 else []
        shape = (*(sizes[each] for each in parents[name]), sizes[name])
        table = rng.dirichlet(np.full(sizes[name], rng.choice([0.3, 1.0, 5.0])), size=shape[:-1])
        fixed = rng.random(shape[:-1]) < 0.1
        table[fixed] = np.eye(sizes[name])[rng.integers(0, sizes[name], size=int(fixed.sum()))]
        tables[name] = np.moveaxis(table, -1, 0)
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, normalize=True), protected


def least_total(network, law, protected, pair, costs) -> float:
    totals = []
    for size in range(len(costs) + 1):
        for hidden in itertools.combinations(sorted(costs), size):
            seen = tuple(sorted(costs.keys() - set(hidden)))
            told = oracles.influence(network, law, seen, protected, pair)
            totals.append(sum(costs[name] for name in hidden) + told)
    return min(totals)


def choices_hold(cases: int = 60) -> bool:
    rng = np.random.default_rng(170)
    found = 0
    for _ in range(cases):
        network, protected = random_tree(rng, int(rng.integers(3, 8)))
        others = [name for name in network.attributes if name != protected and rng.random() < 0.8]
        costs = {name: float(rng.choice([0.05, 0.3, 1.0])) for name in others}
        first, second = (str(state) for state in rng.permutation(network.states[protected])[:2])
        pair, law = SecretPair(frozenset({first}), frozenset({second})), oracles.joint(network, 0)
        if -np.inf in (oracles.influence(network, law, (), protected, pair),) or not costs:
            continue  # a secret is impossible
        most = float(rng.choice([0.2, 1.0, 10.0]))
        choice = tree_choice(network, protected, pair, 0, costs, most)
        assert choice is not None
        best = least_total(network, law, protected, pair, costs)
        if best > most:
            if choice.total <= best - 1e-9:
                return False
            continue
        seen = tuple(sorted(costs.keys() - choice.hidden))
        told = oracles.influence(network, law, seen, protected, pair)
        attained = sum(costs[name] for name in choice.hidden) + told
        if not (abs(choice.total - best) < 1e-9 and abs(attained - best) < 1e-9):
            return False
        found += 1
    return found > cases // 3


def test_the_choice_on_a_tree_is_the_best_of_all() -> None:
    assert choices_hold(150)


def test_other_shapes_are_left_to_others() -> None:
    rng = np.random.default_rng(2)
    coin = rng.dirichlet([1.0, 1.0])
    pair = SecretPair(frozenset({0}), frozenset({1}))
    collider = DiscreteNetwork.from_tables(
        {"a": coin, "b": coin, "c": rng.dirichlet([1.0, 1.0], size=(2, 2)).T},
        states=dict.fromkeys("abc", (0, 1)),
        parents={"c": ["a", "b"]},
    )
    assert tree_choice(collider, "a", pair, 0, {"b": 1.0, "c": 1.0}, 5.0) is None
    wide = DiscreteNetwork.from_tables(
        {"a": coin, "b": rng.dirichlet(np.ones(3), size=2).T, "c": rng.dirichlet(np.ones(2), size=3).T},
        states={"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)},
        parents={"b": ["a"], "c": ["b"]},
    )
    assert tree_choice(wide, "a", pair, 0, {"b": 1.0, "c": 1.0}, 5.0) is None
    sets = SecretPair(frozenset({0}), frozenset({1, 2}))
    assert tree_choice(wide, "b", sets, 0, {"c": 1.0}, 5.0) is None


@pytest.mark.mutants
@pytest.mark.parametrize("fault", ["one way", "first only", "hidden for nothing"])
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    branch = tree_module._Branch
    real = branch._through
    if fault == "one way":  # what tells of 1 against 0 is forgotten
        monkeypatch.setattr(branch, "_through", lambda self, name, told: real(self, name, told * [1, 0]))
    elif fault == "first only":
        monkeypatch.setattr(tree_module, "undominated", lambda choices: choices.kept(np.arange(len(choices.cost))[:1]))
    else:
        monkeypatch.setattr(branch, "_joined", lambda self, left, right, name: left)
    assert not choices_hold()
