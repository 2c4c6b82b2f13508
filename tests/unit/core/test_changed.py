"""Row 40: a calibration that is no longer what its mechanism returned is refused before data are touched."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from bnpriv.digest import digest
from bnpriv.errors import RefusedError
from bnpriv.mechanisms.chain import MarkovChainMechanism
from tests.kinds import density
from tests.later import Later

pd = Later("pandas")

TABLES = {"s": [0.6, 0.4], "x": [[0.7, 0.2], [0.3, 0.8]]}
STATES = {"s": ["a", "b"], "x": ["lo", "hi"]}
RECORDS = 50


@functools.cache
def data() -> pd.DataFrame:
    return pd.DataFrame(
        {"s": np.linspace(0, 1, RECORDS), "x": np.linspace(0, 10, RECORDS), "c": ["u", "v"] * (RECORDS // 2)}
    )


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError("the data were touched")


def framework() -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(TABLES, states=STATES, parents={"x": ["s"]})
    columns = {"s": bp.Real(0, 1), "x": bp.Real(0, 10), "c": bp.Categorical(["u", "v"])}
    schema = bp.Schema(records=RECORDS, columns=columns)
    laws = {"c": {"u": 0.25, "v": 0.75}}
    return bp.DistributionalAttributePrivacy(network, schema, "s", source="a book", independent=["c"], laws=laws)


def calibrated() -> bp.types.Calibration:
    query = bp.stack(bp.mean("x"), bp.count((bp.col("x") > 3) & bp.col("c").isin(["u"])))
    return bp.MarkovQuiltMechanism().calibrate(framework(), query, epsilon=0.5)


def put(name: str, value: object, *path: str) -> Callable[[bp.types.Calibration], None]:
    """Set an attribute of what lies at a path, past the freeze."""

    def change(calibration: bp.types.Calibration) -> None:
        place: object = calibration
        for step in path:
            place = place[step] if isinstance(place, dict) else getattr(place, step)
        object.__setattr__(place, name, value)

    return change


def halve_table(calibration: bp.types.Calibration) -> None:
    values = calibration.framework.network.tables["x"].values
    values.flags.writeable = True
    values *= 0.5


def swap_tables(calibration: bp.types.Calibration) -> None:
    even = bp.DiscreteNetwork.from_tables({"s": [0.5, 0.5]}, states={"s": ["a", "b"]})
    dict.__setitem__(calibration.framework.network.tables, "s", even.tables["s"])


def widen_column(calibration: bp.types.Calibration) -> None:
    dict.__setitem__(calibration.framework.schema.columns, "x", bp.Real(0, 1e6))


def change_law(calibration: bp.types.Calibration) -> None:
    calibration.framework.column_laws["c"] = ()


def change_states(calibration: bp.types.Calibration) -> None:
    dict.__setitem__(calibration.framework.network.states, "x", ("lo", "higher"))


CHANGES: dict[str, Callable[[bp.types.Calibration], None]] = {
    "epsilon": put("epsilon", 5.0),
    "delta": put("delta", 0.1),
    "noise": put("noise", bp.noise.Laplace(1e-9, 2)),
    "scale": put("scale", 1e-9, "noise"),
    "query": put("query", bp.stack(bp.total("x"), bp.total("s"))),
    "a constant": put("value", 4.0, "query", "parts"),
    "guarantee": put("epsilon", 0.1, "guarantee"),
    "its delta": put("delta", 1e-9, "guarantee"),
    "its kind": put("kind", "estimate", "guarantee"),
    "certificate": put("zero_noise_reason", "because", "certificate"),
    "mechanism": put("mechanism", bp.ColumnMechanism()),
    "schema": put("schema", bp.Schema(records=RECORDS, columns={"x": bp.Real(0, 1)}), "framework"),
    "columns": put("columns", {"x": bp.Real(0, 1)}, "framework", "schema"),
    "records": put("records", 10**6, "framework", "schema"),
    "a bound": put("upper", 1e6, "framework", "schema", "columns", "x"),
    "the next bound": put("upper", math.nextafter(10.0, 11), "framework", "schema", "columns", "x"),
    "missing": put("missing", 9.0, "framework", "schema", "columns", "x"),
    "categories": put("categories", ("v", "u"), "framework", "schema", "columns", "c"),
    "a column": widen_column,
    "network": put(
        "network",
        bp.DiscreteNetwork.from_tables(TABLES, states=STATES, parents={"x": ["s"]}, level="records"),
        "framework",
    ),
    "source": put("source", "another book", "framework"),
    "independent": put("independent", frozenset(), "framework"),
    "secrets": put("secrets", {}, "framework"),
    "a table": halve_table,
    "tables": swap_tables,
    "error": put("error", 1.0, "framework", "network", "tables", "s"),
    "states": change_states,
    "edges": put("parents", {"s": (), "x": ()}, "framework", "network", "graph"),
    "laws": change_law,
}
CHANGES["a constant"] = lambda calibration: object.__setattr__(
    calibration.query.parts[1].predicate.parts[0], "value", 4.0
)


@pytest.mark.parametrize("change", CHANGES)
def test_row_40_what_was_changed_is_refused(change):
    calibration = calibrated()
    assert not calibration.changed()
    CHANGES[change](calibration)
    assert calibration.changed()
    with pytest.raises(RefusedError, match="what its mechanism returned"):
        bp.release(calibration, Untouchable())


@pytest.mark.parametrize(
    "other",
    [
        {"noise": bp.noise.Laplace(1e-9, 2)},
        {"noise": bp.noise.NoNoise()},
        {"query": bp.stack(bp.mean("s"), bp.mean("x"))},
        {"epsilon": 0.1},
        {"seal": ""},
        {"seal": "0" * 64},
    ],
)
def test_row_40_what_was_replaced_is_refused(other):
    with pytest.raises(RefusedError, match="what its mechanism returned"):
        bp.release(dataclasses.replace(calibrated(), **other), Untouchable())


def test_row_40_another_framework_is_refused():
    network = bp.DiscreteNetwork.from_tables(TABLES, states=STATES, parents={"x": ["s"]})
    other = dataclasses.replace(framework(), network=network, laws=None)
    with pytest.raises(RefusedError, match="what its mechanism returned"):
        bp.release(dataclasses.replace(calibrated(), framework=other), Untouchable())
    same = dataclasses.replace(calibrated(), framework=framework())
    assert len(bp.release(same, data()).values) == 2


def test_row_40_a_framework_changed_between_two_calibrations_is_refused():
    once = framework()
    query = bp.mean("x")
    first = bp.MarkovQuiltMechanism().calibrate(once, query, epsilon=0.5)
    dict.__setitem__(once.schema.columns, "x", bp.Real(0, 1))
    second = bp.MarkovQuiltMechanism().calibrate(once, query, epsilon=0.5)
    for calibration in (first, second):
        with pytest.raises(RefusedError):
            bp.release(calibration, Untouchable())


def shift_table(once: bp.DistributionalAttributePrivacy) -> None:
    values = once.network.tables["x"].values
    values.flags.writeable = True
    values[...] = np.log([[0.9, 0.1], [0.1, 0.9]])


def shift_bound(once: bp.DistributionalAttributePrivacy) -> None:
    dict.__setitem__(once.schema.columns, "x", bp.Real(0, 1))


def cut_edge(once: bp.DistributionalAttributePrivacy) -> None:
    dict.__setitem__(once.network.graph.parents, "x", ())


@pytest.mark.parametrize("change", [shift_table, shift_bound, cut_edge])
@pytest.mark.parametrize("look", [bp.leaks, lambda once, query: bp.influence_report(once, query), None])
def test_row_40_a_framework_changed_after_its_influences_were_kept_is_refused(change, look):
    """What a report has computed stays with the framework, and a calibration would rest on it."""
    once = copy.deepcopy(framework())
    query = bp.mean("x")
    if look is None:
        influences(once)
    else:
        look(once, query)
    change(once)
    calibration = bp.MarkovQuiltMechanism().calibrate(once, query, epsilon=0.5)
    with pytest.raises(RefusedError):
        bp.release(calibration, Untouchable())


def test_row_40_a_shallow_copy_with_another_network_is_refused():
    """Copies of that sort share what is kept."""
    once = framework()
    bp.leaks(once, bp.mean("x"))
    other = copy.copy(once)
    tables = {"s": [0.6, 0.4], "x": [[0.99, 0.01], [0.01, 0.99]]}
    network = bp.DiscreteNetwork.from_tables(tables, states=STATES, parents={"x": ["s"]})
    object.__setattr__(other, "network", network)
    calibration = bp.MarkovQuiltMechanism().calibrate(other, bp.mean("x"), epsilon=0.5)
    with pytest.raises(RefusedError):
        bp.release(calibration, Untouchable())


@pytest.mark.parametrize(
    "held",
    [
        lambda: framework().network.tables,
        lambda: framework().network.states,
        lambda: framework().network.graph.parents,
        lambda: framework().secrets,
        lambda: chain().secrets,
        lambda: dataset().protect,
        lambda: bp.DiscreteNetwork.from_intervals({"s": [0, 0]}, {"s": [1, 1]}, states={"s": ["a", "b"]}).lower,
        lambda: bp.DiscreteNetwork.from_intervals({"s": [0, 0]}, {"s": [1, 1]}, states={"s": ["a", "b"]}).upper,
        lambda: density().network.parameters,
    ],
)
def test_row_40_networks_and_secrets_are_read_only(held):
    mapping = held()
    with pytest.raises(TypeError, match="read-only"):
        mapping[next(iter(mapping))] = ()


def copies(calibration: bp.types.Calibration) -> list[bp.types.Calibration]:
    again = pickle.loads(pickle.dumps(calibration))
    return [calibration, again, copy.copy(calibration), copy.deepcopy(calibration), dataclasses.replace(calibration)]


def test_row_40_copies_are_released():
    calibration = calibrated()
    calibration.useful  # noqa: B018  (what is computed later changes nothing)
    hash(calibration.framework)
    for each in copies(calibration):
        assert not each.changed()
        assert len(bp.release(each, data()).values) == 2


def test_row_40_a_change_taken_back_is_none():
    calibration = calibrated()
    noise = calibration.noise
    object.__setattr__(calibration, "noise", bp.noise.Laplace(1e-9, 2))
    assert calibration.changed()
    object.__setattr__(calibration, "noise", noise)
    assert not calibration.changed()


def chain() -> bp.ValuePrivacy:
    day = bp.types.MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 60, states=["rest", "walk"])
    schema = bp.Schema(records=60, columns={"activity": bp.Categorical(["rest", "walk"])})
    return bp.ValuePrivacy(day, schema, "activity", source="a study")


def dataset() -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(TABLES, states=STATES, parents={"x": ["s"]}, level="records")
    columns = {"s": bp.Categorical(["a", "b"]), "x": bp.Categorical(["lo", "hi"])}
    hidden = bp.Secret(bp.count(bp.col("s") == "b"), pairs=bp.apart(at_most=3))
    return bp.DatasetAttributePrivacy(network, bp.Schema(records=20, columns=columns), {"s": hidden}, source="a book")


def gaussian() -> bp.DistributionalAttributePrivacy:
    network = bp.types.GaussianNetwork(["s", "x"], [0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    schema = bp.Schema(records=20, columns={"s": bp.Real(-9, 9), "x": bp.Real(-9, 9)})
    return bp.DistributionalAttributePrivacy(network, schema, {"s": bp.apart(at_most=0.5)}, source="a book")


def pair() -> bp.DistributionPrivacy:
    columns = {"x": bp.Integer(0, 3)}
    laws = [(bp.laws.Atoms([0, 1, 2], [0.5, 0.25, 0.25]), bp.laws.Atoms([0, 1, 2], [0.25, 0.5, 0.25]))]
    return bp.DistributionPrivacy(laws, bp.total("x"), bp.Schema(records=1, columns=columns), source="a book")


KINDS = {
    "chain": (
        chain,
        MarkovChainMechanism(),
        bp.count(bp.col("activity") == "walk"),
        ("model", "transition"),
    ),
    "dataset": (dataset, bp.TightMechanism(), bp.count(bp.col("x") == "hi"), ("network", "tables", "x", "values")),
    "gaussian": (gaussian, bp.ColumnMechanism(), bp.mean("x"), ("network", "mean")),
    "pair": (pair, bp.WassersteinMechanism(), None, ("pairs", 0, 1, "logs")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_row_40_every_kind_of_framework(kind):
    make, mechanism, query, path = KINDS[kind]
    calibration = mechanism.calibrate(make(), query, epsilon=1.0)
    assert not any(each.changed() for each in copies(calibration))
    again = mechanism.calibrate(make(), query, epsilon=1.0)
    assert again.seal == calibration.seal
    array: object = calibration.framework
    for step in path:
        array = getattr(array, step) if isinstance(step, str) and not isinstance(array, dict) else array[step]
    array.flags.writeable = True
    array[(0,) * array.ndim] += 1e-3
    assert calibration.changed()
    with pytest.raises(RefusedError):
        bp.release(calibration, Untouchable())


def test_row_40_schemas_are_read_only():
    columns = {"x": bp.Real(0, 10)}
    schema = bp.Schema(records=5, columns=columns)
    for change in (
        lambda held: held.__setitem__("x", bp.Real(0, 1)),
        lambda held: held.__delitem__("x"),
        lambda held: held.update(x=bp.Real(0, 1)),
        lambda held: held.pop("x"),
        lambda held: held.popitem(),
        lambda held: held.setdefault("y", bp.Real(0, 1)),
        lambda held: held.clear(),
        lambda held: held.__ior__({"x": bp.Real(0, 1)}),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change(schema.columns)
    columns["x"] = bp.Real(0, 1)
    assert schema["x"] == bp.Real(0, 10)
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema
    assert repr(schema) == "Schema(records=5, columns={'x': Real(lower=0.0, upper=10.0, missing=5.0, steps=1048576)})"


def test_row_40_another_function_is_another_query():
    def asking(least: float) -> Callable[[pd.DataFrame], float]:
        return lambda table: float(table["x"].max() > least)

    def query(least: float) -> bp.types.Query:
        return bp.custom(asking(least), columns=["x"], sensitivity=1.0, name="high")

    calibration = bp.ColumnMechanism().calibrate(framework(), query(3.0), epsilon=1.0)
    assert not dataclasses.replace(calibration, query=query(3.0)).changed()
    assert dataclasses.replace(calibration, query=query(4.0)).changed()


def test_row_40_fingerprints_tell_close_distances_apart():
    def hidden(at_most: float) -> str:
        secret = bp.Secret(bp.count(bp.col("s") == "b"), pairs=bp.apart(at_most=at_most))
        return dataclasses.replace(dataset(), protect={"s": secret}).fingerprint()

    assert hidden(1_000_000.0) != hidden(1_000_001.0)
    assert hidden(3.0) == hidden(3.0)


def test_row_40_fingerprints_tell_secrets_apart():
    pairs = [
        ("{a, b}", "c"),
        (frozenset({"a", "b"}), "c"),
        (1, "c"),
        ("1", "c"),
        ("a against b", "c"),
        ("a", "b against c"),
        (frozenset({"a, b", "1"}), "c"),
        (frozenset({"a", "b, 1"}), "c"),
        (frozenset({"['a'", "1"}), "c"),
    ]
    names = ["a", "b", "c", 1, "1", "{a, b}", "a against b", "b against c", "a, b", "b, 1", "['a'"]
    table = {"s": [1 / len(names)] * len(names)}
    network = bp.DiscreteNetwork.from_tables(table, states={"s": names}, level="parameters")
    schema = bp.Schema(records=5, columns={"s": bp.Real(0, 1)})
    hidden = [
        bp.DistributionalAttributePrivacy(network, schema, {"s": bp.pairs(pair)}, source="a book").fingerprint()
        for pair in pairs
    ]
    assert len(set(hidden)) == len(pairs)


def test_digests_tell_values_apart():
    values = [0, 0.0, -0.0, False, "0", b"0", None, (), ((),), {}, set(), (1, 2), (2, 1), ((1,), 2), {1: 2}, {2: 1}]
    arrays = [np.zeros(2), np.zeros(2, dtype=np.float32), np.zeros((2, 1)), np.array([0, "a"], dtype=object)]
    functions = [lambda: 1, lambda: 2, lambda x=1: x, lambda x=2: x, math.sin, "f".join, bp.Real, bp.Integer]
    everything = [*values, *arrays, *functions[:4], bp.Real(0, 1), bp.Real(0, 2), math.nan, math.inf]
    assert len({digest(value) for value in everything}) == len(everything)
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(frozenset("abc")) == digest(frozenset("cba"))
    for function in functions:
        assert digest(function) == digest(function)
    circle: list[object] = []
    circle.append(circle)
    assert digest(circle) == digest(circle)
