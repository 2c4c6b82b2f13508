"""A search over assignments that merges tables and stops early still bounds what all assignments tell."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv.core.influence.largest_ratio as assignments_module
import bnpriv.core.influence.largest_ratio as search_module
from bnpriv.core.influence.base import influence_of
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.influence.largest_ratio import Assignments, LargestRatios, largest_ratios
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import SizeError

SIDES = [(a, b) for a in range(3) for b in range(3) if a != b]


def star(rng: np.random.Generator, models: int = 1) -> DiscreteNetwork:
    """Return leaves of three states around six states: tables over the middle have no two ends."""
    names = [f"c{k}" for k in range(6)]
    tables = {"s": rng.dirichlet(np.ones(6), size=models)}
    for name in names:
        tables[name] = np.moveaxis(rng.dirichlet(np.full(3, rng.choice([0.3, 1.0, 4.0])), size=(models, 6)), 2, 1)
    states = {"s": list(range(6))} | {name: list(range(3)) for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents={name: ["s"] for name in names}, normalize=True)


def exact_values(network: DiscreteNetwork, columns: tuple[str, ...]):
    pairs = [SecretPair(frozenset({a}), frozenset({b})) for a, b in SIDES]
    found = influence_of(network, columns, "c0", pairs)
    assert found.kind == "exact"
    assert not found.too_large
    return found


def searched(network: DiscreteNetwork, columns: tuple[str, ...], work: int) -> LargestRatios | None:
    return largest_ratios(network, "c0", columns, joint_law(network, ("c0",)), SIDES, most_work=work)


@pytest.mark.parametrize("cells", [60, 120, 600])
def test_bounds_hold_wherever_the_search_stops(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", cells)
    rng, stopped, closed = np.random.default_rng(cells), 0, 0
    for _ in range(4):
        network = star(rng, models=2)
        columns = tuple(f"c{k}" for k in range(1, 6))
        exact = exact_values(network, columns)
        for work in (2**16, 2**18, 2**21):
            found = searched(network, columns, work)
            if found is None:
                continue
            for k, (a, b) in enumerate(SIDES):
                true, rounding = exact.values[:, k], 2 * exact.error + 1e-12
                assert (found.upper[:, a, b] >= true - rounding).all()
                assert (found.lower[:, a, b] <= true + rounding).all()
                if found.is_exact:
                    assert (found.upper[:, a, b] <= true + found.error + rounding).all()
            if found.is_exact:
                assert found.error <= 1e-9
                closed += 1
            else:
                assert found.error == 0
                stopped += 1
    assert stopped > 2
    assert cells < 600 or closed


def small_network() -> DiscreteNetwork:
    return DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[0.75, 0.25], [0.25, 0.75]]},
        states={"s": (0, 1), "x": (0, 1)},
        parents={"x": ["s"]},
    )


def test_slack_and_errors_of_the_assignments_are_in_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two assignments are told with a slack of 1 and an error of 1/8: odds of 3 to 1 may be more, or less."""

    def told(*_: object) -> tuple[Assignments, int]:
        table = LogTable(axes=("s",), values=np.log([[0.375, 0.125], [0.125, 0.375]]), error=0.125)
        return Assignments(table=table, chosen=np.array([[0], [1]], dtype=np.int32), slack=1.0), 1

    monkeypatch.setattr(search_module, "most_telling", told)
    network = small_network()
    found = largest_ratios(network, "s", ("x",), joint_law(network, ("s",)), [(0, 1), (1, 0)])
    assert found is not None
    assert found.upper[0, 0, 1] >= np.log(3) + 1 + 2 * 0.125
    assert found.upper[0, 0, 1] <= np.log(3) + 1 + 2 * 0.125 + 1e-12
    assert found.lower[0, 0, 1] <= np.log(3) - 2 * 0.125
    assert found.lower[0, 0, 1] >= np.log(3) - 2 * 0.125 - 1e-12


def test_one_model_that_does_not_close_makes_all_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    told = search_module.most_telling

    def wider(network, protected, columns, model, *others):
        found, work = told(network, protected, columns, model, *others)
        return found.kept(np.arange(found.count), slack=float(model)), work

    monkeypatch.setattr(search_module, "most_telling", wider)
    one = small_network()
    tables = {name: np.repeat(np.exp(one.tables[name].values), 2, axis=0) for name in one.attributes}
    tables["s"][1] = [0.25, 0.75]
    network = DiscreteNetwork.from_tables(tables, states=dict(one.states), parents={"x": ["s"]})
    found = largest_ratios(network, "s", ("x",), joint_law(network, ("s",)), [(0, 1)])
    assert found is not None
    assert not found.is_exact
    assert found.error == 0
    assert found.upper[1, 0, 1] >= np.log(3) + 1
    assert found.upper[0, 0, 1] == pytest.approx(np.log(3))


def test_what_is_still_open_where_the_search_stops_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With x at 0 most may be left to find about (0, 1), with x at 1 about (1, 0); below them no work is left."""
    slack = {(): 9.0, (0,): 5.0, (1,): 3.0}
    odds = {(): 0.0, (0,): 0.5, (1,): -2.0}

    def told(network, protected, columns, model, fixed, left) -> tuple[Assignments, int]:
        found = tuple(fixed.values())
        if found not in slack:
            raise SizeError("no work is left", found="none", remedy="")
        table = LogTable(axes=("s",), values=np.array([[odds[found], 0.0]]) - 1.0)
        return Assignments(table=table, chosen=np.zeros((1, 2), dtype=np.int32), slack=slack[found]), 1

    monkeypatch.setattr(search_module, "most_telling", told)
    network = DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[0.75, 0.25], [0.25, 0.75]], "y": [[0.75, 0.25], [0.25, 0.75]]},
        states=dict.fromkeys("sxy", (0, 1)),
        parents={"x": ["s"], "y": ["s"]},
    )
    found = largest_ratios(network, "s", ("x", "y"), joint_law(network, ("s",)), [(0, 1), (1, 0)])
    assert found is not None
    assert not found.is_exact
    assert found.upper[0, 0, 1] == pytest.approx(0.5 + 5)
    assert found.upper[0, 1, 0] == pytest.approx(2 + 3)  # -0.5 + 5 with x at 0


def test_the_assignment_names_states_beyond_the_numbers_of_two_bytes() -> None:
    states, rare = 40_000, 35_000
    rng = np.random.default_rng(4)
    many = rng.dirichlet(np.ones(states), size=2).T
    many[rare] = [1e-3, 1e-9]
    network = DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": many / many.sum(axis=0)},
        states={"s": (0, 1), "x": range(states)},
        parents={"x": ["s"]},
        normalize=True,
    )
    found = largest_ratios(network, "s", ("x",), joint_law(network, ("s",)), [(0, 1)])
    assert found is not None
    assert found.chosen[0, 0, 1].tolist() == [rare]
