"""Crosstabs and counts by groups: their cells, their sensitivities, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

import bnpriv as bp
from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.queries import builtin as crossed, predicates as bins
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError, SchemaError, SizeError
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

pd = Later("pandas")

SCHEMA = Schema(
    records=6,
    columns={
        "sex": Categorical(["f", "m"]),
        "ward": Categorical([1, 2, 3]),
        "age": Integer(0, 120),
        "height": Real(120, 220),
    },
)
ROWS = {
    "sex": ["f", "f", "m", "m", None, "m"],
    "ward": [1, 2, 3, 1, 1, 9],
    "age": [17.0, 44.6, 45.0, 90.0, 91.0, 3.0],
    "height": [150.0, 181.0, 190.0, None, 179.0, 200.0],
}


def test_cells_stand_in_order_with_readable_names() -> None:
    query = bp.crosstab("sex", "age", bins={"age": [17, 45, 90]})
    assert normal_form(query, SCHEMA).labels == (
        'sex == "f", age [17, 45)',
        'sex == "f", age [45, 90]',
        'sex == "m", age [17, 45)',
        'sex == "m", age [45, 90]',
    )
    # 44.6 rounds to 45; a missing sex counts as f; 91 and 3 lie outside the edges
    assert evaluate(query, SCHEMA, pd.DataFrame(ROWS)).values == (1, 1, 0, 2)


def test_a_few_whole_numbers_count_one_by_one() -> None:
    schema = Schema(records=4, columns={"vote": Integer(0, 1), "party": Integer(-5, 6), "age": Integer(0, 12)})
    table = pd.DataFrame({"vote": [0.0, 1, None, 7], "party": [-5, 6, 0, 0], "age": [1, 2, 3, 4]})
    query = bp.crosstab("vote", "party")
    form = normal_form(query, schema)
    assert form.labels[11:13] == ("vote == 0, party == 6", "vote == 1, party == -5")
    answer = dict(zip(form.labels, evaluate(query, schema, table).values, strict=True))
    # a missing vote counts as 0, and 7 as 1
    counted = ("vote == 0, party == -5", "vote == 1, party == 6", "vote == 0, party == 0", "vote == 1, party == 0")
    assert [answer.pop(label) for label in counted] == [1, 1, 1, 1]
    assert not any(answer.values())
    assert evaluate(bp.count(bp.col("age") > 1).by("vote"), schema, table).values == (1, 2)
    assert evaluate(bp.histogram("vote"), schema, table).values == (2, 2)
    for question in (bp.crosstab("vote", "age"), bp.median("party")):
        with pytest.raises(QueryError, match="needs two or more edges"):
            normal_form(question, schema)


def test_counts_by_groups() -> None:
    query = bp.count(bp.col("height") > 180).by("ward")
    assert str(query) == "count(height > 180) by ward"
    assert normal_form(query, SCHEMA).labels[1] == "count(height > 180) for ward == 2"
    # ward 9 was not declared and counts as 1
    assert evaluate(query, SCHEMA, pd.DataFrame(ROWS)).values == (1, 1, 1)
    both = bp.count(bp.col("height") > 150).by("sex", "age", bins={"age": [0, 45, 120]})
    assert evaluate(both, SCHEMA, pd.DataFrame(ROWS)).values == (0, 2, 1, 2)


def test_cells_of_all_groups_add_up_to_the_records() -> None:
    query = bp.crosstab("ward", "sex", "age", bins={"age": [0, 30, 60, 120]})
    values = evaluate(query, SCHEMA, pd.DataFrame(ROWS)).values
    assert len(values) == 18
    assert sum(values) == 6


def test_chosen_categories_are_the_cells() -> None:
    query = bp.parse_query('crosstab(sex ["m"], ward [3, 1])')
    assert normal_form(query, SCHEMA).labels == ('sex == "m", ward == 3', 'sex == "m", ward == 1')
    assert query.columns == {"sex", "ward"}


@pytest.mark.parametrize(
    ("text", "moving", "one", "two"),
    [
        ("crosstab(sex, ward)", {"sex"}, 12, 6 * math.sqrt(2)),
        ("crosstab(sex, ward)", {"sex", "ward"}, 12, 6 * math.sqrt(2)),
        ("crosstab(sex, ward)", {"age"}, 0, 0),
        ('crosstab(sex ["m"], ward)', {"sex"}, 6, 6),
        ("crosstab(sex, age [0, 60, 120])", {"age"}, 12, 6 * math.sqrt(2)),
        ("count(height > 180) by ward", {"height"}, 6, 6),
        ("count(height > 180) by ward", {"ward"}, 12, 6 * math.sqrt(2)),
    ],
)
def test_sensitivity_is_that_of_two_records(text: str, moving: set[str], one: float, two: float) -> None:
    query = bp.parse_query(text)
    for norm, truth in ((1, one), (2, two)):
        found = column_sensitivity(query, moving, SCHEMA, norm)
        assert found.kind == "exact"
        assert float(found) == pytest.approx(truth, rel=1e-9)
        assert found.upper >= truth


def test_second_names_in_texts_are_read_and_not_printed() -> None:
    assert str(bp.parse_query("share(a > 1)")) == "proportion(a > 1)"
    assert bp.parse_query("share(a > 1)") == bp.proportion(bp.col("a") > 1)
    assert bp.parse_query("sum(a)") == bp.total("a")


def test_groups_in_a_stack_end_where_the_next_question_begins() -> None:
    query = bp.parse_query("stack(count(a > 1) by b, mean [1, 2], mean(c), count(a > 2) by d)")
    assert [str(part) for part in query.parts] == ["count(a > 1) by b, mean [1, 2]", "mean(c)", "count(a > 2) by d"]
    assert bp.parse_query(str(query)) == query


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: bp.crosstab("sex"), "Ask for the histogram of one column: histogram(sex)."),
    (lambda: bp.crosstab(), "Name the columns."),
    (lambda: bp.crosstab("sex", "sex"), "List each column once."),
    (lambda: bp.crosstab("sex", "age", bins=[1, 2]), "Pass bins={"),
    (lambda: bp.crosstab("sex", "age", bins={"height": [1, 2]}), "height"),
    (lambda: bp.crosstab("sex", "age", bins={"age": 10}), "a number of bins would have to be read off the data"),
    (lambda: bp.crosstab("sex", "age", bins={"age": [2.5, 1]}), "Sort the edges."),
    (lambda: bp.count(bp.col("a") > 1).by(), "Name the columns."),
    (lambda: bp.proportion(bp.col("a") > 1).by("ward"), "noise may bring to 0. Ask both counts"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refusals(place: int) -> None:
    make, words = REFUSED[place]
    with pytest.raises(QueryError) as refused:
        make()
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        (bp.crosstab("sex", "age"), QueryError, "a crosstab of 'age', which holds numbers, needs two or more edges"),
        (bp.crosstab("sex", "age", bins={"age": [3]}), QueryError, "needs two or more edges"),
        (bp.crosstab("sex", "weight"), SchemaError, "weight"),
        (bp.count(bp.col("sex") == "f").by("height"), QueryError, "List the edges of the bins from public knowledge"),
        (bp.crosstab("sex", "ward", bins={"ward": [7]}), QueryError, "7"),
    ],
)
def test_refusals_once_the_schema_is_known(query: Query, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as refused:
        normal_form(query, SCHEMA)
    assert words in str(refused.value)


def test_too_many_cells_are_refused_before_any_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed, "product", lambda *_: pytest.fail("cells were made"))
    names = [f"c{k}" for k in range(12)]
    schema = Schema(records=6, columns=dict.fromkeys(names, Categorical(list(range(10)))))
    with pytest.raises(SizeError, match=r"at most 1,000 cells; found 1,000,000,000,000: 10 of c0"):
        normal_form(bp.crosstab(*names), schema)


def test_a_thousand_cells_are_the_most() -> None:
    columns = {"a": Categorical(list(range(25))), "b": Categorical(list(range(40))), "c": Categorical(list(range(41)))}
    schema = Schema(records=6, columns=columns)
    assert len(normal_form(bp.crosstab("a", "b"), schema).labels) == 1000
    for query in (bp.crosstab("a", "c"), bp.count(bp.col("a") == 1).by("a", "c")):
        with pytest.raises(SizeError, match="found 1,025: 25 of a, 41 of c"):
            normal_form(query, schema)


@pytest.mark.parametrize(
    ("categories", "constant"), [([True, False], 1), ([1, 2], True), ([True, False], 0.0), ([1, 2], 1.0), (["1"], 1)]
)
def test_a_category_is_compared_with_one_of_its_own_type(categories: list[bool | int | str], constant: float) -> None:
    """Python takes True for 1: what is counted must not hang on that."""
    schema = Schema(records=6, columns={"x": Categorical(categories), "y": Categorical(["a"])})
    for query in (bp.count(bp.col("x") == constant), bp.count(bp.col("x").isin([categories[0], constant]))):
        with pytest.raises(QueryError, match="is compared with its categories"):
            normal_form(query, schema)


def test_edges_of_a_bin_belong_to_one_cell() -> None:
    """A value on an edge is counted once, the last edge too; a bin that held both its edges would be found here."""
    column = Integer(0, 10)
    cells = bins.bins_of("x", column, (0, 3, 7, 10), "a histogram")
    schema = Schema(records=11, columns={"x": column, "y": Categorical(["a"])})
    values = evaluate(
        bp.crosstab("x", "y", bins={"x": [0, 3, 7, 10]}), schema, pd.DataFrame({"x": range(11), "y": "a"})
    )
    assert [len(list(group)) for _, group in itertools.groupby([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])] == list(
        values.values
    )
    assert [cell.label for cell in cells] == ["x [0, 3)", "x [3, 7)", "x [7, 10]"]


def test_a_binned_column_has_all_its_own_bins() -> None:
    schema = Schema(records=4, columns={"x": Binned([0, 2, 5, 9]), "y": Categorical(["a"])})
    data = pd.DataFrame({"x": [0.0, 2.0, 5.0, 9.0], "y": "a"})
    for query in (bp.crosstab("x", "y"), bp.histogram("x"), bp.median("x"), bp.count(bp.col("y") == "a").by("x")):
        assert evaluate(query, schema, data).values == (1, 1, 2)
