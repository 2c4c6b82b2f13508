"""Column sensitivity against brute force over every value of tiny columns, computed here from the text of the query."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from bnpriv.bound import Bound
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries import contribution as records, sensitivity as clusters, sensitivity as diameters
from bnpriv.core.queries.asked import count, histogram, linear, mean, moments, stack, total
from bnpriv.core.queries.base import Indicator, Output, Power, Product, Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, col
from bnpriv.core.queries.sensitivity import answer_range, column_sensitivity
from bnpriv.core.schema import Column, Schema
from bnpriv.errors import ParameterError, QueryError, SchemaError
from bnpriv.io.query_text import parse_query
from tests.seeds import examples

# ---------------------------------------------------------------------------------------------------------------------
# The oracle: all classes of values of a column, the exact answer of one record, all pairs.


def step(column: Column, value: float) -> int:
    """The grid step of a value, as every engine computes it on doubles."""
    assert not isinstance(column, Categorical)
    if isinstance(column, Integer):
        return math.floor(value + 0.5) - column.lower
    return math.floor((value - column.lower) * (column.steps / (column.upper - column.lower)) + 0.5)


def number(column: Column, value: float) -> Fraction:
    """The number that a value counts as."""
    assert not isinstance(column, Categorical)
    return column.origin + column.grid * step(column, value)


def values(column: Column, constants: Sequence[float]) -> list[object]:
    """Every value of the column, or of doubles one for each class that rounding and comparisons can tell apart."""
    if isinstance(column, Categorical):
        return list(column.categories)
    if isinstance(column, Integer):
        return list(range(column.lower, column.upper + 1))
    width = column.upper - column.lower
    special = [*constants, column.lower, column.upper]
    special += [column.lower + width * (2 * k + 1) / (2 * column.steps) for k in range(column.steps)]
    near = set[float]()
    for point in special:
        for direction in (-math.inf, math.inf):
            moved = float(point)
            for _ in range(4):
                near.add(moved)
                moved = math.nextafter(moved, direction)
    points = sorted(point for point in near if column.lower <= point <= column.upper)
    return [*points, *((low + high) / 2 for low, high in itertools.pairwise(points))]


def leaves(predicate: Predicate) -> list[Comparison | IsIn]:
    if isinstance(predicate, (And, Or)):
        return [leaf for part in predicate.parts for leaf in leaves(part)]
    if isinstance(predicate, Not):
        return leaves(predicate.part)
    assert isinstance(predicate, (Comparison, IsIn))
    return [predicate]


def holds(predicate: Predicate, record: dict[str, object]) -> bool:
    if isinstance(predicate, And):
        return all(holds(part, record) for part in predicate.parts)
    if isinstance(predicate, Or):
        return any(holds(part, record) for part in predicate.parts)
    if isinstance(predicate, Not):
        return not holds(predicate.part, record)
    if isinstance(predicate, IsIn):
        return record[predicate.column] in predicate.values
    assert isinstance(predicate, Comparison)
    found, value = record[predicate.column], predicate.value
    return {
        "<": lambda: found < value,
        "<=": lambda: found <= value,
        ">": lambda: found > value,
        ">=": lambda: found >= value,
        "==": lambda: found == value,
        "!=": lambda: found != value,
    }[predicate.operator]()


def one_record(output: Output, schema: Schema, record: dict[str, object]) -> Fraction:
    """What the answer would be if all records were like this one, exactly."""
    result = Fraction(0)
    for weight, term in output.terms:
        if isinstance(term, Indicator):
            result += weight * holds(term.predicate, record)
            continue
        factors = [(term.column, term.about)] * term.exponent if isinstance(term, Power) else []
        if isinstance(term, Product):
            factors = list(zip((term.first, term.second), term.about, strict=True))
        result += weight * math.prod(number(schema[name], record[name]) - about for name, about in factors)
    return result * (1 if output.averaged else schema.records)


def constants_of(outputs: Sequence[Output], name: str) -> list[float]:
    found: list[float] = []
    for output in outputs:
        for _, term in output.terms:
            if isinstance(term, Indicator):
                for leaf in leaves(term.predicate):
                    if leaf.column == name:
                        found += leaf.values if isinstance(leaf, IsIn) else [leaf.value]
    return found


class Oracle:
    """The answers of all kinds of records; every class of records that answers cannot tell apart once."""

    def __init__(self, query: Query, schema: Schema) -> None:
        outputs = query.outputs(schema)
        self.names = sorted(query.columns)
        domains: list[list[object]] = []
        for name in self.names:
            classes: dict[object, object] = {}
            leaf_terms = [
                leaf
                for output in outputs
                for _, term in output.terms
                if isinstance(term, Indicator)
                for leaf in leaves(term.predicate)
                if leaf.column == name
            ]
            column = schema[name]
            for value in values(column, constants_of(outputs, name)):
                truth = tuple(holds(leaf, {name: value}) for leaf in leaf_terms)
                place = value if isinstance(column, Categorical) else step(column, value)
                classes.setdefault((truth, place), value)
            domains.append(list(classes.values()))
        self.shape = [len(domain) for domain in domains]
        rows = [
            [one_record(output, schema, dict(zip(self.names, record, strict=True))) for output in outputs]
            for record in itertools.product(*domains)
        ]
        self.exact = rows
        shift = [min(column) for column in zip(*rows, strict=True)]
        floats = [[float(value - low) for value, low in zip(row, shift, strict=True)] for row in rows]
        self.answers = np.array(floats).reshape(*self.shape, len(outputs))

    def sensitivity(self, moving: set[str], norm: int) -> float:
        order = sorted(range(len(self.names)), key=lambda place: self.names[place] not in moving)
        table = np.transpose(self.answers, (*order, len(order)))
        rows = math.prod(self.shape[place] for place in order if self.names[place] in moving)
        table = table.reshape(rows, -1, table.shape[-1])
        changes = table[:, None] - table[None]
        return float(np.linalg.norm(changes, norm, axis=-1).max())

    def ends(self) -> tuple[list[float], list[float]]:
        columns = list(zip(*self.exact, strict=True))
        return [float(min(column)) for column in columns], [float(max(column)) for column in columns]


# ---------------------------------------------------------------------------------------------------------------------
# All random queries of a kind, and those that are hard.


def subsets(names: Sequence[str]) -> list[set[str]]:
    return [set(chosen) for size in range(len(names) + 1) for chosen in itertools.combinations(names, size)]


def check(found: Bound, truth: float) -> None:
    assert found.lower <= truth * (1 + 1e-12)
    # the oracle adds doubles up
    assert truth <= found.upper * (1 + 1e-14)
    if found.kind == "exact":
        assert found.upper <= truth * (1 + 1e-9)
    else:
        assert found.kind == "certified"


def mixed(query: Query, schema: Schema) -> bool:
    """Whether squares and products are summed: then only upper bounds are promised."""
    terms = [term for output in query.outputs(schema) for _, term in output.terms]
    squares = any(isinstance(term, Power) and term.exponent == 2 for term in terms)
    return squares and any(isinstance(term, Product) for term in terms)


@pytest.mark.parametrize("most", examples(60, slow=200))
def test_brute_force(most: int) -> None:
    from hypothesis import HealthCheck, given, settings

    from tests.tiny_queries import questions

    @given(questions())
    @settings(derandomize=True, deadline=None, max_examples=most, suppress_health_check=list(HealthCheck))
    def agrees(question: tuple[Query, Schema]) -> None:
        query, schema = question
        oracle = Oracle(query, schema)
        for moving in subsets(["x", "y", "z"]):
            one, two = (oracle.sensitivity(moving, norm) for norm in (1, 2))
            first, second = (column_sensitivity(query, moving, schema, norm) for norm in (1, 2))
            check(first, one)
            check(second, two)
            # a change that is tiny against the answer drowns in the rounding of the answer
            assert first.kind == "exact" or one < 0.1 or mixed(query, schema)
            assert second.upper <= first.upper * (1 + 1e-9)
            if not moving & query.columns:
                assert first == second == Bound(0.0, 0.0, "exact")
        lower, upper = answer_range(query, schema)
        least, most = oracle.ends()
        if mixed(query, schema):
            assert all(lower <= np.array(least) + 1e-9)
            assert all(upper >= np.array(most) - 1e-9)
            return
        np.testing.assert_allclose(lower, least, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(upper, most, rtol=1e-12, atol=1e-9)

    agrees()


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-0.3, 0.9), (0.0, 2.0), (-1.0, 3.0), (-3.0, 0.1), (5.0, 6.0)])
@pytest.mark.parametrize(
    "text",
    [
        "moments(x)",
        "stack(moments(x), count(x > 0.5))",
        "stack(moments(x), count(x > 0.2 & x < 0.4), proportion(x == 0.5))",
        "stack(moments(x), linear(x: -1, y: 0.5))",
        "stack(moments(x), count(x > 0.5 & y > 0), mean(y))",
        "stack(moments(x), linear(x: -0.7))",
        "stack(moments(x), linear(x: -0.7, y: 0.1), count(x < 0.3 | y == 1))",
        "stack(moments(x), linear(x: 1, y: 1), linear(x: -1, z: 1))",
        "stack(linear(x: 1, y: 1), linear(x: 1, y: -3))",
        "stack(linear(x: 1, y: 1, z: -2), linear(x: 1, y: -3, z: 1), linear(x: -1, z: 2))",
    ],
)
def test_squares_of_one_column_are_exact_in_both_norms(text: str, bounds: tuple[float, float]) -> None:
    schema = Schema(records=3, columns={"x": Real(*bounds, steps=37), "y": Integer(-1, 1), "z": Integer(0, 2)})
    query = parse_query(text)
    oracle = Oracle(query, schema)
    for moving in subsets(["x", "y", "z"]):
        for norm in (1, 2):
            found = column_sensitivity(query, moving, schema, norm)
            check(found, oracle.sensitivity(moving, norm))
            assert found.kind == "exact"


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-0.3, 0.9), (5.0, 6.0)])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("covariance(x, y)", "exact"),
        ("stack(covariance(x, y), count(x > 0.5 & y > 0), mean(y))", "exact"),
        ("stack(covariance(x, y), covariance(y, z), linear(x: 2, z: -1))", "exact"),
        ("stack(covariance(x, y), histogram(x, [-1, 0.5, 7]), count(y == 0 | x < 0))", "exact"),
        ("stack(covariance(x, y), variance(z))", "exact"),
        ("stack(covariance(x, y), variance(x))", "certified"),
        ("stack(covariance(x, y), variance(x), std(y))", "certified"),
    ],
)
def test_products_are_exact_in_both_norms_unless_squares_join_them(
    text: str, kind: str, bounds: tuple[float, float]
) -> None:
    schema = Schema(records=3, columns={"x": Real(*bounds, steps=13), "y": Integer(-1, 2), "z": Integer(0, 3)})
    query = parse_query(text)
    oracle = Oracle(query, schema)
    for moving in subsets(["x", "y", "z"]):
        for norm in (1, 2):
            found, truth = column_sensitivity(query, moving, schema, norm), oracle.sensitivity(moving, norm)
            check(found, truth)
            assert found.kind == "exact" or kind == "certified"
            # an upper bound from the parts is at most as many times too large as there are clusters of them
            assert found.upper <= 3 * truth + 1e-9


@pytest.mark.parametrize("norm", [1, 2])
def test_a_resting_factor_moves_the_product_by_its_largest_size(norm: int) -> None:
    """From 0, not from the middles: the lower end of the resting factor hides the product, the upper one shows it."""
    from tests.tiny_queries import Raw

    schema = Schema(records=4, columns={"x": Real(0, 2, steps=8), "y": Integer(0, 3)})
    product = Raw((Output("product", ((Fraction(1), Product("x", "y")),), averaged=True),))
    assert float(column_sensitivity(product, {"x"}, schema, norm)) == pytest.approx(6, rel=1e-12)
    assert float(column_sensitivity(product, {"y"}, schema, norm)) == pytest.approx(6, rel=1e-12)


def test_a_square_beside_a_product_of_negative_weight_is_bounded_from_below_too() -> None:
    from tests.tiny_queries import Raw

    schema = Schema(records=4, columns={"x": Integer(0, 3), "y": Integer(0, 3)})
    terms = ((Fraction(1), Power("x", 2)), (Fraction(-1), Product("x", "y")))
    both = Raw((Output("both", terms, averaged=True),))
    # from 9 at (3, 0) to -2 at (1, 3)
    assert float(column_sensitivity(both, {"x", "y"}, schema)) >= 11
    lower, upper = answer_range(both, schema)
    assert lower[0] <= -2
    assert upper[0] >= 9


def test_inner_points_decide_for_squares() -> None:
    # from -1/2 to 1 the mean moves by 3/2 and the mean square by 3/4; from -1 to 1 they move by 2 and 0
    schema = Schema(records=10, columns={"x": Real(-1, 1)})
    assert float(column_sensitivity(moments(["x"]), {"x"}, schema)) == pytest.approx(2.25, rel=1e-9)
    # 2-norm: with one end at 1 the square is (1 - x)^2 (1 + (1 + x)^2), whose derivative has no root inside
    assert float(column_sensitivity(moments(["x"]), {"x"}, schema, norm=2)) == pytest.approx(2, rel=1e-9)
    # with bounds -1, 2: (2 - x)^2 (1 + (2 + x)^2), largest inside, beside 0
    schema = Schema(records=10, columns={"x": Real(-1, 2)})
    x = np.linspace(-1, 2, 3_000_001)
    best = float(np.sqrt(((2 - x) ** 2 * (1 + (2 + x) ** 2)).max()))
    assert float(column_sensitivity(moments(["x"]), {"x"}, schema, norm=2)) == pytest.approx(best, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Known values.

SCHEMA = Schema(
    records=1000,
    columns={
        "height": Real(120, 220),
        "sat": Real(400, 1600),
        "age": Integer(0, 120),
        "gender": Categorical(["f", "m", "other"]),
    },
)


@pytest.mark.parametrize(
    ("text", "moving", "one", "two"),
    [
        ("count(height > 170)", {"height"}, 1000, 1000),
        ("count(height > 170)", {"sat"}, 0, 0),
        ("count(height > 300)", {"height"}, 0, 0),
        ("count(height > 170 & sat > 1200)", {"sat"}, 1000, 1000),
        ("proportion(height > 170)", {"height"}, 1, 1),
        ("total(height)", {"height"}, 100_000, 100_000),
        ("mean(height)", {"height"}, 100, 100),
        ("histogram(gender)", {"gender"}, 2000, 1000 * math.sqrt(2)),
        ("histogram(height, [120, 150, 220])", {"height"}, 2000, 1000 * math.sqrt(2)),
        ("histogram(height, [50, 500])", {"height"}, 0, 0),
        ("histogram(height, [130, 150])", {"height"}, 1000, 1000),
        ("linear(height: 0.5, sat: -2)", {"height", "sat"}, 2450, 2450),
        ("linear(height: 0.5, sat: -2)", {"sat"}, 2400, 2400),
        ("stack(count(height > 170), count(sat > 1200))", {"sat"}, 1000, 1000),
        ("stack(count(height > 170), count(sat > 1200))", {"sat", "height"}, 2000, 1000 * math.sqrt(2)),
        ("stack(count(height > 170), count(height <= 170))", {"height"}, 2000, 1000 * math.sqrt(2)),
        ("stack(total(age), count(age > 200))", {"age"}, 120_000, 120_000),
        ("moments(age)", {"age"}, 120 + 120**2, math.hypot(120, 120**2)),
    ],
)
def test_known_values(text: str, moving: set[str], one: float, two: float) -> None:
    query = parse_query(text)
    first, second = (column_sensitivity(query, moving, SCHEMA, norm) for norm in (1, 2))
    assert first.kind == second.kind == "exact"
    assert first.lower <= one <= first.upper <= one * (1 + 1e-12)
    assert second.lower * (1 - 1e-15) <= two <= second.upper * (1 + 1e-15)
    assert second.upper <= two * (1 + 1e-9)


def test_numbers_that_are_doubles_come_out_exactly() -> None:
    for text, truth in [("count(height > 170)", 1000.0), ("mean(height)", 100.0), ("proportion(age == 3)", 1.0)]:
        query = parse_query(text)
        assert float(column_sensitivity(query, query.columns, SCHEMA)) == truth


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    "query",
    [
        total("height"),
        mean("sat"),
        linear({"height": 0.3, "sat": -1.7}),
        moments(["height", "sat"]),
        stack(mean("height"), linear({"height": -2, "sat": 1}), count(col("height") > 170)),
        histogram("height", [130, 140, 220]),
    ],
)
def test_the_default_grid_changes_nothing(query: Query, norm: int) -> None:
    grids = [SCHEMA]
    for steps in (2**9 * 3**6, 2**21 - 1):
        columns = {"height": Real(120, 220, steps=steps), "sat": Real(400, 1600, steps=steps)}
        grids.append(Schema(records=1000, columns=columns))
    found = [float(column_sensitivity(query, query.columns, schema, norm)) for schema in grids]
    assert found[1:] == pytest.approx(found[:-1], rel=1e-9)
    unrounded = {"height": 100.0, "sat": 1200.0}
    if isinstance(query, type(total("height"))):
        assert found[0] == pytest.approx(1000 * unrounded["height"], rel=1e-9)


def test_rounding_of_the_answer_is_included() -> None:
    # 1e9 records: the sum is near 2^60, where doubles are 128 apart or more
    columns = {"x": Real(2.0**30, 2.0**30 + 1, steps=3)}
    schema = Schema(records=10**9, columns=columns)
    found = column_sensitivity(stack(total("x"), total("x")), {"x"}, schema)
    assert 2 * 10**9 + 2 * 128 <= found.upper <= 2 * 10**9 + 2 * 512
    assert found.lower <= 2 * 10**9
    # one output of which a small part moves: answers near 2^28 are 2^-24 apart
    schema = Schema(records=7, columns={"x": Real(0, 1), "y": Real(2.0**30, 2.0**30 + 1)})
    found = column_sensitivity(linear({"x": 1, "y": Fraction(1, 3)}), {"x"}, schema)
    assert 1 + 2.0**-24 <= found.upper <= 1 + 2.0**-23
    assert found.lower <= 1


def test_weights_far_apart_do_not_underflow() -> None:
    schema = Schema(records=10, columns={"x": Real(0, 1), "y": Real(0, 1)})
    query = linear({"x": 1e-300, "y": 1e300})
    tiny = column_sensitivity(query, {"x"}, schema)
    assert tiny.upper >= 1e-300
    assert tiny.kind == "certified"  # the answer itself is rounded by far more
    assert column_sensitivity(stack(linear({"x": 1e-300}), linear({"x": 2e-300})), {"x"}, schema).kind == "exact"
    assert float(column_sensitivity(query, {"y"}, schema)) == pytest.approx(1e300, rel=1e-9)
    # a count that is never above 0 hides nothing behind its weight
    for weight in (1e-310, Fraction(1, 3 * 10**400), Fraction(1, 2**2000)):
        hidden = stack(linear({"x": weight}), count(col("x") > 5))
        for norm in (1, 2):
            assert column_sensitivity(hidden, {"x"}, schema, norm).upper >= max(weight, 5e-324)
    wide = stack(linear({"x": 1, "y": 1e300}), linear({"x": 2}))
    for norm in (1, 2):
        assert column_sensitivity(wide, {"x", "y"}, schema, norm).upper == pytest.approx(1e300, rel=1e-9)
    with pytest.raises(QueryError, match="fit into a double"):
        column_sensitivity(linear({"x": 1e308, "y": 1e308}), {"y"}, schema)


@pytest.mark.parametrize("norm", [1, 2])
def test_grids_finer_than_doubles_are_certified(norm: int) -> None:
    schema = Schema(records=1, columns={"x": Real(2.0**40, 2.0**40 + 1)})
    found = column_sensitivity(moments(["x"]), {"x"}, schema, norm)
    assert found.kind == "certified"
    # the answer itself, near 2^80, is rounded to a multiple of 2^28
    assert found.lower <= 2.0**41 <= found.upper <= 2.0**41 + 2.0**29


def test_a_long_change_is_bounded_when_pairs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        size, outputs = (int(number) for number in rng.integers(1, [12, 5]))
        cloud = rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0], (size, int(rng.integers(1, 4)), outputs))
        cloud = cloud if rng.random() < 0.5 else np.abs(cloud)
        box = rng.choice([0.0, 0.0, 1.5], outputs)
        for norm in (1, 2):
            changes = np.abs(cloud[:, None] - cloud[None]) + box
            truth = np.linalg.norm(changes, norm, axis=-1).max()
            assert diameters.farthest(cloud, box, norm).lower == pytest.approx(truth, rel=1e-12)
            with monkeypatch.context() as patch:
                patch.setattr(diameters, "MOST_PAIRED", 0)
                found = diameters.farthest(cloud, box, norm)
            assert found.lower <= truth * (1 + 1e-12)
            assert truth <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_very_many_bins_stay_close(norm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_TABLE_NUMBERS", 20_000)
    bins = histogram("height", [120 + share / 2 for share in range(201)])
    found = column_sensitivity(bins, {"height"}, SCHEMA, norm)
    truth = 1000 * (2 if norm == 1 else math.sqrt(2))
    assert found.lower <= truth <= found.upper <= truth * (1 + 1e-9)


@pytest.mark.parametrize("norm", [1, 2])
def test_very_many_columns_stay_certified(norm: int) -> None:
    columns: dict[str, Column] = {f"c{place}": Integer(0, 9) for place in range(30)}
    schema = Schema(records=10, columns=columns)
    wide = count(And(tuple(col(name) > 3 for name in columns)))
    found = column_sensitivity(wide, {"c1"}, schema, norm)
    assert (found.upper, found.kind) == (10.0, "certified")
    assert answer_range(wide, schema)[1].tolist() == [10.0]
    assert float(column_sensitivity(linear(dict.fromkeys(columns, 0.5)), set(columns), schema, norm)) == 135.0


@pytest.mark.parametrize(
    "limit",
    [
        (records, "MOST_TABLE_NUMBERS", 30),
        (records, "MOST_TABLE_NUMBERS", 1),
        (records, "MOST_SIGNED_OUTPUTS", 1),
        (diameters, "MOST_SIGNED_NUMBERS", 1),
        (diameters, "MOST_PAIRED", 1),
        (diameters, "MOST_CHANGES", 1),
        (clusters, "MOST_CUBICS", 1),
    ],
    ids=lambda limit: "-".join([limit[0].__name__, *map(str, limit[1:])]),
)
def test_past_every_limit_bounds_hold(limit: tuple[ModuleType, str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(records=3, columns={"x": Real(-1, 3, steps=9), "y": Integer(-1, 1), "z": Integer(0, 2)})
    asked = [
        "stack(moments(x), linear(x: 1, y: 1), linear(x: -1, z: 1))",
        "stack(moments(x, y), linear(x: 1, y: -1), count(x > 1.3 & y > 0))",
        "stack(linear(x: 1, y: 1, z: -2), linear(x: 1, y: -3, z: 1), linear(x: -1, z: 2))",
        "stack(histogram(x, [-1, 0, 1, 2, 3]), histogram(y, [-1, 0, 1]), linear(x: 2, y: 1))",
        "stack(count(x > 0 & y > 0), count(x <= 2 | z == 1), proportion(y == 1), mean(z))",
        "stack(histogram(z, [0, 1, 2]), count(z > 0), count(z > 1 & y > 0), total(z))",
        "stack(count(x > 0 & y > 0), linear(x: 1, z: 4), count(y > 0))",
    ]
    queries = [parse_query(text) for text in asked]
    truths = [(query, Oracle(query, schema)) for query in queries]
    monkeypatch.setattr(*limit)
    for query, oracle in truths:
        for moving in subsets(["x", "y", "z"]):
            for norm in (1, 2):
                check(column_sensitivity(query, moving, schema, norm), oracle.sensitivity(moving, norm))
        lower, upper = answer_range(query, schema)
        least, most = oracle.ends()
        assert np.all(lower <= np.array(least) + 1e-12)
        assert np.all(upper >= np.array(most) - 1e-12)


@pytest.mark.parametrize("weight", [1, -1])
def test_stacks_of_histograms_and_sums(weight: int) -> None:
    heights = histogram("height", [120 + share for share in range(101)])
    sats = histogram("sat", [400 + 12 * share for share in range(101)])
    found = column_sensitivity(stack(heights, sats, linear({"height": 1, "sat": weight})), {"height", "sat"}, SCHEMA)
    assert found.kind == "exact"
    assert float(found) == pytest.approx(4000 + 1300, rel=1e-9)


def quickest(queries: Iterable[Query], moving: set[str]) -> float:
    """Return the least time that one of several questions takes; each is asked once, since what is found is kept."""
    times: list[float] = []
    for query in queries:
        start = time.process_time()
        column_sensitivity(query, moving, SCHEMA)
        times.append(time.process_time() - start)
    return min(times)


def test_fast_enough_for_a_search() -> None:
    # 20 ms and 1 ms; what grew with the square of the cells would take seconds
    histograms = [histogram("height", [120 + shift / 8 + share for share in range(101)]) for shift in range(5)]
    assert quickest(histograms, {"height"}) < 0.2
    tall = [(col("height") > 170 + shift) & (col("sat") >= 1200) & (col("age") < 30) for shift in range(5)]
    assert quickest(map(count, tall), {"height", "age"}) < 0.05


# ---------------------------------------------------------------------------------------------------------------------
# Refusals and custom queries.


def test_refusals() -> None:
    with pytest.raises(SchemaError, match="columns must be among"):
        column_sensitivity(mean("height"), {"heigth"}, SCHEMA)
    with pytest.raises(SchemaError, match="a column must be one of"):
        column_sensitivity(mean("income"), {"height"}, SCHEMA)
    with pytest.raises(QueryError, match="must hold numbers"):
        column_sensitivity(mean("gender"), {"gender"}, SCHEMA)
    for norm in (0, 3, True, math.inf, "1", math.nan):
        with pytest.raises(ParameterError, match="norm must be 1 or 2"):
            column_sensitivity(mean("height"), {"height"}, SCHEMA, norm)  # pyright: ignore[reportArgumentType]


def test_custom() -> None:
    def f(table: object) -> float:
        return 0.0

    whole = custom(f, columns=["height", "sat"], sensitivity=3, dimension=2, span=(0, 5))
    assert column_sensitivity(whole, {"age"}, SCHEMA) == Bound(0, 0, "exact")
    assert column_sensitivity(whole, {"sat"}, SCHEMA) == Bound(0, 3, "certified")
    assert [ends.tolist() for ends in answer_range(whole, SCHEMA)] == [[0.0, 0.0], [5.0, 5.0]]
    each = custom(f, columns=["height", "sat"], sensitivity={"height": 0.1, "sat": 0.2})
    assert column_sensitivity(each, {"sat"}, SCHEMA) == Bound(0, 0.2, "certified")
    both = column_sensitivity(each, {"sat", "height", "age"}, SCHEMA, norm=2)
    assert Fraction(0.1) + Fraction(0.2) <= Fraction(both.upper) <= Fraction(3, 10) * (1 + Fraction(1, 10**12))
    assert [ends.tolist() for ends in answer_range(each, SCHEMA)] == [[-math.inf], [math.inf]]
    with pytest.raises(SchemaError, match="the columns of a query"):
        column_sensitivity(custom(f, columns=["income"], sensitivity=1), {"sat"}, SCHEMA)
