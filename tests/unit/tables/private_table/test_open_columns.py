"""Columns that may go out as they are: all maximal sets, within epsilon by enumeration; others drawn given these."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.tables.private_table.open_columns as module
from bnpriv.core.column_laws import column_law
from bnpriv.core.evidence.structural import Influences
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import ParameterError, RefusedError, SizeError
from bnpriv.tables.private_table.open_columns import OpenColumns, open_columns, open_table
from tests import oracles
from tests.kinds import KINDS, refused_or
from tests.later import Later
from tests.seeds import seeds

pd = Later("pandas")
stats = Later("scipy.stats")

Allowed = Callable[[DistributionalAttributePrivacy, frozenset[str], float], bool]


# --------------------------------------------------------------------------------------------------
# All maximal sets, against all subsets by the definition.
# --------------------------------------------------------------------------------------------------


def told(framework: DistributionalAttributePrivacy, columns: frozenset[str]) -> float:
    """What columns tell together about any protected attribute, under any model, by plain enumeration."""
    network = framework.network
    laws = [oracles.joint(network, model) for model in range(network.models)]
    found = [
        oracles.influence(network, law, tuple(sorted(columns)), name, pair)
        for law in laws
        for name, pairs in framework.secrets.items()
        for pair in pairs
    ]
    return max(found)


def brute_force(framework: DistributionalAttributePrivacy, epsilon: float) -> dict[frozenset[str], float]:
    """Every maximal set within epsilon, with what it tells, by looking at all subsets."""
    names = [name for name in framework.schema.columns if name not in framework.secrets]
    within: dict[frozenset[str], float] = {}
    for size in range(len(names), -1, -1):
        for each in map(frozenset, itertools.combinations(names, size)):
            if not any(each < larger for larger in within) and (nats := told(framework, each)) <= epsilon + 1e-9:
                within[each] = nats
    return within


def drawn_case(seed: int) -> tuple[DistributionalAttributePrivacy, float]:
    """A random framework whose secrets are possible, and an epsilon that is no tie."""
    rng = np.random.default_rng([28, seed])
    while True:
        framework = oracles.random_case(rng).framework
        refused = isinstance(module.influences(framework), bp.errors.Refusal)
        if not refused and all(told(framework, frozenset()) >= 0 for _ in framework.secrets):
            return framework, float(rng.choice([0.05, 0.3, 1.0, 3.0]) * rng.uniform(0.7, 1.4))


def agrees(seed: int) -> bool:
    """Whether all maximal sets are found, and each with what it tells."""
    framework, epsilon = drawn_case(seed)
    found = open_columns(framework, epsilon)
    expected = brute_force(framework, epsilon)
    nats = {each.columns: float(each.worst) for each in found.sets}
    return (
        found.complete
        and found.best_is_proven
        and nats.keys() == expected.keys()
        and all(math.isclose(nats[each], expected[each], abs_tol=1e-9) for each in nats)
    )


@pytest.mark.parametrize("seed", seeds(60, 600))
def test_the_sets_are_the_maximal_ones_of_all_subsets(seed: int) -> None:
    assert agrees(seed)


def test_a_search_of_single_columns_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._Search._influences

    def singly(self: Any, columns: frozenset[str]) -> Any:
        parts = [real(self, frozenset({name})) for name in columns] or [real(self, columns)]
        return None if None in parts else max(parts, key=lambda each: max(map(float, each)))

    monkeypatch.setattr(module._Search, "_influences", singly)
    assert not all(map(agrees, range(60)))


def test_a_search_for_the_first_protected_attribute_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._Search._within
    monkeypatch.setattr(module._Search, "_within", lambda self, told: real(self, told and told[:1]))
    assert not all(map(agrees, range(60)))


def test_a_search_that_takes_the_mean_over_models_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Influences.influence

    def mean(self: Any, columns: frozenset[str], attribute: str) -> Any:
        influence = real(self, columns, attribute)
        return replace(influence, values=influence.values.mean(axis=0, keepdims=True))

    monkeypatch.setattr(Influences, "influence", mean)
    assert not all(map(agrees, range(60)))


def test_a_search_that_leaves_branches_out_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._Search._conflict
    monkeypatch.setattr(
        module._Search, "_conflict", lambda self, inside, within: frozenset(list(real(self, inside, within))[:1])
    )
    assert not all(map(agrees, range(60)))


@pytest.mark.parametrize("seed", range(30))
def test_more_goes_out_at_a_larger_epsilon(seed: int) -> None:
    framework, epsilon = drawn_case(seed)
    few, many = (open_columns(framework, level) for level in (epsilon, 1.7 * epsilon))
    assert all(any(small.columns <= large.columns for large in many.sets) for small in few.sets)
    assert many.best.worth >= few.best.worth


@pytest.mark.parametrize("seed", range(30))
def test_the_best_set_is_worth_most_then_tells_least_then_comes_first(seed: int) -> None:
    framework, epsilon = drawn_case(seed)
    rng = np.random.default_rng(seed)
    worth = {name: float(rng.choice([0.0, 0.5, 1.0, 2.0])) for name in framework.schema.columns}
    expected = brute_force(framework, epsilon)
    most = max(sum(worth[name] for name in each) for each in expected)
    ranked = [(round(nats, 9), sorted(each)) for each, nats in expected.items() if sum(worth[x] for x in each) == most]
    found = open_columns(framework, epsilon, worth).best
    assert found.worth == most
    assert sorted(found.columns) == min(ranked)[1]


def star(children: int, seed: int = 1) -> DistributionalAttributePrivacy:
    """A protected attribute with so many children, each of which tells a little."""
    rng = np.random.default_rng(seed)
    names = [f"c{k:02d}" for k in range(children)]
    tables: dict[str, Any] = {"secret": [0.5, 0.5]}
    tables |= {name: np.moveaxis(rng.dirichlet([20.0] * 3, size=2), -1, 0).tolist() for name in names}
    states = {"secret": ["a", "b"], **{name: ["x", "y", "z"] for name in names}}
    network = DiscreteNetwork.from_tables(tables, states=states, parents={name: ["secret"] for name in names})
    schema = bp.Schema(records=10, columns={name: bp.Integer(0, 1) for name in (*names, "secret")})
    return DistributionalAttributePrivacy(network, schema, "secret", source="a random draw")


def test_a_search_that_stops_says_so_and_what_it_found_is_within_epsilon() -> None:
    framework = star(30)
    for limit in (1, 40, 400):
        found = open_columns(framework, 1.0, limit=limit)
        assert not found.complete
        assert ("At least" if found.best.columns else "No column is known that may") in found.text
        assert all(float(each.worst) <= 1.0 for each in found.sets)
        assert not any(a.columns < b.columns for a in found.sets for b in found.sets)
    assert len(found.best.columns) >= 3
    assert found.best.columns == open_columns(framework, 1.0, limit=400).best.columns


def test_what_is_looked_at_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report must not become slow: what is asked of the network grows with the limit alone."""
    asked: list[int] = []
    real = Influences.influence
    monkeypatch.setattr(Influences, "influence", lambda *args: asked.append(1) or real(*args))
    open_columns(star(30), 1.0, limit=100)
    assert len(asked) <= 31 + 100


def test_estimates_which_take_long_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = Influences.influence

    def guessed(*args: Any) -> Any:
        asked.append(1)
        return replace(real(*args), kind="estimate")

    monkeypatch.setattr(Influences, "influence", guessed)
    found = open_columns(star(30), 1.0, limit=400)
    assert len(asked) <= 4 + 2 * 400 / module.ESTIMATE_COSTS
    assert not found.complete
    assert "it must be known what a column tells" in found.text


def test_a_set_whose_influence_is_too_large_is_passed_over_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Influences.influence

    def limited(self: Any, columns: frozenset[str], attribute: str) -> Any:
        if len(columns) > 2:
            raise SizeError("small tables", found="large ones", remedy="None.")
        return real(self, columns, attribute)

    monkeypatch.setattr(Influences, "influence", limited)
    found = open_columns(star(4), 3.0)
    assert len(found.sets) == 6
    assert {len(each.columns) for each in found.sets} == {2}
    assert not found.complete
    assert not found.best_is_proven
    assert module.UNPROVED in found.notes
    assert module.UNPROVED in found.text


# --------------------------------------------------------------------------------------------------
# Exact enumeration: the joint law of all that goes out under two secrets.
# --------------------------------------------------------------------------------------------------


def law_of_table(
    framework: DistributionalAttributePrivacy, laws: dict[str, np.ndarray], columns: list[str], side: Any, model: int
) -> np.ndarray | None:
    """The law of the values of some columns in two records given a secret, by summing over all parameters."""
    (name,) = framework.secrets
    network, records = framework.network, 2
    given = oracles.conditional(network, oracles.joint(network, model), network.attributes, name, side)
    if given is None:
        return None
    total = np.zeros((2,) * (len(columns) * records))
    for places in np.ndindex(given.shape):
        cell = np.array(given[places])
        for column in columns:
            row = laws[column][places[network.attributes.index(column)]]
            for _ in range(records):
                cell = np.multiply.outer(cell, row)
        total += cell
    return total


def largest_log_ratio(
    framework: DistributionalAttributePrivacy, laws: dict[str, np.ndarray], columns: list[str]
) -> float:
    """How far a table of these columns tells any two secrets apart."""
    found = [0.0]
    for model, pair in itertools.product(range(framework.network.models), *framework.secrets.values()):
        sides = [law_of_table(framework, laws, columns, side, model) for side in (pair.first, pair.second)]
        if all(side is not None for side in sides):
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append(float(np.nanmax(np.where(sides[0] > 0, np.log(sides[0] / sides[1]), -np.inf))))
    return max(found)


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_what_goes_out_is_within_epsilon_by_enumeration(seed: int) -> None:
    """The whole table of open columns tells two secrets apart by at most epsilon, the law of any use follows."""
    rng = np.random.default_rng([7, seed])
    network = oracles.random_network(rng, int(rng.integers(2, 5)), models=int(rng.integers(1, 3)))
    schema = bp.Schema(records=2, columns={name: bp.Integer(0, 1) for name in network.attributes})
    try:
        framework = DistributionalAttributePrivacy(network, schema, network.attributes[0], source="a draw")
        found = open_columns(framework, float(rng.uniform(0.2, 2.0)))
    except RefusedError:
        return
    laws = {name: oracles._emission(rng, len(network.states[name])) for name in network.attributes}
    for each in found.sets:
        assert largest_log_ratio(framework, laws, sorted(each.columns)) <= found.epsilon * (1 + 1e-12) + 1e-12


def test_the_bound_is_met_by_columns_that_show_their_parameters() -> None:
    """Where a column is its parameter, a table tells exactly the influence: no smaller epsilon would do."""
    network = DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[0.7, 0.3], [0.3, 0.7]], "y": [[0.6, 0.4], [0.4, 0.6]]},
        states={name: ["few", "many"] for name in "sxy"},
        parents={"x": ["s"], "y": ["s"]},
    )
    schema = bp.Schema(records=2, columns={name: bp.Integer(0, 1) for name in "sxy"})
    framework = DistributionalAttributePrivacy(network, schema, "s", source="by hand")
    x, y = math.log(7 / 3), math.log(3 / 2)
    shown = {name: np.eye(2) for name in "sxy"}
    assert largest_log_ratio(framework, shown, ["x", "y"]) == pytest.approx(x + y)
    assert [sorted(each.columns) for each in open_columns(framework, x + y + 1e-9).sets] == [["x", "y"]]
    # of two sets worth the same the one that tells less is the best
    assert [sorted(each.columns) for each in open_columns(framework, x + y - 1e-9).sets] == [["y"], ["x"]]
    assert [sorted(each.columns) for each in open_columns(framework, y - 1e-9).sets] == [[]]
    # each alone tells nothing of their parity, both together all
    parity = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [0.5, 0.5], "s": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]},
        states={name: ["few", "many"] for name in "sxy"},
        parents={"s": ["x", "y"]},
    )
    both = open_columns(DistributionalAttributePrivacy(parity, schema, "s", source="by hand"), 5.0)
    assert [sorted(each.columns) for each in both.sets] == [["x"], ["y"]]


# --------------------------------------------------------------------------------------------------
# The table: real values in open columns, closed ones drawn from the model given these alone.
# --------------------------------------------------------------------------------------------------


def clinic(records: int = 40, laws: bool = True) -> DistributionalAttributePrivacy:
    """A secret, three columns that hang on it, and one that hangs on nothing."""
    network = DiscreteNetwork.from_tables(
        {
            "s": [0.5, 0.5],
            "x": [[0.6, 0.4], [0.4, 0.6]],
            "y": [[0.7, 0.2], [0.3, 0.8]],
            "z": [[[0.9, 0.5], [0.3, 0.1]], [[0.1, 0.5], [0.7, 0.9]]],
        },
        states={"s": ["s0", "s1"], "x": ["x0", "x1"], "y": ["y0", "y1"], "z": ["z0", "z1"]},
        parents={"x": ["s"], "y": ["s"], "z": ["x", "y"]},
    )
    schema = bp.Schema(
        records=records,
        columns={
            "s": bp.Categorical(["no", "yes"]),
            "x": bp.Integer(0, 9),
            "y": bp.Real(0, 10),
            "z": bp.Categorical(["a", "b", "c"]),
            "w": bp.Integer(0, 1),
        },
    )
    declared = {
        "s": {"s0": {"no": 0.9, "yes": 0.1}, "s1": {"no": 0.6, "yes": 0.4}},
        "x": {"x0": {1: 0.5, 2: 0.4, 3: 0.1}, "x1": {1: 0.1, 2: 0.3, 3: 0.6}},
        "y": {"y0": stats.norm(3, 1), "y1": stats.norm(4, 2)},
        "z": {"z0": {"a": 0.8, "b": 0.2, "c": 0.0}, "z1": {"a": 0.3, "b": 0.3, "c": 0.4}},
        "w": 0.5,
    }
    return DistributionalAttributePrivacy(
        network, schema, "s", source="by hand", independent=["w"], laws=declared if laws else None
    )


def rows(records: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "s": rng.choice(["no", "yes"], records),
            "x": rng.integers(1, 4, records),
            "y": rng.normal(3.5, 1.5, records).round(3),
            "z": rng.choice(["a", "b", "c"], records),
            "w": rng.integers(0, 2, records),
        }
    )


def test_open_columns_are_real_and_the_others_are_made_up() -> None:
    framework, data = clinic(), rows(40)
    made = open_table(framework, data, 1.0, ["x", "w"])
    table = made.table
    assert sorted(made.found.best.columns) == ["w", "x"]
    assert made.made_up == ("s", "y", "z")
    assert made.left_out == {}
    assert sorted(table.columns) == ["s", "w", "x", "y", "z"]
    assert sorted(zip(table.x, table.w, strict=True)) == sorted(zip(data.x, data.w, strict=True))
    assert not table.x.equals(data.x)  # forty records keep their order with a chance of nearly none
    assert set(table.s) <= {"no", "yes"}
    assert set(table.z) <= {"a", "b", "c"}
    assert table.y.between(0, 10).all()


def test_values_go_out_as_they_count() -> None:
    data = rows(40).astype({"x": float})
    data.loc[:1, "x"] = [np.nan, 99.0]
    table = open_table(clinic(), data, 1.0, ["x"]).table
    counted = sorted([5, 9, *data.x[2:].astype(int)])
    assert sorted(table.x) == counted or sorted(table.x) == sorted([4, 9, *data.x[2:].astype(int)])


def test_closed_columns_are_drawn_given_what_goes_out_alone() -> None:
    """With the same chance the made-up columns are the same, whatever the closed ones of the table hold."""

    def made(data: Any) -> Any:
        table = open_table(clinic(400), data, 1.0, ["x", "w"], random=np.random.default_rng(5)).table
        return table[["s", "y", "z"]]

    data, other = rows(400), rows(400, seed=9)
    other[["x", "w"]] = data[["x", "w"]].sample(frac=1, random_state=3).to_numpy()
    assert not data.s.equals(other.s)
    assert made(data).equals(made(other))
    assert made(data[["x", "w"]]).equals(made(other))  # closed columns are not even read


def test_closed_columns_that_are_drawn_given_private_ones_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._seen
    every = frozenset(clinic().schema.columns)
    monkeypatch.setattr(module, "_seen", lambda framework, columns, data: real(framework, every, data))
    with pytest.raises((AssertionError, bp.errors.DataError)):
        test_closed_columns_are_drawn_given_what_goes_out_alone()


@pytest.mark.parametrize("opened", [frozenset("x"), frozenset("xz"), frozenset("yw")])
def test_parameters_are_drawn_from_their_posterior(opened: frozenset[str]) -> None:
    framework, data = clinic(6), rows(6, seed=2)
    network, laws = framework.network, framework.column_laws
    names = network.attributes
    posterior = oracles.joint(network, 0)
    for name in sorted(opened - {"w"}):
        likely = [math.prod(chance(law, value) for value in data[name]) for law in laws[name]]
        shape = [len(likely) if each == name else 1 for each in names]
        posterior = posterior * np.reshape(likely, shape)
    posterior /= posterior.sum()
    rng, draws = np.random.default_rng(4), 1000
    seen = module._seen(framework, opened, data)
    found = np.zeros(posterior.shape)
    for _ in range(draws):
        drawn = module._drawn_states(framework, frozenset(names), seen, rng)
        found[tuple(drawn[name] for name in names)] += 1
    expected = draws * posterior
    likely = expected > 0.5
    assert found[~likely].sum() <= 12
    statistic = ((found - expected)[likely] ** 2 / expected[likely]).sum()
    assert statistic < stats.chi2(likely.sum()).ppf(0.9999)


def chance(law: Any, value: Any) -> float:
    """How probable a value is; of a density that of the cell of the grid on which numbers are counted."""
    if hasattr(law, "values"):
        return dict(zip(law.values, law.probabilities, strict=True)).get(value, 0.0)
    width = 10 / module.FINEST_GRID
    low = math.floor(value / width) * width
    return float(law.distribution.cdf(low + width) - law.distribution.cdf(low))


def test_a_part_of_the_parameters_is_drawn_as_all_are() -> None:
    """Parameters between those that are drawn are summed out."""
    framework = clinic(6)
    rng = np.random.default_rng(1)
    seen = module._seen(framework, frozenset("x"), rows(6, seed=2))
    draws = [module._drawn_states(framework, frozenset("sz"), seen, rng) for _ in range(1200)]
    whole = [module._drawn_states(framework, frozenset("sxyz"), seen, rng) for _ in range(1200)]
    for cell in itertools.product((0, 1), repeat=2):
        shares = [np.mean([(each["s"], each["z"]) == cell for each in some]) for some in (draws, whole)]
        assert abs(shares[0] - shares[1]) < 5 * math.sqrt(0.5 / 1200)


def test_a_table_that_the_model_rules_out_is_drawn_beside_all_the_same() -> None:
    data = rows(40).assign(x=9)
    made = open_table(clinic(), data, 1.0, ["x"])
    table = made.table
    assert made.made_up == ("s", "y", "z", "w")
    assert (table.x == 9).all()


def test_the_bins_of_a_column_have_the_probabilities_of_its_law() -> None:
    framework = clinic()
    laws = framework.column_laws
    edges, logs = module._bins(framework.schema["x"], laws["x"])
    assert list(edges) == list(range(11))
    assert np.exp(logs[0]).round(12).tolist() == [0, 0.5, 0.4, 0.1, *[0] * 7]
    edges, logs = module._bins(framework.schema["y"], laws["y"])
    law = stats.norm(3, 1)
    ends = np.array(edges)
    ends[0], ends[-1] = -np.inf, np.inf
    assert np.allclose(np.exp(logs[0, :-1]), np.diff(law.cdf(ends)), atol=1e-12)
    edges, logs = module._bins(framework.schema["z"], laws["z"])
    assert list(edges) == ["a", "b", "c"]
    assert np.exp(logs).round(12).tolist() == [[0.8, 0.2, 0, 0], [0.3, 0.3, 0.4, 0]]
    gaps = bp.Integer(0, 3, missing="not counted")
    edges, logs = module._bins(gaps, [column_law({0: 0.5, 3: 0.2, "not counted": 0.3}, gaps)])
    assert np.exp(logs[0]).round(12).tolist() == [0.5, 0, 0, 0.2, 0.3]


def test_columns_without_a_law_are_left_out() -> None:
    made = open_table(clinic(laws=False), rows(40), 1.0, ["x", "w"])
    table = made.table
    assert sorted(table.columns) == ["w", "x"]
    assert made.made_up == ()
    assert made.left_out == dict.fromkeys("syz", "No distribution is declared of it.")


def test_where_a_network_has_no_tables_closed_columns_are_left_out() -> None:
    framework = replace(KINDS["interval"]().framework, protect="school")
    data = pd.DataFrame({"sat": np.linspace(0, 1600, 100), "income": np.linspace(0, 200, 100)})
    made = open_table(framework, data, 2.0, ["income"])
    table = made.table
    assert list(table.columns) == ["income"]
    assert made.made_up == ()
    assert "an interval for every probability" in made.left_out["sat"]


def test_a_table_is_written_to_a_file(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    table = open_table(clinic(), rows(40), 1.0, ["x"], output=output).table
    assert table == output
    assert sorted(pd.read_parquet(output).columns) == ["s", "w", "x", "y", "z"]


def test_columns_that_tell_more_are_refused_before_data_are_read() -> None:
    def unread(*args: object) -> None:
        raise AssertionError("the data were read")

    class Unread:
        __getattr__ = unread

    framework = clinic()
    for columns in (["x", "y"], ["s"], ["s", "w"]):
        with pytest.raises(RefusedError, match=r"must tell at most 0\.5"):
            open_table(framework, Unread(), 0.5, columns)
    with pytest.raises(ParameterError, match="columns must be among"):
        open_table(framework, Unread(), 0.5, ["v"])
    with pytest.raises(RefusedError, match="some column must be within epsilon"):
        open_table(star(3), Unread(), 0.001)


# --------------------------------------------------------------------------------------------------
# What is refused, which kinds of networks there are, and what is said.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "records", "dataset", "normal", "laws", "networks", "tables"])
def test_secrets_that_are_no_parameters_are_refused(kind: str) -> None:
    with pytest.raises(RefusedError):
        open_columns(KINDS[kind]().framework, 1.0)
    assert module.columns_for_report(KINDS[kind]().framework, 1.0) is None


def test_arguments_that_do_not_fit_are_refused() -> None:
    framework = clinic()
    for worth in ({"v": 1.0}, {"x": -1.0}, {"x": math.nan}, {"x": "much"}):
        with pytest.raises(ParameterError):
            open_columns(framework, 1.0, worth)
    for epsilon in (0, -1, math.inf, math.nan, True):
        with pytest.raises(ParameterError):
            open_columns(framework, epsilon)
    with pytest.raises(ParameterError, match="limit"):
        open_columns(framework, 1.0, limit=0)
    with pytest.raises(bp.errors.FrameworkError, match="a framework is needed first"):
        open_columns("student", 1.0)  # pyright: ignore[reportArgumentType]


def test_every_kind_of_network_with_influences_is_asked() -> None:
    assert sorted(open_columns(KINDS["discrete"]().framework, 1.0).best.columns) == ["sat"]
    assert sorted(open_columns(KINDS["interval"]().framework, 1.0).best.columns) == ["sat"]
    # nothing bounds what a normal number tells, so that nothing goes out without a delta
    normal = open_columns(KINDS["gaussian"]().framework, 5.0)
    assert normal.best.columns == frozenset()
    assert math.isinf(float(refused_or(normal.alone["sat"])))


def test_an_estimate_stays_one_and_says_so() -> None:
    found = open_columns(KINDS["density"]().framework, 3.0)
    assert not found.complete or found.best.kind == "estimate"
    estimated = estimate(open_columns(clinic(), 1.0))
    assert estimated.best.kind == "estimate"
    assert estimated.guarantee.kind == "estimate"
    assert "This rests on an estimate" in estimated.guarantee.sentence
    assert "(estimate)" in estimated.text


def estimate(found: OpenColumns) -> OpenColumns:
    """The same, had one of its influences been an estimate."""
    best = found.best
    guessed = replace(best, influences=(replace(best.influences[0], kind="estimate"),))
    return replace(found, sets=(guessed, *found.sets[1:]))


def test_what_is_said_of_the_sets() -> None:
    found = open_columns(clinic(), 1.3)
    assert repr(found) == "OpenColumns(epsilon=1.3, best=['w', 'x', 'z'], 2 sets)"
    assert all(len(line) > 0 for line in str(found).splitlines())
    assert "Real values go out, so that single persons are not protected" in found.text
    assert "It is one choice for good" in found.text
    assert "sees these columns and whatever is made of them, the odds" in found.guarantee.sentence
    assert "Never: s (a column that goes out must not be driven by a protected attribute itself)." in found.text
    data = json.loads(found.to_json())["data"]
    assert data["complete"] is True
    assert [each["columns"] for each in data["sets"]] == [sorted(each.columns) for each in found.sets]
    assert {each["name"] for each in data["columns"]} == set(found.framework.schema.columns)
    page = found.to_html()
    assert page.count("<svg") == len(found.sets) + 4
    assert "against epsilon 1.3 at the line" in page


def test_a_report_with_an_epsilon_has_the_section() -> None:
    framework = clinic()
    report = bp.influence_report(framework, "count(x > 2)", 1.0)
    assert "Columns that may go out as they are" in report.text
    assert report.to_dict()["data"]["open_columns"]["epsilon"] == 1.0  # pyright: ignore[reportIndexIssue]
    assert "Columns that may go out as they are" not in bp.influence_report(framework, "count(x > 2)").text
    other = KINDS["dataset"]()
    assert "Columns that may go out as they are" not in other.report.text
