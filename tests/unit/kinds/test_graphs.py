"""Model classes with several graphs, against sums over all states of each model in its own graph."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest

import bnpriv as bp
import bnpriv.kinds.graphs as graphs_module
from bnpriv.core.evidence.structural import influences
from bnpriv.core.influence.base import influence_of
from bnpriv.core.influence.finite import influence_losses, joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import pairs_of
from bnpriv.io.starter.learn import learned
from bnpriv.kind import kind_of
from bnpriv.lab.check_model import g_test
from bnpriv.views.words import edge_shares
from tests import oracles
from tests.later import Later
from tests.seeds import seeds

stats = Later("scipy.stats")
pd = Later("pandas")

STATES = {"x": ["no", "yes"], "y": ["no", "yes"], "z": ["no", "yes"]}


def member(rng: np.random.Generator, names: list[str], *, models: int = 1, zeros: float = 0.1) -> DiscreteNetwork:
    """A random network over attributes of two states: its own order, edges and order of states."""
    order = [str(name) for name in rng.permutation(names)]
    parents = {name: [above for above in order[:k] if rng.random() < 0.5] for k, name in enumerate(order)}
    tables = {}
    for name in names:
        shape = (models,) + (2,) * len(parents[name])
        table = rng.dirichlet([1.0, 1.0], size=shape)
        table[rng.random(shape) < zeros] = [1.0, 0.0]
        tables[name] = np.moveaxis(table, -1, 1)
    states = {name: [str(state) for state in rng.permutation(["no", "yes"])] for name in names}
    return bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="parameters")


def members(rng: np.random.Generator) -> list[DiscreteNetwork]:
    names = [f"v{k}" for k in range(int(rng.integers(3, 6)))]
    return [member(rng, names, models=int(rng.integers(1, 3))) for _ in range(int(rng.integers(2, 4)))]


def exact_joint(network: DiscreteNetwork, model: int) -> dict[tuple[tuple[str, str], ...], Fraction]:
    """The joint law in fractions, cells named by attributes and states, by multiplying the declared tables out."""
    names, law = sorted(network.attributes), {}
    declared = network.declared[model]
    for cell in product(*(network.states[name] for name in names)):
        at = {name: network.states[name].index(state) for name, state in zip(names, cell, strict=True)}
        p = Fraction(1)
        for name in names:
            column = declared[name][(slice(None), *(at[parent] for parent in network.graph.parents[name]))]
            exact = [Fraction(float(each)) for each in column]
            p *= exact[at[name]] / sum(exact)
        law[tuple(zip(names, cell, strict=True))] = p
    return law


def exact_influence(network: DiscreteNetwork, model: int, seen: set[str], protected: str, pair) -> float:
    """The largest log ratio by the definition; -inf where the pair is no constraint."""
    sides: list[dict[tuple, Fraction]] = [{}, {}]
    for cell, p in exact_joint(network, model).items():
        at = dict(cell)
        for side, secret in zip(sides, (pair.first, pair.second), strict=True):
            if at[protected] in secret:
                key = tuple(at[name] for name in sorted(seen))
                side[key] = side.get(key, Fraction(0)) + p
    first, second = sides
    if not (sum(first.values()) and sum(second.values())):
        return -math.inf
    given = [{key: p / sum(side.values()) for key, p in side.items()} for side in sides]
    ratios = [math.inf if not given[1][key] else p / given[1][key] for key, p in given[0].items() if p]
    return max(0.0, math.inf if math.inf in ratios else math.log(max(ratios)))


def every_model(networks: list[DiscreteNetwork]) -> list[tuple[DiscreteNetwork, int]]:
    return [(network, model) for network in networks for model in range(network.models)]


def influences_hold(rng: np.random.Generator) -> bool:
    """Whether all influences of a random class are those of its models, within their error."""
    networks = members(rng)
    theta = bp.model_class(networks)
    names = sorted(theta.attributes)
    protected = str(rng.choice(names))
    others = [name for name in names if name != protected]
    seen = {str(name) for name in rng.choice(others, size=int(rng.integers(1, len(others) + 1)), replace=False)}
    found = bp.max_influence(theta, seen, protected)
    for row, (network, model) in zip(found.values, every_model(networks), strict=True):
        for told, pair in zip(row, found.pairs, strict=True):
            true = exact_influence(network, model, seen, protected, pair)
            if not (told == true or true <= told <= true + 4 * found.error + 1e-12):
                return False
    return True


@pytest.mark.parametrize("seed", seeds(20, slow=200))
def test_influences_are_those_of_each_model_in_its_own_graph(seed: int) -> None:
    assert influences_hold(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", seeds(10, slow=100))
def test_the_matrix_is_the_largest_over_the_models(seed: int) -> None:
    networks = members(np.random.default_rng(100 + seed))
    theta = bp.model_class(networks)
    matrix = bp.influence_matrix(theta)
    for protected, name in product(theta.attributes, theta.attributes):
        told = float(matrix.loc[protected, name])
        if name == protected or np.isnan(told):
            continue
        true = max(
            exact_influence(network, model, {name}, protected, pair)
            for network, model in every_model(networks)
            for pair in bp.max_influence(theta, {name}, protected).pairs
        )
        assert true <= told or told == true
        assert told <= true + 1e-9 or math.isinf(true)


@pytest.mark.parametrize("seed", seeds(20, slow=200))
def test_the_common_graph_separates_only_what_every_graph_does(seed: int) -> None:
    networks = members(np.random.default_rng(200 + seed))
    theta = bp.model_class(networks)
    names = sorted(theta.attributes)
    for one, other in product(names, names):
        rest = [name for name in names if name not in (one, other)]
        for given in ([name for name, kept in zip(rest, kept, strict=True) if kept] for kept in subsets(rest)):
            if one != other and nx.is_d_separator(theta.graph.directed, {one}, {other}, set(given)):
                assert all(nx.is_d_separator(each.graph.directed, {one}, {other}, set(given)) for each in networks)


def subsets(names: list[str]):
    return product((False, True), repeat=len(names))


@pytest.mark.parametrize("seed", seeds(20, slow=100))
def test_tables_along_the_common_graph_multiply_to_the_law_of_each_model(seed: int) -> None:
    networks = members(np.random.default_rng(300 + seed))
    theta = bp.model_class(networks)
    names = sorted(theta.attributes)
    for k, (network, model) in enumerate(every_model(networks)):
        law = oracles.joint(theta, k)  # multiplies theta.probabilities out
        mine = {
            tuple(sorted(zip(theta.attributes, cell, strict=True))): law[index]
            for index in np.ndindex(law.shape)
            for cell in [tuple(theta.states[name][i] for name, i in zip(theta.attributes, index, strict=True))]
        }
        own = np.exp(joint_law(theta, tuple(names)).values[k])
        for cell, p in exact_joint(network, model).items():
            assert mine[cell] == pytest.approx(float(p), abs=1e-12)
            at = tuple(theta.states[name].index(state) for name, state in cell)
            assert own[at] == pytest.approx(float(p), abs=1e-14)


def output_holds(rng: np.random.Generator, mechanism) -> bool:
    """Whether a release keeps its epsilon under every model, by the exact law of the noisy answer."""
    networks = members(rng)
    theta = bp.model_class(networks)
    names = sorted(theta.attributes)
    protected = str(rng.choice(names))
    schema = bp.Schema(records=1, columns={name: bp.Integer(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(theta, schema, {protected: None}, source="a random draw")
    if isinstance(influences(framework), bp.errors.Refusal):
        return True
    queried = [str(name) for name in rng.choice(names, size=min(3, len(names)), replace=False)]
    query = bp.linear({name: float(rng.choice([-2.0, 0.5, 1.0])) for name in queried})
    epsilon = float(rng.uniform(0.2, 3))
    scale = mechanism.calibrate(framework, query, epsilon=epsilon).scale
    emission = {name: np.eye(2) if rng.random() < 0.5 else rng.dirichlet([1, 1], size=2) for name in queried}
    for network in networks:
        # a model of its own; the states of its file may come in another order
        alone = replace(framework, network=network)
        place = {name: [theta.states[name].index(s) for s in network.states[name]] for name in queried}
        given = {name: emission[name][place[name]] for name in queried}
        case = oracles.Case(framework=alone, query=query, epsilon=epsilon, emission=given)
        if oracles.output_epsilon(case, scale) > epsilon * (1 + 1e-9):
            return False
    return True


@pytest.mark.parametrize("seed", seeds(15, slow=300))
def test_no_model_sees_more_than_epsilon_at_the_released_scale(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    assert output_holds(rng, bp.MarkovQuiltMechanism())


@pytest.mark.parametrize("seed", seeds(10, slow=100))
def test_the_scale_is_the_largest_of_the_parts(seed: int) -> None:
    """No quilt of a model's own graph is lost, and nothing is added."""
    rng = np.random.default_rng(500 + seed)
    networks = members(rng)
    theta = bp.model_class(networks)
    names = sorted(theta.attributes)
    schema = bp.Schema(records=7, columns={name: bp.Real(0, 1) for name in names})
    query = bp.linear({name: float(rng.choice([-1.0, 0.5, 2.0])) for name in names[1:]})
    frameworks = [
        bp.DistributionalAttributePrivacy(network, schema, {names[0]: None}, source="a random draw")
        for network in (theta, *networks)
    ]
    if any(isinstance(influences(framework), bp.errors.Refusal) for framework in frameworks):
        return
    whole, *alone = (bp.MarkovQuiltMechanism().calibrate(each, query, epsilon=1.5).scale for each in frameworks)
    assert whole == pytest.approx(max(alone), rel=1e-9)


def killed(holds, count: int = 200) -> bool:
    """Whether a search over random classes finds what does not hold."""
    return any(not holds(np.random.default_rng(600 + seed)) for seed in range(count))


def test_ignoring_all_graphs_but_the_first_is_found(monkeypatch) -> None:
    real = graphs_module._gathered

    def of_the_first(network, asked, found):
        others = (replace(each, values=np.broadcast_to(found[0].values[:1], each.values.shape)) for each in found[1:])
        return real(network, asked, [found[0], *others])

    monkeypatch.setattr(graphs_module, "_gathered", of_the_first)
    assert killed(influences_hold)
    assert killed(lambda rng: output_holds(rng, bp.MarkovQuiltMechanism()))


def test_models_asked_in_the_graph_of_another_one_are_found(monkeypatch) -> None:
    real = Graph.frontier

    def lost(self: Graph, source: str, names) -> tuple[str, ...]:
        return real(self, source, names)[:1]

    monkeypatch.setattr(Graph, "frontier", lost)
    assert killed(influences_hold)


def test_attributes_in_the_order_of_another_network_are_found(monkeypatch) -> None:
    monkeypatch.setattr(
        "bnpriv.kinds.graphs._aligned",
        lambda network, table, axes, first: np.broadcast_to(
            table.aligned(axes), (network.models, *table.aligned(axes).shape[1:])
        ),
    )
    assert killed(influences_hold)


# what else is asked of such a class


def two_experts(level: str = "records") -> DiscreteNetwork:
    """x - y - z as a chain, as the chain turned round, and without z: the arrows contradict each other."""
    near, root = [[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]
    chain = {"x": root, "y": near, "z": near}
    made = (
        bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=parents, level=level)
        for tables, parents in (
            (chain, {"y": ["x"], "z": ["y"]}),
            ({"x": near, "y": near, "z": root}, {"y": ["z"], "x": ["y"]}),
            ({"x": [0.25, 0.75], "y": [[0.5, 0.125], [0.5, 0.875]], "z": root}, {"y": ["x"]}),
        )
    )
    return bp.model_class(list(made))


def values_of_x(network: DiscreteNetwork | None = None) -> bp.ValuePrivacy:
    schema = bp.Schema(records=50, columns={name: bp.Categorical(["no", "yes"]) for name in STATES})
    return bp.ValuePrivacy(network or two_experts(), schema, {"x": None}, source="made up")


def test_the_class_says_what_it_is() -> None:
    theta = two_experts()
    assert (theta.models, len(theta.parts), theta.kind_text) == (3, 3, "a discrete network with 3 graphs")
    assert theta.graph.edges == (("x", "y"), ("y", "z"))
    assert [sorted(quilt.quilt) for quilt in bp.markov_quilts(theta, "x")] == [["y"]]
    assert kind_of(theta).edges(theta) == {("x", "y"): 2, ("y", "z"): 1, ("z", "y"): 1, ("y", "x"): 1}
    again = bp.model_class([theta, theta.parts[0]])
    assert [part.models for part in again.parts] == [1, 1, 1, 1]
    assert theta.of_level("parameters").parts[1].level == "parameters"


def test_the_hockey_stick_is_the_largest_over_the_models() -> None:
    rng = np.random.default_rng(9)
    for _ in range(10):
        networks = members(rng)
        theta = bp.model_class(networks)
        names = sorted(theta.attributes)
        found = bp.max_influence(theta, names[1:], names[0])
        excess = [
            sum(
                max(Fraction(0), p / masses[0] - Fraction(math.exp(0.3)) * other / masses[1])
                for p, other in zip(*sides, strict=True)
            )
            for network, model in every_model(networks)
            for pair in found.pairs
            for sides in [sides_of(network, model, names[0], pair)]
            for masses in [[sum(side) for side in sides]]
            if all(masses)
        ]
        assert found.delta(0.3) == pytest.approx(float(max(excess, default=0)), abs=1e-9)


def sides_of(network: DiscreteNetwork, model: int, protected: str, pair) -> list[list[Fraction]]:
    """The joint law of all other attributes with the protected one in either side of a pair, cell by cell."""
    law = exact_joint(network, model)
    rests = sorted({tuple(item for item in cell if item[0] != protected) for cell in law})
    return [
        [
            sum(p for cell, p in law.items() if dict(cell)[protected] in side and set(rest) <= set(cell))
            for rest in rests
        ]
        for side in (pair.first, pair.second)
    ]


@pytest.mark.parametrize("model", range(3))
def test_tables_are_drawn_from_each_model(model: int) -> None:
    theta = two_experts()
    drawn = bp.simulate(values_of_x(theta), 4000, model=model)
    part, index = theta.of_model(model)
    for cell, p in exact_joint(part, index).items():
        share = float(np.logical_and.reduce([drawn[name] == state for name, state in cell]).mean())
        assert share == pytest.approx(float(p), abs=0.03)


def test_a_calibration_is_checked_and_stored_with_its_graphs(tmp_path) -> None:
    framework = values_of_x()
    query = bp.count(bp.col("z") == "yes")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=0.5)
    assert len(json.loads(calibration.to_json())["model"]["network"]["graphs"]) == 3
    files = framework.to_file(tmp_path / "framework.toml")
    read = bp.read_framework(files[-1])
    assert read.fingerprint() == framework.fingerprint()
    assert [part.graph.edges for part in read.network.parts] == [part.graph.edges for part in framework.network.parts]
    assert bp.verify(calibration).status == "holds"
    assert bp.verify(calibration, files[-1]).status == "holds"
    # a model with other numbers is another framework
    other = (tmp_path / "framework-3.bif").read_text().replace("0.25", "0.375").replace("0.75", "0.625")
    (tmp_path / "framework-3.bif").write_text(other)
    verdict = bp.verify(calibration, files[-1])
    assert verdict.status == "fails"
    assert "model 2" in str(verdict)


def test_other_edges_make_another_fingerprint() -> None:
    theta = two_experts()
    turned = bp.model_class([theta.parts[1], theta.parts[0], theta.parts[2]])
    found = {values_of_x(network).fingerprint() for network in (theta, turned, *theta.parts)}
    assert len(found) == 5


def test_what_only_the_last_member_says_makes_another_fingerprint() -> None:
    parts = two_experts().parts
    lone = {name: parts[-1].probabilities(name) for name in STATES}
    others = [
        bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=above, level="records")
        for tables, above in (
            (lone | {"z": [0.75, 0.25]}, {"y": ["x"]}),
            (lone | {"y": [0.5, 0.5]}, {}),
            (lone | {"x": [[0.25, 0.5], [0.75, 0.5]]}, {"y": ["x"], "x": ["z"]}),
        )
    ]
    found = [values_of_x(bp.model_class([*parts[:-1], other])) for other in (parts[-1], *others)]
    assert len({each.fingerprint() for each in found}) == len(found)


def test_a_class_declares_the_tables_of_every_model() -> None:
    theta = two_experts()
    assert len(theta.declared) == theta.models
    for declared, part in zip(theta.declared, theta.parts, strict=True):
        for name in STATES:
            np.testing.assert_array_equal(declared[name], part.declared[0][name])


def test_laws_are_the_same_only_of_as_many_models() -> None:
    one = two_experts().parts[0]
    tables = {name: one.probabilities(name) for name in STATES}
    tables["z"] = np.stack([tables["z"][0], [[0.9, 0.1], [0.1, 0.9]]])
    two = bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=one.graph.parents, level="records")
    other = two_experts().parts[2]
    single, double = bp.model_class([one, other]), bp.model_class([two, other])
    assert single.same_law(bp.model_class([one, other]), "x")
    assert not single.same_law(double, "x")
    assert not single.same_law(single.parts[0], "x")


def test_an_edge_is_removed_in_whatever_direction() -> None:
    theta = two_experts()
    for ends in (("x", "y"), ("y", "x")):
        cut = kind_of(theta).edge_removal(theta)(*ends)
        assert not any({"x", "y"} == set(edge) for part in cut.parts for edge in part.graph.edges)
        assert float(bp.max_influence(cut, ["y", "z"], "x")) < 1e-12
    assert float(bp.max_influence(kind_of(theta).edge_removal(theta)("z", "y"), ["y"], "x")) > 1


@pytest.mark.parametrize("seed", seeds(5, slow=50))
def test_errors_losses_and_bounds_are_those_of_the_members(seed: int) -> None:
    rng = np.random.default_rng(500 + seed)
    names = ["v0", "v1", "v2"]
    theta = bp.model_class([member(rng, names, models=k, zeros=0.3) for k in (2, 1, 2)])
    seen, protected = frozenset(names[1:]), names[0]
    pairs = pairs_of(theta, protected, None)
    found = influence_of(theta, seen, protected, pairs)
    each = [influence_of(part, seen, protected, pairs) for part in theta.parts]
    assert found.error == max(one.error for one in each)
    losses = kind_of(theta).losses(found)
    np.testing.assert_array_equal(losses.possible, np.concatenate([influence_losses(one).possible for one in each]))
    for model, pair in product(range(theta.models), pairs):
        part, index = theta.of_model(model)
        at_least = kind_of(theta).lower_bound(theta, protected, pair, model, seen)(seen)
        assert at_least == kind_of(part).lower_bound(part, protected, pair, index, seen)(seen)
        assert at_least <= max(0.0, exact_influence(part, index, set(seen), protected, pair)) + 1e-12
    bound = [*each[:-1], replace(each[-1], kind="certified", how="a bound")]
    told = graphs_module._gathered(theta, seen, bound)
    assert (told.kind, told.how) == ("certified", "a bound")


def test_a_factor_is_on_the_tables_of_each_graph() -> None:
    theta = two_experts("parameters")
    schema = bp.Schema(records=7, columns={name: bp.Real(0, 1) for name in STATES})
    framework = bp.DistributionalAttributePrivacy(theta, schema, {"x": None}, source="made up")
    turned = replace(framework, network=theta.parts[1])
    whole, alone = (
        bp.MarkovQuiltMechanism().calibrate(each, bp.total("z"), epsilon=0.6).misspecified(1.05)
        for each in (framework, turned)
    )
    # the chain turned round has its root at z: its tables, and not those along x -> y -> z, are off
    assert math.log(0.625 / 0.375) < alone.epsilon <= whole.epsilon <= 1.05 * alone.epsilon


def test_a_factor_does_not_ask_in_which_order_the_models_come() -> None:
    theta = two_experts("parameters")
    schema = bp.Schema(records=7, columns={name: bp.Real(0, 1) for name in STATES})
    framework = bp.DistributionalAttributePrivacy(theta, schema, {"x": None}, source="made up")
    turned = replace(framework, network=bp.model_class([theta.parts[k] for k in (2, 0, 1)]))
    one, other = (
        bp.MarkovQuiltMechanism().calibrate(each, bp.total("z"), epsilon=0.6).misspecified(1.05).epsilon
        for each in (framework, turned)
    )
    assert one == pytest.approx(other)


def test_a_check_says_which_edge_divides_the_models() -> None:
    theta = two_experts()
    drawn = bp.simulate(values_of_x(theta), 3000, model=0)
    found = bp.check_model(theta, drawn)
    (edge,) = found.edges
    assert (edge.ends, edge.models, edge.given) == (("y", "z"), 2, ())
    counts = np.array([[((drawn["y"] == a) & (drawn["z"] == b)).sum() for b in ("no", "yes")] for a in ("no", "yes")])
    expected = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    assert edge.statistic == pytest.approx(expected.statistic)
    assert edge.p_value == pytest.approx(expected.pvalue)
    # the first two say the same of every record, with arrows turned
    assert found.surviving == (0, 1)
    assert "y - z, in 2 of 3 models (not in model 2): the data show it" in found.text
    assert (edge.lacking, found.incomplete) == ((2,), (2,))
    assert "lacks an edge" not in found.text  # two models that stand have it
    nothing = bp.check_model(theta, drawn.assign(z="unknown")).edges
    assert [each.ends for each in nothing] == []  # no row says anything of the edge
    apart = bp.check_model(theta, bp.simulate(values_of_x(theta), 3000, model=2)).edges[0]
    assert apart.adjusted > 0.01


def test_models_of_which_each_lacks_an_edge_are_not_passed_on_to_a_plan() -> None:
    states = {name: ["no", "yes"] for name in "xyz"}
    given = [[0.9, 0.2], [0.1, 0.8]]
    first, second = (
        bp.DiscreteNetwork.from_tables(
            {name: given if name in parents else [0.5, 0.5] for name in "xyz"},
            states=states,
            parents=parents,
            level="records",
        )
        for parents in ({"y": ["x"]}, {"z": ["x"]})
    )
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 4000)
    y, z = ((rng.random(4000) < np.where(x == 1, 0.8, 0.1)) for _ in range(2))
    seen = pd.DataFrame({"x": x == 1, "y": y, "z": z}).replace({False: "no", True: "yes"})
    found = bp.check_model(bp.model_class([first, second]), seen)
    assert found.incomplete == (0, 1)
    assert "bp.plan" not in str(found)


def test_a_test_given_other_columns_adds_over_their_states() -> None:
    counts = np.random.default_rng(2).integers(0, 9, size=(3, 2, 4))
    counts[:, 1, 2] = 0  # a state that does not occur there takes no degree of freedom
    tables = [counts[:, :, k] for k in range(4) if k != 2]
    each = [stats.chi2_contingency(table, correction=False, lambda_="log-likelihood") for table in tables]
    statistic, p_value = g_test(counts)
    assert statistic == pytest.approx(sum(found.statistic for found in each))
    plain = [stats.chi2_contingency(table, correction=False).statistic * (1 - 1 / table.sum()) for table in tables]
    free = sum(found.dof for found in each)
    assert p_value == pytest.approx(max(stats.chi2.sf(statistic, free), stats.chi2.sf(sum(plain), free)))


def test_drawings_say_how_many_models_have_an_edge() -> None:
    theta = two_experts()
    assert edge_shares(theta) == {("x", "y"): "3 of 3, 1 turned", ("y", "z"): "2 of 3, 1 turned"}
    page = bp.influence_report(theta, protect={"x": None}).to_html()
    assert "2/3<title>2 of 3, 1 turned</title>" in page
    assert "edge some" in page
    assert edge_shares(theta.parts[0]) == {("x", "y"): "", ("y", "z"): ""}


def test_graphs_of_resamples() -> None:
    rng = np.random.default_rng(4)
    smokes, ill = rng.random(600) < 0.4, rng.random(600)
    table = pd.DataFrame({"smokes": smokes, "ill": ill < 0.3 + 0.07 * smokes, "tall": rng.random(600) < 0.5})
    table = table.replace({True: "yes", False: "no"})
    # nothing is protected yet in the search: an edge that the table hardly supports is in some graphs alone
    columns = {name: bp.Categorical(["no", "yes"]) for name in table}
    values = {name: table[name].tolist() for name in table}
    network = learned(columns, values, public="a survey", draws=12, graphs=6)
    assert network.models == 12
    assert len(network.parts) > 1
    drawn = network.posterior_draws
    assert drawn is not None
    assert (drawn.graphs, drawn.draws, drawn.independent) == (6, 12, False)
    assert "an estimate and no posterior" in drawn.sentence
    assert all(models % 2 == 0 for models in kind_of(network).edges(network).values())  # two models a resample
    same = learned(columns, values, public="a survey", draws=12, graphs=6)
    assert same.identity() == network.identity()
    assert learned(columns, values, public="a survey", draws=10, graphs=3).models == 10
    for graphs, edges in ((13, None), (2, "smokes -> ill")):
        with pytest.raises(bp.errors.ParameterError):
            learned(columns, values, public="a survey", draws=12, graphs=graphs, edges=edges)


def test_a_framework_of_resamples_is_read_again(tmp_path) -> None:
    rng = np.random.default_rng(5)
    a = rng.random(700) < 0.5
    survey = pd.DataFrame({"a": a, "b": rng.random(700) < np.where(a, 0.6, 0.45), "c": rng.random(700) < 0.5})
    survey = survey.replace({True: "yes", False: "no"})
    framework = bp.start(survey[:0], records=900, protect="a", learn=survey, draws=4, graphs=4)
    files = framework.to_file(tmp_path / "framework.toml")
    read = bp.read_framework(files[-1])
    assert read.network.posterior_draws.graphs == 4
    assert not read.network.posterior_draws.independent
    query = bp.count(bp.col("b") == "yes")
    ours, theirs = (bp.plan(each, query, epsilon=1.0).best for each in (framework, read))
    assert ours.scale == theirs.scale
    assert "found in 4 resamples" in ours.explain()
