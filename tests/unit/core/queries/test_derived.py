"""Variances and quantiles: what they are worked out of, the intervals that hold them, and what is refused."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import parts_of
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.builtin import Derived, derivation
from bnpriv.core.queries.sensitivity import answer_range, column_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError
from bnpriv.tables.evaluate import evaluate
from tests.later import Later
from tests.seeds import seeds

pd = Later("pandas")

N = 40
SCHEMA = Schema(
    records=N,
    columns={
        "x": Real(-1, 3, steps=64),
        "y": Integer(0, 20),
        "far": Real(1e6, 1e6 + 1, steps=2**10),
        "sex": Categorical(["f", "m"]),
    },
)
EDGES = [0, 2, 5, 6, 10, 15, 20]


def table(seed: int) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    return {
        "x": (random.integers(0, 65, N) / 16 - 1).tolist(),
        "y": random.binomial(20, random.uniform(), N).tolist(),
        "far": (1e6 + random.integers(0, 1025, N) / 1024).tolist(),
        "sex": ["f"] * N,
    }


def base_of(query: bp.types.Query, columns: dict[str, list[float]]) -> list[float]:
    return [float(value) for value in evaluate(query, SCHEMA, pd.DataFrame(columns)).values]


def order_statistic(values: list[float], share: float) -> float:
    """The least value that a share of the records does not exceed."""
    return sorted(values)[math.ceil(Fraction(str(share)) * len(values)) - 1]


@pytest.mark.parametrize("name", ["x", "y", "far"])
def test_without_noise_they_are_what_textbooks_say(name: str) -> None:
    for seed in range(5):
        columns = table(seed)
        for query, truth in (
            (bp.variance(name), statistics.pvariance(map(Fraction, columns[name]))),
            (bp.std(name), statistics.pstdev(map(Fraction, columns[name]))),
        ):
            base = base_of(query, columns)
            assert query.derive(base, SCHEMA) == pytest.approx((float(truth),), abs=1e-12)
            ((low, high),) = query.enclose([(value, value) for value in base], SCHEMA)
            assert low <= query.derive(base, SCHEMA)[0] <= high
            assert high - low < 1e-12


def test_a_covariance_without_noise_is_that_of_textbooks() -> None:
    for seed in range(5):
        columns = table(seed)
        query = bp.covariance("x", "y")
        base, truth = base_of(query, columns), np.cov(columns["x"], columns["y"], ddof=0)[0, 1]
        assert query.derive(base, SCHEMA) == pytest.approx((truth,), abs=1e-12)
        turned = bp.covariance("y", "x")
        assert turned.derive(base_of(turned, columns), SCHEMA) == query.derive(base, SCHEMA)


@pytest.mark.parametrize("share", [0.01, 0.25, 0.3, 0.5, 0.75, 0.999])
def test_quantiles_without_noise_lie_in_the_bin_of_the_order_statistic(share: float) -> None:
    query = bp.quantile("y", [share], EDGES)
    for seed in range(20):
        columns = table(seed)
        base, truth = base_of(query, columns), order_statistic(columns["y"], share)
        ((low, high),) = query.enclose([(value, value) for value in base], SCHEMA)
        (found,) = query.derive(base, SCHEMA)
        assert low <= truth <= high
        assert low <= found <= high
        assert EDGES.index(high) == EDGES.index(low) + 1


def laplace(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).laplace(size=size)


@pytest.mark.parametrize("block", seeds(1, slow=3))
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
@pytest.mark.parametrize(
    "query",
    [
        bp.variance("x"),
        bp.std("x"),
        bp.std("far"),
        bp.covariance("x", "y"),
        bp.quantile("y", [0.1, 0.5, 0.9], EDGES),
    ],
    ids=str,
)
def test_intervals_hold_whenever_the_box_of_the_base_does(query: Derived, scale: float, block: int) -> None:
    """Interval arithmetic: a box that holds the base gives intervals that hold the answer, always."""
    weights = np.array([1.0, 2.0, 4.0][: query.dimension(SCHEMA)] if query.own_units else [5.0] * 6)
    lower, upper = answer_range(query, SCHEMA)
    ranges = list(zip(lower.tolist(), upper.tolist(), strict=True))
    worked = derivation(query, SCHEMA)
    assert worked is not None
    for seed in range(20 * block, 20 * block + 20):
        columns = table(seed)
        exact = np.array(base_of(query, columns))
        noise = laplace(seed, len(exact)) * scale * weights
        noisy, half = exact + noise, np.abs(noise).max() / weights.min() * weights
        box = [(float(v - h), float(v + h)) for v, h in zip(noisy, half, strict=True)]
        if isinstance(query, type(bp.covariance("x", "y"))):
            truth = (float(np.cov(columns["x"], columns["y"], ddof=0)[0, 1]),)
        elif query.own_units:
            truth = (float(statistics.pvariance(map(Fraction, columns[next(iter(query.columns))]))),)
            truth = truth if isinstance(query, type(bp.variance("x"))) else (math.sqrt(truth[0]),)
        else:
            truth = tuple(order_statistic(columns["y"], share) for share in (0.1, 0.5, 0.9))
        found = worked.values(noisy.tolist())
        bounds = query.error_bounds(half.tolist(), SCHEMA)
        for value, true, (low, high), ends in zip(
            found, truth, worked.intervals(box, ranges), query.ranges(SCHEMA), strict=True
        ):
            assert low <= true <= high
            assert ends[0] <= value <= ends[1]
            assert ends[0] <= low <= high <= ends[1]
        assert all(abs(a - b) <= most + 1e-9 for a, b, most in zip(found, truth, bounds, strict=False))


def test_cumulated_counts_that_fall_are_replaced_by_the_middle() -> None:
    # cumulated 60, 40, 100: the first two count as 50
    schema = Schema(records=100, columns={"y": Integer(0, 30)})
    query = bp.quantile("y", [0.25, 0.5, 0.75], [0, 10, 20, 30])
    assert query.derive([60.0, -20.0, 60.0], schema) == pytest.approx((5.0, 10.0, 25.0))


def test_counts_are_whole_so_a_box_narrower_than_one_tells_them() -> None:
    schema = Schema(records=10, columns={"y": Integer(0, 30)})
    query = bp.quantile("y", [0.5], [0, 10, 20, 30])
    # 5 of 10 records lie in the first bin; with one fewer there the median would lie in the second
    assert query.enclose([(4.6, 5.4), (1.6, 2.4), (2.6, 3.4)], schema) == ((0.0, 10.0),)


@pytest.mark.parametrize("query", [bp.variance("x"), bp.std("x"), bp.covariance("x", "y")], ids=str)
def test_an_interval_of_one_base_holds_the_exact_answer_though_roots_and_fractions_are_rounded(query: Derived) -> None:
    random = np.random.default_rng(20261123)
    for _ in range(300):
        base = [*random.uniform(-0.5, 0.5, query.dimension(SCHEMA) - 1).tolist(), float(random.uniform(0.5, 1))]
        ((low, high),) = query.enclose([(each, each) for each in base], SCHEMA)
        exact = Fraction(base[-1]) - Fraction(base[0]) * Fraction(base[-2])
        power = 2 if query == bp.std("x") else 1
        assert Fraction(low) ** power <= exact <= Fraction(high) ** power
        assert high - low <= 1e-14


def test_an_interval_of_a_quantile_is_no_wider_than_the_tables_in_the_box_make_it() -> None:
    """All counts of few records in few bins are tried."""
    random, seen = np.random.default_rng(20261123), 0
    for _ in range(150):
        records, bins = int(random.integers(1, 6)), int(random.integers(1, 5))
        edges = np.sort(random.choice(12, bins + 1, replace=False)).tolist()
        low = np.clip(random.uniform(-1, records, bins), 0, records)
        high = np.clip(low + random.choice([0.5, 1, 2, 4], bins), 0, records)
        spans = [range(math.ceil(a), math.floor(b) + 1) for a, b in zip(low, high, strict=True)]
        counts = [each for each in itertools.product(*spans) if sum(each) == records]
        if not counts:
            continue
        seen += 1
        share = float(random.choice([0.1, 0.3, 0.5, 0.9]))
        schema = Schema(records=records, columns={"x": Integer(edges[0], edges[-1])})
        # the first bin up to whose end there are so many records
        wanted = Fraction(str(share)) * records
        first = [next(k for k in range(bins) if sum(each[: k + 1]) >= wanted) for each in counts]
        found = bp.quantile("x", [share], edges).enclose(list(zip(low.tolist(), high.tolist(), strict=True)), schema)
        assert found == ((edges[min(first)], edges[max(first) + 1]),)
    assert seen > 30


def test_the_error_of_a_mean_counts_by_the_half_width_of_the_other_column() -> None:
    # half the widths are 2 and 10
    query = bp.covariance("x", "y")
    assert query.error_bounds([0.1, 0.0, 0.0], SCHEMA) == pytest.approx((1.0,))
    assert query.error_bounds([0.0, 0.1, 0.0], SCHEMA) == pytest.approx((0.2,))
    assert bp.variance("x").error_bounds([0.1, 0.0], SCHEMA) == pytest.approx((0.41,))


def test_quantiles_never_fall_and_stay_between_the_bounds() -> None:
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    query = bp.quantile("y", shares, EDGES)
    for seed in range(50):
        found = query.derive((laplace(seed, 6) * 20).tolist(), SCHEMA)
        assert list(found) == sorted(found)
        assert 0 <= found[0] <= found[-1] <= 20


def test_the_answer_of_a_released_base_is_read_off_exactly() -> None:
    schema = Schema(records=100, columns={"y": Integer(0, 20)})
    query = bp.quantile("y", [0.25, 0.5, 0.75], [0, 10, 20])
    # 60 and 40 of 100 records; 25 of the 60 are reached at 25/60 of the first bin
    assert query.derive([60.0, 40.0], schema) == pytest.approx((250 / 60, 500 / 60, 10 + 150 / 40))
    # 20 too many in all are taken off both bins alike
    assert query.derive([70.0, 50.0], schema) == query.derive([60.0, 40.0], schema)
    # a count below zero counts as none
    assert query.derive([-10.0, 110.0], schema) == pytest.approx((12.5, 15.0, 17.5))


def test_the_middle_makes_the_base_less_sensitive() -> None:
    """The mean square from 0 of a column near a million would move by 2 million; from the middle it hardly moves."""
    found = [float(column_sensitivity(query, {"far"}, SCHEMA)) for query in (bp.variance("far"), bp.moments(["far"]))]
    assert found[0] == pytest.approx(1, rel=1e-6)
    assert found[1] > 2e6


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", ["x", "y"])
def test_sensitivity_of_the_base_is_that_of_all_pairs(name: str, norm: int) -> None:
    column = SCHEMA[name]
    assert not isinstance(column, Categorical)
    places = np.arange(column.steps + 1) * float(column.grid) - float(column.grid) * column.steps / 2
    points = np.stack([places, places**2], axis=1)
    truth = np.linalg.norm(points[:, None] - points[None], norm, axis=-1).max()
    found = column_sensitivity(bp.variance(name), {name}, SCHEMA, norm)
    assert found.kind == "exact"
    assert truth <= found.upper * (1 + 1e-14)
    assert found.upper <= truth * (1 + 1e-9)


def test_numbers_of_their_own_unit_are_parts() -> None:
    query = bp.stack("std(x)", bp.median("y", EDGES), "mean(x)")
    assert [part.label for part in parts_of(query, SCHEMA)] == [
        "mean of x from 1",
        "mean square of x from 1",
        "median(y, [0, 2, 5, 6, 10, 15, 20])",
        "mean(x)",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("median(x)", "a quantile of 'x', which holds numbers, needs two or more edges"),
        ("quantile(y, [0.5], [1, 20])", "hold all that the column may hold, 0 to 20; found 1 to 20. Begin with 0"),
        ("median(y, [0, 19])", "end with 20"),
        ("variance(sex)", "must hold numbers"),
        ("covariance(x, sex)", "must hold numbers"),
        ("median(sex, [0, 1])", "must hold numbers"),
    ],
)
def test_refusals_once_the_schema_is_known(text: str, words: str) -> None:
    with pytest.raises(QueryError) as refused:
        normal_form(bp.parse_query(text), SCHEMA)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.5, 0.5], "List each share once."),
        ([0], "above 0 and below 1"),
        ([1.5], "above 0 and below 1"),
        ([], "needs a share"),
        ("0.5", "needs a list of shares"),
        (0.5, "needs a list of shares"),
        ([math.nan], "finite"),
        (["a"], "a share"),
    ],
)
def test_refused_shares(shares: object, words: str) -> None:
    with pytest.raises(QueryError) as refused:
        bp.quantile("x", shares, [0, 1])  # type: ignore[arg-type]
    assert words in str(refused.value)


def test_sums_of_products_beyond_doubles_are_exact() -> None:
    """Near the middles the sums cancel: a product of grid steps that was rounded to a double would be seen."""
    steps, step = 2**30, 2.0**-30
    schema = Schema(records=3, columns={"x": Real(0, 1, steps=steps), "y": Real(0, 1, steps=steps)})
    x, y = ([0.5 + k * step for k in away] for away in ([1, 2, 3], [5, -7, 9]))
    found = evaluate(bp.covariance("x", "y"), schema, pd.DataFrame({"x": x, "y": y})).values
    assert [float(value) for value in found] == [2 * step, float(Fraction(7, 3) * Fraction(step)), 6 * step**2]


def test_a_derived_question_is_no_property_of_a_secret() -> None:
    with pytest.raises(bp.errors.SecretError):
        bp.Secret(bp.variance("x"))


def test_a_sum_of_products_that_no_engine_holds_is_refused() -> None:
    schema = Schema(records=10**8, columns={"x": Real(0, 1), "y": Real(0, 1), "z": Real(0, 1, steps=2**14)})
    with pytest.raises(QueryError, match=r"sum of 'x' to the power 1 times 'y' to the power 1 must stay"):
        normal_form(bp.covariance("y", "x"), schema)
    assert normal_form(bp.covariance("x", "z"), schema).labels[2] == "mean product of x from 0.5 and z from 0.5"
