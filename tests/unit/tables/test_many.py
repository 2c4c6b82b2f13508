"""Several queries in one scan of the data, each with its own guarantee, which must be said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import pytest

import bnpriv as bp
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.queries.asked import count, histogram, mean, moments, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import col
from bnpriv.core.release import release_many
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, ParameterError, QueryError, RefusedError
from bnpriv.kinds.public_records import public_records_of
from bnpriv.tables.evaluate import evaluate, evaluate_many
from tests.later import Later

pl = Later("polars")

ROWS = 60
SCHEMA = Schema(
    records=ROWS,
    columns={"x": Real(-1, 1), "k": Integer(0, 9), "g": Categorical([f"g{k}" for k in range(40)], missing="g3")},
)
QUERIES = [
    stack(mean("x"), count(col("x") > 0.1)),
    histogram("g"),
    histogram("x", [edge / 50 - 1 for edge in range(101)]),
    moments(["x", "k"]),
    custom(lambda table: table["x"].max() * (table["k"] > 3).sum(), columns=["k", "x"], sensitivity=200),
    total("k"),
    custom(lambda table: table.pop("k").sum(), columns=["k"], sensitivity=1000),
    custom(lambda table: table["k"].sum() + len(table.columns), columns=["k"], sensitivity=1000),
]


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "x": [None if k % 7 == 0 else (k * 0.137) % 3 - 1.5 for k in range(ROWS)],
            "k": [k % 13 for k in range(ROWS)],
            "g": [f"g{k * k % 43}" for k in range(ROWS)],
        }
    )


class Silent:
    """A sampler without noise."""

    def laplace(self, value: float, scale: float) -> float:
        return value


class Untouched:
    """A table that must not be read."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError("the data were touched")


def calibrated() -> list[Calibration]:
    framework = bp.example("student")
    queries = [count(col("height") > 180), mean("height"), histogram("height", [120, 150, 180, 220])]
    return [ColumnMechanism().calibrate(framework, query, epsilon=1.0) for query in queries]


def test_many_queries_have_the_answers_of_each() -> None:
    found = evaluate_many(QUERIES, SCHEMA, table())
    assert found == tuple(evaluate(query, SCHEMA, table()) for query in QUERIES)
    assert evaluate_many([], SCHEMA, table()) == ()


def test_many_queries_take_one_scan_and_one_more_for_custom_ones() -> None:
    scans: list[int] = []
    lazy = table().lazy().map_batches(lambda frame: scans.append(1) or frame, streamable=False)
    evaluate_many([query for query in QUERIES if "custom" not in str(query)], SCHEMA, lazy)
    assert len(scans) == 1
    evaluate_many(QUERIES, SCHEMA, lazy)
    assert len(scans) == 3


@pytest.mark.parametrize("queries", [QUERIES[4:5], QUERIES[5:7], QUERIES])
@pytest.mark.parametrize("rows", [ROWS - 1, ROWS + 1])
def test_row_13_a_wrong_number_of_rows_is_refused_for_any_mixture(queries: list[Query], rows: int) -> None:
    data = pl.concat([table(), table()]).head(rows)
    with pytest.raises(DataError, match="is not the declared n"):
        evaluate_many(queries, SCHEMA, data)


def test_row_16_categories_of_every_query_are_checked() -> None:
    schema = Schema(records=ROWS, columns={**SCHEMA.columns, "z": Categorical([2**53 + 1, 2**53])})
    with pytest.raises(QueryError, match=r"2\^53"):
        evaluate_many([mean("x"), count(col("z") == 2**53)], schema, Untouched())


def test_row_16_squares_beyond_2_to_the_53_are_exact_beside_other_sums() -> None:
    steps = 2**28
    schema = Schema(records=4, columns={"x": Real(0, 1, steps=steps), "k": Integer(0, 9)})
    held = [steps - 1, steps - 3, 12345677, 1]
    data = pl.DataFrame({"x": [step / steps for step in held], "k": [1, 2, 3, 4]})
    for each in (data, data.lazy(), data.to_pandas(), data.to_arrow()):
        squares, whole = evaluate_many([moments(["x"]), total("k")], schema, each)
        expected = Fraction(sum(held), 4 * steps), Fraction(sum(step**2 for step in held), 4 * steps**2)
        assert squares.values == expected
        assert whole.values == (10,)


def test_releases_are_those_of_each_and_say_that_they_are_several() -> None:
    calibrations, data = calibrated(), bp.example_data("student")
    alone = [bp.release(calibration, data, sampler=Silent()) for calibration in calibrations]
    many = release_many(calibrations, data, separate_guarantees=True, sampler=Silent())
    assert [each.values for each in many] == [each.values for each in alone]
    assert [each.calibration for each in many] == calibrations
    for one, each in zip(alone, many, strict=True):
        assert "do not add up" in str(each.document)
        assert "2 other answers" in each.to_markdown()
        assert "do not add up" not in one.to_markdown()
        assert json.loads(each.to_json())["released_with"] == 2
        assert "released_with" not in one.to_dict()
    (only,) = release_many(calibrations[:1], data, sampler=Silent())
    assert only == alone[0]


def test_row_26_one_calibration_released_twice_is_two_answers() -> None:
    first = calibrated()[0]
    with pytest.raises(RefusedError, match="do not add up"):
        release_many([first, first], Untouched())
    twice = release_many([first, first], bp.example_data("student"), separate_guarantees=True)
    for each in twice:
        for shown in (each, each.clamped(), each.rounded()):
            assert "another answer" in shown.to_markdown()
            assert "do not add up" in shown.to_markdown()
            assert shown.to_dict()["released_with"] == 1


def test_row_26_guarantees_are_not_added_silently() -> None:
    with pytest.raises(RefusedError, match="do not add up") as refused:
        release_many(calibrated(), Untouched())
    assert "stack" in str(refused.value)
    with pytest.raises(ParameterError):
        release_many(calibrated(), Untouched(), separate_guarantees=1)  # pyright: ignore[reportArgumentType]


def test_one_and_several_calibrations_are_not_mixed_up() -> None:
    first, second = calibrated()[:2]
    with pytest.raises(ParameterError, match=r"found a Calibration. Write release\("):
        release_many(first, Untouched())  # pyright: ignore[reportArgumentType]
    with pytest.raises(DataError, match=r"found a list. Calibrate stack\(.* see bnpriv.release.release_many"):
        bp.release([first, second], Untouched())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("calibrations", "error"),
    [
        ([], ParameterError),
        ([3], DataError),
    ],
)
def test_what_is_no_calibration_is_refused(calibrations: Sequence[Calibration], error: type[Exception]) -> None:
    with pytest.raises(error):
        release_many(calibrations, Untouched(), separate_guarantees=True)


def test_row_40_one_changed_calibration_stops_all() -> None:
    first, *others = calibrated()
    changed = replace(first, query=count(col("height") > 150))
    with pytest.raises(RefusedError, match="what its mechanism returned"):
        release_many([*others, changed], Untouched(), separate_guarantees=True)


def test_schemas_must_be_one() -> None:
    framework = bp.example("student")
    columns = {**framework.schema.columns, "height": Real(100, 220)}
    other = replace(framework, schema=Schema(records=framework.schema.records, columns=columns))
    strange = ColumnMechanism().calibrate(other, count(col("height") > 180), epsilon=1.0)
    with pytest.raises(QueryError, match="one schema"):
        release_many([*calibrated(), strange], Untouched(), separate_guarantees=True)


def test_categories_of_truth_values_are_no_numbers() -> None:
    """They are equal in Python; but the text yes counts as True, and not as 1."""
    framework = bp.example("student")
    calibrations = []
    for categories in ([0, 1], [False, True]):
        columns = {**framework.schema.columns, "member": Categorical(categories)}
        changed = replace(framework, schema=Schema(records=framework.schema.records, columns=columns))
        calibrations.append(ColumnMechanism().calibrate(changed, count(col("height") > 180), epsilon=1.0))
    assert calibrations[0].framework.schema == calibrations[1].framework.schema
    with pytest.raises(QueryError, match="one schema"):
        release_many(calibrations, Untouched(), separate_guarantees=True)


def test_the_order_of_columns_makes_no_other_schema() -> None:
    first = calibrated()[0]
    framework = first.framework
    columns = dict(reversed(framework.schema.columns.items()))
    turned = replace(framework, schema=Schema(records=framework.schema.records, columns=columns))
    last = ColumnMechanism().calibrate(turned, count(col("height") > 180), epsilon=1.0)
    assert len(release_many([first, last], bp.example_data("student"), separate_guarantees=True)) == 2


def test_row_27_no_model_of_any_framework_is_learned_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrated()[0]
    other = replace(first.framework, source="another one")
    second = ColumnMechanism().calibrate(other, count(col("height") > 150), epsilon=1.0)
    compared: list[object] = []
    public = import_module("bnpriv.ledger.charged")
    monkeypatch.setattr(public, "refuse_learned", lambda framework, *_: compared.append(framework))
    release_many([first, second], bp.example_data("student"), separate_guarantees=True)
    assert compared == [first.framework, other]


def test_every_noise_is_asked_of_the_sampler_before_data_are_touched() -> None:
    first = calibrated()[0]
    gaussian = ColumnMechanism(noise="gaussian").calibrate(first.framework, mean("height"), epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="gaussian"):
        release_many([first, gaussian], Untouched(), separate_guarantees=True, sampler=Silent())


def test_each_release_says_what_its_own_columns_count_as() -> None:
    framework = bp.example("student")
    calibrations = [ColumnMechanism().calibrate(framework, mean(name), epsilon=1.0) for name in ("height", "sat")]
    for each, name in zip(
        release_many(calibrations, bp.example_data("student"), separate_guarantees=True), ("height", "sat"), strict=True
    ):
        assert name in each.missing_rule
        assert each.missing_rule == bp.release(each.calibration, bp.example_data("student")).missing_rule


def test_one_failure_releases_nothing_and_draws_no_noise() -> None:
    framework, drawn = bp.example("student"), []

    class Counting(Silent):
        def laplace(self, value: float, scale: float) -> float:
            drawn.append(scale)
            return value

    fails = custom(
        lambda t: 1.0 if not 181.4 < t["height"].mean() < 181.6 else 1 / 0, columns=["height"], sensitivity=1
    )
    bad = ColumnMechanism().calibrate(framework, fails, epsilon=1.0)
    data = pl.DataFrame({"height": [181.5] * framework.schema.records, "sat": [900.0] * framework.schema.records})
    with pytest.raises(DataError, match="withheld"):
        release_many([*calibrated(), bad], data, separate_guarantees=True, sampler=Counting())
    assert drawn == []


def test_the_public_records_of_a_model_are_not_released() -> None:
    """In any order, by what their values count as: bounds, gaps and strange labels do not hide them."""
    pandas = pytest.importorskip("pandas")
    rows = {"age": [None, 20.0, 130.0, 50.0], "ill": ["no", "yes", "who knows", "no"]}
    columns = {"age": bp.Real(0, 100), "ill": bp.Categorical(["no", "yes"])}
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "age": [0.5, 0.5]},
        states={"ill": ["no", "yes"], "age": [20.0, 50.0]},
        level="records",
    )
    schema = bp.Schema(records=4, columns=columns)
    framework = bp.DatasetAttributePrivacy(
        network,
        schema,
        {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"))},
        source="x",
        public_records=public_records_of(rows, columns, draws=1),
    )
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("age") > 30), epsilon=1.0)
    table = pandas.DataFrame(rows)
    for same in (table, table.sample(frac=1, random_state=3), table.assign(age=[50, 20, 100, 50])):
        with pytest.raises(bp.errors.DataError, match="must not be the one that the models were learned from"):
            bp.release(calibration, same)
    for other in (table.assign(age=[51, 20, 100, 50]), table.assign(ill=["yes", "no", "no", "no"])):
        assert bp.release(calibration, other).value is not None
