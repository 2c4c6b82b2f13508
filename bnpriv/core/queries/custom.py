"""Custom queries: the user's own function, with a declared sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bnpriv import checks
from bnpriv.bound import Bound, up
from bnpriv.core.queries.base import Output, Query
from bnpriv.core.schema import Schema
from bnpriv.errors import QueryError

if TYPE_CHECKING:
    import pandas as pd

MOST_OUTPUTS = 100_000
SENSITIVITY_REMEDY = "Declare how far the answer can move at most, as a positive number."


@dataclass(frozen=True, kw_only=True)
class Custom(Query):
    """A function of a table, with the sensitivity that its author declares; made by `custom`."""

    function: Callable[[pd.DataFrame], object]
    reads: tuple[str, ...]
    sensitivity: float | tuple[tuple[str, float], ...]
    size: int = 1
    span: tuple[float, float] | None = None
    name: str = "custom"

    def __post_init__(self) -> None:
        if not callable(self.function):
            found = checks.type_text(self.function)
            raise QueryError("custom needs a function of a table", found=found, remedy="Pass a function.")
        checks.text("the name of a custom query", self.name, error=QueryError)
        object.__setattr__(self, "reads", _reads(self.reads))
        object.__setattr__(self, "sensitivity", _sensitivity(self.sensitivity, self.reads))
        size = checks.whole("dimension", self.size, error=QueryError)
        if not size <= MOST_OUTPUTS:
            found = checks.shown(size)
            raise QueryError(f"dimension must be at most {MOST_OUTPUTS:,}", found=found, remedy="Answer fewer numbers.")
        object.__setattr__(self, "size", size)
        if self.span is not None:
            object.__setattr__(self, "span", _span(self.span))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the function is given."""
        return frozenset(self.reads)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """Refuse: what a function computes is not known, so it has no normal form."""
        raise QueryError(
            "the query must be a sum over records of built-in terms",
            found=str(self),
            remedy="Use the built-in queries; a custom query is served by mechanisms that need its sensitivity only.",
        )

    def dimension(self, schema: Schema) -> int:
        """The number of outputs of the function."""
        return self.size

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumption that the declared sensitivity is right."""
        return (f"the sensitivity of {self} is declared by the caller, not computed",)

    def declared(self, columns: frozenset[str]) -> Bound:
        """The declared bound on the change of the answer when only `columns` change.

        The answer moves no further than the sum of the moves when the columns are changed one after the other, by the
        triangle inequality. The declaration is for the 1-norm; the 2-norm is never larger.
        """
        touched = columns & self.columns
        if not touched:
            return Bound(0.0, 0.0, "exact")
        if not isinstance(self.sensitivity, tuple):
            return Bound(0.0, self.sensitivity, "certified")
        steps = [step for name, step in self.sensitivity if name in touched]
        # rounded up: the sum of the declared steps is itself rounded
        return Bound(0.0, steps[0] if len(steps) == 1 else up(math.fsum(steps)), "certified")

    def __str__(self) -> str:
        return f"custom({self.name})"


def custom(
    f: Callable[[pd.DataFrame], object],
    *,
    columns: Iterable[str],
    sensitivity: float | Mapping[str, float],
    dimension: int = 1,
    span: tuple[float, float] | None = None,
    name: str = "custom",
) -> Custom:
    """Ask a query that a function of your own answers.

    Parameters
    ----------
    f : callable
        Takes a pandas table of the `columns`, in canonical form: missing values filled, bounds applied. Returns one
        number, or `dimension` numbers.
    columns : sequence of str
        The columns that it is given.
    sensitivity : float or mapping from str to float
        By how much the answer can move at most, in the 1-norm, when any of the columns change arbitrarily; or the same
        for each column alone.
    dimension : int
        How many numbers it returns.
    span : (float, float), optional
        Range in which every number lies.
    name : str
        How the query is called in reports.

    Returns
    -------
    Custom
        A query whose certificate says "declared by the caller".

    Raises
    ------
    QueryError
        If the sensitivity is missing, not positive or not finite, or does not name exactly the columns.

    Examples
    --------
    >>> tallest = custom(lambda table: table["height"].max(), columns=["height"], sensitivity=100, name="tallest")
    >>> print(tallest)
    custom(tallest)
    """
    declared = tuple(sensitivity.items()) if isinstance(sensitivity, Mapping) else sensitivity
    names = (columns,) if isinstance(columns, str) else columns
    return Custom(
        function=f, reads=cast("tuple[str, ...]", names), sensitivity=declared, size=dimension, span=span, name=name
    )


def _reads(names: object) -> tuple[str, ...]:
    if not isinstance(names, Iterable):
        found = checks.type_text(names)
        raise QueryError("custom needs a list of columns", found=found, remedy="List the columns it reads.")
    listed = tuple(cast("Iterable[str]", names))
    if not listed:
        raise QueryError("custom needs a column", found="none", remedy="List the columns that the function reads.")
    for name in listed:
        checks.text("a column's name", name, error=QueryError)
    if len(set(listed)) < len(listed):
        raise QueryError("custom takes each column once", found="a repeated column", remedy="List each column once.")
    return tuple(sorted(listed))


def _sensitivity(declared: object, reads: tuple[str, ...]) -> float | tuple[tuple[str, float], ...]:
    if not isinstance(declared, tuple):
        return checks.positive("the sensitivity", declared, error=QueryError, remedy=SENSITIVITY_REMEDY)
    pairs = sorted(cast("tuple[tuple[str, float], ...]", declared), key=lambda pair: str(pair[0]))
    names = tuple(name for name, _ in pairs)
    if names != reads:
        raise QueryError(
            f"the sensitivity must name each of {checks.listing(reads)} once",
            found=checks.listing(names),
            remedy="Declare how far each column alone can move the answer.",
        )
    return tuple(
        (name, checks.positive(f"the sensitivity to {name!r}", step, error=QueryError, remedy=SENSITIVITY_REMEDY))
        for name, step in pairs
    )


def _span(span: object) -> tuple[float, float]:
    remedy = "Pass (lower, upper), or leave span out."
    found = checks.type_text(span)
    ends = cast("Sequence[object]", span) if isinstance(span, (tuple, list)) else ()
    if len(ends) != 2:
        raise QueryError("span must be a pair of numbers", found=found, remedy=remedy)
    low, high = (checks.number("an end of span", end, error=QueryError, remedy=remedy) for end in ends)
    if not low < high:
        raise QueryError("the lower end of span must be below the upper", found=f"{low:g}, {high:g}", remedy=remedy)
    return low, high
