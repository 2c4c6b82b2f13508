"""Log tables against exact fractions: values, exact zeros, the stated error, and sizes known beforehand."""

from __future__ import annotations

import itertools
import math
import random
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.networks import factors
from bnpriv.core.networks.factors import LogTable, marginal, product, sum_out
from bnpriv.errors import BnprivError, SizeError

TINY = 1e-300


@dataclass(frozen=True)
class Network:
    """Weights over (attribute, *parents), one array of shape (models, ...) per attribute."""

    axes: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, int]
    weights: Mapping[str, np.ndarray]
    models: int

    def tables(self) -> list[LogTable]:
        return [LogTable.from_columns(self.axes[name], self.weights[name]) for name in self.axes]

    def exact(self, keep: Sequence[str], model: int) -> dict[tuple[int, ...], Fraction]:
        """Return the marginal law of `keep`: the joint law, entry by entry, summed in fractions."""
        columns = {name: self._columns(name, model) for name in self.axes}
        law = dict.fromkeys(itertools.product(*(range(self.sizes[name]) for name in keep)), Fraction(0))
        for states in itertools.product(*(range(size) for size in self.sizes.values())):
            here = dict(zip(self.sizes, states, strict=True))
            mass = Fraction(1)
            for name, axes in self.axes.items():
                mass *= columns[name][tuple(here[axis] for axis in axes)]
                if not mass:
                    break
            law[tuple(here[name] for name in keep)] += mass
        return law

    def _columns(self, name: str, model: int) -> dict[tuple[int, ...], Fraction]:
        weights = self.weights[name]
        block = weights[model if weights.shape[0] > 1 else 0]
        total: dict[tuple[int, ...], Fraction] = {}
        for index, weight in np.ndenumerate(block):
            total[index[1:]] = total.get(index[1:], Fraction(0)) + Fraction(float(weight))
        return {index: Fraction(float(weight)) / total[index[1:]] for index, weight in np.ndenumerate(block)}


def random_weights(rng: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    """Return columns over axis 1 that hold ordinary numbers, exact zeros and numbers near the end of the range."""
    weights = np.empty(shape)
    for index in np.ndindex(shape):
        weights[index] = rng.choice([rng.random(), rng.random(), 0.0, TINY * rng.random(), 1.0, 1 / 3, 1e-17])
    for index in np.ndindex(shape[:1] + shape[2:]):
        if not weights[(index[0], slice(None), *index[1:])].any():
            weights[(index[0], rng.randrange(shape[1]), *index[1:])] = rng.choice([1.0, TINY])
    return weights


def random_network(rng: random.Random, most: int = 5) -> Network:
    names = [f"n{k}" for k in range(rng.randint(1, most))]
    rng.shuffle(names)
    sizes = {name: rng.choice([1, 2, 2, 3, 4]) for name in names}
    models = rng.choice([1, 1, 2, 3])
    axes = {name: (name, *rng.sample(names[:k], rng.randint(0, min(k, 3)))) for k, name in enumerate(names)}
    weights = {
        name: random_weights(rng, (rng.choice([1, models]), *(sizes[axis] for axis in axes[name]))) for name in names
    }
    return Network(axes, sizes, weights, max(array.shape[0] for array in weights.values()))


def log_error(value: float, exact: Fraction) -> float:
    """Return |value - log(exact)|, worked out to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return float(abs(Decimal(value) - (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()))


def check(table: LogTable, model: int, law: Mapping[tuple[int, ...], Fraction], most: float = 1e-12) -> float:
    """Compare one model of `table` with the exact law, and return the largest error of a log."""
    worst = 0.0
    block = table.values[model if table.values.shape[0] > 1 else 0]
    assert block.size == len(law)
    for index, exact in law.items():
        value = float(block[index])
        assert (value == -math.inf) == (exact == 0)
        if exact:
            error = log_error(value, exact)
            assert error < most
            assert error <= table.error
            worst = max(worst, error)
    return worst


# against exact fractions


@pytest.mark.unhurried
def test_marginals_agree_with_exact_fractions() -> None:
    rng = random.Random(1)
    zeros = tiny = 0
    for _ in range(600):
        network = random_network(rng)
        keep = rng.sample(list(network.sizes), rng.randint(0, min(3, len(network.sizes))))
        table = marginal(network.tables(), keep)
        assert table.axes == tuple(keep)
        assert table.values.shape == (network.models, *(network.sizes[name] for name in keep))
        assert table.error < 1e-11  # stated errors are of use
        for model in range(network.models):
            law = network.exact(keep, model)
            assert sum(law.values()) == 1
            check(table, model, law)
            zeros += sum(mass == 0 for mass in law.values())
            tiny += sum(0 < mass < Fraction(1, 10**290) for mass in law.values())
    assert zeros > 300  # the cases are hard enough to tell
    assert tiny > 300


def test_columns_of_any_scale_are_divided_by_their_exact_sums() -> None:
    rng = random.Random(2)
    smallest, largest = 5e-324, 1.7e308
    hard = [
        [largest, largest, largest],
        [largest, 1.0, smallest],
        [smallest, 0.0, smallest],
        [smallest, 3.0, 3.0],
        [0.1, 0.2, 0.7],
        [0.0, 0.0, 1.0],
    ]
    hard += [[10 ** rng.uniform(-320, 308) for _ in range(3)] for _ in range(60)]
    for weights in hard:
        network = Network({"a": ("a",)}, {"a": 3}, {"a": np.array([weights])}, 1)
        (table,) = network.tables()
        check(table, 0, network.exact(["a"], 0))
        assert table.error < 1e-11


def test_logs_of_an_exact_column_are_those_of_its_entries() -> None:
    table = LogTable.from_columns(("a",), np.array([[0.5, 0.25, 0.25]]))
    assert table.values.tolist() == [[math.log(0.5), math.log(0.25), math.log(0.25)]]
    assert LogTable.from_columns(("a",), np.array([[0.0, 1.0]])).values.tolist() == [[-math.inf, 0.0]]


def test_wide_columns_stay_within_the_stated_error() -> None:
    rng = np.random.default_rng(3)
    weights = rng.random((1, 2000)) * 10.0 ** rng.integers(-12, 1, (1, 2000))
    network = Network({"a": ("a",)}, {"a": 2000}, {"a": weights}, 1)
    (table,) = network.tables()
    check(table, 0, network.exact(["a"], 0))
    total = sum_out(table, ("a",))
    assert abs(float(total.values[0])) <= total.error < 1e-11


def test_a_long_chain_agrees_with_exact_fractions() -> None:
    rng = random.Random(4)
    names = [f"n{k:02d}" for k in range(60)]
    axes = {name: (name,) if k == 0 else (name, names[k - 1]) for k, name in enumerate(names)}
    weights = {name: np.array([random_dyadic(rng, (2,) * len(axes[name]))]) for name in names}
    # reaching state 1 of the last takes a step of probability 1e-300 or so
    weights["n59"] = np.array([[[1.0, 1.0 - 2**-53], [TINY, 2**-53]]])
    network = Network(axes, dict.fromkeys(names, 2), weights, 1)
    ends = np.array(
        [[Fraction(float(weights["n00"][0, k])) if k == j else Fraction(0) for j in range(2)] for k in (0, 1)]
    )
    law = ends
    for name in names[1:]:
        columns = network._columns(name, 0)
        step = np.array([[columns[(child, parent)] for child in range(2)] for parent in range(2)])
        law = law @ step
    table = marginal(network.tables(), ("n00", "n59"))
    check(table, 0, {(i, j): law[i, j] for i in range(2) for j in range(2)})


def random_dyadic(rng: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    first = np.empty((1, *shape[1:]))
    for index in np.ndindex(first.shape):
        first[index] = rng.randint(0, 16) / 16
    return np.concatenate([first, 1 - first])


def test_underflow_is_no_zero() -> None:
    # 1e-300 to the fourth power is 0 in doubles
    names = "abcd"
    weights = {name: np.array([[1.0, TINY]]) for name in names}
    network = Network({name: (name,) for name in names}, dict.fromkeys(names, 2), weights, 1)
    table = marginal(network.tables(), tuple(names))
    exact = network.exact(names, 0)[1, 1, 1, 1]
    assert float(exact) == 0.0
    assert log_error(float(table.values[0, 1, 1, 1, 1]), exact) <= table.error


def test_axes_come_in_the_order_asked_for() -> None:
    rng = random.Random(5)
    for _ in range(20):
        network = random_network(rng)
        tables = network.tables()
        names = sorted(network.sizes)
        straight = marginal(tables, names)
        for order in itertools.islice(itertools.permutations(range(len(names))), 6):
            turned = marginal(tables, [names[k] for k in order])
            expected = np.transpose(straight.values, [0, *(k + 1 for k in order)])
            np.testing.assert_allclose(np.exp(turned.values), np.exp(expected), rtol=1e-13)


# the parts


def test_log_sum_exp_survives_both_ends_of_the_range() -> None:
    values = np.array([[-math.inf, -math.inf], [-1e4, -1e4], [0.0, -math.inf], [700.0, 710.0]])
    with np.errstate(all="raise", under="ignore", divide="raise"):
        result = log_sum_exp(values, 1)
    assert result[0] == -math.inf
    assert result[1] == pytest.approx(-1e4 + math.log(2), rel=1e-15)
    assert result[2] == 0.0
    assert result[3] == pytest.approx(710 + math.log1p(math.exp(-10)), rel=1e-15)
    assert log_sum_exp(values, (0, 1)) == pytest.approx(710 + math.log1p(math.exp(-10)), rel=1e-15)


def test_product_aligns_axes_by_name_and_models_by_broadcast() -> None:
    one = LogTable(axes=("a", "b"), values=np.arange(6.0).reshape(1, 2, 3), error=1e-16)
    two = LogTable(axes=("b", "c"), values=np.arange(24.0).reshape(2, 3, 4), error=1e-15)
    both = product([one, two], ("c", "a", "b"))
    assert both.sizes() == {"c": 4, "a": 2, "b": 3}
    expected = one.values[:, np.newaxis] + np.transpose(two.values, (0, 2, 1))[:, :, np.newaxis]
    np.testing.assert_array_equal(both.values, expected)
    assert both.error >= one.error + two.error


def test_sum_out_of_nothing_is_the_table_itself() -> None:
    table = LogTable(axes=("a",), values=np.zeros((1, 2)))
    assert sum_out(table, ("b",)) is table
    assert sum_out(table, ("a",)).axes == ()
    assert float(sum_out(table, ("a",)).values[0]) == pytest.approx(math.log(2))


def test_tables_cannot_be_changed() -> None:
    table = LogTable.from_columns(("a",), np.array([[0.5, 0.5]]))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        table.aligned(("b", "a"))[0, 0, 0] = 0.0
    with pytest.raises(FrozenInstanceError):
        table.error = 0.0  # type: ignore[misc]


def test_weights_are_not_changed_or_frozen() -> None:
    weights = np.array([[0.5, 0.5]])
    LogTable.from_columns(("a",), weights)
    weights[0, 0] = 0.25
    assert weights.tolist() == [[0.25, 0.5]]


def test_a_table_needs_a_name_per_axis() -> None:
    with pytest.raises(AssertionError):
        LogTable(axes=("a",), values=np.zeros((1, 2, 2)))


# sizes


def tangle(nodes: int, parents: int) -> Network:
    """Return a network with small tables whose elimination needs a large one."""
    rng = random.Random(6)
    names = [f"n{k:02d}" for k in range(nodes)]
    axes = {name: (name, *rng.sample(names[:k], min(k, parents))) for k, name in enumerate(names)}
    weights = {name: np.ones((1,) + (2,) * len(axes[name])) for name in names}
    return Network(axes, dict.fromkeys(names, 2), weights, 1)


def no_table(*_: object) -> LogTable:
    raise AssertionError("a table was made")


@pytest.mark.parametrize(
    ("network", "keep"),
    [
        pytest.param(tangle(60, 0), 60, id="the-answer-is-too-large"),
        pytest.param(tangle(60, 6), 1, id="a-table-on-the-way-is-too-large"),
    ],
)
def test_sizes_are_refused_before_anything_is_allocated(
    network: Network, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = network.tables()
    monkeypatch.setattr(factors, "product", no_table)
    tracemalloc.start()
    try:
        with pytest.raises(SizeError) as refusal:
            marginal(tables, list(network.sizes)[-keep:])
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert isinstance(refusal.value, BnprivError)
    assert isinstance(refusal.value, MemoryError)
    assert f"{factors.MOST_TABLE_CELLS:,}" in refusal.value.required
    assert int(refusal.value.found.split(" cells")[0].replace(",", "")) > factors.MOST_TABLE_CELLS
    assert refusal.value.remedy


def test_the_size_that_is_checked_is_the_size_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def watched(tables: Sequence[LogTable], axes: Sequence[str]) -> LogTable:
        result = product(tables, axes)
        made.append(result.values.size)
        return result

    monkeypatch.setattr(factors, "product", watched)
    rng = random.Random(7)
    for _ in range(60):
        network = random_network(rng, most=7)
        tables = [table for table in network.tables() if table.values.shape[0] == network.models]
        keep = rng.sample(sorted({axis for table in tables for axis in table.axes}), 1)
        made.clear()
        marginal(tables, keep)
        largest = max(made)
        marginal(tables, keep, most_cells=largest)
        made.clear()
        with pytest.raises(SizeError, match=f"{largest:,} cells"):
            marginal(tables, keep, most_cells=largest - 1)
        assert not made


def test_models_count_towards_the_size() -> None:
    table = LogTable.from_columns(("a", "b"), np.ones((5, 3, 4)))
    assert marginal([table], ("a", "b"), most_cells=60).values.size == 60
    with pytest.raises(SizeError, match="60 cells"):
        marginal([table], ("a", "b"), most_cells=59)


def test_a_tree_of_sixty_nodes_needs_small_tables_only() -> None:
    table = marginal(tangle(60, 1).tables(), ("n59",), most_cells=8)
    np.testing.assert_allclose(np.exp(table.values), [[0.5, 0.5]], rtol=1e-13)
