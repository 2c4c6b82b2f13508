"""The gradient of an influence against differences of exact laws, in many digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.influence.base import Influence
from bnpriv.errors import Refusal, SecretError
from bnpriv.kinds import sensitivity
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.kinds.sensitivity import InfluenceGradient, influence_gradient
from tests import oracles
from tests.later import Later

optimize = Later("scipy.optimize")

Tables = dict[str, np.ndarray]


def tables_of(influence: Influence) -> Tables:
    """Return the tables of the model that tells most, in numbers of many digits."""
    network = influence.network
    found: Tables = {}
    for name in network.attributes:
        exact = np.vectorize(mpmath.mpf, otypes=[object])(network.probabilities(name)[influence.model])
        found[name] = exact / exact.sum(axis=0)
    return found


def told(influence: Influence, tables: Tables) -> mpmath.mpf:
    """Return the log ratio of the assignment that tells most, by the definition; rows need not sum to one."""
    network, names = influence.network, influence.network.attributes
    place = {name: k for k, name in enumerate(names)}
    seen = {place[name]: network.states[name].index(state) for name, state in influence.assignment.items()}
    states = network.states[influence.protected]
    sums = []
    for side in (influence.pair.first, influence.pair.second):
        both = alone = mpmath.mpf(0)
        for cell in itertools.product(*(range(len(network.states[name])) for name in names)):
            if states[cell[place[influence.protected]]] not in side:
                continue
            mass = mpmath.mpf(1)
            for name in names:
                mass *= tables[name][(cell[place[name]], *(cell[place[p]] for p in network.graph.parents[name]))]
            alone += mass
            both += mass * all(cell[k] == state for k, state in seen.items())
        sums.append(both / alone)
    return mpmath.log(sums[0] / sums[1])


def moved(tables: Tables, name: str, place: tuple[int, ...], step: float) -> Tables:
    """Return the tables after a step of the log odds of one entry."""
    column = (slice(None), *place[1:])
    table = tables[name].copy()
    old = table[place]
    new = old * mpmath.exp(step) / (1 - old + old * mpmath.exp(step))
    table[column] = table[column] * ((1 - new) / (1 - old))
    table[place] = new
    return {**tables, name: table}


def cases(count: int, seed: int):
    """Yield random influences with their gradients."""
    rng = np.random.default_rng(seed)
    while count:
        network = oracles.random_network(rng, int(rng.integers(2, 5)), most_states=3, models=2)
        protected, *others = (str(name) for name in rng.permutation(network.attributes))
        seen = others[: int(rng.integers(1, 4))]
        try:
            influence = bp.max_influence(network, seen, protected, oracles._secrets(rng, network, protected))
        except SecretError:
            continue
        found = influence_gradient(influence)
        if math.isinf(float(influence)):
            assert isinstance(found, Refusal)
            assert "finite" in found.required
        elif float(influence) > 0:
            assert isinstance(found, InfluenceGradient)
            yield influence, found
            count -= 1


@pytest.mark.parametrize("seed", range(4))
def test_every_entry_is_a_difference_of_exact_laws(seed: int) -> None:
    step = mpmath.mpf(10) ** -12
    for influence, found in cases(3, seed):
        with mpmath.workdps(50):
            tables = tables_of(influence)
            assert float(told(influence, tables)) == pytest.approx(float(influence), abs=1e-9)
            for name, table in tables.items():
                for place in np.ndindex(table.shape):
                    gradient = float(found.entries[name][place])
                    if table[place] in (0, 1):
                        assert gradient == pytest.approx(0, abs=1e-12)
                        continue
                    above, below = (told(influence, moved(tables, name, place, s)) for s in (step, -step))
                    assert gradient == pytest.approx(float((above - below) / (2 * step)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_moves_an_influence_by_as_much_as_is_said(seed: int) -> None:
    """The worst move of a row within a factor, by linear programming: its size, and what it does to the exact value."""
    step = mpmath.mpf(10) ** -9
    compared = 0
    for influence, found in cases(4, 10 + seed):
        with mpmath.workdps(50):
            tables = tables_of(influence)
            start = told(influence, tables)
            for name, table in tables.items():
                for place in np.ndindex(table.shape[1:]):
                    column = (slice(None), *place)
                    law = table[column].astype(float)
                    worst = optimize.linprog(-found.entries[name][column], A_eq=law[None], b_eq=[0.0], bounds=(-1, 1))
                    nats = float(found.rows[name][place])
                    assert nats == pytest.approx(-worst.fun, abs=1e-9)
                    if nats > 1e-6:
                        changed = table.copy()
                        changed[column] = changed[column] * np.array([mpmath.exp(step * d) for d in worst.x])
                        changed[column] = changed[column] / changed[column].sum()
                        after = told(influence, {**tables, name: changed})
                        assert float((after - start) / step) == pytest.approx(nats, abs=1e-6)
                        compared += 1
    assert compared > 8


def test_rows_come_by_how_much_they_matter() -> None:
    for _, found in cases(5, 30):
        every = found.largest(10**6)
        assert [row.nats for row in every] == pytest.approx(sorted((row.nats for row in every), reverse=True))
        assert found.largest(2) == every[:2]
        assert sum(row.nats for row in every) == pytest.approx(sum(float(table.sum()) for table in found.rows.values()))


def chain(rare: float = 0.25) -> bp.DiscreteNetwork:
    """Three attributes in a row."""
    step: FloatArray = np.array([[1 - rare, 0.5], [rare, 0.5]])
    return bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": step, "c": step, "d": step},
        states=dict.fromkeys("abcd", ("x", "y")),
        parents={"b": ["a"], "c": ["b"], "d": ["a"]},
    )


def test_tables_that_tell_nothing_do_not_matter() -> None:
    found = influence_gradient(bp.max_influence(chain(), {"b", "c"}, "a"))
    assert isinstance(found, InfluenceGradient)
    assert {row.attribute for row in found.largest(100)} == {"b"}
    nothing = influence_gradient(bp.max_influence(chain(), (), "a"))
    assert isinstance(nothing, InfluenceGradient)
    assert nothing.largest() == ()


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": 1.0}})
    assert isinstance(influence_gradient(bp.max_influence(linear, {"b"}, "a", bp.apart(at_most=1))), Refusal)
    rare = influence_gradient(bp.max_influence(chain(1e-200), {"b", "c", "d"}, "a"))
    assert isinstance(rare, (Refusal, InfluenceGradient))
    monkeypatch.setattr(sensitivity, "MOST_GRADIENT_CELLS", 1)
    large = influence_gradient(bp.max_influence(chain(), {"c"}, "a"))
    assert isinstance(large, Refusal)
    assert "memory" in large.required
