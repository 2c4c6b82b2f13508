"""Max-influence over intervals: never below any member, and equal to the worst one where it says exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.base import Influence, influence_of
from bnpriv.core.networks.discrete import IntervalNetwork, from_weights
from bnpriv.core.secrets import SecretPair, all_pairs
from bnpriv.kinds import interval
from tests.members import columns_of, members

Tables = dict[str, np.ndarray]


def random_network(rng: np.random.Generator, *, root: bool, most_states: int = 3) -> IntervalNetwork:
    """Return intervals on a random graph of two to four nodes; "a" is first, and has no parent if `root`."""
    names = list("abcd")[: int(rng.integers(2, 5))]
    order = names if root else list(rng.permutation(names))
    states = {name: list(range(int(rng.integers(2, most_states + 1)))) for name in names}
    parents = {name: [other for other in order[:k] if rng.random() < 0.6][:2] for k, name in enumerate(order)}
    lower, upper = {}, {}
    for name in names:
        shape = (len(states[name]), *(len(states[other]) for other in parents[name]))
        middle = np.moveaxis(rng.dirichlet(np.ones(shape[0]), size=shape[1:]), -1, 0)
        if rng.random() < 0.2:
            middle = np.where(middle < 0.2, 0.0, middle)
            middle /= middle.sum(axis=0)
        width = rng.uniform(0, 0.3, size=shape) * (rng.random(shape) < 0.8) * (middle > 0)
        lower[name], upper[name] = np.maximum(middle - width, 0), np.minimum(middle + width, 1)
    return bp.DiscreteNetwork.from_intervals(lower, upper, states=states, parents=parents)


def every_vertex(network: IntervalNetwork, most: int) -> bp.DiscreteNetwork | None:
    """Return all combinations of vertices as one model class, or None if they are too many."""
    columns = list(columns_of(network))
    sizes = [len(corners) for *_, corners in columns]
    count = math.prod(sizes)
    if count > most:
        return None
    chosen = np.unravel_index(np.arange(count), sizes)
    tables = {name: np.empty((count, *network.upper[name].shape)) for name in network.attributes}
    for (name, place, corners), index in zip(columns, chosen, strict=True):
        tables[name][(slice(None), slice(None), *place)] = corners[index]
    return from_weights(tables, states=network.states, parents=network.graph.parents)


def asked_of(network: IntervalNetwork, rng: np.random.Generator) -> tuple[list[str], tuple[SecretPair, ...]]:
    others = [name for name in network.attributes if name != "a"]
    seen = [name for name in others if rng.random() < 0.7] or others[:1]
    states = network.states["a"]
    if len(states) > 2 and rng.random() < 0.5:
        return seen, bp.pairs((states[0], list(states[1:])), (list(states[:2]), states[2])).ordered("a", states)
    return seen, all_pairs(states)


def below(member_values: np.ndarray, bound: Influence) -> bool:
    return bool(np.all(member_values <= bound.values + 1e-9))


@pytest.mark.parametrize("limit", [interval.MOST_COMBINATIONS, 30, 0])
@pytest.mark.parametrize("root", [True, False])
def test_the_bound_is_never_below_a_member(root: bool, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval, "MOST_COMBINATIONS", limit)
    rng = np.random.default_rng([root, limit])
    finite = 0
    for _ in range(30):
        network = random_network(rng, root=root)
        seen, pairs = asked_of(network, rng)
        bound = influence_of(network, seen, "a", pairs)
        found = influence_of(members(network, rng, [True, False] * 15), seen, "a", pairs)
        assert below(found.values, bound)
        finite += bool(np.isfinite(bound.values).any())
    assert finite > 10


@pytest.mark.parametrize("root", [True, False])
def test_exact_bounds_are_the_largest_of_all_vertices(root: bool) -> None:
    rng = np.random.default_rng(11 + root)
    compared = exact = 0
    while compared < 100:
        network = random_network(rng, root=root)
        vertex_networks = every_vertex(network, 5000)
        if vertex_networks is None:
            continue
        seen, pairs = asked_of(network, rng)
        bound = influence_of(network, seen, "a", pairs)
        worst = influence_of(vertex_networks, seen, "a", pairs).values.max(axis=0)
        assert below(worst, bound)
        compared += 1
        if bound.kind == "exact":
            exact += 1
            # at every vertex one of two secrets may be impossible, while both are possible between the vertices
            both = ~np.isneginf(worst)
            np.testing.assert_allclose(bound.values[0][both], worst[both], atol=1e-9)
    assert 20 < exact < 100


def test_without_any_width_the_bound_is_the_influence() -> None:
    rng = np.random.default_rng(5)
    for k in range(40):
        tables = members(random_network(rng, root=k % 2 == 0), rng, [k % 3 == 0])
        network = IntervalNetwork.around(tables, 0.0)
        seen, pairs = asked_of(network, rng)
        bound, known = influence_of(network, seen, "a", pairs), influence_of(tables, seen, "a", pairs)
        np.testing.assert_allclose(bound.values, known.values, atol=1e-9)
        assert bound.kind == "exact"


def test_wider_intervals_never_tell_less() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        tables = members(random_network(rng, root=False), rng, [False])
        seen, pairs = asked_of(IntervalNetwork.around(tables, 0.0), rng)
        told = [influence_of(IntervalNetwork.around(tables, w), seen, "a", pairs).values for w in (0, 0.01, 0.1)]
        assert np.all(told[0] <= told[1] + 1e-9)
        assert np.all(told[1] <= told[2] + 1e-9)


def test_enumeration_is_never_worse_than_sums_of_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    better = 0
    for _ in range(40):
        network = random_network(rng, root=False)
        seen, pairs = asked_of(network, rng)
        bound = influence_of(network, seen, "a", pairs)
        with monkeypatch.context() as patch:
            patch.setattr(interval, "MOST_COMBINATIONS", 0)
            loose = influence_of(network, seen, "a", pairs)
        assert np.all(bound.values <= loose.values + 1e-9)
        better += bool(np.any(bound.values < loose.values - 1e-6))
    assert better > 10


def test_a_child_of_the_secret_by_hand() -> None:
    network = bp.DiscreteNetwork.from_intervals(
        {"a": [0.1, 0.1], "b": [[0.6, 0.2], [0.1, 0.5]]},
        {"a": [0.9, 0.9], "b": [[0.9, 0.5], [0.4, 0.8]]},
        states={"a": [0, 1], "b": [0, 1]},
        parents={"b": ["a"]},
    )
    found = bp.max_influence(network, {"b"}, "a")
    assert float(found) == pytest.approx(np.log(0.8 / 0.1))
    assert found.kind == "exact"
    assert "2.08 nats" in str(found)
