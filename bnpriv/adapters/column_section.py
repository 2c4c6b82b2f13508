"""Sections of a framework file that declare bins of numbers, and labels of a raw table that count as one category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from bnpriv.adapters.toml_file import TomlTable, listed_or_none
from bnpriv.adapters.toml_words import kind_of
from bnpriv.tables.schema import Binned, Categorical, Column


def binned(part: TomlTable, missing: float | None) -> Binned:
    """Return the column of ``type = "binned"``: edges, labels, and how numbers lie inside a bin.

    ``observed = true`` says that `within` holds frequencies of a public table.

    Raises
    ------
    FileError
        If a key is missing or of the wrong type.
    SchemaError
        If the column is not well formed.
    """
    optional: dict[str, Any] = {"missing": missing, "labels": part.values.get("labels"), "steps": grid_steps(part)}
    within = part.values.get("within", "uniform")
    if isinstance(within, dict):
        laws = part.section("within")
        within = {label: _inside(laws, label) for label in laws.values}
    return Binned(part.need("edges"), within=cast(Any, within), observed=part.boolean("observed"), **optional)


def grid_steps(part: TomlTable) -> int | None:
    """Return the number of steps of the grid to which sums round; None for the usual one.

    Raises
    ------
    FileError
        If it is no whole number.
    """
    steps = part.values.get("steps")
    if steps is None or (isinstance(steps, int) and not isinstance(steps, bool)):
        return steps
    raise part.refusal("steps must be a whole number", found=kind_of(steps), remedy="Write steps = 500.", key="steps")


def _inside(laws: TomlTable, label: str) -> object:
    given = laws.values[label]
    return numbers(laws, label) if isinstance(given, dict) else given


def numbers(part: TomlTable, key: str) -> dict[float, Any]:
    """Return the table under `key` by the numbers that its keys write: keys of a TOML file are texts.

    Raises
    ------
    FileError
        If a key is no number.
    """
    found: dict[float, Any] = {}
    for text, mass in part.section(key).values.items():
        try:
            found[float(text)] = mass
        except ValueError:
            raise part.refusal(
                f"the keys of {key!r} must be numbers",
                found=repr(text[:80]),
                remedy='Write { 0 = 0.2, 40 = 0.8 }, and fractions in quotes: { "0.5" = 1.0 }.',
                key=key,
            ) from None
    return found


def value_law(part: TomlTable, column: Column) -> dict[Any, Any]:
    """Return the law ``values = { 0 = 0.2, 40 = 0.8 }`` of a column of numbers, or of bins by their labels.

    Raises
    ------
    FileError
        If it is no table, or a key is neither.
    """
    if isinstance(column, Categorical):
        raise part.refusal(
            "values are for columns of numbers",
            found="a categorical column",
            remedy='Write categorical = { "a" = 0.3, "b" = 0.7 }.',
            key="values",
        )
    given = part.section("values").values
    labels = isinstance(column, Binned) and bool(set(given).intersection(column.labels))
    return dict(given) if labels else numbers(part, "values")


def coarsened(part: TomlTable) -> Mapping[Any, Any]:
    """Return the labels that count as a category: a list, or one text in which they are separated by bars.

    Raises
    ------
    FileError
        If they are neither.
    """
    if "coarsen" not in part.values:
        return {}
    listed = part.section("coarsen")
    # keys of a TOML file are texts, whatever the categories are
    known = {str(category): category for category in part.need("categories")}
    return {known.get(key, key): _labels(listed, key) for key in listed.values}


def _labels(part: TomlTable, category: str) -> list[object]:
    given = part.values[category]
    if isinstance(given, str):
        return [label.strip() for label in given.split("|")]
    labels = listed_or_none(given)
    if labels is None:
        raise part.refusal(
            f"the labels of {category[:80]!r} must be a list, or a text with bars between them",
            found=kind_of(given),
            remedy='Write white = ["Sales", "Tech-support"] or white = "Sales | Tech-support".',
            key=category,
        )
    return labels
