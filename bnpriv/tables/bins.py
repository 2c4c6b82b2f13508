"""Columns of numbers whose node in a network has bins as states: the network sees the bin, a query the number."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, cast, final

from bnpriv import checks
from bnpriv.errors import SchemaError
from bnpriv.tables.columns import Integer, Real, label_list, probabilities
from bnpriv.tables.readonly import ReadOnly

Spread = Literal["uniform", "whole numbers"]
"""How numbers lie inside a bin where their probabilities are not declared one by one."""

Inside = Spread | Mapping[float, float]
"""The law of a number given its bin."""

MOST_BINS = 10_000
"""Bins of a column, and of a question; the plan of so many takes half a minute."""

SPREADS: tuple[Spread, ...] = ("uniform", "whole numbers")

_WITHIN = (
    'Write within="whole numbers", within="uniform", or for every bin one of these or probabilities of its numbers.'
)


@final
@dataclass(frozen=True)
class Binned:
    """A column of numbers whose node in a network has bins as states.

    A query sees the number, the network sees the bin that it lies in. A bin holds its lower edge and not its upper one;
    the last bin holds both.

    Parameters
    ----------
    edges : sequence of float
        Two or more increasing numbers; values outside count as the first or the last of them.
    labels : sequence of str, optional
        Names of the bins, which are the states of the node; ``"[17, 25)"`` and so on by default.
    within : {"uniform", "whole numbers"} or mapping from labels to laws
        How numbers lie inside a bin, which is a model: evenly; evenly on whole numbers, which the values are then
        rounded to; or for every label one of these or the probabilities of its numbers.
    missing : float, optional
        What a missing value counts as; the middle between the outer edges by default.
    steps : int, optional
        Steps of the grid to which numbers are rounded where they are summed, 2^20 by default; whole numbers are their
        own grid.
    observed : bool
        Whether `within` holds frequencies of a public table, as `from_public` counts them; guarantees say so.

    Raises
    ------
    SchemaError
        If edges do not increase, labels are not as many as bins or repeated, or `within` is no law of every bin.

    Examples
    --------
    >>> age = Binned([17, 25, 45, 90], within="whole numbers")
    >>> age.labels
    ('[17, 25)', '[25, 45)', '[45, 90]')
    >>> age.bin_of(25), age.lower, age.upper
    ('[25, 45)', 17, 90)
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...] = field(default=cast("tuple[str, ...]", None), kw_only=True)
    within: Spread | Mapping[str, Inside] = field(default="uniform", kw_only=True)
    missing: float = field(default=cast(float, None), kw_only=True)
    steps: int = field(default=cast(int, None), kw_only=True)
    observed: bool = field(default=False, kw_only=True)
    numbers: Real | Integer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        edges = _edges(self.edges)
        labels = _default_labels(edges) if cast(Any, self.labels) is None else _labels(self.labels, len(edges) - 1)
        within = _within(self.within, labels)
        chosen = cast("int | None", self.steps)
        whole = _is_whole(within, edges, chosen)
        numbers = (
            Integer(cast(int, edges[0]), cast(int, edges[-1]), missing=cast("int | None", self.missing))
            if whole
            else Real(
                edges[0],
                edges[-1],
                missing=cast("float | None", self.missing),
                steps=2**20 if chosen is None else chosen,
            )
        )
        object.__setattr__(self, "edges", tuple(map(int, edges)) if whole else edges)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "within", within)
        object.__setattr__(self, "missing", numbers.missing)
        object.__setattr__(self, "steps", numbers.steps)
        object.__setattr__(self, "observed", checks.flag("observed", self.observed))
        object.__setattr__(self, "numbers", numbers)
        for label in labels:
            _check_numbers(self, label)

    @classmethod
    def from_public(
        cls,
        edges: Iterable[float],
        values: Iterable[object],
        *,
        labels: Iterable[str] | None = None,
        missing: float | None = None,
        steps: int | None = None,
    ) -> Binned:
        """Return bins inside which numbers are as frequent as in a column of a public table.

        Parameters
        ----------
        edges : sequence of float
        values : iterable of numbers
            The column, such as ``table["age"]``; None and NaN are left out, what lies outside counts as the outer edge.
        labels, missing, steps
            As for `Binned`.

        Raises
        ------
        SchemaError
            If a value is no number, or a bin holds none.

        Examples
        --------
        >>> Binned.from_public([0, 2, 4], [0, 1, 1, 1, 3]).within["[0, 2)"]
        {0: 0.25, 1: 0.75}
        """
        ends = _edges(edges)
        names = _default_labels(ends) if labels is None else _labels(labels, len(ends) - 1)
        found: dict[str, Counter[float]] = {label: Counter() for label in names}
        for value in values:
            if value is None or type(value).__name__ == "NAType" or value != value:
                continue
            known = min(max(checks.number("a value", value, error=SchemaError), ends[0]), ends[-1])
            found[names[_place(ends, known)]][known] += 1
        empty = [label for label, counted in found.items() if not counted]
        if empty:
            raise SchemaError(
                "every bin must hold a value of the public table",
                found=f"none in {checks.listing(map(repr, empty))}",
                remedy="Join it with its neighbour, or declare within yourself.",
            )
        within = {
            label: {value: counts / counted.total() for value, counts in counted.items()}
            for label, counted in found.items()
        }
        optional: dict[str, Any] = {"missing": missing, "steps": steps}
        return cls(ends, labels=names, within=within, observed=True, **optional)

    def __hash__(self) -> int:
        return hash((self.edges, self.labels, self.missing, self.steps))

    @property
    def lower(self) -> float:
        """Return the first edge."""
        return self.numbers.lower

    @property
    def upper(self) -> float:
        """Return the last edge."""
        return self.numbers.upper

    @property
    def whole(self) -> bool:
        """Return whether values are rounded to whole numbers."""
        return self.numbers.whole

    @property
    def grid(self) -> Fraction:
        """Return the exact width of one step."""
        return self.numbers.grid

    @property
    def origin(self) -> Fraction:
        """Return the exact number that stands for step 0: the first edge."""
        return self.numbers.origin

    @property
    def rate(self) -> float:
        """Return the steps per unit, as the double that every engine multiplies by."""
        return self.numbers.rate

    def step(self, x: float) -> int:
        """Return the grid step of a value inside the bounds, as `Real.step` or `Integer.step`."""
        return self.numbers.step(x)

    def ends(self, label: str) -> tuple[float, float]:
        """Return the edges of a bin."""
        place = self.labels.index(label)
        return self.edges[place], self.edges[place + 1]

    def bin_of(self, x: float) -> str:
        """Return the label of the bin that a number counts as.

        Examples
        --------
        >>> bins = Binned([0, 0.1, 0.2])
        >>> bins.bin_of(0.1), bins.bin_of(-7), bins.bin_of(0.2)
        ('[0.1, 0.2]', '[0, 0.1)', '[0.1, 0.2]')
        """
        inside = min(max(x, self.lower), self.upper)
        return self.labels[_place(self.edges, math.floor(inside + 0.5) if self.whole else inside)]

    def inside(self, label: str) -> Inside:
        """Return the law of a number given its bin."""
        return self.within if isinstance(self.within, str) else self.within[label]


def _place(edges: tuple[float, ...], x: float) -> int:
    return min(bisect_right(edges, x), len(edges) - 1) - 1


def _edges(given: object) -> tuple[float, ...]:
    remedy = "Write edges=[17, 25, 45, 90], from public knowledge of the column, never from the data."
    listed = checks.listed(given)
    if listed is None or len(listed) < 2:
        found = checks.type_text(given) if listed is None else f"{len(listed)} edges"
        raise SchemaError("a Binned column needs a list of two or more edges", found=found, remedy=remedy)
    if len(listed) > MOST_BINS + 1:
        found = f"{len(listed) - 1:,}"
        raise SchemaError(f"a column has at most {MOST_BINS:,} bins", found=found, remedy="Write fewer edges.")
    # -0.0 is 0 here
    edges = tuple(checks.number("an edge", edge, error=SchemaError, remedy=remedy) + 0.0 for edge in listed)
    wrong = next(((low, high) for low, high in pairwise(edges) if not low < high), None)
    if wrong is not None:
        raise SchemaError("edges must increase", found=f"{wrong[0]!r} before {wrong[1]!r}", remedy=remedy)
    return edges


def _default_labels(edges: tuple[float, ...]) -> tuple[str, ...]:
    texts = [str(int(edge)) if edge.is_integer() and abs(edge) < 1e15 else repr(edge) for edge in edges]
    bins = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return (*bins[:-1], bins[-1][:-1] + "]")


def _labels(given: object, bins: int) -> tuple[str, ...]:
    labels = label_list("the labels of bins", given)
    texts = {label for label in labels if isinstance(label, str)}  # others may have no hash
    if len(labels) != bins or len(texts) != bins:
        kinds = sorted({type(label).__name__ for label in labels})
        raise SchemaError(
            f"{bins} bins need as many different texts as labels",
            found=f"{len(labels)} labels, {len(texts)} different texts, of type {checks.listing(kinds)}",
            remedy="Name every bin once, spelled as the states of the node; there is one bin less than edges.",
        )
    return tuple(checks.text("a label", label, error=SchemaError) for label in cast("tuple[str, ...]", labels))


def _within(given: object, labels: tuple[str, ...]) -> Spread | Mapping[str, Inside]:
    if isinstance(given, str):
        return _spread("within", given)
    if not isinstance(given, Mapping):
        raise SchemaError("within must say how numbers lie in a bin", found=checks.type_text(given), remedy=_WITHIN)
    laws = cast("Mapping[str, object]", given)
    unknown, missing = [name for name in laws if name not in labels], [name for name in labels if name not in laws]
    if unknown or missing:
        raise SchemaError(
            f"within must have a law for exactly the bins {checks.listing(map(repr, labels))}",
            found=f"one for {checks.listing(map(repr, unknown))}"
            if unknown
            else f"none for {checks.listing(map(repr, missing))}",
            remedy=_remedy(unknown, missing) if unknown else _WITHIN,
        )
    inside: dict[str, Inside] = {label: _law_inside(label, laws[label]) for label in labels}
    return ReadOnly(inside)


def _remedy(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Return what to do about laws of strange bins: one bin may be misspelt, several come from other edges."""
    near = checks.closest(unknown[0], missing) if len(unknown) == len(missing) == 1 else None
    # labels that name numbers look alike though they mean other numbers
    if near is not None and not any(letter.isdigit() for letter in near):
        return f"Did you mean {near!r}?"
    return "Give every bin that the edges make one law under its label, and no other, or change the edges."


def _spread(what: str, given: str) -> Spread:
    return cast(Spread, checks.member(what, given, SPREADS, error=SchemaError))


def _law_inside(label: str, given: object) -> Inside:
    what = f"the law inside {label!r}"
    if isinstance(given, str):
        return _spread(what, given)
    if not isinstance(given, Mapping):
        raise SchemaError(
            f"{what} must be a mapping from numbers to probabilities",
            found=checks.type_text(given),
            remedy=_WITHIN,
        )
    return probabilities(what, cast("Mapping[object, object]", given), SchemaError)


def _is_whole(within: Spread | Mapping[str, Inside], edges: tuple[float, ...], steps: int | None) -> bool:
    """Return whether the values are whole numbers: where some bin says so, or all numbers are."""
    laws: list[Inside] = [within] if isinstance(within, str) else list(within.values())
    said = "whole numbers" in laws
    possible = all(edge.is_integer() for edge in edges) and all(
        law == "whole numbers" or (not isinstance(law, str) and all(isinstance(value, int) for value in law))
        for law in laws
    )
    if said and (not possible or steps is not None):
        raise SchemaError(
            'where a bin holds "whole numbers" all edges and all numbers must be whole, and have no steps',
            found="steps, which are for fractions" if possible else "fractions",
            remedy='Round the edges, or use within="uniform".',
        )
    return possible and steps is None


def _check_numbers(column: Binned, label: str) -> None:
    law = column.inside(label)
    numbers = () if isinstance(law, str) else law
    outside = sum(not (column.lower <= x <= column.upper and column.bin_of(x) == label) for x in numbers)
    if outside:
        raise SchemaError(
            f"the numbers inside {label!r} must lie in that bin, which holds its lower edge and not its upper one",
            found=f"{outside} outside",
            remedy="Move them to the bin that holds them.",
        )
