"""Max-influence against exact fractions, and its laws."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence import finite
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError, SecretError, SizeError
from tests import oracles
from tests.seeds import seeds


def exact_joint(network: DiscreteNetwork, model: int) -> dict[tuple[int, ...], Fraction]:
    """Multiply the tables out in fractions; the doubles of the tables, normalized exactly, are the model."""
    tables = {}
    for name in network.attributes:
        table = np.vectorize(Fraction, otypes=[object])(network.probabilities(name)[model])
        tables[name] = table / table.sum(axis=0, keepdims=True)
    law = {}
    for cell in itertools.product(*(range(len(network.states[name])) for name in network.attributes)):
        at = dict(zip(network.attributes, cell, strict=True))
        mass = Fraction(1)
        for name in network.attributes:
            mass *= tables[name][(at[name], *(at[parent] for parent in network.graph.parents[name]))]
        law[cell] = mass
    return law


def exact_influence(network, law, seen, protected, pair) -> float:
    """Return the largest log ratio; -inf when the pair is no constraint."""
    position = network.attributes.index(protected)
    columns = [network.attributes.index(name) for name in seen]
    states = network.states[protected]
    masses: list[dict[tuple[int, ...], Fraction]] = []
    for side in (pair.first, pair.second):
        found: dict[tuple[int, ...], Fraction] = {}
        for cell, mass in law.items():
            if states[cell[position]] in side:
                key = tuple(cell[k] for k in columns)
                found[key] = found.get(key, Fraction(0)) + mass
        masses.append(found)
    totals = [sum(found.values()) for found in masses]
    if 0 in totals:
        return -math.inf
    worst = -math.inf
    for key, mass in masses[0].items():
        other = masses[1].get(key, Fraction(0))
        if mass:
            worst = max(worst, math.inf if other == 0 else log_of(mass / totals[0] / (other / totals[1])))
    return worst


def log_of(value: Fraction) -> float:
    """Return the log of a fraction that may be far outside the doubles."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2)


@pytest.mark.parametrize("seed", seeds(12, slow=40))
@pytest.mark.unhurried
def test_equals_exact_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = oracles.random_network(rng, int(rng.integers(2, 6)), most_states=3, models=2)
    protected, *others = (str(name) for name in rng.permutation(network.attributes))
    chosen = oracles._secrets(rng, network, protected)
    influence = None
    for size in range(len(others) + 1):
        for seen in itertools.combinations(others, size):
            try:
                influence = bp.max_influence(network, seen, protected, chosen)
            except SecretError:
                continue
            for model in range(network.models):
                law = exact_joint(network, model)
                for k, pair in enumerate(influence.pairs):
                    expected = exact_influence(network, law, seen, protected, pair)
                    found = float(influence.values[model, k])
                    if math.isfinite(expected):
                        assert expected <= found + 1e-15
                        assert found <= expected + 1e-12
                    else:
                        assert found == expected
            assert_witness(network, influence)


def assert_witness(network, influence) -> None:
    """The named pair, model and assignment attain the bound."""
    law = exact_joint(network, influence.model)
    names = tuple(influence.assignment)
    cells = {name: network.states[name].index(state) for name, state in influence.assignment.items()}
    masses = []
    for side in (influence.pair.first, influence.pair.second):
        total = hit = Fraction(0)
        for cell, mass in law.items():
            at = dict(zip(network.attributes, cell, strict=True))
            if network.states[influence.protected][at[influence.protected]] in side:
                total += mass
                hit += mass * all(at[name] == cells[name] for name in names)
        masses.append((hit, total))
    (hit_a, total_a), (hit_b, total_b) = masses
    assert hit_a > 0
    reached = math.inf if hit_b == 0 else log_of(hit_a / total_a / (hit_b / total_b))
    assert reached == pytest.approx(float(influence), abs=1e-12)


def test_tiny_probabilities_are_no_false_zeros() -> None:
    tiny = 1e-300
    network = DiscreteNetwork.from_tables(
        {
            "x": [0.5, 0.5],
            "y": [[1 - tiny, 0.5], [tiny, 0.5]],
            "z": [[[1 - tiny, 0.5], [0.5, 0.5]], [[tiny, 0.5], [0.5, 0.5]]],
        },
        states={"x": ["a", "b"], "y": ["a", "b"], "z": ["a", "b"]},
        parents={"y": ["x"], "z": ["x", "y"]},
    )
    influence = bp.max_influence(network, {"y", "z"}, "x")
    expected = max(exact_influence(network, exact_joint(network, 0), ("y", "z"), "x", pair) for pair in influence.pairs)
    assert math.isfinite(float(influence))
    assert float(influence) == pytest.approx(expected, rel=1e-12)
    assert float(influence) > 690


@pytest.mark.parametrize(
    ("edges", "seen", "expected_zero"),
    [
        ({"m": ["x"], "y": ["m"]}, {"y"}, False),  # chain
        ({"x": ["m"], "y": ["m"]}, {"y"}, False),  # fork
        ({"m": ["x", "y"]}, {"y"}, True),  # collider, closed
        ({"m": ["x", "y"]}, {"y", "m"}, False),  # collider, opened
        ({"m": ["y"]}, {"y", "m"}, True),  # disconnected
        ({"m": ["x"], "y": ["m"], "w": ["x", "y"]}, {"y", "w"}, False),  # loop
    ],
)
def test_named_shapes(edges, seen, expected_zero) -> None:
    rng = np.random.default_rng(5)
    names = ["x", "m", "y", "w"]
    tables = {}
    for name in names:
        shape = (2,) * len(edges.get(name, ()))
        tables[name] = np.moveaxis(rng.dirichlet([1.0, 1.0], size=shape), -1, 0)
    network = DiscreteNetwork.from_tables(tables, states=dict.fromkeys(names, ("a", "b")), parents=edges)
    influence = bp.max_influence(network, seen, "x")
    assert (float(influence) == 0) == expected_zero
    expected = max(
        exact_influence(network, exact_joint(network, 0), tuple(sorted(seen)), "x", pair) for pair in influence.pairs
    )
    assert float(influence) == pytest.approx(expected, abs=1e-12)


def test_one_sided_zero_is_infinite_and_two_sided_zero_is_not() -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.0, 0.5], [1.0, 0.5]], "z": [[0.0, 0.0], [0.4, 0.6], [0.6, 0.4]]},
        states={"x": ["a", "b"], "y": ["a", "b"], "z": ["a", "b", "c"]},
        parents={"y": ["x"], "z": ["x"]},
    )
    assert float(bp.max_influence(network, {"y"}, "x")) == math.inf
    assert float(bp.max_influence(network, {"z"}, "x")) == pytest.approx(math.log(1.5))


def test_a_table_too_large_for_set_secrets_falls_back_to_a_certified_bound(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    names = ["x", *(f"y{k}" for k in range(4))]
    tables = {"x": [0.2, 0.3, 0.5]} | {name: rng.dirichlet(np.ones(3), size=3).T for name in names[1:]}
    network = DiscreteNetwork.from_tables(
        tables, states=dict.fromkeys(names, ("a", "b", "c")), parents={name: ["x"] for name in names[1:]}
    )
    chosen = bp.pairs(("a", ["b", "c"]))
    exact = bp.max_influence(network, names[1:], "x", chosen)
    real = finite.joint_law

    def small(network, attributes):
        return real(network, attributes, most_cells=50)

    monkeypatch.setattr(finite, "joint_law", small)
    certified = bp.max_influence(network, names[1:], "x", chosen)
    assert exact.kind == "exact"
    assert certified.kind == "certified"
    assert float(certified) >= float(exact)
    assert certified.bound.lower == 0
    assert " by at most " in certified.explain().splitlines()[0]
    assert "a proved bound: the columns tell no more, and may tell less" in certified.document.lead
    assert "at most" not in exact.document.headline
    assert str(certified.document.headline) not in str(certified.document.lead)


def test_refusals() -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [1.0, 0.0], "y": [[0.5, 0.5], [0.5, 0.5]]},
        states={"x": ["a", "b"], "y": ["a", "b"]},
        parents={"y": ["x"]},
    )
    with pytest.raises(NetworkError, match="protected"):
        bp.max_influence(network, {"x", "y"}, "x")
    with pytest.raises(NetworkError, match="unknown"):
        bp.max_influence(network, {"unknown"}, "x")
    with pytest.raises(SecretError, match="positive probability"):
        bp.max_influence(network, {"y"}, "x")


def test_row_45_size_is_known_before_allocation() -> None:
    tables = {f"y{k}": np.array([0.5, 0.5]) for k in range(40)}
    # A ring of common children makes one part of all the y; the last node has the whole ring above it.
    rings = {f"c{k}": [f"y{k}", f"y{(k + 1) % 40}", "x"] for k in range(40)}
    tables |= {"x": np.array([0.5, 0.5])} | {name: np.full((2, 2, 2, 2), 0.5) for name in rings}
    network = DiscreteNetwork.from_tables(tables, states=dict.fromkeys(tables, ("a", "b")), parents=rings)
    started = time.process_time()
    influence = bp.max_influence(network, [*rings], "x")
    assert (influence.kind, float(influence) < 1e-9) == ("exact", True)  # by branch and bound over the assignments
    with pytest.raises(SizeError, match="cells, about"):
        joint_law(network, ("x", *rings))
    assert time.process_time() - started < 10


def test_matrix_holds_pairwise_influences() -> None:
    rng = np.random.default_rng(8)
    network = oracles.random_network(rng, 5, deterministic=0.0)
    matrix = bp.influence_matrix(network)
    for protected in network.attributes:
        for name in network.attributes:
            if name == protected:
                assert math.isnan(matrix.loc[protected, name])
            else:
                # the matrix counts the roundings of all tables of the network, a single influence those of its own
                alone = float(bp.max_influence(network, {name}, protected))
                assert matrix.loc[protected, name] == pytest.approx(alone, rel=1e-12, abs=1e-12)
