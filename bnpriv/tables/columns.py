"""The kinds of columns: numbers between bounds, whole numbers, and categories."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, cast, final

from bnpriv import checks
from bnpriv.errors import BnprivError, SchemaError
from bnpriv.laws.base import SUM_TOLERANCE
from bnpriv.tables.readonly import ReadOnly

Category = str | int | bool

State = Category | float
"""A state of an attribute of a network."""

LARGEST_BOUND = 2.0**100
LEAST_GRID = 2.0**-1000


def decimal(number: float) -> Fraction:
    """Return the number for which a double was written: itself if it is whole, else the shortest decimal read as it.

    So weights and bounds that were declared as .1, .2 and .3 add up as they do on paper, and sums of them meet.

    Examples
    --------
    >>> decimal(0.1) + decimal(0.2) == decimal(0.3)
    True
    """
    return Fraction(int(number)) if number.is_integer() else Fraction(repr(float(number)))


@final
@dataclass(frozen=True)
class Real:
    """A column of numbers between two bounds, rounded to a public grid where it is summed.

    Parameters
    ----------
    lower, upper : float
        Bounds in the column's own unit; values outside count as the nearest bound.
    missing : float, optional
        What a missing value counts as; the middle of the bounds by default.
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
    missing: float | None = field(default=None, kw_only=True)
    steps: int = field(default=2**20, kw_only=True)

    def __post_init__(self) -> None:
        lower, upper = _bounds(self.lower, self.upper)
        missing = (lower + upper) / 2 if self.missing is None else _inside("missing", self.missing, lower, upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "steps", checks.whole("steps", self.steps, error=SchemaError))
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

    @property
    def whole(self) -> bool:
        """Return whether values are rounded to whole numbers: they are not."""
        return False

    @property
    def grid(self) -> Fraction:
        """Return the exact width of one step."""
        return (decimal(self.upper) - decimal(self.lower)) / self.steps

    @property
    def origin(self) -> Fraction:
        """Return the exact number that stands for step 0: the lower bound."""
        return decimal(self.lower)

    @property
    def rate(self) -> float:
        """Return the steps per unit, as the double that every engine multiplies by."""
        return self.steps / (self.upper - self.lower)

    def step(self, x: float) -> int:
        """Return the grid step of a value inside the bounds: the reference that every engine agrees with.

        ``floor((x - lower) * rate + 0.5)`` in doubles, each operation rounded once. It never decreases in `x`, is 0 at
        the lower bound and `steps` at the upper one. (Not a division: Polars divides by multiplying with the inverse.)

        Examples
        --------
        >>> Real(120, 220).step(170.0) == 2**19
        True
        """
        return math.floor((x - self.lower) * self.rate + 0.5)


@final
@dataclass(frozen=True)
class Integer:
    """A column of whole numbers between two bounds.

    Parameters
    ----------
    lower, upper : int
        Bounds; values outside count as the nearest bound, fractions are rounded to the nearest whole number.
    missing : int, optional
        What a missing value counts as; the middle of the bounds, rounded down, by default.

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
    missing: int | None = field(default=None, kw_only=True)

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
        missing = middle if self.missing is None else _inside("missing", self.missing, lower, upper)
        if not missing == int(missing):
            raise SchemaError(
                "missing must be a whole number in an Integer column", found=f"{missing:g}", remedy="Round it."
            )
        object.__setattr__(self, "lower", int(lower))
        object.__setattr__(self, "upper", int(upper))
        object.__setattr__(self, "missing", int(missing))

    @property
    def whole(self) -> bool:
        """Return whether values are rounded to whole numbers: they are."""
        return True

    @property
    def rate(self) -> float:
        """Return the steps per unit: one."""
        return 1.0

    @property
    def steps(self) -> int:
        """Return the number of steps of width 1 between the bounds."""
        return self.upper - self.lower

    @property
    def grid(self) -> Fraction:
        """Return the exact width of one step."""
        return Fraction(1)

    @property
    def origin(self) -> Fraction:
        """Return the exact number that stands for step 0: the lower bound."""
        return Fraction(self.lower)

    def step(self, x: float) -> int:
        """Return the grid step of a value inside the bounds: ``floor(x + 0.5) - lower``; conditions read the same.

        Examples
        --------
        >>> Integer(0, 120).step(17.5)
        18
        """
        return math.floor(x + 0.5) - self.lower


@final
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
    missing : str, int or bool, optional
        What a missing value counts as; the first category by default.

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
        if missing not in categories or type(missing) is not type(categories[0]):
            raise SchemaError(
                "missing must be one of the categories", found=repr(missing), remedy="Choose one, or add a category."
            )
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "coarsen", _coarsened(self.coarsen, categories))
        object.__setattr__(self, "missing", missing)

    def __repr__(self) -> str:
        # what is not coarsened is written, and hashed, as it was before columns could be
        coarsen = f", coarsen={self.coarsen!r}" if self.coarsen else ""
        return f"Categorical(categories={self.categories!r}{coarsen}, missing={self.missing!r})"

    def __hash__(self) -> int:
        return hash((self.categories, self.missing))

    @property
    def labels(self) -> Mapping[Category, Category]:
        """Return which category every declared label counts as, names of categories first."""
        named = {category: category for category in self.categories}
        return {**named, **{raw: category for category, listed in self.coarsen.items() for raw in listed}}


def label_list(what: str, labels: object) -> tuple[Category, ...]:
    """Return labels in their order; a set has none, and its first one would differ from run to run.

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
    """Return the raw labels of every category that has some, in the order of the categories."""
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
    """Return labels of the type of their category: a whole number that counts as a text may be written as one."""
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


def probabilities(what: str, declared: Mapping[object, object], error: type[BnprivError]) -> Mapping[float, float]:
    """Return the probabilities of numbers in increasing order, whole ones as whole numbers.

    Raises
    ------
    BnprivError
        Of the given type, if they are no law.
    """
    if not declared:
        raise error(f"{what} must have numbers", found="none", remedy="Write {0: 0.2, 40: 0.8}.")
    found: dict[float, float] = {}
    for key, mass in declared.items():
        value = checks.number(f"what {what} names", key, error=error) + 0.0
        found[int(value) if value.is_integer() else value] = checks.number(
            f"a probability of {what}", mass, error=error
        )
    total = math.fsum(found.values())
    if not (min(found.values()) >= 0 and abs(total - 1) <= SUM_TOLERANCE and len(found) == len(declared)):
        wrong = f"a sum of {total:.12g}" if min(found.values()) >= 0 else f"{min(found.values()):g}"
        raise error(
            f"{what} must have probabilities of at least 0 that sum to one, one for each number",
            found=wrong if len(found) == len(declared) else "a number twice",
            remedy="Correct it.",
        )
    return ReadOnly({value: found[value] for value in sorted(found)})


def plain(value: Category) -> Category:
    """Turn the scalars of NumPy into Python's, so that categories and constants compare by type."""
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


def _inside(what: str, value: object, lower: float, upper: float) -> float:
    result = checks.number(what, value, error=SchemaError)
    if not lower <= result <= upper:
        raise SchemaError(
            f"{what} must lie between the bounds {lower:g} and {upper:g}",
            found=f"{result:g}",
            remedy="Choose a value inside.",
        )
    return result
