"""What a value of any type counts as where numbers or categories are declared: one rule, for every engine and file.

It looks at the value alone, never at the type of its column: engines infer that from all the values together, so that
one text among numbers, or a column without any value, would change how the others are read.

=============  ===============================  ================================  ====================================
declared       a number                         a truth value                     a text
=============  ===============================  ================================  ====================================
numbers        itself                           0 or 1                            the number that it writes; true, false
truth values   true for 1, false for 0          itself                            true, t, yes, y, 1; false, f, no, n, 0
texts          the one category that writes it  the one category that writes it   itself, or without blanks around it
=============  ===============================  ================================  ====================================

Everything else is missing. Decimals are numbers, and a text that writes something may have spaces around it. The texts
are all labels of a column: names of categories, and those that `coarsen` says count as one. A text that is no label
counts as the one that it is without the blanks around it, spaces and tabs: files of the census write " Private".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast

import numpy as np

from bnpriv.tables.schema import Categorical, Category

T = TypeVar("T")
ColumnValues = list[Any]

NUMBER = r"^ *[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?) *$"
"""What a text that is a number looks like; all engines, and Python, round such a text to the same double."""

BLANKS = " \t"
"""What is taken off around a text that is no label as it stands."""

IN_NO_NUMBER = "[^-+.0-9a-zA-Z ]"
"""What no text that is a number has anywhere in it."""


def _spellings(*words: str) -> tuple[str, ...]:
    return tuple(spelt for word in words for spelt in (word, word.capitalize(), word.upper()))


TRUE, FALSE = _spellings("true", "t", "yes", "y"), _spellings("false", "f", "no", "n")
BOTH = _spellings("true", "false")
"""Words that count as 1 and 0 where numbers are declared: what a truth value looks like as a text."""

_NUMBER_PATTERN = re.compile(NUMBER)
_NUMERIC = (bool, int, float, np.bool_, np.integer, np.floating, Decimal)


def _is_number(text: str) -> bool:
    return "\n" not in text and _NUMBER_PATTERN.match(text) is not None


def number(value: object) -> float:
    """Return the number that a value counts as, NaN if it is missing.

    Examples
    --------
    >>> [number(value) for value in (2, True, " 1.5", "1,5", None, Decimal("0.3"))]
    [2.0, 1.0, 1.5, nan, nan, 0.3]
    """
    # by its type, which no value can pretend: isinstance would ask the value itself
    kind = type(value)
    if issubclass(kind, str):
        text = str(value)
        if text.strip(" ") in BOTH:
            return float(text.strip(" ") in TRUE)
        return float(text) if _is_number(text) else math.nan
    if not issubclass(kind, _NUMERIC) or issubclass(kind, np.timedelta64):
        return math.nan
    known = cast(Any, value)
    try:
        return float(known)
    except OverflowError:  # a whole number larger than every double
        return math.inf if known > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def truth(value: object) -> bool | None:
    """Return the truth value that a value counts as, None if it is missing.

    Examples
    --------
    >>> [truth(value) for value in (True, 0, "yes", "maybe", None)]
    [True, False, True, None, None]
    """
    if issubclass(type(value), str):
        text = str(value).strip(" ")
        if text in TRUE or text in FALSE:
            return text in TRUE
    return {1.0: True, 0.0: False}.get(number(value))


def keys_of(column: Categorical, kind: type) -> dict[Category | float, Category]:
    """Return which values of one kind, str, float or bool, count as which category.

    Examples
    --------
    >>> keys_of(Categorical(["1", "02", "other"], coarsen={"other": [3, 4]}), float)
    {1.0: '1', 2.0: '02', 3.0: 'other', 4.0: 'other'}
    """
    if not isinstance(column.categories[0], str):
        return {label if kind is bool else float(label): category for label, category in column.labels.items()}
    if kind is str:
        return {**column.labels}
    if kind is bool:
        return _written(column, truth)
    numbers = _written(column, number)
    return {key: category for key, category in numbers.items() if not math.isnan(key)}


def _written(column: Categorical, read: Callable[[object], T | None]) -> dict[T, Category]:
    """Return the categories by what their labels write, but for what labels of two categories write."""
    found: dict[T, set[Category]] = {}
    for label, category in column.labels.items():
        meant = read(label)
        if meant is not None:
            found.setdefault(meant, set()).add(category)
    return {meant: categories.pop() for meant, categories in found.items() if len(categories) == 1}


def with_blanks(column: Categorical) -> list[Category]:
    """Return the labels of a column of texts that are declared with blanks around them, which stand as they are."""
    return [label for label in column.labels if isinstance(label, str) and label != label.strip(BLANKS)]


def categories(values: Iterable[object], column: Categorical) -> list[Category | None]:
    """Return the category that every value counts as, None where it is missing; nothing that a value is can raise."""
    first = column.categories[0]
    if not isinstance(first, str):
        read: Callable[[object], float | bool | None] = truth if isinstance(first, bool) else number
        known = cast(Mapping[object, Category], keys_of(column, bool if isinstance(first, bool) else float))
        return [known.get(read(value)) for value in values]
    texts, numbers, truths = (keys_of(column, kind) for kind in (str, float, bool))
    return [_text_category(value, texts, numbers, truths) for value in values]


def _text_category(
    value: object, texts: Mapping[Any, Category], numbers: Mapping[Any, Category], truths: Mapping[Any, Category]
) -> Category | None:
    kind = type(value)
    if issubclass(kind, str):
        return texts.get(str(value), texts.get(str(value).strip(BLANKS)))
    if issubclass(kind, (bool, np.bool_)):
        return truths.get(bool(value))
    return numbers.get(number(value))
