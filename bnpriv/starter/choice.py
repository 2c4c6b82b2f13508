"""What a column may hold, put together from its declared type, a codebook and a public table; never from its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.checks import listing
from bnpriv.errors import DataError, FileError
from bnpriv.starter.codebook import Described
from bnpriv.starter.public import OTHER_LABEL, PublicValues, bounds, common_categories, edges, is_numeric, spelled
from bnpriv.tables.bins import Binned
from bnpriv.tables.schema import Categorical, Category, Column, Integer, Real

MOST_PUBLIC_CATEGORIES = 100
"""Categories of a public table that are listed one by one."""

LARGEST_INTEGER = 2**31


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
    name: str, declared: str, described: Described | None, values: PublicValues | None, *, as_states: bool, public: str
) -> KnownColumn:
    """Return what is known of a column.

    Parameters
    ----------
    name : str
    declared : str
        The kind that the header declares, or "unknown".
    described : Described, optional
        What the codebook says.
    values : sequence, optional
        The column of a public table.
    as_states : bool
        Whether numbers are to be put into bins and rare categories together, as states of a network.
    public : str
        What the public table is called.

    Raises
    ------
    DataError
        If codebook and public table contradict each other.
    """
    said = described or Described()
    values = None if values is None or all(value is None for value in values) else values
    numeric = values is not None and is_numeric(values)
    kind = said.kind if said.kind != "unknown" else declared
    if kind == "unknown" and values is not None:
        kind = "real" if numeric else "categorical"
    if kind in ("real", "integer") and values is not None and not numeric:
        raise DataError(
            f"the column {name!r} must hold numbers in the public table, as it is declared",
            found="texts",
            remedy="Correct the codebook, or give another public table.",
        )
    if kind == "categorical":
        return _labelled(said, values, as_states=as_states, public=public)
    if kind == "unknown":
        return KnownColumn(kind=kind)
    return _numbers(kind, said, values, as_states=as_states, public=public)


def _numbers(kind: str, said: Described, values: PublicValues | None, *, as_states: bool, public: str) -> KnownColumn:
    known = [value for value in values or () if isinstance(value, float)]
    if known and kind == "real" and all(value.is_integer() for value in known):
        kind = "integer"
    low, high = bounds(known) if known else (None, None)
    lower, upper = low if said.lower is None else said.lower, high if said.upper is None else said.upper
    if lower is None or upper is None:
        return KnownColumn(kind=kind)
    if not lower < upper:
        raise FileError(
            "the codebook's bound must leave room for the public table", found="none", remedy="Correct the codebook."
        )
    whole = kind == "integer" and lower == int(lower) and upper == int(upper) and upper - lower <= LARGEST_INTEGER
    origin = "the codebook" if said.lower is not None and said.upper is not None else public
    if as_states and known:
        ends = edges(known, lower, upper)
        ends = sorted({int(end) for end in ends}) if whole else ends
        bins = Binned(tuple(ends), within="whole numbers" if whole else "uniform")
        return KnownColumn(kind="binned", column=bins, origin=f"{origin}; bins near quantiles of {public}")
    return KnownColumn(
        kind=kind, column=Integer(int(lower), int(upper)) if whole else Real(lower, upper), origin=origin
    )


def _labelled(said: Described, values: PublicValues | None, *, as_states: bool, public: str) -> KnownColumn:
    texts = None if values is None else [_label(value) for value in values]
    if texts is None:
        if not said.categories:
            return KnownColumn(kind="categorical")
        return KnownColumn(kind="categorical", column=Categorical(said.categories), origin="the codebook")
    held = sorted({spelled(each, said.categories) for each in texts if each is not None})
    if not as_states and (said.categories or len(held) <= MOST_PUBLIC_CATEGORIES):
        listed = said.categories or tuple(held)
        return KnownColumn(
            kind="categorical", column=Categorical(listed), origin="the codebook" if said.categories else public
        )
    kept: list[Category] = list(common_categories(texts, said.categories))
    left = len(set(held) | set(said.categories)) > len(kept) or None in texts
    origin = f"the codebook, and frequencies of {public}" if said.categories else public
    if left:
        kept.append(OTHER_LABEL)
    if not kept:
        raise DataError("a public column needs categories", found=listing(()), remedy="Give another public table.")
    return KnownColumn(
        kind="categorical", column=Categorical(kept, missing=OTHER_LABEL if left else None), origin=origin
    )


def _label(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:.15g}"


def states_of(column: Column, values: PublicValues) -> list[str]:
    """Return the state of the network in which each public record is.

    Examples
    --------
    >>> states_of(Categorical(["a", "other"], missing="other"), ["a", "b", None])
    ['a', 'other', 'other']
    """
    if isinstance(column, Binned):
        numbers = [value if isinstance(value, float) else column.missing for value in values]
        return [str(column.bin_of(min(max(value, column.lower), column.upper))) for value in numbers]
    assert isinstance(column, Categorical)
    known = [str(each) for each in column.categories]
    found = [spelled(each, known) if (each := _label(value)) is not None else "" for value in values]
    return [each if each in known else str(column.missing) for each in found]
