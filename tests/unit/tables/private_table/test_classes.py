"""The classes that a private table hides: they partition the records, and secrets are so many of them apart."""

from __future__ import annotations

import pytest

import bnpriv as bp
from bnpriv.errors import QueryError, SecretError
from bnpriv.tables.private_table.rule import MOST_CLASSES, chosen_rule, classes_of, hidden_by

SCHEMA = bp.Schema(
    records=200,
    columns={
        "ill": bp.Categorical(["no", "yes"]),
        "race": bp.Categorical(["a", "b", "c"]),
        "age": bp.Integer(0, 100),
    },
)


def secret(text: str, pairs: object = None) -> bp.Secret:
    """Return a secret with a distance of 5 if none is given."""
    return bp.Secret(text, pairs=bp.apart(at_most=5) if pairs is None else pairs)  # type: ignore[arg-type]


def test_a_count_has_two_classes() -> None:
    found = classes_of([secret('count(ill == "yes")')], SCHEMA)
    assert found.labels == ("ill = yes", "other records")
    assert found.columns == {"ill"}
    assert len(found) == 2
    assert found.moved == 5


@pytest.mark.parametrize(
    ("text", "pairs", "moved"),
    [
        ('proportion(ill == "yes")', bp.apart(at_most=0.05), 10),
        ('count(ill == "yes")', bp.apart(at_most=1000), 200),
        ('count(ill == "yes")', bp.pairs((40, 50), (60, 61)), 10),
        ('count(ill == "yes")', bp.intervals(((30, 40), (50, 60))), 30),
        ("histogram(race)", bp.apart(at_most=7.9), 7),
        ("histogram(race)", bp.apart(at_most=500), 200),
    ],
)
def test_how_many_records_lie_between_two_secrets(text: str, pairs: object, moved: int) -> None:
    assert classes_of([secret(text, pairs)], SCHEMA).moved == moved


def test_all_pairs_are_as_far_apart_as_there_are_records() -> None:
    assert classes_of([bp.Secret('count(ill == "yes")')], SCHEMA).moved == 200
    assert classes_of([bp.Secret("histogram(race)")], SCHEMA).moved == 200


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("histogram(race)", 3),
        ('histogram(race, ["a", "b"])', 3),
        ('histogram(race, ["a"])', 2),
        ("histogram(age, [0, 18, 100])", 2),
        ("histogram(age, [1, 18, 100])", 3),
        ("crosstab(ill, race)", 6),
        ("crosstab(ill, age [0, 50, 99])", 5),
    ],
)
def test_classes_without_a_possible_record_are_left_out(text: str, classes: int) -> None:
    assert len(classes_of([secret(text)], SCHEMA)) == classes


def test_a_number_that_is_known_needs_no_hiding() -> None:
    for text in ("count(age >= 0)", "count(age > 100)", "histogram(age, [0, 100])"):
        with pytest.raises(SecretError, match="known beforehand"):
            classes_of([secret(text)], SCHEMA)


def test_several_columns_have_their_cells_as_classes() -> None:
    found = classes_of(
        [secret('count(ill == "yes")'), secret("histogram(age, [0, 18, 65])", bp.apart(at_most=9))], SCHEMA
    )
    assert found.labels[0] == "ill = yes and (age >= 0) & (age < 18)"
    assert len(found) == 6  # ages above 65 are other records, of either kind
    assert found.moved == 9
    assert [each.attribute for each in found.protected] == ["ill", "age"]
    assert "9 records in other cells" in str(found.protected[1])


@pytest.mark.parametrize("text", ["histogram(race)", "histogram(age, [0, 18, 65])", "crosstab(ill, age [0, 18, 65])"])
def test_every_record_is_in_one_class(text: str) -> None:
    import pandas as pd

    table = pd.DataFrame(
        [
            {"ill": i, "race": r, "age": a}
            for i in ("no", "yes", None)
            for r in ("a", "b", "zzz")
            for a in (1, 18, 65, 99)
        ]
    )
    schema = bp.Schema(records=len(table), columns=SCHEMA.columns)
    found = classes_of([secret(text)], schema)
    from bnpriv.tables.evaluate import evaluate_many

    answers = evaluate_many([bp.count(predicate) for predicate in found.predicates], schema, table)
    counts = [int(answer.values[0]) for answer in answers]
    assert sum(counts) == len(table)
    for first in range(len(found)):
        for second in range(first):
            both = bp.count(found.predicates[first] & found.predicates[second])
            assert evaluate_many([both], schema, table)[0].values[0] == 0


@pytest.mark.parametrize("text", ["mean(age)", "total(age)"])
def test_sums_are_refused_with_the_histogram_as_remedy(text: str) -> None:
    with pytest.raises((SecretError, QueryError)) as caught:
        classes_of([secret(text)], SCHEMA)
    assert "histogram" in str(caught.value) or "race" in str(caught.value)


def test_chosen_pairs_of_several_counts_are_refused() -> None:
    with pytest.raises(SecretError, match="other cells"):
        classes_of([secret("histogram(race)", bp.pairs((40, 50)))], SCHEMA)


def test_distances_below_one_record_are_refused() -> None:
    for text in ('count(ill == "yes")', "histogram(race)"):
        with pytest.raises(bp.BnprivError):
            classes_of([secret(text, bp.apart(at_most=0.5))], SCHEMA)


def test_too_many_classes_are_refused() -> None:
    with pytest.raises(SecretError, match=str(MOST_CLASSES)):
        classes_of(
            [secret("histogram(age, [" + ", ".join(map(str, range(101))) + "])"), secret("histogram(race)")], SCHEMA
        )


def test_as_many_categories_as_classes_are_allowed() -> None:
    columns = {"c": bp.Categorical([f"k{k}" for k in range(MOST_CLASSES)])}
    assert len(classes_of([secret("histogram(c)")], bp.Schema(records=10, columns=columns))) == MOST_CLASSES


def test_frameworks_without_cells_refuse_several_counts_at_once() -> None:
    network = bp.networks.GaussianNetwork(["x", "y"], mean=[0, 0], covariance=[[1, 0.5], [0.5, 1]], level="records")
    schema = bp.Schema(records=9, columns={"x": bp.Real(-9, 9), "y": bp.Real(-9, 9)})
    with pytest.raises(SecretError, match="private table"):
        bp.DatasetAttributePrivacy(network, schema, {"x": secret("histogram(x, [-9, 0, 9])")}, source="a test")


def test_a_difference_has_three_classes_and_needs_one_law() -> None:
    columns = {"race": bp.Categorical(["A", "B", "C"])}
    difference = secret('count(race == "A") - count(race == "B")')
    found = classes_of([difference], bp.Schema(records=1000, columns=columns))
    assert found.labels == ("race = A", "race = B", "other records")
    assert (found.moved, found.one_law) == (classes_of([secret("histogram(race)")], found.schema).moved, True)
    assert not classes_of([secret("histogram(race)")], found.schema).one_law
    # what both conditions hold of, and what neither does, adds nothing
    overlap = secret('count(race in ["A", "B"]) - count(race in ["B", "C"])')
    assert classes_of([overlap], found.schema).labels[2] == "other records"
    rule = chosen_rule(hidden_by(difference, found.schema, None, None), "trim", 1.0, 1e-6)
    assert "drawn independently of each other from one distribution" in str(rule.guarantee.models_text)


@pytest.mark.parametrize(
    ("text", "counted"),
    [("count(age < 18)", 2), ("count(age != 70)", 3), ('count(ill != "no")', 1), ("count(~(age >= 18))", 2)],
)
def test_gaps_that_are_not_counted_are_other_records(text: str, counted: int) -> None:
    import pandas as pd

    from bnpriv.tables.private_table.rows import classed_rows

    columns = {
        "age": bp.Integer(0, 100, missing="not counted"),
        "ill": bp.Categorical(["no", "yes"], missing="not counted"),
    }
    table = pd.DataFrame({"age": [3, 5, 70, None, None, 20], "ill": ["no", "yes", None, None, "no", "no"]})
    schema = bp.Schema(records=len(table), columns=columns)
    found = classes_of([secret(text)], schema)
    with classed_rows(table, schema, list(columns), found.predicates, as_they_count=True) as rows:
        assert rows.counts == (counted, len(table) - counted)


@pytest.mark.parametrize("column", [bp.Integer(0, 9, missing="not counted"), bp.Real(0, 9, missing="not counted")])
def test_gaps_that_no_condition_holds_of_are_a_class(column: bp.Integer | bp.Real) -> None:
    schema = bp.Schema(records=10, columns={"age": column})
    found = classes_of([bp.Secret("count(age >= 0)", pairs=bp.apart(at_most=2))], schema)
    assert found.labels == ("age >= 0", "other records")
