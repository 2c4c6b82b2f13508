"""What a column may hold, put together from a codebook and a public table; nothing of the private one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, final

from bnpriv.errors import DataError, FileError
from bnpriv.starter.codebook import Described
from bnpriv.starter.numbers import MOST_WHOLE_STATES, numbers_as_states
from bnpriv.starter.public import (
    ANY_OTHER_LABEL,
    OTHER_LABEL,
    PublicValues,
    bounds,
    common_categories,
    is_numeric,
    spelled,
)
from bnpriv.tables.bins import Binned
from bnpriv.tables.readings import categories
from bnpriv.tables.schema import Categorical, Category, Column, Integer, Real

MOST_PUBLIC_CATEGORIES = 100
"""Categories of a public table that are listed one by one."""

WIDEST_WHOLE, LARGEST_WHOLE_BOUND = 2**31, 2**52
"""Bounds that are farther apart, or larger, are those of a column of fractions."""


@final
@dataclass(frozen=True, kw_only=True)
class KnownColumn:
    """What is known of a column.

    Parameters
    ----------
    kind : str
        "real", "integer", "categorical" or "unknown".
    column : Column, optional
        None where bounds or categories are still to be declared.
    origin : str
        Where bounds, bins and categories come from, for a comment.
    """

    kind: str
    column: Column | None = None
    origin: str = ""


def choice(
    name: str,
    described: Described | None,
    values: PublicValues | None,
    *,
    as_states: bool,
    public: str,
    closed: bool = False,
) -> KnownColumn:
    """Return what is known of a column.

    Parameters
    ----------
    name : str
    described : Described, optional
        What the codebook says.
    values : sequence, optional
        The column of a public table.
    as_states : bool
        Whether numbers are to be put into bins and rare categories together, as states of a network.
    public : str
        What the public table is called.
    closed : bool
        Whether the states of a given network leave no room for labels that the public table lacks.

    Raises
    ------
    DataError
        If codebook and public table contradict each other.
    """
    said = described or Described()
    values = None if values is None or all(value is None for value in values) else values
    kind = _kind(name, said, values)
    if kind == "categorical":
        return _labelled(said, values, as_states=as_states, public=public, closed=closed)
    if kind == "unknown":
        return KnownColumn(kind=kind)
    return _numbers(kind, said, values, as_states=as_states, public=public)


def _kind(name: str, said: Described, values: PublicValues | None) -> str:
    numeric = values is not None and is_numeric(values)
    if said.kind == "unknown" and values is not None:
        return "real" if numeric else "categorical"
    if said.kind in ("real", "integer") and values is not None and not numeric:
        raise DataError(
            f"the column {name!r} must hold numbers in the public table, as it is declared",
            found="texts",
            remedy="Correct the codebook, or give another public table.",
        )
    return said.kind


def _numbers(kind: str, said: Described, values: PublicValues | None, *, as_states: bool, public: str) -> KnownColumn:
    known = [value for value in values or () if isinstance(value, float)]
    finite = [value for value in known if math.isfinite(value)]
    if finite and kind == "real" and all(value.is_integer() for value in finite):
        kind = "integer"
    low, high = bounds(finite) if finite else (None, None)
    lower, upper = low if said.lower is None else said.lower, high if said.upper is None else said.upper
    if lower is None or upper is None:
        return KnownColumn(kind=kind)
    if not lower < upper:
        raise FileError(
            "the codebook's bound must leave room for the public table", found="none", remedy="Correct the codebook."
        )
    whole = kind == "integer" and _are_whole(lower, upper)
    origin = "the codebook" if said.lower is not None and said.upper is not None else public
    if as_states and known:
        column = numbers_as_states(known, lower, upper, whole=whole)
        how = "a state for each number" if isinstance(column, Integer) else f"bins by {public}"
        return KnownColumn(kind="binned", column=column, origin=origin if origin == public else f"{origin}; {how}")
    return KnownColumn(
        kind=kind, column=Integer(int(lower), int(upper)) if whole else Real(lower, upper), origin=origin
    )


def _are_whole(lower: float, upper: float) -> bool:
    ends = lower == int(lower) and upper == int(upper)
    return ends and upper - lower < WIDEST_WHOLE and max(abs(lower), abs(upper)) < LARGEST_WHOLE_BOUND


def _labelled(
    said: Described, values: PublicValues | None, *, as_states: bool, public: str, closed: bool
) -> KnownColumn:
    listed = said.categories
    if values is None or (listed and not as_states):
        column = Categorical(listed, coarsen=_full_stops(listed, dotted=said.nameless)) if listed else None
        return KnownColumn(kind="categorical", column=column, origin="the codebook" if listed else "")
    texts = _labels(values, listed)
    held = {spelled(each, listed) for each in texts if each is not None}
    rare = as_states or len(held) > MOST_PUBLIC_CATEGORIES
    kept = list(common_categories(texts, listed)) if rare else sorted(held - {OTHER_LABEL})
    # no public table has all labels that a private one may have: only a codebook, or a network, closes the list
    closed = closed or bool(listed and set(kept) == {*held, *listed} and None not in texts)
    other = OTHER_LABEL if OTHER_LABEL not in map(str.casefold, kept) else ANY_OTHER_LABEL
    labels = kept if closed and kept else [*kept, other]
    spelt = _full_stops(kept, dotted=said.nameless or all(each is None or each.endswith(".") for each in texts))
    column = Categorical(labels, coarsen=spelt, missing=labels[-1 if labels[-1] == other else 0])
    origin = f"the codebook, and frequencies of {public}" if listed else public
    return KnownColumn(kind="categorical", column=column, origin=origin)


def _full_stops(labels: Sequence[str], *, dotted: bool) -> dict[Category, Sequence[Category]]:
    """Return other spellings of the labels that end lines: in some files with a full stop, in others without."""
    spelt = {label: label[:-1] if label.endswith(".") else f"{label}." for label in labels if dotted}
    return {label: [other] for label, other in spelt.items() if other and other not in labels}


def _labels(values: PublicValues, listed: Sequence[str]) -> list[str | None]:
    """Return values as labels: numbers as the one that writes them, as a release reads them, where there is one."""
    read = categories(values, Categorical(listed)) if listed else [None] * len(values)
    return [
        value if value is None or isinstance(value, str) else f"{value:.15g}" if label is None else str(label)
        for value, label in zip(values, read, strict=True)
    ]


def node_states(column: Column) -> tuple[str, ...]:
    """Return the states that a node has for a column: its bins, its categories, or few whole numbers; else none.

    Examples
    --------
    >>> node_states(Integer(0, 2)), node_states(Real(0, 2))
    (('0', '1', '2'), ())
    """
    if isinstance(column, Binned):
        return column.labels
    if isinstance(column, Categorical):
        return tuple(map(str, column.categories))
    few = isinstance(column, Integer) and column.steps < MOST_WHOLE_STATES
    return tuple(map(str, range(int(column.lower), int(column.upper) + 1))) if few else ()


def states_of(column: Column, values: PublicValues) -> list[str]:
    """Return the state of the network in which each public record is.

    Examples
    --------
    >>> states_of(Categorical(["a", "other"], missing="other"), ["a", "b", None])
    ['a', 'other', 'other']
    >>> states_of(Integer(0, 2), [1.0, 7.0, None])
    ['1', '2', '1']
    """
    if not isinstance(column, Categorical):
        numbers = [value if isinstance(value, float) else column.missing for value in values]
        inside = [min(max(cast(float, number), column.lower), column.upper) for number in numbers]
        bins = column if isinstance(column, Binned) else None
        return [str(math.floor(number + 0.5)) if bins is None else bins.bin_of(number) for number in inside]
    known = [str(each) for each in column.categories]
    found = [spelled(each, known) if each is not None else "" for each in _labels(values, known)]
    return [each if each in known else str(column.missing) for each in found]
