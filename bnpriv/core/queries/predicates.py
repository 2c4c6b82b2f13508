"""Conditions on one record, and the bins of histograms and cross tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice, pairwise
from numbers import Integral
from typing import ClassVar, Literal, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.core.columns import MOST_BINS, Binned, Categorical, Integer
from bnpriv.core.schema import Column
from bnpriv.errors import QueryError, SizeError

# --------------------------------------------------------------------------------------------------
# Conditions on one record: comparisons of columns with constants, joined by & | ~.
#
# A predicate reads the column after missing values are filled and bounds are applied, before the grid. Constants are
# kept as the plain str, bool, int or float of Python, so that a predicate prints as the grammar reads it.
# --------------------------------------------------------------------------------------------------

Truths = NDArray[np.bool_]

Constant = str | int | float | bool
Operator = Literal["<", "<=", ">", ">=", "==", "!="]
MOST_NESTED = 30
OPERATORS: tuple[Operator, ...] = ("<", "<=", ">", ">=", "==", "!=")


class Predicate:
    """A condition on one record; combine with ``&``, ``|`` and ``~``."""

    depth: int = 0  # how many conditions are nested in each other

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the condition reads."""
        return frozenset(part.column for part in self.comparisons())

    def comparisons(self) -> tuple[Comparison | IsIn, ...]:
        """The conditions on single columns, from left to right."""
        raise QueryError(
            "a condition compares a column, or joins conditions that do",
            found=f"a bare {type(self).__name__}",
            remedy="Write bnpriv.col(name) > value.",
        )

    def __and__(self, other: Predicate) -> And:
        return And((self, _predicate(other)))

    def __rand__(self, other: object) -> NoReturn:
        raise _unjoined(other)

    def __or__(self, other: Predicate) -> Or:
        return Or((self, _predicate(other)))

    def __ror__(self, other: object) -> NoReturn:
        raise _unjoined(other)

    def __invert__(self) -> Not:
        return Not(self)

    def __bool__(self) -> bool:
        raise QueryError(
            "predicates are combined with &, | and ~",
            found="`and`, `or`, `not`, `in`, `if` or a chained comparison, as in 1 < col(...) < 2",
            remedy='Write (col("a") > 1) & (col("a") < 2), ~(col("a") > 1), or col("a").isin([1, 2]).',
        )


@dataclass(frozen=True)
class Comparison(Predicate):
    """``column operator value``."""

    column: str
    operator: Operator
    value: Constant

    def __post_init__(self) -> None:
        column_name(self.column)
        checks.member("an operator", self.operator, OPERATORS, error=QueryError)
        object.__setattr__(self, "value", constant(self.value))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """What the column is compared with."""
        return (self.value,)

    def comparisons(self) -> tuple[Comparison | IsIn, ...]:
        """The condition itself."""
        return (self,)

    def __str__(self) -> str:
        return f"{quoted(self.column)} {self.operator} {literal(self.value)}"


@dataclass(frozen=True)
class IsIn(Predicate):
    """``column in values``."""

    column: str
    values: Sequence[Constant]

    def __post_init__(self) -> None:
        column_name(self.column)
        if isinstance(self.values, str) or not self.values:
            raise _unlisted(self.values)
        object.__setattr__(self, "values", tuple(constant(value) for value in self.values))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """What the column is compared with."""
        return tuple(self.values)

    def comparisons(self) -> tuple[Comparison | IsIn, ...]:
        """The condition itself."""
        return (self,)

    def __str__(self) -> str:
        return f"{quoted(self.column)} in {literals(self.values)}"


@dataclass(frozen=True)
class _Joined(Predicate):
    """Two or more conditions joined by one operator; nested uses of the same operator are flattened."""

    parts: tuple[Predicate, ...]
    depth: int = field(init=False, repr=False, compare=False)
    sign: ClassVar[str] = ""

    def __post_init__(self) -> None:
        nested = tuple(_predicate(part) for part in self.parts)
        parts = tuple(leaf for part in nested for leaf in (part.parts if isinstance(part, type(self)) else (part,)))
        if len(parts) < 2:
            raise QueryError("& and | join two conditions or more", found=str(len(parts)), remedy="Use the condition.")
        vars(self).update(parts=parts, depth=max(_nested(part) for part in parts))

    def comparisons(self) -> tuple[Comparison | IsIn, ...]:
        """The conditions on single columns."""
        return tuple(leaf for part in self.parts for leaf in part.comparisons())

    def __str__(self) -> str:
        return f" {self.sign} ".join(f"({part})" for part in self.parts)


class And(_Joined):
    """All of `parts`."""

    sign = "&"


class Or(_Joined):
    """At least one of `parts`."""

    sign = "|"


@dataclass(frozen=True)
class Not(Predicate):
    """Not `part`."""

    part: Predicate
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _nested(_predicate(self.part)))

    def comparisons(self) -> tuple[Comparison | IsIn, ...]:
        """The conditions on single columns."""
        return self.part.comparisons()

    def __str__(self) -> str:
        return f"~({self.part})"


@dataclass(frozen=True, eq=False)
class Col:
    """A column by name, waiting to be compared; made by `col`."""

    name: str

    def __gt__(self, value: Constant) -> Comparison:
        return Comparison(self.name, ">", value)

    def __ge__(self, value: Constant) -> Comparison:
        return Comparison(self.name, ">=", value)

    def __lt__(self, value: Constant) -> Comparison:
        return Comparison(self.name, "<", value)

    def __le__(self, value: Constant) -> Comparison:
        return Comparison(self.name, "<=", value)

    def __eq__(self, value: Constant) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "==", value)

    def __ne__(self, value: Constant) -> Comparison:  # type: ignore[override]
        return Comparison(self.name, "!=", value)

    def __hash__(self) -> NoReturn:  # in a mapping from columns, such as the weights of `linear`
        raise _unnamed(f"col({self.name!r})", f"Write {self.name!r} alone: col is for conditions.")

    def __bool__(self) -> NoReturn:
        raise _uncompared(self.name)

    def __invert__(self) -> NoReturn:
        raise _uncompared(self.name)

    def __and__(self, other: object) -> NoReturn:
        raise _unjoined(self)

    def __rand__(self, other: object) -> NoReturn:
        raise _unjoined(other)

    __or__, __ror__ = __and__, __rand__

    def __add__(self, other: object) -> NoReturn:
        raise QueryError(
            "a column is compared with a constant, or summed",
            found=f"arithmetic with col({self.name!r})",
            remedy='Weigh columns with linear({"height": 0.5, "sat": 2}), or compute a column of the table first.',
        )

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __pow__ = __add__

    def isin(self, values: Iterable[Constant]) -> IsIn:
        """The condition that the column holds one of `values`."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise _unlisted(values)
        return IsIn(self.name, tuple(values))


def col(name: str) -> Col:
    """Name a column in a condition.

    Parameters
    ----------
    name : str
        The column.

    Returns
    -------
    Col
        Compare it with ``<``, ``<=``, ``>``, ``>=``, ``==``, ``!=`` or `isin` to get a predicate.

    Examples
    --------
    >>> print((col("height") > 170) & ~col("gender").isin(["f"]))
    (height > 170) & (~(gender in ["f"]))
    """
    return Col(column_name(name))


def column_name(value: object) -> str:
    """The checked name of a column.

    Raises
    ------
    QueryError
        If it is none.
    """
    if isinstance(value, Col):
        raise _unnamed(f"col({value.name!r})", f"Write {value.name!r} alone: col is for conditions.")
    if isinstance(value, Predicate):
        raise _unnamed("a condition", "Count the records for which it holds, with count or proportion.")
    return checks.text("a column's name", value, error=QueryError)


def quoted(name: str) -> str:
    """A column's name as the grammar writes it: bare when it is an identifier, else between backticks."""
    plain = name.isascii() and name.isidentifier() and name != "in"
    return name if plain else "`" + name.replace("`", "``") + "`"


def literal(value: Constant) -> str:
    """A constant as the grammar writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def literals(values: Iterable[Constant]) -> str:
    """A list of constants as the grammar writes it."""
    return f"[{', '.join(map(literal, values))}]"


def distinct(what: str, names: Sequence[str]) -> None:
    """Refuse a list of columns that is empty or names one twice.

    Raises
    ------
    QueryError
        If it does.
    """
    if not names:
        raise QueryError(f"{what} needs a column", found="none", remedy="Name the columns.")
    if len(set(names)) < len(names):
        found = f"a repeated column among {checks.listing(names)}"
        raise QueryError(f"{what} takes each column once", found=found, remedy="List each column once.")


def _predicate(value: object) -> Predicate:
    if not isinstance(value, Predicate):
        raise _unjoined(value)
    return value


def _unjoined(side: object) -> QueryError:
    """The refusal of an operand of & or | that is no condition, usually for want of parentheses."""
    return QueryError(
        "a condition is needed on both sides of & and |",
        found=f"col({side.name!r}) without a comparison" if isinstance(side, Col) else checks.type_text(side),
        remedy='Put every comparison into parentheses: (col("a") > 1) & (col("b") < 2).',
    )


def _unnamed(found: str, remedy: str) -> QueryError:
    return QueryError("a column goes by its name here", found=found, remedy=remedy)


def _uncompared(name: str) -> QueryError:
    return QueryError(
        "a column must be compared to be a condition",
        found=f"col({name!r}) alone",
        remedy=f"Write for example col({name!r}) == 1.",
    )


def _unlisted(values: object) -> QueryError:
    found = "an empty list" if values == () else checks.type_text(values)
    return QueryError("isin needs a list of values", found=found, remedy="List the values that count: isin([1, 2]).")


def _nested(part: Predicate) -> int:
    """The nesting depth around `part`, limited so that no recursion through a condition overflows the stack."""
    if part.depth >= MOST_NESTED:
        raise QueryError(
            f"conditions may be nested {MOST_NESTED} deep",
            found="a deeper one",
            remedy="Write it flatter: & and | of many conditions need no parentheses, and isin takes many values.",
        )
    return part.depth + 1


def constant(value: object) -> Constant:
    """A constant as a plain str, bool, int or float.

    Raises
    ------
    QueryError
        If it is none of these, or is not finite.
    """
    if isinstance(value, (str, bool)):
        return value if isinstance(value, bool) else str(value)
    result = checks.number("a constant in a condition", value, error=QueryError, remedy=_constant_remedy(value))
    return int(value) if isinstance(value, Integral) else result


def _constant_remedy(value: object) -> str:
    if isinstance(value, Col):
        return "Two columns are not compared: add a column to the table first that says which records count."
    if value is None:
        return "A missing value counts as the `missing` that its column declares: compare with that."
    if isinstance(value, Iterable):
        return "Compare with several values by isin([...])."
    return "Compare a column with a number, a text, True or False."


def truth(predicate: Predicate, leaf: Callable[[Comparison | IsIn], Truths]) -> Truths:
    """Evaluate a condition, given the truth of its comparisons of single columns.

    Raises
    ------
    TypeError
        If a part is no known predicate.

    Examples
    --------
    >>> both = Comparison("a", ">", 1) & ~IsIn("b", ("x",))
    >>> truth(both, lambda part: np.array([part.column == "a", False])).tolist()
    [True, False]
    """
    if isinstance(predicate, And):
        return reduce(np.logical_and, [truth(part, leaf) for part in predicate.parts])
    if isinstance(predicate, Or):
        return reduce(np.logical_or, [truth(part, leaf) for part in predicate.parts])
    if isinstance(predicate, Not):
        return np.logical_not(truth(predicate.part, leaf))
    if not isinstance(predicate, (Comparison, IsIn)):
        raise TypeError(f"{type(predicate).__name__} is no known predicate")
    return leaf(predicate)


# --------------------------------------------------------------------------------------------------
# Bins of a column: intervals between edges, or categories, each with a condition and a name.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnBin:
    """One bin of a column.

    Parameters
    ----------
    label : str
        Its name for tables, such as ``age [17, 45)``.
    condition : Predicate
        Which records fall into it.
    """

    label: str
    condition: Predicate


MOST_NUMBERS_APART = 12
"""Up to so many whole numbers between a column's bounds are counted one by one when no edges are given."""


def bins_of(name: str, column: Column, given: tuple[Constant, ...] | None, what: str) -> tuple[ColumnBin, ...]:
    """The bins of a column: its categories, a few whole numbers one by one, or intervals between edges.

    A bin holds its lower edge and not its upper one, but the last bin holds both.

    Parameters
    ----------
    name : str
    column : Column
    given : tuple, optional
        Edges, or the categories that count; by default all categories, all whole numbers if they are few, or
        the edges that the column declares.
    what : str
        The question that needs them, for the refusal.

    Raises
    ------
    QueryError
        If a column of numbers comes without increasing edges.

    Examples
    --------
    >>> from bnpriv.core.schema import Integer
    >>> for each in bins_of("age", Integer(0, 120), (17, 45, 90), "a histogram"):
    ...     print(f"{each.label}: {each.condition}")
    age [17, 45): (age >= 17) & (age < 45)
    age [45, 90]: (age >= 45) & (age <= 90)
    """
    singly = given or tuple(column.categories) if isinstance(column, Categorical) else _few_numbers(column, given)
    if singly:
        conditions = [Comparison(name, "==", value) for value in singly]
        return tuple(ColumnBin(str(condition), condition) for condition in conditions)
    edges = edges_of(name, column, given, what)
    last = len(edges) - 2
    return tuple(
        ColumnBin(
            f"{quoted(name)} [{literal(low)}, {literal(high)}{']' if place == last else ')'}",
            And((Comparison(name, ">=", low), Comparison(name, "<=" if place == last else "<", high))),
        )
        for place, (low, high) in enumerate(pairwise(edges))
    )


def _few_numbers(column: Column, given: tuple[Constant, ...] | None) -> tuple[Constant, ...]:
    """The whole numbers of a column that are counted one by one; none if they are many, or edges are given."""
    if given is not None or not isinstance(column, Integer) or column.upper - column.lower >= MOST_NUMBERS_APART:
        return ()
    return tuple(range(column.lower, column.upper + 1))


def edges_of(name: str, column: Column, given: tuple[Constant, ...] | None, what: str) -> tuple[Constant, ...]:
    """The edges of the bins of a column of numbers.

    Raises
    ------
    QueryError
        If there are none, or they do not increase.
    """
    edges = tuple(column.edges) if given is None and isinstance(column, Binned) else given
    if edges is None or len(edges) < 2 or isinstance(edges[0], (str, bool)):
        found = checks.listing(literal(value) for value in edges or ())
        raise QueryError(
            f"{what} of {name!r}, which holds numbers, needs two or more edges",
            found=found,
            remedy="List the edges of the bins from public knowledge, for example [120, 150, 220].",
        )
    _increasing(edges)
    return edges


def checked_bins(bins: Iterable[object], what: str) -> tuple[Constant, ...]:
    """Bins as plain values, checked as far as possible without the schema.

    Raises
    ------
    QueryError
        If they are no list, or an empty one, repeat a value, mix types, or are fractions in no order.
    SizeError
        If they are too many; found out before the rest is looked at.
    """
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise QueryError(
            f"the bins of {what} are a list of edges or categories",
            found=checks.type_text(bins),
            remedy="List the edges: a number of bins would have to be read off the data.",
        )
    values = tuple(constant(value) for value in islice(bins, MOST_BINS + 1))
    if len(values) > MOST_BINS:
        raise SizeError(
            f"{what} may have at most {MOST_BINS:,} bins, for each of which distributions are computed and noise is "
            "drawn",
            found="more",
            remedy="List fewer edges, or ask for quantiles.",
        )
    if not values:
        raise QueryError(f"{what} needs bins", found="an empty list", remedy="Leave bins out, or list them.")
    kinds = {type(value) if isinstance(value, (str, bool)) else float for value in values}
    if len(kinds) > 1:
        found = checks.listing(sorted(kind.__name__ for kind in kinds))
        raise QueryError("bins must be of one type", found=found, remedy="List edges, or list categories.")
    if len(set(values)) < len(values):
        raise QueryError("bins must be distinct", found="a repeated value", remedy="List each value once.")
    if any(isinstance(value, float) for value in values):
        _increasing(values)  # categories are never fractions, so these are edges
    return values


def _increasing(edges: tuple[Constant, ...]) -> None:
    for low, high in pairwise(cast("tuple[float, ...]", edges)):
        if not low < high:
            raise QueryError("edges must increase", found=f"{low!r} before {high!r}", remedy="Sort the edges.")
