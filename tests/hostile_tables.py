"""A table of hostile values in columns of many types, and what they count as, by plain Python.

The oracle reads values one by one and shares nothing with the code but the declared columns.
"""

from __future__ import annotations

import datetime
import functools
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, moments, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Column, Schema
from tests.later import Later

pa = Later("pyarrow")

INF, NAN = math.inf, math.nan
DECLARED: dict[str, Column] = {
    "real": Real(-1.5, 8.25, steps=1_000_003, missing=0.1),
    "integer": Integer(-2, 7, missing=3),
    "number": Categorical([0, 1, 3], missing=3),
    "truth": Categorical([False, True], missing=True),
    # what is wrongly taken for true would be hidden by a missing value that counts as true
    "truth or false": Categorical([False, True], missing=False),
    "text": Categorical(["a", "", "1", "-7", "no", "nan"], missing="1"),
    "coarse": Categorical(["x", "3", "nan"], coarsen={"x": ["a", 1, "é "], "3": ["-7", " 3 ", "7"]}, missing="nan"),
    "blanks": Categorical(["3", " 3 ", "a"], coarsen={"a": ["no\t", "1e0", "é"]}, missing="a"),
    "binned": Binned([-1.5, 0.1, 3, 8.25], missing=0.1, steps=1_000_003),
    "whole bins": Binned([-2, 0, 7], within="whole numbers", missing=3),
}
FLOATS = [0.0, -0.0, 1.0, NAN, None, 3.0, INF, -INF, 8.25, -1.5, 0.1, 0.3, 1e300, 5e-324, 0.49999999999999994, 2.5, 7.0]
WHOLE = [0, 1, 3, None, -7, 2**53 + 1, 2**62 + 1, -(2**63), 5, 6, 2, 1, 0, None, 3, 8, -1]
WORDS = ["a", "", None, "1", " 3 ", "1e0", "yes", "FALSE", "nan", "inf", "1_0", "0.1", "1\n", "x" * 99, "-7", "é", "٣"]
HELD = ("double", "single", "all nan", "whole", "byte", "truths", "texts", "decimals", "nothing", "moments")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


@functools.cache
def columns() -> dict[str, pa.Array]:
    return {
        "double": pa.array(FLOATS, pa.float64(), from_pandas=False),
        "single": pa.array(FLOATS, pa.float32(), from_pandas=False),
        "all nan": pa.array([NAN] * 17, pa.float64(), from_pandas=False),
        "whole": pa.array(
            [0, 1, 3, None, -7, 2**53 + 1, 2**62 + 1, -(2**63), 5, 6, 2, 1, 0, None, 3, 8, -1], pa.int64()
        ),
        "byte": pa.array([0, 1, 3, 250, 7, 0, 1, 3, 250, 7, 0, 1, 3, 250, 7, 2, 9], pa.uint8()),
        "truths": pa.array([True, None, False, True, True, None] * 2 + [False] * 5, pa.bool_()),
        "texts": pa.array(
            [
                "a",
                "",
                None,
                "1",
                " 3 ",
                "1e0",
                "yes",
                "FALSE",
                "nan",
                "inf",
                "1_0",
                "0.1",
                "1\n",
                "x" * 99,
                "-7",
                "é",
                "٣",
            ]
        ),
        "decimals": pa.array(
            [
                None if v is None else Decimal(v)
                for v in ["0.3", "0.1", "1", None, "0", "-7", "9e15", "8.25", "3"] + ["2.5"] * 8
            ],
            pa.decimal128(30, 9),
        ),
        "nothing": pa.nulls(17),
        "moments": pa.array(
            [datetime.datetime(2020, 1, 1), None] + [datetime.datetime(1999, 9, 9)] * 15, pa.timestamp("us")
        ),
    }


def as_number(value: object) -> float | None:
    if isinstance(value, str):
        value = value.strip(" ")
        if value.lower() in ("true", "false"):
            return float(value.lower() == "true")
        return float(value) if NUMBER.fullmatch(value) else None
    if not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, int) and abs(value) > 2**1023:
        return INF if value > 0 else -INF
    return None if math.isnan(value) else float(value)


def as_truth(value: object) -> bool | None:
    if isinstance(value, str) and value.strip(" ").lower() in ("true", "t", "yes", "y", "false", "f", "no", "n"):
        return value.strip(" ").lower()[0] in "ty"
    return {0: False, 1: True}.get(as_number(value))


def as_text(value: str, labels: Sequence[str]) -> str:
    return value if value in labels else value.strip(" \t")


def as_coarse(value: object, meant: dict[str, str]) -> str | None:
    """The category of all labels that write a number or a truth value."""
    read = as_truth if isinstance(value, bool) else as_number
    number = read(value)
    same = {category for label, category in meant.items() if number is not None and read(label) == number}
    return same.pop() if len(same) == 1 else None


def counted(column: Column, value: object) -> object:
    """What a value counts as."""
    if isinstance(column, Categorical):
        kind = type(column.categories[0])
        if kind is str:
            meant = {raw: category for category, listed in column.coarsen.items() for raw in listed}
            meant |= {category: category for category in column.categories}
            read = as_text(value, list(meant)) if isinstance(value, str) else as_coarse(value, meant)
            found: object = meant.get(read)
        else:
            found = as_truth(value) if kind is bool else as_number(value)
        known = [category for category in column.categories if found is not None and found == category]
        return known[0] if known else column.missing
    number = as_number(value)
    inside = min(max(float(column.missing) if number is None else number, column.lower), column.upper)
    whole = isinstance(column, Integer) or (isinstance(column, Binned) and column.within == "whole numbers")
    return math.floor(inside + 0.5) if whole else inside


def oracle(column: Column, values: Sequence[object]) -> list[Fraction]:
    """The answers of `asked`, added up one by one."""
    seen = [counted(column, value) for value in values]
    if isinstance(column, Categorical):
        return [Fraction(seen.count(category)) for category in column.categories]
    points = [Fraction(column.lower) + column.grid * column.step(value) for value in seen]
    sizes = [sum(points), sum(points) / len(points), sum(p * p for p in points) / len(points)]
    above = [sum(value > 0.1 for value in seen), sum(value <= column.upper for value in seen)]
    return [*map(Fraction, sizes), *map(Fraction, above)]


def asked(name: str, column: Column) -> Query:
    if isinstance(column, Categorical):
        return histogram(name)
    # the last condition holds for all: nothing may show how many values were missing
    return stack(total(name), moments([name]), count(col(name) > 0.1), count(col(name) <= column.upper))


CASES = [(kind, held) for kind in DECLARED for held in HELD]
QUERY = stack(*(asked(f"{held} as {kind}", DECLARED[kind]) for kind, held in CASES))
SCHEMA = Schema(records=17, columns={f"{held} as {kind}": DECLARED[kind] for kind, held in CASES})


@functools.cache
def table() -> pa.Table:
    return pa.table({f"{held} as {kind}": columns()[held] for kind, held in CASES})


@functools.cache
def expected_answers() -> tuple[Fraction, ...]:
    return tuple(answer for kind, held in CASES for answer in oracle(DECLARED[kind], columns()[held].to_pylist()))
