"""Networks from pgmpy and back: names, not positions; a copy, checked once; everything else refused."""

from __future__ import annotations

import logging
import random
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError
from bnpriv.io.pgmpy import from_pgmpy, quiet, to_pgmpy
from tests.later import Later

if TYPE_CHECKING:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

discrete = Later("pgmpy.factors.discrete")
pgmpy = Later("pgmpy.models")

INCOME = ["low", "high"]
GENDER = ["f", "m", "x"]
SAT = ["weak", "strong"]


def income(law: Sequence[float] = (0.6, 0.4), states: Sequence[object] = INCOME) -> TabularCPD:
    return discrete.TabularCPD("income", 2, [[p] for p in law], state_names={"income": list(states)})


def gender() -> TabularCPD:
    return discrete.TabularCPD("gender", 3, [[0.5], [0.3], [0.2]], state_names={"gender": GENDER})


def sat(shift: float = 0.0, *, swapped: bool = False, states: Sequence[object] = INCOME) -> TabularCPD:
    """Return P(sat | income, gender), with the parents in either order."""
    weak = np.array([[0.7, 0.6, 0.5], [0.3, 0.2, 0.1]]) + shift  # income, gender
    names = {"sat": SAT, "income": list(states), "gender": GENDER}
    if swapped:
        flat = weak.T.ravel()
        return discrete.TabularCPD("sat", 2, [flat, 1 - flat], ["gender", "income"], [3, 2], state_names=names)
    flat = weak.ravel()
    return discrete.TabularCPD("sat", 2, [flat, 1 - flat], ["income", "gender"], [2, 3], state_names=names)


def model(*tables: TabularCPD) -> DiscreteBayesianNetwork:
    made = pgmpy.DiscreteBayesianNetwork([("gender", "sat"), ("income", "sat")])
    made.add_cpds(*tables)
    return made


@pytest.fixture
def student() -> DiscreteBayesianNetwork:
    return model(income(), gender(), sat())


def random_network(rng: random.Random) -> DiscreteNetwork:
    names = [f"n{k}" for k in range(rng.randint(1, 6))]
    parents = {name: tuple(other for other in names[:k] if rng.random() < 0.4) for k, name in enumerate(names)}
    states = {name: [f"s{k}" for k in range(rng.randint(1, 4))] for name in names}
    draw = np.random.default_rng(rng.randrange(2**32))
    models = rng.randint(1, 3)
    tables = {}
    for name in names:
        shape = (models, *(len(states[parent]) for parent in parents[name]))
        tables[name] = np.moveaxis(draw.dirichlet([0.3] * len(states[name]), shape), -1, 1)
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents)


def test_reads_names_states_and_tables(student: DiscreteBayesianNetwork) -> None:
    network = from_pgmpy(student)
    assert set(network.attributes) == {"income", "gender", "sat"}
    assert network.states == {"income": ("low", "high"), "gender": ("f", "m", "x"), "sat": ("weak", "strong")}
    assert network.tables["sat"].axes == ("sat", "income", "gender")
    assert network.probabilities("sat")[0, 0, 1, 2] == pytest.approx(0.1, abs=1e-15)
    assert (network.level, network.models) == ("parameters", 1)
    assert from_pgmpy(student, "records").level == "records"


def test_axes_go_by_name_whatever_their_order() -> None:
    network = from_pgmpy([model(income(), gender(), sat()), model(sat(0.1, swapped=True), gender(), income())])
    assert network.models == 2
    assert network.tables["sat"].axes == ("sat", "income", "gender")
    first, second = network.probabilities("sat")
    assert np.allclose(second[0], first[0] + 0.1, atol=1e-15)


def test_own_axis_need_not_be_the_first() -> None:
    table = sat()
    table.variables = ["income", "sat", "gender"]
    table.values = np.moveaxis(table.values, 0, 1)
    network = from_pgmpy(model(income(), gender(), table))
    assert np.array_equal(
        network.probabilities("sat"), from_pgmpy(model(income(), gender(), sat())).probabilities("sat")
    )


def test_states_go_by_name_within_a_model() -> None:
    other_way = sat(states=["high", "low"])  # the column called high comes first
    network = from_pgmpy(model(income(), gender(), other_way))
    assert network.states["income"] == ("low", "high")
    assert np.allclose(network.probabilities("sat")[0, 0, 1], [0.7, 0.6, 0.5])


def test_states_go_by_name_across_models() -> None:
    turned = model(income((0.1, 0.9), ["high", "low"]), gender(), sat(states=["high", "low"]))
    network = from_pgmpy([model(income(), gender(), sat()), turned])
    assert np.allclose(network.probabilities("income"), [[0.6, 0.4], [0.9, 0.1]])
    assert np.allclose(network.probabilities("sat")[1, 0, 0], [0.3, 0.2, 0.1])


def test_tables_that_all_models_share_are_kept_once(student: DiscreteBayesianNetwork) -> None:
    network = from_pgmpy([student, model(income((0.5, 0.5)), gender(), sat())])
    assert network.tables["sat"].values.shape[0] == 1
    assert network.tables["income"].values.shape[0] == 2
    assert from_pgmpy((student, student)).models == 1


def test_is_a_copy(student: DiscreteBayesianNetwork) -> None:
    network = from_pgmpy(student)
    before = network.probabilities("sat").copy()
    student.get_cpds("sat").values[:] = 0.5
    student.remove_node("gender")
    assert np.array_equal(network.probabilities("sat"), before)


def test_latent_nodes_and_other_kinds_of_states_are_fine() -> None:
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")], latents={"a"})
    names = {"a": [np.int64(1), np.int64(2)], "b": [np.bool_(True), np.bool_(False)]}
    made.add_cpds(
        discrete.TabularCPD("a", 2, [[0.5], [0.5]], state_names={"a": names["a"]}),
        discrete.TabularCPD("b", 2, [[0.1, 0.2], [0.9, 0.8]], ["a"], [2], state_names=names),
    )
    network = from_pgmpy(made)
    assert network.states == {"a": (1, 2), "b": (True, False)}
    assert [type(state) for state in network.states["a"] + network.states["b"]] == [int, int, bool, bool]


def test_unnamed_states_are_numbers() -> None:
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")])
    made.add_cpds(
        discrete.TabularCPD("a", 2, [[0.5], [0.5]]), discrete.TabularCPD("b", 2, [[0.1, 0.2], [0.9, 0.8]], ["a"], [2])
    )
    assert from_pgmpy(made).states == {"a": (0, 1), "b": (0, 1)}


def test_round_trip() -> None:
    rng = random.Random(20261120)
    for _ in range(40):
        network = random_network(rng)
        back = from_pgmpy([to_pgmpy(network, k) for k in range(network.models)], network.level)
        assert back.graph == network.graph
        assert back.states == network.states
        for name in network.attributes:
            assert back.tables[name].axes == network.tables[name].axes
            assert np.max(np.abs(back.probabilities(name) - network.probabilities(name))) <= 1e-15


def test_what_goes_to_pgmpy_is_a_model_there(student: DiscreteBayesianNetwork) -> None:
    made = to_pgmpy(from_pgmpy(student))
    assert isinstance(made, pgmpy.DiscreteBayesianNetwork)
    assert made.check_model()
    assert set(made.edges) == set(student.edges)
    assert made.get_cpds("sat") == student.get_cpds("sat")


@pytest.mark.parametrize("which", [-1, 1, True, 0.0])
def test_no_such_model(student: DiscreteBayesianNetwork, which: int) -> None:
    with pytest.raises(NetworkError, match="model"):
        to_pgmpy(from_pgmpy(student), which)


@pytest.mark.parametrize("normalize", [False, True])
def test_a_transposed_table_is_named(normalize: bool) -> None:
    """Row 44."""
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")])
    made.add_cpds(
        discrete.TabularCPD("a", 2, [[0.5], [0.5]]), discrete.TabularCPD("b", 2, [[0.9, 0.1], [0.3, 0.7]], ["a"], [2])
    )
    with pytest.raises(NetworkError, match=r"the sums over a are 1\. Transpose"):
        from_pgmpy(made, normalize=normalize)


def test_sums_are_checked_with_our_own_tolerance() -> None:
    off = model(income((0.6, 0.4 + 2e-9)), gender(), sat())
    assert off.check_model()  # pgmpy lets it pass
    with pytest.raises(NetworkError, match="normalize=True"):
        from_pgmpy(off)
    assert from_pgmpy(off, normalize=True).probabilities("income").sum() == pytest.approx(1, abs=1e-15)
    assert from_pgmpy(model(income((0.6, 0.4 + 1e-10)), gender(), sat())).models == 1


def broken_numbers(value: float) -> DiscreteBayesianNetwork:
    made = model(income(), gender(), sat())
    made.get_cpds("sat").values[0, 0, 0] = value
    return made


def cycle() -> DiscreteBayesianNetwork:
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")])
    made._adj["b"]["a"] = made._pred["a"]["b"] = {}  # past pgmpy's own check
    made.cpds = [
        discrete.TabularCPD("a", 2, [[0.5, 0.5], [0.5, 0.5]], ["b"], [2]),
        discrete.TabularCPD("b", 2, [[0.5, 0.5], [0.5, 0.5]], ["a"], [2]),
    ]
    return made


def unnamed_parent() -> DiscreteBayesianNetwork:
    table = sat()
    del table.state_names["income"]
    return model(income(), gender(), table)


def short_names() -> DiscreteBayesianNetwork:
    table = sat()
    table.state_names["gender"] = ["f", "m"]
    return model(income(), gender(), table)


def strange_state() -> DiscreteBayesianNetwork:
    return model(income(states=[("a", "tuple"), "high"]), gender(), sat())


def numbered() -> DiscreteBayesianNetwork:
    made = pgmpy.DiscreteBayesianNetwork()
    made.add_node(7)
    made.add_cpds(discrete.TabularCPD(7, 2, [[0.5], [0.5]]))
    return made


REFUSED = {
    "nothing": (list, "an empty list"),
    "a string": (lambda: "student.bif", "a str"),
    "not discrete": (
        lambda: pgmpy.LinearGaussianBayesianNetwork([("a", "b")]),
        "every attribute needs a LinearGaussianCPD",
    ),
    "not all discrete": (
        lambda: [model(income(), gender(), sat()), pgmpy.LinearGaussianBayesianNetwork()],
        "a list of one of them",
    ),
    "no nodes": (lambda: pgmpy.DiscreteBayesianNetwork(), "no nodes"),
    "no table": (lambda: model(income(), sat()), "none for gender"),
    "names of states that differ": (lambda: model(income(states=["l", "h"]), gender(), sat()), "states of 'income'"),
    "numbered states of a parent": (lambda: model(income(states=[0, 1]), gender(), sat()), "states of 'income'"),
    "a state that is no name": (strange_state, "a tuple"),
    "a parent without names": (unnamed_parent, "must name the states of 'income'"),
    "too few names": (short_names, "shape"),
    "a node that is no string": (numbered, "an attribute's name"),
    "negative": (lambda: broken_numbers(-0.1), "at least 0"),
    "NaN": (lambda: broken_numbers(float("nan")), "finite"),
    "a sum that is off": (lambda: broken_numbers(0.701), "sum to 1"),
    "a cycle": (cycle, "b -> a|a -> b"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    given, words = REFUSED[case]
    with pytest.raises(NetworkError, match=words):
        from_pgmpy(given())


def test_refuses_a_table_that_does_not_fit_the_edges() -> None:
    made = model(income(), gender(), sat())
    made.remove_edge("gender", "sat")
    with pytest.raises(NetworkError, match="its parents in the graph, income; found a table over sat, income, gender"):
        from_pgmpy(made)


def test_refuses_models_that_differ_in_more_than_numbers(student: DiscreteBayesianNetwork) -> None:
    alone = pgmpy.DiscreteBayesianNetwork()
    alone.add_node("income")
    alone.add_cpds(income())
    with pytest.raises(NetworkError, match="same attributes; found gender, sat"):
        from_pgmpy([student, alone])
    fewer = pgmpy.DiscreteBayesianNetwork([("income", "sat")])
    fewer.add_node("gender")
    table = discrete.TabularCPD(
        "sat", 2, [[0.5, 0.5], [0.5, 0.5]], ["income"], [2], state_names={"sat": SAT, "income": INCOME}
    )
    fewer.add_cpds(income(), gender(), table)
    with pytest.raises(NetworkError, match="same parents in all models, income, gender as in model 0; found income"):
        from_pgmpy([student, fewer])
    renamed = model(income(states=["low", "rich"]), gender(), sat(states=["low", "rich"]))
    with pytest.raises(NetworkError, match="low, rich in the table of 'sat', model 1"):
        from_pgmpy([student, renamed])


def test_an_unknown_level_is_refused(student: DiscreteBayesianNetwork) -> None:
    with pytest.raises(NetworkError, match="level"):
        from_pgmpy(student, "columns")


def test_quiet_puts_everything_back() -> None:
    logger = logging.getLogger("pgmpy")
    before, filters = logger.level, list(warnings.filters)
    with warnings.catch_warnings(record=True) as heard, quiet():
        warnings.warn("not heard", stacklevel=1)
        logger.error("not heard")
    assert not heard
    with pytest.raises(ZeroDivisionError), quiet():
        raise ZeroDivisionError
    assert (logger.level, list(warnings.filters)) == (before, filters)
