"""What a column may hold: numbers between bounds, whole numbers, categories, and numbers with bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, cast

from bnpriv import checks
from bnpriv.core.distributions import SUM_TOLERANCE
from bnpriv.core.frozen import ReadOnly
from bnpriv.errors import BnprivError, SchemaError
from bnpriv.services import service

# --------------------------------------------------------------------------------------------------
# The kinds of columns: numbers between bounds, whole numbers, and categories.
# --------------------------------------------------------------------------------------------------

Category = str | int | bool

State = Category | float
"""A state of an attribute of a network."""

LARGEST_BOUND = 2.0**100
LEAST_GRID = 2.0**-1000

NotCounted = Literal["not counted"]

NOT_COUNTED: NotCounted = "not counted"
"""What `missing` says where a gap is a state of its own, in which no condition on the column holds."""

GAP_MARK = -(2.0**101)
"""What such a gap is among numbers, wherever they are compared: below all bounds, so that no value is taken for it."""


def decimal(number: float) -> Fraction:
    """The exact number that a double was written for: itself if it is whole, else its shortest decimal.

    So weights and bounds that were declared as .1, .2 and .3 add up as they do on paper, and sums of them meet.

    Examples
    --------
    >>> decimal(0.1) + decimal(0.2) == decimal(0.3)
    True
    """
    return Fraction(int(number)) if number.is_integer() else Fraction(repr(float(number)))


@dataclass(frozen=True)
class Real:
    """A column of numbers between two bounds, rounded to a public grid where it is summed.

    Parameters
    ----------
    lower, upper : float
        Bounds in the column's own unit; values outside count as the nearest bound.
    missing : float or "not counted", optional
        What a missing value counts as; the middle of the bounds by default. Or that no condition on the column holds
        where the value is missing: the column can then be counted, and not be summed.
    steps : int
        The grid has ``steps`` steps of width ``(upper - lower) / steps``.

    Raises
    ------
    SchemaError
        If the bounds are missing, not finite, huge, equal or inverted, or `missing` lies outside them, or the grid is
        finer than doubles are.

    Examples
    --------
    >>> Real(120, 220).missing
    170.0
    """

    lower: float
    upper: float
    missing: float | NotCounted | None = field(default=None, kw_only=True)
    steps: int = field(default=2**20, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = _bounds(self.lower, self.upper)
        missing = (lower + upper) / 2 if self.missing is None else _missing(self.missing, lower, upper)
        vars(self).update(
            lower=lower, upper=upper, missing=missing, steps=checks.whole("steps", self.steps, error=SchemaError)
        )
        if not self.steps <= 2**31:
            raise SchemaError(
                "a grid may have at most 2^31 steps", found=checks.shown(self.steps), remedy="Use a coarser grid."
            )
        if not float(self.grid) >= LEAST_GRID:
            raise SchemaError(
                "a step of the grid must be at least 2^-1000 wide",
                found=f"bounds {lower:g} and {upper:g}",
                remedy="Measure the column in a smaller unit.",
            )

    whole = False
    """Whether values are rounded to whole numbers: never here."""

    @property
    def grid(self) -> Fraction:
        """The exact width of one step."""
        return (decimal(self.upper) - decimal(self.lower)) / self.steps

    @property
    def origin(self) -> Fraction:
        """The exact number that grid step 0 stands for: the lower bound."""
        return decimal(self.lower)

    @property
    def rate(self) -> float:
        """Grid steps per unit, as the double that every engine multiplies by."""
        return self.steps / (self.upper - self.lower)

    def step(self, x: float) -> int:
        """The grid step of a value inside the bounds, computed as every table engine must compute it.

        ``floor((x - lower) * rate + 0.5)`` in doubles, each operation rounded once. It never decreases in `x`, is 0 at
        the lower bound and `steps` at the upper one. (Not a division: Polars divides by multiplying with the inverse.)

        Examples
        --------
        >>> Real(120, 220).step(170.0) == 2**19
        True
        """
        # `rate` is a double by definition: the exact fraction would put values at a step's border on the other side
        return math.floor((x - self.lower) * self.rate + 0.5)


@dataclass(frozen=True)
class Integer:
    """A column of whole numbers between two bounds.

    Parameters
    ----------
    lower, upper : int
        Bounds; values outside count as the nearest bound, fractions are rounded to the nearest whole number.
    missing : int or "not counted", optional
        What a missing value counts as; the middle of the bounds, rounded down, by default. See `Real`.

    Raises
    ------
    SchemaError
        If the bounds are missing, not whole, equal or inverted, or `missing` lies outside them.

    Examples
    --------
    >>> Integer(0, 121).missing
    60
    """

    lower: int
    upper: int
    missing: int | NotCounted | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = _bounds(self.lower, self.upper)
        if not (lower.is_integer() and upper.is_integer()):
            raise SchemaError(
                "the bounds of an Integer column must be whole numbers",
                found=f"{lower:g} and {upper:g}",
                remedy="Use Real for a column of fractions.",
            )
        if not upper - lower <= 2**31 or not max(abs(lower), abs(upper)) <= 2**52:
            raise SchemaError(
                "the bounds of an Integer column must be at most 2^31 apart and 2^52 large",
                found=f"{lower:g} and {upper:g}",
                remedy="Use Real, which rounds to a grid.",
            )
        middle = int((lower + upper) // 2)
        missing = middle if self.missing is None else _missing(self.missing, lower, upper)
        if missing != NOT_COUNTED and not missing == int(missing):
            raise SchemaError(
                "missing must be a whole number in an Integer column", found=f"{missing:g}", remedy="Round it."
            )
        missing = missing if missing == NOT_COUNTED else int(missing)
        vars(self).update(lower=int(lower), upper=int(upper), missing=missing)

    whole = True
    """Whether values are rounded to whole numbers: always here."""

    rate = 1.0
    """Grid steps per unit: one."""

    @property
    def steps(self) -> int:
        """The number of steps of width 1 between the bounds."""
        return self.upper - self.lower

    grid = Fraction(1)
    """The exact width of one step: one."""

    @property
    def origin(self) -> Fraction:
        """The exact number that grid step 0 stands for: the lower bound."""
        return Fraction(self.lower)

    def step(self, x: float) -> int:
        """The grid step of a value inside the bounds: ``floor(x + 0.5) - lower``; conditions round the same way.

        Examples
        --------
        >>> Integer(0, 120).step(17.5)
        18
        """
        return math.floor(x + 0.5) - self.lower


@dataclass(frozen=True, repr=False)
class Categorical:
    """A column of declared categories.

    Parameters
    ----------
    categories : sequence of str, int or bool
        All values that count; anything else is missing. A text is read with the blanks around it removed unless it is
        declared with them.
    coarsen : mapping from category to sequence of str or int, optional
        Labels of the raw table that count as a category, besides its own name.
    missing : str, int, bool or "not counted", optional
        What a missing value counts as; the first category by default. "not counted" is no category: then no condition
        on the column holds where the value is missing.

    Raises
    ------
    SchemaError
        If there is no category, one is repeated, they are of several types or in no order, or `missing` is none of
        them; if a label counts as two categories, or is another one's name.

    Examples
    --------
    >>> Categorical(["f", "m"]).missing
    'f'
    >>> Categorical(["white", "blue"], coarsen={"white": ["Sales", "Tech-support"]}).labels
    {'white': 'white', 'blue': 'blue', 'Sales': 'white', 'Tech-support': 'white'}
    """

    categories: Sequence[Category]
    coarsen: Mapping[Category, Sequence[Category]] = field(default_factory=ReadOnly[Any, Any], kw_only=True)
    missing: Category | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        categories = label_list("the categories of a Categorical column", self.categories)
        if len({type(value) for value in categories}) > 1 or not isinstance(categories[0], (str, int, bool)):
            raise SchemaError(
                "categories must all be strings, all whole numbers, or all booleans",
                found=checks.listing(sorted({type(value).__name__ for value in categories})),
                remedy="Use Real for fractions; convert mixed categories to strings.",
            )
        if len(set(categories)) != len(categories):
            raise SchemaError("categories must be distinct", found=checks.listing(categories), remedy="List each once.")
        missing = categories[0] if self.missing is None else plain(self.missing)
        if missing != NOT_COUNTED and (missing not in categories or type(missing) is not type(categories[0])):
            raise SchemaError(
                "missing must be one of the categories", found=repr(missing), remedy="Choose one, or add a category."
            )
        vars(self).update(categories=categories, coarsen=_coarsened(self.coarsen, categories), missing=missing)
        if missing == NOT_COUNTED:
            _without_gap("category or label", self.labels)

    def __repr__(self) -> str:
        # without coarsened labels it prints, and is hashed, as in versions before these existed
        coarsen = f", coarsen={self.coarsen!r}" if self.coarsen else ""
        return f"Categorical(categories={self.categories!r}{coarsen}, missing={self.missing!r})"

    def __hash__(self) -> int:
        return hash((self.categories, self.missing))

    @property
    def outcomes(self) -> Sequence[Category]:
        """The categories and, last, a gap that is not counted."""
        return (*self.categories, NOT_COUNTED) if self.missing == NOT_COUNTED else self.categories

    @property
    def labels(self) -> Mapping[Category, Category]:
        """The category that every declared label counts as; the names of the categories come first."""
        named = {category: category for category in self.categories}
        return {**named, **{raw: category for category, listed in self.coarsen.items() for raw in listed}}


def label_list(what: str, labels: object) -> tuple[Category, ...]:
    """Check a list of labels; a set is refused, because its order would differ from run to run.

    Raises
    ------
    SchemaError
        If they are no list, or none.
    """
    found = checks.type_text(labels)
    if isinstance(labels, (str, bytes, Mapping, Set)) or not isinstance(labels, Iterable):
        raise SchemaError(f"{what} must be a list", found=found, remedy="List them.")
    listed = tuple(plain(value) for value in cast("Iterable[Category]", labels))
    if not listed:
        raise SchemaError(f"{what} must be a list of at least one", found="an empty list", remedy="List them.")
    return listed


def _coarsened(given: object, categories: tuple[Category, ...]) -> Mapping[Category, tuple[Category, ...]]:
    """The declared raw labels of each category that has some, in the order of the categories."""
    if not isinstance(given, Mapping):
        raise SchemaError(
            "coarsen must map categories to lists of labels",
            found=checks.type_text(given),
            remedy='Write coarsen={"white": ["Sales", "Tech-support"]}.',
        )
    declared = {plain(cast(Category, name)): labels for name, labels in cast("Mapping[object, object]", given).items()}
    unknown = [name for name in declared if name not in categories]
    if unknown:
        raise SchemaError(
            f"coarsen must name categories: {checks.listing(categories)}",
            found=checks.listing(map(repr, unknown)),
            remedy=checks.spelling(unknown[0], categories),
        )
    found = {
        category: tuple(dict.fromkeys(_raw_labels(category, declared[category])))
        for category in categories
        if category in declared
    }
    meant: dict[Category, Category] = {category: category for category in categories}
    for category, labels in found.items():
        for label in labels:
            if meant.setdefault(label, category) != category:
                raise SchemaError(
                    "a label counts as one category, and the name of a category as that one",
                    found=f"{label!r} as {meant[label]!r} and as {category!r}",
                    remedy="Leave it out of one of them.",
                )
    return ReadOnly({name: tuple(each for each in labels if each != name) for name, labels in found.items()})


def _raw_labels(category: Category, given: object) -> tuple[Category, ...]:
    """Check that raw labels have the type of their category; a whole number may stand for its text."""
    labels = label_list(f"the labels of {category!r}", given)
    if isinstance(category, str):
        labels = tuple(str(each) if type(each) is int else each for each in labels)
    wrong = [each for each in labels if type(each) is not type(category)]
    if wrong or isinstance(category, bool):
        raise SchemaError(
            "labels that are coarsened must be texts, or whole numbers like their categories",
            found=checks.listing(sorted({type(each).__name__ for each in wrong or labels})),
            remedy="Declare the categories as texts.",
        )
    return labels


def probabilities(
    what: str, declared: Mapping[object, object], error: type[BnprivError], rest: Sequence[str] = ()
) -> Mapping[Any, float]:
    """Check the probabilities of numbers, or of one of some words for all others, and sort them; wholes become ints.

    Raises
    ------
    BnprivError
        Of the given type, if they are no law.
    """
    if not declared:
        raise error(f"{what} must have numbers", found="none", remedy="Write {0: 0.2, 40: 0.8}.")
    found: dict[Any, float] = {}
    for key, mass in declared.items():
        value: Any = key if key in rest else checks.number(f"what {what} names", key, error=error) + 0.0
        whole = isinstance(value, float) and value.is_integer() and value != GAP_MARK
        found[int(value) if whole else value] = checks.number(f"a probability of {what}", mass, error=error)
    total = math.fsum(found.values())
    if not (min(found.values()) >= 0 and abs(total - 1) <= SUM_TOLERANCE and len(found) == len(declared)):
        wrong = f"a sum of {total:.12g}" if min(found.values()) >= 0 else f"{min(found.values()):g}"
        raise error(
            f"{what} must have probabilities of at least 0 that sum to one, one for each number",
            found=wrong if len(found) == len(declared) else "a number twice",
            remedy="Correct it.",
        )
    return ReadOnly({value: found[value] for value in sorted(found, key=lambda each: (isinstance(each, str), each))})


def plain(value: Category) -> Category:
    """Turn NumPy scalars into Python's, so that categories and constants compare by type."""
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _bounds(lower: object, upper: object) -> tuple[float, float]:
    remedy = "Declare bounds from public knowledge of the column, never from the data."
    low = checks.number("the lower bound", lower, error=SchemaError, remedy=remedy)
    high = checks.number("the upper bound", upper, error=SchemaError, remedy=remedy)
    if not low < high:
        raise SchemaError("lower must be below upper", found=f"{low:g} and {high:g}", remedy=remedy)
    if not max(abs(low), abs(high)) <= LARGEST_BOUND:
        raise SchemaError("bounds must be at most 2^100 in size", found=f"{low:g} and {high:g}", remedy=remedy)
    return low, high


def _missing(value: object, lower: float, upper: float) -> float | NotCounted:
    if isinstance(value, str) and value == NOT_COUNTED:
        return NOT_COUNTED
    result = checks.number("missing", value, error=SchemaError, remedy='Write a number, or "not counted".')
    if not lower <= result <= upper:
        raise SchemaError(
            f"missing must lie between the bounds {lower:g} and {upper:g}",
            found=f"{result:g}",
            remedy='Choose a value inside, or "not counted".',
        )
    return result


def _without_gap(what: str, names: Iterable[object]) -> None:
    if NOT_COUNTED in names:
        raise SchemaError(
            f'where missing is "{NOT_COUNTED}" no {what} has that name: it is the state of a gap',
            found=f"a {what} {NOT_COUNTED!r}",
            remedy="Rename it.",
        )


# --------------------------------------------------------------------------------------------------
# Binned columns: columns of numbers whose node in a network has bins as states.
# --------------------------------------------------------------------------------------------------

Spread = Literal["uniform", "whole numbers"]
"""How numbers lie inside a bin where their probabilities are not declared one by one."""

Inside = Spread | Mapping[Any, float]
"""The law of a number given its bin: of a mapping to probabilities one key may be a spread, how all others lie."""

MOST_BINS = 10_000
"""The most bins of a column, and of a query; planning so many takes half a minute."""

SPREADS: tuple[Spread, ...] = ("uniform", "whole numbers")

_WITHIN = (
    'Write within="whole numbers", within="uniform", or for every bin one of these or probabilities of its numbers.'
)


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
        rounded to; or for every label one of these or the probabilities of its numbers. There ``{0: 0.9, "uniform":
        0.1}`` is 0 with probability .9, else anywhere.
    missing : float or "not counted", optional
        What a missing value counts as; the middle between the outer edges by default. See `Real`; "not counted" is
        then a state of the node beside the bins.
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
    missing: float | NotCounted = field(default=cast(float, None), kw_only=True)
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
        vars(self).update(
            edges=tuple(map(int, edges)) if whole else edges, labels=labels, within=within, missing=numbers.missing
        )
        if numbers.missing == NOT_COUNTED:
            _without_gap("bin", labels)
        vars(self).update(steps=numbers.steps, observed=checks.flag("observed", self.observed), numbers=numbers)
        for label in labels:
            _check_numbers(self, label)

    @classmethod
    def from_public(
        cls,
        edges: Iterable[float],
        values: Iterable[object],
        *,
        labels: Iterable[str] | None = None,
        missing: float | NotCounted | None = None,
        steps: int | None = None,
    ) -> Binned:
        """Bins in which the numbers are as frequent as in a column of a public table.

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
        within = service("bins.frequencies")(ends, names, values)
        optional: dict[str, Any] = {"missing": missing, "steps": steps}
        return cls(ends, labels=names, within=within, observed=True, **optional)

    def __hash__(self) -> int:
        return hash((self.edges, self.labels, self.missing, self.steps))

    @property
    def lower(self) -> float:
        """The first edge."""
        return self.numbers.lower

    @property
    def upper(self) -> float:
        """The last edge."""
        return self.numbers.upper

    @property
    def whole(self) -> bool:
        """Whether values are rounded to whole numbers."""
        return self.numbers.whole

    @property
    def grid(self) -> Fraction:
        """The exact width of one step."""
        return self.numbers.grid

    @property
    def origin(self) -> Fraction:
        """The exact number that grid step 0 stands for: the first edge."""
        return self.numbers.origin

    @property
    def rate(self) -> float:
        """Grid steps per unit, as the double that every engine multiplies by."""
        return self.numbers.rate

    def step(self, x: float) -> int:
        """The grid step of a value inside the bounds; see `Real.step` and `Integer.step`."""
        return self.numbers.step(x)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The bins and, last, a gap that is not counted: the states of the node."""
        return (*self.labels, NOT_COUNTED) if self.missing == NOT_COUNTED else self.labels

    def ends(self, label: str) -> tuple[float, float]:
        """The two edges of a bin."""
        place = self.labels.index(label)
        return self.edges[place], self.edges[place + 1]

    def bin_of(self, x: float) -> str:
        """The label of the bin that a number falls into.

        Examples
        --------
        >>> bins = Binned([0, 0.1, 0.2])
        >>> bins.bin_of(0.1), bins.bin_of(-7), bins.bin_of(0.2)
        ('[0.1, 0.2]', '[0, 0.1)', '[0.1, 0.2]')
        """
        inside = min(max(x, self.lower), self.upper)
        return self.labels[_place(self.edges, math.floor(inside + 0.5) if self.whole else inside)]

    def inside(self, label: str) -> Inside:
        """The law of a number given its bin."""
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
    # -0.0 becomes 0.0
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
    texts = {label for label in labels if isinstance(label, str)}  # unhashable labels are refused below
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
            f"within must have a distribution for exactly the bins {checks.listing(map(repr, labels))}",
            found=f"one for {checks.listing(map(repr, unknown))}"
            if unknown
            else f"none for {checks.listing(map(repr, missing))}",
            remedy=_remedy(unknown, missing) if unknown else _WITHIN,
        )
    inside: dict[str, Inside] = {label: _law_inside(label, laws[label]) for label in labels}
    return ReadOnly(inside)


def _remedy(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """The remedy for laws of unknown bins: one bin may be misspelt, several come from other edges."""
    near = checks.closest(unknown[0], missing) if len(unknown) == len(missing) == 1 else None
    # labels that contain digits look alike although they mean different numbers
    if near is not None and not any(letter.isdigit() for letter in near):
        return f"Did you mean {near!r}?"
    return "Give every bin that the edges make one distribution under its label, and no other, or change the edges."


def _spread(what: str, given: str) -> Spread:
    return cast(Spread, checks.member(what, given, SPREADS, error=SchemaError))


def _law_inside(label: str, given: object) -> Inside:
    what = f"the distribution inside {label!r}"
    if isinstance(given, str):
        return _spread(what, given)
    if not isinstance(given, Mapping):
        raise SchemaError(
            f"{what} must be a mapping from numbers to probabilities", found=checks.type_text(given), remedy=_WITHIN
        )
    return probabilities(what, cast("Mapping[object, object]", given), SchemaError, SPREADS)


def _is_whole(within: Spread | Mapping[str, Inside], edges: tuple[float, ...], steps: int | None) -> bool:
    """Whether a binned column holds whole numbers: some bin says so, or all edges and numbers are whole."""
    laws: list[Inside] = [within] if isinstance(within, str) else list(within.values())
    numbers = [value for law in laws for value in ([law] if isinstance(law, str) else law)]
    said = "whole numbers" in numbers
    whole = all(value == "whole numbers" or isinstance(value, int) for value in numbers)
    possible = whole and all(edge.is_integer() for edge in edges)
    if said and (not possible or steps is not None):
        raise SchemaError(
            'where a bin holds "whole numbers" all edges and all numbers must be whole, and have no steps',
            found="steps, which are for fractions" if possible else "fractions",
            remedy='Round the edges, or use within="uniform".',
        )
    return possible and steps is None


def _check_numbers(column: Binned, label: str) -> None:
    law = column.inside(label)
    numbers = [x for x in (() if isinstance(law, str) else law) if x not in SPREADS]
    outside = sum(not (column.lower <= x <= column.upper and column.bin_of(x) == label) for x in numbers)
    if outside:
        raise SchemaError(
            f"the numbers inside {label!r} must lie in that bin, which holds its lower edge and not its upper one",
            found=f"{outside} outside",
            remedy="Move them to the bin that holds them.",
        )
