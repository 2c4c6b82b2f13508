"""Networks from pgmpy and back: names, not positions; a copy, checked once; everything else refused."""

from __future__ import annotations

import gzip
import importlib
import logging
import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import FrameworkError, NetworkError, SizeError
from bnpriv.io.pgmpy import from_pgmpy, quiet, to_pgmpy
from tests.later import Later

if TYPE_CHECKING:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork, DynamicBayesianNetwork

discrete = Later("pgmpy.factors.discrete")
pgmpy = Later("pgmpy.models")
base = Later("pgmpy.base")
continuous = Later("pgmpy.factors.continuous")
inference = Later("pgmpy.inference")

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


def test_other_kinds_of_states_are_fine() -> None:
    made = pgmpy.DiscreteBayesianNetwork([("a", "b")])
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
    off = model(income((0.6, 0.4 + 2e-6)), gender(), sat())
    assert off.check_model()  # pgmpy lets it pass
    with pytest.raises(NetworkError, match=r"within 1e-06; found the sum 1\.000002 .*normalize=True"):
        from_pgmpy(off)
    assert from_pgmpy(off, normalize=True).probabilities("income").sum() == pytest.approx(1, abs=1e-15)
    assert from_pgmpy(model(income((0.6, 0.4 + 1e-10)), gender(), sat())).reading.notes == ()


def test_sums_off_by_printed_decimals_are_divided_out_and_told() -> None:
    network = from_pgmpy(model(income((0.6, 0.3999999)), gender(), sat()))
    assert network.reading.notes == (
        "Columns of the table of income sum to 1 within 1e-07 only: each was divided by its sum.",
    )
    assert network.probabilities("income")[0].tolist() == pytest.approx(
        [0.6 / 0.9999999, 0.3999999 / 0.9999999], abs=1e-15
    )
    assert str(network).count("divided by its sum") == 1
    report = bp.influence_report(network, protect="income")
    assert "divided by its sum" in report.text
    assert report.to_json().count("divided by its sum") == 1
    both = bp.model_class([network, from_pgmpy(model(income((0.5, 0.5)), gender(), sat()))])
    assert both.reading.notes == network.reading.notes


@pytest.mark.parametrize(("name", "tables", "worst"), [("alarm", 2, 1e-7), ("asia", 0, 0.0), ("sachs", 9, 1e-7)])
def test_networks_in_common_use_need_no_leave(tmp_path: Path, name: str, tables: int, worst: float) -> None:
    folder = Path(importlib.import_module("pgmpy").__file__).parent / "utils" / "example_models"
    file = tmp_path / f"{name}.bif"
    file.write_bytes(gzip.decompress((folder / f"{name}.bif.gz").read_bytes()))
    network = bp.read_network(file)
    assert len(network.reading.notes) == (tables > 0)
    assert f"{tables} tables, " in "".join(network.reading.notes) or not tables
    assert f"within {worst:.0e} only" in "".join(network.reading.notes) or not tables
    sums = [network.probabilities(each).sum(axis=1) for each in network.attributes]
    assert max(float(np.abs(each - 1).max()) for each in sums) < 1e-14


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
    "a string": (lambda: "student.bif", r"a str\. Read it with bnpriv\.read_network"),
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
    "a node that is no string": (numbered, "found the node 7, an int. Pass names="),
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


def test_refuses_models_that_differ_in_more_than_numbers_and_edges(student: DiscreteBayesianNetwork) -> None:
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
    assert [len(part.graph.edges) for part in from_pgmpy([student, fewer]).parts] == [2, 1]
    with pytest.raises(NetworkError, match="models of one graph"):
        from_pgmpy([student, fewer], missing_rows="any")
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


# --------------------------------------------------------------------------------------------------
# Names and latent nodes.
# --------------------------------------------------------------------------------------------------


def pair(a: object, b: object, latents: frozenset[object] = frozenset()) -> DiscreteBayesianNetwork:
    made = pgmpy.DiscreteBayesianNetwork([(a, b)], latents=latents)
    made.add_cpds(
        discrete.TabularCPD(a, 2, [[0.9], [0.1]]), discrete.TabularCPD(b, 2, [[0.7, 0.2], [0.3, 0.8]], [a], [2])
    )
    return made


@pytest.mark.parametrize("nodes", [(1, 2), (("x", 0), ("x", 1)), (1, "b")])
@pytest.mark.parametrize("by", ["mapping", "callable"])
def test_nodes_that_are_no_texts_are_named(nodes: tuple[Any, Any], by: str) -> None:
    names = {nodes[0]: "first", nodes[1]: "second"}
    network = from_pgmpy(pair(*nodes), names=names if by == "mapping" else names.__getitem__)
    assert network.graph.edges == (("first", "second"),)
    same = from_pgmpy(pair("first", "second"))
    assert all(np.array_equal(network.probabilities(each), same.probabilities(each)) for each in same.attributes)
    assert from_pgmpy(pair(1, 2), names=str).attributes == ("1", "2")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({1: "first"}, "the node 2, an int"),
        ({1: "a", 2: " "}, "the node 2"),
        ({1: "a", 2: "a"}, "one name for two"),
        ({1: "a", 2: "b", 3: "c"}, "names= must be of nodes; found 3, an int"),
        (lambda _: None, "the node 1"),
    ],
)
def test_names_that_do_not_name(names: Any, words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        from_pgmpy(pair(1, 2), names=names)


def test_regressions_are_named_too() -> None:
    made = pgmpy.LinearGaussianBayesianNetwork([(1, 2)], latents={1})
    made.add_cpds(
        continuous.LinearGaussianCPD(1, [1.0], 2.0), continuous.LinearGaussianCPD(2, [0.0, 3.0], 1.0, evidence=[1])
    )
    network = from_pgmpy(made, names={1: "skill", 2: "score"})
    assert network.mean.tolist() == [[1.0, 3.0]]
    assert network.reading.latent == {"skill"}


def test_a_latent_node_stays_and_has_no_column() -> None:
    network = from_pgmpy(pair("class", "ill", frozenset({"class"})), "records")
    assert network.attributes == ("class", "ill")
    assert ">latent</text>" in bp.influence_report(network, protect="ill").to_html()
    assert network.reading.latent == {"class"}
    assert network.reading.notes == ("class is latent: in the network, but no column.",)
    yes = bp.Secret(bp.count(bp.col("ill") == 1))
    alone = bp.Schema(10, {"ill": bp.Integer(0, 1)})
    framework = bp.DatasetAttributePrivacy(network, alone, protect={"ill": yes}, source="test")
    assert bp.plan(framework, bp.count(bp.col("ill") == 1), epsilon=1.0).best.scale > 0
    both = bp.Schema(10, {"ill": bp.Integer(0, 1), "class": bp.Integer(0, 1)})
    with pytest.raises(FrameworkError, match="columns of class, which the model calls latent"):
        bp.DatasetAttributePrivacy(network, both, protect={"ill": yes}, source="test")
    parameters = from_pgmpy(pair("class", "ill", frozenset({"class"})), "parameters")
    with pytest.raises(FrameworkError, match="latent"):
        bp.DistributionalAttributePrivacy(parameters, both, protect="ill", source="test")


@pytest.mark.parametrize("name", ['q"uote', "a\x1b[31mred", "line\nbreak", "\u202eturned", "x" * 500])
def test_hostile_names_come_through_harmless(name: str) -> None:
    made = pair(name, "b", frozenset({name}))
    made.get_cpds("b").values[0, 0] = 0.7000001
    network = from_pgmpy(made)
    assert network.attributes == (name, "b")
    for text in (*network.reading.notes, str(network), network._repr_html_()):
        assert not {"\x1b", "\u202e"} & set(text)
    made.get_cpds(name).values[0] = float("nan")
    with pytest.raises(NetworkError, match="finite"):
        from_pgmpy(made)


def test_a_table_of_a_million_cells_is_read() -> None:
    made = pgmpy.DiscreteBayesianNetwork([(f"p{k}", "child") for k in range(19)])
    made.add_cpds(*(discrete.TabularCPD(f"p{k}", 2, [[0.5], [0.5]]) for k in range(19)))
    flat = np.random.default_rng(1).random(2**19)
    parents = [f"p{k}" for k in range(19)]
    made.add_cpds(discrete.TabularCPD("child", 2, [flat, 1 - flat], parents, [2] * 19))
    assert np.allclose(from_pgmpy(made).probabilities("child")[0, 0].ravel(), flat, rtol=0, atol=1e-15)


# --------------------------------------------------------------------------------------------------
# Dynamic networks.
# --------------------------------------------------------------------------------------------------

GRADES = [[0.3, 0.05, 0.9, 0.5], [0.4, 0.25, 0.08, 0.3], [0.3, 0.7, 0.02, 0.2]]


def school(*, later: str = "absent") -> DynamicBayesianNetwork:
    """Return difficulty and intelligence over time, and grades, with a table at step 1 or without."""
    made = pgmpy.DynamicBayesianNetwork(
        [(("D", 0), ("G", 0)), (("I", 0), ("G", 0)), (("D", 0), ("D", 1)), (("I", 0), ("I", 1))]
    )
    table = discrete.TabularCPD
    made.add_cpds(
        table(("D", 0), 2, [[0.6], [0.4]]),
        table(("D", 1), 2, [[0.6, 0.3], [0.4, 0.7]], [("D", 0)], [2]),
        table(("I", 0), 2, [[0.7], [0.3]]),
        table(("I", 1), 2, [[0.5, 0.4], [0.5, 0.6]], [("I", 0)], [2]),
        table(("G", 0), 3, GRADES, [("I", 0), ("D", 0)], [2, 2]),
    )
    if later == "by name":
        made.add_cpds(table(("G", 1), 3, GRADES, [("I", 1), ("D", 1)], [2, 2]))
    elif later == "mixed up":
        made.initialize_initial_state()
    return made


def walk(initial: Sequence[float] = (0.8, 0.2), states: Sequence[str] = INCOME) -> DynamicBayesianNetwork:
    made = pgmpy.DynamicBayesianNetwork([(("mood", 0), ("mood", 1))])
    now, then = {("mood", 0): INCOME}, {("mood", 0): INCOME, ("mood", 1): list(states)}
    made.add_cpds(
        discrete.TabularCPD(("mood", 0), 2, [[p] for p in initial], state_names=now),
        discrete.TabularCPD(("mood", 1), 2, [[0.9, 0.3], [0.1, 0.7]], [("mood", 0)], [2], state_names=then),
    )
    return made


def marginal(network: DiscreteNetwork, name: str) -> np.ndarray:
    """Return the distribution of one attribute by pgmpy's variable elimination."""
    engine = inference.VariableElimination(to_pgmpy(network))
    return engine.query([name], show_progress=False).values


@pytest.mark.parametrize("later", ["absent", "by name"])
def test_a_dynamic_network_is_unrolled(later: str) -> None:
    network = from_pgmpy(school(later=later), steps=4)
    assert len(network.attributes) == 12
    assert set(network.graph.parents["G_3"]) == {"I_3", "D_3"}
    assert network.graph.parents["D_2"] == ("D_1",)
    engine = inference.DBNInference(school(later="by name"))
    for step in range(4):
        for name in "DIG":
            wanted = engine.forward_inference([(name, step)])[name, step].values
            assert marginal(network, f"{name}_{step}") == pytest.approx(wanted, abs=1e-12)


def test_tables_that_pgmpy_mixes_up_are_refused() -> None:
    """`initialize_initial_state` copies the numbers of step 0 under parents in another order."""
    with pytest.raises(NetworkError, match=r"G at step 1 .* as initialize_initial_state\(\) leaves them"):
        from_pgmpy(school(later="mixed up"), steps=3)


def test_the_order_of_parents_may_differ_between_steps() -> None:
    made = school()
    turned = np.array(GRADES).reshape(3, 2, 2).swapaxes(1, 2).reshape(3, 4)
    made.add_cpds(discrete.TabularCPD(("G", 1), 3, turned, [("D", 1), ("I", 1)], [2, 2]))
    network, same = from_pgmpy(made, steps=3), from_pgmpy(school(later="by name"), steps=3)
    assert marginal(network, "G_2") == pytest.approx(marginal(same, "G_2"), abs=1e-15)


def test_names_and_latent_variables_of_a_dynamic_network() -> None:
    made = school()
    made.add_node("I", roles={"latents"})  # its setter wraps a node of a step once more
    network = from_pgmpy(made, steps=2, names={"D": "difficulty", "I": "talent", "G": "grade"})
    assert set(network.graph.parents["grade_1"]) == {"difficulty_1", "talent_1"}
    assert network.reading.latent == {"talent_0", "talent_1"}


def test_one_variable_over_time_is_a_chain() -> None:
    chain = from_pgmpy(walk(), steps=100, chain=True)
    assert (chain.column, chain.steps, chain.state_space) == ("mood", 100, ("low", "high"))
    assert chain.transition.tolist() == [[[0.9, 0.1], [0.3, 0.7]]]
    assert chain.initial.tolist() == [[0.8, 0.2]]
    turned = walk(states=["high", "low"])  # the row called high comes first
    assert from_pgmpy(turned, steps=2, chain=True).transition.tolist() == [[[0.1, 0.9], [0.7, 0.3]]]
    theta = from_pgmpy([walk(), walk((0.5, 0.5))], steps=9, chain=True)
    assert (theta.models, theta.initial.tolist()) == (2, [[0.8, 0.2], [0.5, 0.5]])
    assert from_pgmpy(coin(), steps=2, chain=True).transition.tolist() == [[[0.25, 0.75]] * 2]
    # both ways of reading give the distribution of every step
    unrolled = from_pgmpy(walk(), steps=5)
    law = chain.first(0) @ np.linalg.matrix_power(chain.matrix(0), 4)
    assert marginal(unrolled, "mood_4") == pytest.approx(law, abs=1e-12)


def without_a_table() -> DynamicBayesianNetwork:
    made = walk()
    made.remove_cpds(("mood", 1))
    return made


def coin() -> DynamicBayesianNetwork:
    made = pgmpy.DynamicBayesianNetwork()
    made.add_node("mood")
    made.add_cpds(discrete.TabularCPD(("mood", 0), 2, [[0.25], [0.75]], state_names={("mood", 0): INCOME}))
    return made


NOT_OVER_STEPS: dict[str, tuple[Callable[[], object], dict[str, object], type[Exception], str]] = {
    "no steps": (school, {}, NetworkError, "Pass steps=12"),
    "steps of another model": (lambda: pair("a", "b"), {"steps": 3}, NetworkError, "Leave them out"),
    "a chain of another model": (lambda: pair("a", "b"), {"chain": True}, NetworkError, "Leave them out"),
    "steps that are none": (school, {"steps": 0}, NetworkError, "steps"),
    "too many steps": (school, {"steps": 10**9}, SizeError, "3,000,000,000 attributes"),
    "several variables": (school, {"steps": 3, "chain": True}, NetworkError, "Leave chain=True out"),
    "other states": (lambda: walk(states=["up", "down"]), {"steps": 3, "chain": True}, NetworkError, "states"),
    "no table": (without_a_table, {"steps": 3}, NetworkError, "none for mood at step 1"),
    "a chain of parameters": (walk, {"steps": 3, "chain": True, "level": "parameters"}, NetworkError, "'records'"),
    "chains with and without an edge": (lambda: [walk(), coin()], {"steps": 3, "chain": True}, NetworkError, "edges"),
    "both kinds": (lambda: [walk(), pair("a", "b")], {"steps": 3}, NetworkError, "several of these"),
}


@pytest.mark.parametrize("case", NOT_OVER_STEPS)
def test_dynamic_networks_that_are_refused(case: str) -> None:
    given, asked, error, words = NOT_OVER_STEPS[case]
    with pytest.raises(error, match=words):
        from_pgmpy(given(), **asked)  # type: ignore[call-overload]


# --------------------------------------------------------------------------------------------------
# Graphs without tables, and what is refused by name.
# --------------------------------------------------------------------------------------------------


def test_a_graph_is_fitted_first_or_learned_from_a_public_table() -> None:
    import pandas as pd

    random = np.random.default_rng(3)
    rain = random.integers(0, 2, 400)
    public = pd.DataFrame({"rain": rain, "wet": np.where(random.random(400) < 0.9, rain, 1 - rain)})
    dag = base.DAG([("rain", "wet")])
    with pytest.raises(NetworkError, match=r"found a DAG\. Fit it first"):
        from_pgmpy(dag)
    fitted = pgmpy.DiscreteBayesianNetwork(dag)
    fitted.fit(public)  # as the message says
    assert from_pgmpy(fitted).graph.edges == (("rain", "wet"),)
    learned = from_pgmpy(dag, data=public, public="a made-up table")
    assert (learned.level, learned.models, learned.graph.edges) == ("records", 1000, (("rain", "wet"),))
    numbered = from_pgmpy(base.DAG([(0, 1)]), data=public, public="made up", names={0: "rain", 1: "wet"})
    assert numbered.attributes == ("rain", "wet")
    with pytest.raises(NetworkError, match="public"):
        from_pgmpy(dag, data=public)  # type: ignore[call-overload]
    hidden = base.ADMG()  # what is hidden must not be left out
    hidden.add_nodes_from(["rain", "wet"])
    for given, words in ((hidden, "found an ADMG"), ([dag, dag], "found a DAG, a DAG"), ([], "found nothing")):
        with pytest.raises(NetworkError, match=words):
            from_pgmpy(given, data=public, public="made up")  # type: ignore[call-overload]
    with pytest.raises(NetworkError, match="level='parameters'"):
        from_pgmpy(dag, "parameters", data=public, public="made up")
    with pytest.raises(NetworkError, match="found latent nodes"):
        from_pgmpy(base.DAG([("rain", "wet")], latents={"rain"}), data=public, public="made up")


def markov_network() -> object:
    made = pgmpy.DiscreteMarkovNetwork([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    random = np.random.default_rng(0)
    made.add_factors(*(discrete.DiscreteFactor(edge, [2, 2], random.random(4)) for edge in made.edges))
    return made


class FunctionalBayesianNetwork:
    """Stands in for pgmpy's, which needs pyro; it is known by its name."""


BY_NAME: dict[str, tuple[Callable[[], object], str]] = {
    "PDAG": (lambda: base.PDAG(directed_ebunch=[("a", "b")]), "to_dag"),
    "ADMG": (lambda: base.ADMG(), "latent node"),
    "MAG": (lambda: base.MAG(), "latent node"),
    "DiscreteMarkovNetwork": (markov_network, "to_bayesian_model"),
    "FactorGraph": (lambda: pgmpy.FactorGraph(), "to_markov_model"),
    "JunctionTree": (lambda: pgmpy.JunctionTree([(("a", "b"), ("b", "c"))]), "that it was made of"),
    "MarkovChain": (lambda: pgmpy.MarkovChain(["a"], [2]), "networks.MarkovChain"),
    "FunctionalBayesianNetwork": (FunctionalBayesianNetwork, "from_pymc"),
    "SEM": (lambda: pgmpy.SEM.from_graph([("a", "b")]), "GaussianNetwork.linear"),
    "SEMGraph": (lambda: pgmpy.SEMGraph([("a", "b", 0.5)], [], [], {"a": 1, "b": 1}), "GaussianNetwork.linear"),
}


@pytest.mark.parametrize("case", BY_NAME)
def test_what_is_refused_by_name_says_what_works(case: str) -> None:
    given, words = BY_NAME[case]
    with pytest.raises(NetworkError, match=words):
        from_pgmpy(given())  # type: ignore[call-overload]


def test_a_markov_network_is_read_as_the_message_says() -> None:
    made = markov_network()
    engine, graph = inference.VariableElimination(made), made.to_bayesian_model()
    for node in graph.nodes:
        parents = list(graph.predecessors(node))
        found = engine.query([node, *parents], show_progress=False)
        table = np.transpose(found.values, [found.variables.index(each) for each in (node, *parents)])
        flat = (table / table.sum(axis=0)).reshape(2, -1)
        graph.add_cpds(discrete.TabularCPD(node, 2, flat, parents, [2] * len(parents)))
    joint = np.einsum(
        ",".join("".join(each.variables) for each in made.factors) + "->a", *(f.values for f in made.factors)
    )
    law = joint / joint.sum()
    assert marginal(from_pgmpy(graph), "a") == pytest.approx(law, abs=1e-12)


def test_naive_bayes_is_a_network() -> None:
    made = pgmpy.NaiveBayes(feature_vars=["b"], dependent_var="a")
    made.add_cpds(
        discrete.TabularCPD("a", 2, [[0.9], [0.1]]), discrete.TabularCPD("b", 2, [[0.7, 0.2], [0.3, 0.8]], ["a"], [2])
    )
    assert from_pgmpy(made).graph.edges == (("a", "b"),)
