"""Discrete networks: what `from_tables` refuses (and says), what it keeps, and that nothing can be changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bnpriv.core.networks.discrete import DiscreteNetwork, from_weights
from bnpriv.errors import BnprivError, NetworkError

INCOME = [0.6, 0.4]
GENDER = [0.5, 0.25, 0.25]
# P(sat | income, gender), axes (sat, income, gender)
SAT = [[[0.7, 0.6, 0.5], [0.2, 0.3, 0.4]], [[0.3, 0.4, 0.5], [0.8, 0.7, 0.6]]]
STATES = {"income": ["low", "high"], "gender": ["f", "m", "x"], "sat": ["low", "high"]}
PARENTS = {"sat": ["income", "gender"]}


def build(**changes: Any) -> DiscreteNetwork:
    """Return the network above with some tables replaced."""
    tables = {"income": INCOME, "gender": GENDER, "sat": SAT} | changes
    return DiscreteNetwork.from_tables(tables, states=STATES, parents=PARENTS)


def refuse(*words: str, **changes: Any) -> NetworkError:
    """Build the network above with some tables replaced, and check that the refusal says all of `words`."""
    with pytest.raises(NetworkError) as refusal:
        build(**changes)
    for word in words:
        assert word in str(refusal.value)
    assert refusal.value.remedy
    return refusal.value


def changed(entry: tuple[int, ...], value: float) -> np.ndarray:
    table = np.array(SAT)
    table[entry] = value
    return table


# what is kept


def test_a_network_keeps_what_was_declared() -> None:
    network = build()
    assert network.attributes == ("income", "gender", "sat")
    assert network.states == {"income": ("low", "high"), "gender": ("f", "m", "x"), "sat": ("low", "high")}
    assert set(network.graph.edges) == {("income", "sat"), ("gender", "sat")}
    assert network.tables["sat"].axes == ("sat", "income", "gender")
    assert network.models == 1
    assert network.level == "parameters"
    np.testing.assert_allclose(network.probabilities("sat"), [SAT], rtol=1e-15)
    np.testing.assert_allclose(network.probabilities("income"), [INCOME], rtol=1e-15)


def test_parents_may_be_declared_after_their_children() -> None:
    network = DiscreteNetwork.from_tables(
        {"sat": SAT, "gender": GENDER, "income": INCOME}, states=STATES, parents=PARENTS, level="records"
    )
    assert network.attributes == ("gender", "income", "sat")
    assert network.level == "records"


def test_axes_follow_the_declared_parents() -> None:
    turned = DiscreteNetwork.from_tables(
        {"income": INCOME, "gender": GENDER, "sat": np.transpose(SAT, (0, 2, 1))},
        states=STATES,
        parents={"sat": ["gender", "income"]},
    )
    np.testing.assert_array_equal(
        turned.tables["sat"].aligned(("sat", "income", "gender")),
        build().tables["sat"].aligned(("sat", "income", "gender")),
    )


def test_zeros_stay_exact_and_small_numbers_stay_small() -> None:
    network = build(income=[0.0, 1.0], gender=[1.0, 1e-300, 5e-324])
    assert network.tables["income"].values.tolist() == [[-math.inf, 0.0]]
    assert network.tables["gender"].values[0, 1] == pytest.approx(math.log(1e-300), abs=1e-12)
    assert network.tables["gender"].values[0, 2] == pytest.approx(math.log(5e-324), abs=1e-12)


def test_anything_that_is_a_number_is_a_number() -> None:
    tables = [[1, 0], [True, False], [Fraction(1), 0.0], np.array([1, 0], dtype=np.float32), (1, 0)]
    for table in tables:
        assert build(income=table).tables["income"].values.tolist() == [[0.0, -math.inf]]


def test_disconnected_attributes_are_fine() -> None:
    network = DiscreteNetwork.from_tables({"a": [1.0], "b": [0.5, 0.5]}, states={"a": ["only"], "b": [0, 1]})
    assert network.graph.edges == ()


def test_repr_shows_the_shape_only() -> None:
    assert repr(build()) == "DiscreteNetwork(attributes=3, edges=2, models=1, level='parameters')"


# Theta


def test_tables_broadcast_along_the_models_of_theta() -> None:
    network = build(income=[INCOME, [0.5, 0.5], [0.1, 0.9]], sat=[SAT])
    assert network.models == 3
    assert network.tables["income"].values.shape == (3, 2)
    assert network.tables["sat"].values.shape == (1, 2, 2, 3)
    assert network.probabilities("sat").shape == (3, 2, 2, 3)
    assert network.probabilities("gender").shape == (3, 3)
    np.testing.assert_allclose(network.probabilities("sat")[2], SAT, rtol=1e-15)
    np.testing.assert_allclose(network.probabilities("income")[:, 1], [0.4, 0.5, 0.9], rtol=1e-15)
    assert repr(network) == "DiscreteNetwork(attributes=3, edges=2, models=3, level='parameters')"


def test_a_square_table_is_not_taken_for_two_models() -> None:
    network = DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.5, 0.1], [0.5, 0.9]]},
        states={"a": ["n", "y"], "b": ["n", "y"]},
        parents={"b": ["a"]},
    )
    assert network.models == 1
    with pytest.raises(NetworkError, match="sum to 1"):
        DiscreteNetwork.from_tables(
            {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.1, 0.9]]},
            states={"a": ["n", "y"], "b": ["n", "y"]},
            parents={"b": ["a"]},
        )


def test_different_numbers_of_models_are_refused() -> None:
    refuse("same number of models", "2, 3 models", income=[INCOME] * 2, gender=[GENDER] * 3)


def test_no_models_are_refused() -> None:
    refuse("'income'", "shape (0, 2)", income=np.empty((0, 2)))


# row 9: columns that do not sum to one


@pytest.mark.parametrize("excess", [1e-8, -1e-8, 0.01, -0.01, 1.0])
def test_a_column_that_does_not_sum_to_one_is_refused_with_its_place_and_sum(excess: float) -> None:
    remedy = "normalize=True" if abs(excess) <= 0.01 else "divide counts"
    refusal = refuse("'sat'", "income = high", "gender = m", "model 0", remedy, sat=changed((0, 1, 1), 0.3 + excess))
    assert f"the sum {1 + excess:.12g}" in refusal.found


def test_the_model_of_a_bad_column_is_named() -> None:
    refuse("'income'", "model 1", "the sum 1.5", income=[INCOME, [0.5, 1.0]])


def test_a_column_of_zeros_is_refused_even_when_normalized() -> None:
    table = changed((0, 0, 2), 0.0)
    table[1, 0, 2] = 0.0
    refuse("'sat'", "the sum 0", "income = low", "gender = x", sat=table)
    with pytest.raises(NetworkError, match="the sum 0 in model 0 given income = low, gender = x"):
        DiscreteNetwork.from_tables(
            {"income": INCOME, "gender": GENDER, "sat": table}, states=STATES, parents=PARENTS, normalize=True
        )


def test_rounding_within_the_tolerance_is_divided_out() -> None:
    network = build(gender=[0.5, 0.25, 0.25 + 5e-10])
    assert float(np.sum(np.exp(network.tables["gender"].values))) == pytest.approx(1.0, abs=1e-15)


def test_normalize_divides_every_column_by_its_sum() -> None:
    network = DiscreteNetwork.from_tables(
        {"income": [0.751, 0.25], "gender": [[0.33, 0.33, 0.33], [0.25, 0.25, 0.5]], "sat": np.array(SAT) * 1.007},
        states=STATES,
        parents=PARENTS,
        normalize=True,
    )
    np.testing.assert_allclose(network.probabilities("income"), [[0.751 / 1.001, 0.25 / 1.001]] * 2, rtol=1e-15)
    np.testing.assert_allclose(network.probabilities("gender"), [[1 / 3] * 3, [0.25, 0.25, 0.5]], rtol=1e-15)
    np.testing.assert_allclose(network.probabilities("sat"), [SAT] * 2, rtol=1e-14)


def test_weights_make_no_false_zero_out_of_large_or_small_numbers() -> None:
    network = from_weights(
        {"a": [1.5e308, 1.5e308], "b": [5e-324, 1e300]},
        states={"a": ["n", "y"], "b": ["n", "y"]},
    )
    np.testing.assert_allclose(network.probabilities("a"), [[0.5, 0.5]], rtol=1e-13)
    assert network.tables["b"].values[0, 0] == pytest.approx(math.log(5e-324) - math.log(1e300), abs=1e-12)


# row 44: sums far from one, and tables the wrong way round


@pytest.mark.parametrize("factor", [1.02, 0.98, 0.5, 7.0, 1e300])
def test_normalize_takes_no_sum_that_is_more_than_one_percent_off(factor: float) -> None:
    """Row 44."""
    with pytest.raises(NetworkError, match=r"must sum to 1 within 0\.01"):
        DiscreteNetwork.from_tables({"a": np.array([0.5, 0.5]) * factor}, states={"a": ["n", "y"]}, normalize=True)


def transposed_refused(table: object, sizes: Sequence[int], *, normalize: bool, over: str) -> None:
    names = [f"p{k}" for k in range(len(sizes) - 1)]
    tables = {name: np.full(size, 1 / size) for name, size in zip(names, sizes[1:], strict=True)}
    states = {name: list(range(size)) for name, size in zip(["x", *names], sizes, strict=True)}
    with pytest.raises(NetworkError, match=f"the sums over {over} are 1. Transpose the table"):
        DiscreteNetwork.from_tables(tables | {"x": table}, states=states, parents={"x": names}, normalize=normalize)


@pytest.mark.parametrize("normalize", [False, True])
def test_a_transposed_table_is_named(normalize: bool) -> None:
    """Row 44: such a table passed with normalize=True, and told 1.79 nats for 1.95."""
    transposed_refused([[0.9, 0.1], [0.3, 0.7]], [2, 2], normalize=normalize, over="p0")
    rng = np.random.default_rng(44)
    for sizes in ([3, 3], [2, 2, 2], [4, 2, 2], [3, 3, 3]):
        law = rng.dirichlet(np.full(sizes[0], 0.5), size=math.prod(sizes[1:]))
        table = law.reshape(sizes)
        transposed_refused(table, sizes, normalize=normalize, over=".*")
        transposed_refused(table.round(3), sizes, normalize=normalize, over=".*")


def test_a_transposed_table_is_named_even_where_its_columns_nearly_sum_to_one() -> None:
    """Row 44: within 1 % of one, but the rows sum to it without any rounding."""
    transposed_refused([[0.501, 0.499], [0.496, 0.504]], [2, 2], normalize=True, over="p0")


def test_a_table_printed_with_few_decimals_is_not_taken_for_a_transposed_one() -> None:
    rng = np.random.default_rng(45)
    for _ in range(200):
        sizes = [int(size) for size in rng.integers(2, 5, size=3)]
        table = np.moveaxis(rng.dirichlet(np.ones(sizes[0]), size=sizes[1:]), -1, 0).round(3)
        DiscreteNetwork.from_tables(
            {"x": table, "a": np.full(sizes[1], 1 / sizes[1]), "b": np.full(sizes[2], 1 / sizes[2])},
            states={name: list(range(size)) for name, size in zip("xab", sizes, strict=True)},
            parents={"x": ["a", "b"]},
            normalize=True,
        )


# row 10: entries and shapes


@pytest.mark.parametrize("value", [-0.1, -1e-300, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("normalize", [False, True])
def test_an_impossible_entry_is_refused_with_its_place(value: float, normalize: bool) -> None:
    with pytest.raises(NetworkError) as refusal:
        DiscreteNetwork.from_tables(
            {"income": INCOME, "gender": GENDER, "sat": changed((1, 1, 2), value)},
            states=STATES,
            parents=PARENTS,
            normalize=normalize,
        )
    for word in ("'sat'", "finite and at least 0", f"{value:g}", "income = high", "gender = x", "model 0"):
        assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("table", "shape"),
    [
        (np.transpose(SAT, (0, 2, 1)), "(2, 3, 2)"),  # parents in another order
        (np.transpose(SAT, (1, 2, 0)), "(2, 3, 2)"),  # own axis last
        (np.reshape(SAT, (2, 6)), "(2, 6)"),
        (np.array(SAT)[:, :, :2], "(2, 2, 2)"),
        ([0.5, 0.5], "(2,)"),
        (1.0, "()"),
        ([], "(0,)"),
        ([[SAT]], "(1, 1, 2, 2, 3)"),
    ],
)
def test_a_wrong_shape_is_refused_with_both_shapes_and_the_axes(table: Any, shape: str) -> None:
    refusal = refuse("'sat'", "(2, 2, 3)", "(sat, income, gender)", sat=table)
    assert refusal.found == f"shape {shape}"


@pytest.mark.parametrize(
    "table",
    [[[0.5], [0.5, 0.5]], ["a", "b"], ["0.6", "0.4"], [0.5, {}], "table", [0.5 + 1j, 0.5], [10**400, 1]],
)
def test_what_is_no_array_of_numbers_is_refused(table: Any) -> None:
    refuse("'income'", "rectangular array of numbers", income=table)


@pytest.mark.parametrize("table", [None, [0.5, None], [[0.5], [0.5]]])
def test_missing_entries_are_refused(table: Any) -> None:
    refuse("'income'", income=table)


@pytest.mark.parametrize(
    "states",
    [
        {"a": []},
        {"a": "ny"},
        {"a": None},
        {},
        {"a": ["n", "n"]},
        {"a": [1, True]},
        {"a": ["n", math.nan]},
        {"a": [["n"], ["y"]]},
        {"a": ["n", None]},
    ],
)
def test_bad_states_are_refused(states: Any) -> None:
    with pytest.raises(NetworkError, match="'a'"):
        DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states=states)


# row 11: the graph


def test_a_cycle_is_named() -> None:
    names = "abc"
    with pytest.raises(NetworkError, match=r"the cycle [abc] -> [abc] -> [abc] -> [abc]"):
        DiscreteNetwork.from_tables(
            {name: [[0.5, 0.5], [0.5, 0.5]] for name in names},
            states={name: ["n", "y"] for name in names},
            parents={"a": ["c"], "b": ["a"], "c": ["b"]},
        )


@pytest.mark.parametrize(
    ("parents", "words"),
    [
        ({"b": ["b"]}, "the cycle b -> b"),
        ({"b": ["ghost"]}, "the unknown ghost"),
        ({"b": ["a", "a"]}, "must be distinct"),
        ({"ghost": ["a"]}, "none for ghost"),
        ({"b": "a"}, r"the parents of 'b' must be a list"),
    ],
)
def test_bad_parents_are_refused(parents: Any, words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        DiscreteNetwork.from_tables(
            {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.5, 0.5]]},
            states={"a": ["n", "y"], "b": ["n", "y"]},
            parents=parents,
        )


def test_states_without_a_table_are_refused() -> None:
    with pytest.raises(NetworkError, match="none for b"):
        DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["n", "y"], "b": ["n", "y"]})


def test_an_empty_network_a_blank_name_and_an_unknown_level_are_refused() -> None:
    with pytest.raises(NetworkError, match="no tables"):
        DiscreteNetwork.from_tables({}, states={})
    with pytest.raises(NetworkError, match="name"):
        DiscreteNetwork.from_tables({" ": [1.0]}, states={" ": ["only"]})
    with pytest.raises(NetworkError, match="level must be one of parameters, records"):
        DiscreteNetwork.from_tables({"a": [1.0]}, states={"a": ["only"]}, level="columns")  # type: ignore[arg-type]


def test_an_unknown_attribute_is_refused() -> None:
    network = build()
    assert network.require("sat") == "sat"
    for ask in (network.require, network.probabilities):
        with pytest.raises(NetworkError, match="ghost"):
            ask("ghost")


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(NetworkError, BnprivError)
    assert issubclass(NetworkError, ValueError)


# nothing can be changed


def test_tables_cannot_be_changed() -> None:
    network = build(income=[INCOME, INCOME])
    for name in network.attributes:
        with pytest.raises(ValueError, match="read-only"):
            network.tables[name].values[...] = 0.0
        with pytest.raises(ValueError, match="read-only"):
            network.probabilities(name)[...] = 0.0
    with pytest.raises(FrozenInstanceError):
        network.level = "records"  # type: ignore[misc]


def test_a_network_keeps_copies_of_its_declaration() -> None:
    income = np.array(INCOME)
    states = {"a": ["n", "y"]}
    network = DiscreteNetwork.from_tables({"a": income}, states=states)
    before = network.probabilities("a").copy()
    income[:] = [1.0, 0.0]
    states["a"].append("z")
    np.testing.assert_array_equal(network.probabilities("a"), before)
    assert network.states["a"] == ("n", "y")
    income[0] = 0.5  # and the caller's array is still the caller's
