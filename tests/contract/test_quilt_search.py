"""The search for near sets: equal to trying all of them, quick where they are very many, told where it is cut."""

from __future__ import annotations

import itertools
import time
from functools import reduce

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.influence.finite as witness_module
import bnpriv.core.mechanisms.quilt as quilt_module
import bnpriv.core.mechanisms.quilt as search_module
import bnpriv.core.networks.factors as factors_module
from bnpriv.core.evidence.structural import influences
from bnpriv.core.influence.base import influence_of
from bnpriv.core.influence.finite import PartBound, RatioTables, lower_bound
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import SecretPair, pairs_of
from tests import oracles


def subsets(columns):
    names = sorted(columns)
    return (frozenset(chosen) for size in range(len(names) + 1) for chosen in itertools.combinations(names, size))


def least_scale(framework, query, epsilon: float, *, common: bool) -> float:
    """Return the largest, over protected attributes, of the least scale over all subsets of the queried columns."""
    needed = 0.0
    for protected, pairs in framework.secrets.items():
        rows = []
        for near in subsets(query.columns):
            if protected in query.columns - near:
                continue
            moved = bp.column_sensitivity(query, near, framework.schema).upper
            told = [
                oracles.influence(framework.network, oracles.joint(framework.network, model), far, protected, pair)
                for far in [query.columns - near]
                for model in range(framework.network.models)
                for pair in pairs
            ]
            rows.append([_scale(moved, each, epsilon) for each in told])
        table = np.array(rows)
        needed = max(needed, float(table.max(axis=1).min() if common else table.min(axis=0).max()))
    return needed


def _scale(moved: float, told: float, epsilon: float) -> float:
    if told == -np.inf:
        return 0.0
    if moved == 0:
        return 0.0 if told <= epsilon + 1e-12 else np.inf
    return moved / (epsilon - told) if told < epsilon - 1e-9 else np.inf


def query_of(rng: np.random.Generator, names):
    weights = {str(name): float(rng.choice([-1.0, 0.5, 2.0])) for name in names}
    conditions = [bp.col(str(name)) > 0.5 for name in names]
    both = reduce(lambda a, b: a & b if rng.random() < 0.5 else a | b, conditions)
    return (
        bp.linear(weights),
        bp.count(both),
        bp.stack(bp.count(both), bp.linear(weights)),
        bp.stack(bp.linear(weights), bp.linear(dict.fromkeys(weights, 1.0))),
    )[int(rng.integers(4))]


@pytest.mark.parametrize("seed", range(6))
def test_scale_equals_the_least_over_all_sets(seed: int) -> None:
    rng = np.random.default_rng(4500 + seed)
    for _ in range(8):
        nodes = int(rng.integers(4, 8))
        network = oracles.random_network(rng, nodes, models=int(rng.integers(1, 3)))
        names = list(network.attributes)
        protected = [str(name) for name in rng.choice(names, size=int(rng.integers(1, 3)), replace=False)]
        protect = {name: oracles._secrets(rng, network, name) for name in protected}
        schema = bp.Schema(records=7, columns={name: bp.Real(0, float(rng.integers(1, 5))) for name in names})
        framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="a random draw")
        query = query_of(rng, rng.choice(names, size=int(rng.integers(2, min(6, nodes) + 1)), replace=False))
        epsilon, common = float(rng.uniform(0.1, 5)), bool(rng.random() < 0.3)
        mechanism = bp.MarkovQuiltMechanism(common_quilt=common, weights=(1.0,) * query.dimension(schema))
        if mechanism.supports(framework, query, epsilon=epsilon) is not None:
            continue  # some secrets are impossible under every model
        found = mechanism.calibrate(framework, query, epsilon=epsilon)
        assert found.certificate.notes == ()
        assert found.scale == pytest.approx(least_scale(framework, query, epsilon, common=common), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_scale_is_the_same_where_one_assignment_is_looked_at_first(seed: int, monkeypatch) -> None:
    monkeypatch.setattr(search_module, "LARGE_WORK", 0)
    test_scale_equals_the_least_over_all_sets(seed)


def witness_holds(cases: int = 40) -> bool:
    rng = np.random.default_rng(17)
    for _ in range(cases):
        network = oracles.random_network(rng, 6, models=2, deterministic=0.3)
        protected, *others = (str(name) for name in rng.permutation(network.attributes))
        pairs = oracles._secrets(rng, network, protected)
        for pair in pairs_of(network, protected, pairs):
            for model in range(2):
                law = oracles.joint(network, model)
                told = lower_bound(network, protected, pair, model, others)
                for some in (others[:1], others[:3], others):
                    true = oracles.influence(network, law, tuple(some), protected, pair)
                    if true > -np.inf and told(some) > true + 1e-12:
                        return False
    return True


def test_one_assignment_never_tells_more_than_all() -> None:
    assert witness_holds()


@pytest.mark.mutants
def test_an_assignment_that_is_not_divided_by_the_prior_is_found(monkeypatch) -> None:
    real = witness_module.log_sum_exp
    monkeypatch.setattr(witness_module, "log_sum_exp", lambda values, axis: real(values, axis) * (values.ndim > 1))
    assert not witness_holds()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_with_delta_the_scale_equals_the_least_over_all_sets(noise) -> None:
    rng = np.random.default_rng(45)
    for _ in range(6):
        network = oracles.random_network(rng, 6, deterministic=0.3)
        names = list(network.attributes)
        schema = bp.Schema(records=7, columns={name: bp.Real(0, 1) for name in names})
        framework = bp.DistributionalAttributePrivacy(network, schema, names[0], source="a random draw")
        query = bp.linear({name: float(rng.choice([1.0, 2.0])) for name in names[1:]})
        evidence = influences(framework)
        if isinstance(evidence, bp.errors.Refusal):
            continue  # some secrets are impossible
        rows = []
        for near in subsets(query.columns):
            shifts = evidence.influence(query.columns - near, names[0]).losses.shifts(1.0, 0.02, noise)
            moved = evidence.sensitivity(query, near, 2 if noise == "gaussian" else 1).upper
            with np.errstate(divide="ignore", invalid="ignore"):
                rows.append(np.where(shifts >= (1e-9 if moved else 0), moved / shifts if moved else 0.0, np.inf))
        found = bp.MarkovQuiltMechanism(noise=noise).calibrate(framework, query, epsilon=1.0, delta=0.02)
        assert found.scale == pytest.approx(float(np.array(rows).min(axis=0).max()), rel=1e-9)


def star(k: int, seed: int = 1):
    """Return a framework of a secret with k children, the steps of their column sensitivities, and the query."""
    rng = np.random.default_rng(seed)
    names = [f"c{place:02d}" for place in range(k)]
    tables = {"s": [0.5, 0.5]} | {name: rng.dirichlet([5.0, 5.0], size=2).T for name in names}
    network = bp.DiscreteNetwork.from_tables(
        tables, states=dict.fromkeys(tables, ("a", "b")), parents={name: ["s"] for name in names}
    )
    schema = bp.Schema(records=100, columns={name: bp.Real(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, "s", source="a random draw")
    weights = {name: float(rng.integers(1, 9)) for name in names}
    return framework, weights, tables


@pytest.mark.parametrize("k", [8, 14, 40])
def test_row_45_a_star_of_queried_columns_takes_a_moment(k: int) -> None:
    framework, weights, tables = star(k)
    started = time.process_time()
    found = bp.MarkovQuiltMechanism().calibrate(framework, bp.linear(weights), epsilon=2.0)
    assert time.process_time() - started < 5
    assert found.certificate.notes == ()
    # Sensitivities and influences add, so that the least ratio is attained by taking near what tells most for what it
    # moves: all other sets are worse than one of these.
    scales = []
    for first, second in ((0, 1), (1, 0)):
        told = {name: max(np.log(tables[name][:, first] / tables[name][:, second])) for name in weights}
        order = sorted(weights, key=lambda name: -told[name] / weights[name])
        options = [
            sum(weights[name] for name in order[:size]) / left
            for size in range(k + 1)
            if (left := 2.0 - sum(told[name] for name in order[size:])) > 0
        ]
        scales.append(min(options))
    assert found.scale == pytest.approx(max(scales), rel=1e-9)


def binary_tree(size: int, protected: str, seed: int = 3, sharp: float = 1.0):
    """Return a framework of a tree in which every attribute has two children, and its attributes."""
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(size)]
    tables = {names[0]: [0.5, 0.5]} | {name: rng.dirichlet([sharp, sharp], size=2).T for name in names[1:]}
    parents = {f"v{k}": [f"v{(k - 1) // 2}"] for k in range(1, size)}
    network = bp.DiscreteNetwork.from_tables(tables, states=dict.fromkeys(names, ("a", "b")), parents=parents)
    schema = bp.Schema(records=100, columns={name: bp.Real(0, 1) for name in names})
    return bp.DistributionalAttributePrivacy(network, schema, protected, source="a random draw"), names


def test_row_45_a_tree_of_five_hundred_takes_a_moment() -> None:
    framework, names = binary_tree(500, "v7")
    rng = np.random.default_rng(3)
    for asked in (names, rng.choice(names, 80, replace=False).tolist()):
        started = time.process_time()
        found = bp.MarkovQuiltMechanism().calibrate(framework, bp.linear(dict.fromkeys(asked, 1.0)), epsilon=2.0)
        assert time.process_time() - started < 12
        assert found.certificate.notes == ()
        assert found.scale < len(asked) / 2.0


def test_a_tree_of_two_hundred_is_searched_to_its_end() -> None:
    """Growing near sets column by column finds 34.2, and branch and bound ends at its limit there."""
    framework, names = binary_tree(200, "v7")
    found = bp.MarkovQuiltMechanism().calibrate(framework, bp.linear(dict.fromkeys(names, 1.0)), epsilon=1.0)
    assert found.certificate.notes == ()
    assert found.scale < 24
    decision = found.certificate.decisions[0]
    far = set(names) - decision.queried_near
    told = float(influence_of(framework.network, far, "v7", [decision.pair]).values[0, 0])
    assert found.scale == pytest.approx(len(decision.queried_near) / (1.0 - told), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_tree_the_scale_equals_the_least_over_all_sets(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(460 + seed)
    real, proved = search_module.QuiltSearch._improve_on_tree, []
    monkeypatch.setattr(
        search_module.QuiltSearch, "_improve_on_tree", lambda *args: proved.append(real(*args)) or proved[-1]
    )
    for _ in range(6):
        framework, names = binary_tree(7, "v1", seed=int(rng.integers(1000)), sharp=2.0)
        asked = rng.choice(names, size=5, replace=False)
        query = bp.linear({str(name): float(rng.choice([-1.0, 0.5, 2.0])) for name in asked})
        epsilon = float(rng.uniform(0.3, 4))
        found = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon)
        assert found.scale == pytest.approx(least_scale(framework, query, epsilon, common=False), rel=1e-9)
    assert any(proved)


def test_row_45_a_search_that_is_cut_is_told_and_valid(monkeypatch) -> None:
    framework, weights, _ = star(14)
    query = bp.linear(weights)
    whole = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
    for work in (0, 2**16, 2**18):
        monkeypatch.setattr(quilt_module, "MOST_SEARCH_CELLS", work)
        cut = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
        (note,) = cut.certificate.notes
        assert "stopped at its limit of work" in note
        assert note in cut.text
        assert cut.scale >= whole.scale
        decision = cut.certificate.decisions[0]
        told = float(bp.max_influence(framework.network, query.columns - decision.queried_near, "s"))
        moved = bp.column_sensitivity(query, decision.queried_near, framework.schema).upper
        assert cut.scale >= moved / (1.0 - told) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_row_45_the_bound_of_a_part_too_large_is_never_below_what_it_tells(seed: int) -> None:
    rng = np.random.default_rng(450 + seed)
    compared = 0
    for _ in range(25):
        network = oracles.random_network(rng, int(rng.integers(3, 8)), models=int(rng.integers(1, 3)))
        names = list(network.attributes)
        protected = str(rng.choice(names))
        others = [name for name in names if name != protected and rng.random() < 0.6]
        border = network.graph.frontier(protected, others)
        states = network.states[protected]
        pairs = [SecretPair(frozenset({a}), frozenset({b})) for a in states for b in states if a != b]
        tables = RatioTables.of(network, protected, border, pairs)
        for table in tables.for_points:
            bound = PartBound.of(network, protected, table.axes[1:])
            without = PartBound(children=bound.children, above=bound.above, separators=())
            for pair in pairs:
                first, second = int(tables.side(pair.first)[0]), int(tables.side(pair.second)[0])
                exact = tables.largest(table, (pair,))[:, 0]
                possible = tables.possible((pair,))[:, 0]
                for each in (bound, without):
                    above = np.broadcast_to(each.ratios(tables, first, second) + each.error + 1e-12, network.models)
                    assert (above >= exact)[np.broadcast_to(possible, network.models)].all()
                    compared += 1
    assert compared > 50


def test_row_45_a_table_too_large_leaves_a_certified_bound(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        network = oracles.random_network(rng, 7, deterministic=0.05)
        names = list(network.attributes)
        if not (network.probabilities(names[0]) > 0).all():
            continue
        exact = bp.max_influence(network, names[1:], names[0])
        with monkeypatch.context() as patch:
            patch.setattr(factors_module, "MOST_ELIMINATION_CELLS", 40)
            network = bp.DiscreteNetwork.from_tables(
                {name: network.probabilities(name) for name in names},
                states=network.states,
                parents=network.graph.parents,
                normalize=True,
            )
            try:
                bounded = bp.max_influence(network, names[1:], names[0])
            except bp.errors.SizeError:
                continue
        assert float(bounded) >= float(exact) - 1e-12
        assert bounded.kind == "certified" or float(bounded) == pytest.approx(float(exact), abs=1e-12)


def test_frontier_is_what_the_others_do_not_separate() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        names = [f"n{k}" for k in range(int(rng.integers(2, 9)))]
        graph = Graph({name: tuple(a for a in names[:k] if rng.random() < 0.35) for k, name in enumerate(names)})
        source = str(rng.choice(names))
        seen = frozenset(name for name in names if name != source and rng.random() < 0.6)
        expected = [name for name in sorted(seen) if graph.open_path(source, {name}, given=seen - {name})]
        assert list(graph.frontier(source, seen)) == expected
