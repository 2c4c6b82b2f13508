"""Plain text for numbers, names, sets and tables, harmless in a terminal; knows nothing of the domain."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import cast

Json = Mapping[str, object]

JOINERS = frozenset("\u200c\u200d")
"""Invisible, but part of the spelling of Persian, Indic and emoji words."""

ISOLATE, POP = "\u2068", "\u2069"
"""Between these two a text keeps its own direction and leaves that of the line alone."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""A cell that starts with one of these may be run as a formula by a spreadsheet."""


LEAST_SPELLED, MOST_SPELLED = 1e-9, 1e15
"""Between these, in size, a number is written without a power of ten."""


def number_text(value: float, digits: int = 4) -> str:
    """Return a number for people: a few digits, thousands separated, never in scientific notation when it is readable.

    Examples
    --------
    >>> number_text(12345.678), number_text(0.0000123456), number_text(float("inf"))
    ('12,346', '0.00001235', 'infinite')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if 1000 <= abs(value) < MOST_SPELLED:
        return f"{value:,.0f}"
    short = f"{value:.{digits}g}"
    return f"{Decimal(short):f}" if LEAST_SPELLED <= abs(value) < MOST_SPELLED else short


DIGITS_ROUNDING = 1e-12
"""Relative excess over a number of few digits that is rounding error, not part of the number."""


def rounded_up(value: float, digits: int = 3) -> float:
    """Return a number of at least 0 with few digits, rounded up.

    Examples
    --------
    >>> rounded_up(1.2214), rounded_up(0.001), rounded_up(0.0)
    (1.23, 0.001, 0.0)
    """
    if value == 0 or math.isinf(value):
        return value
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    if step == 0:
        return value
    return float(f"{math.ceil(value / step * (1 - DIGITS_ROUNDING)) * step:.{digits}g}")


def upper_text(value: float, digits: int = 4) -> str:
    """Return a number that is said to be reached at most, rounded up, so that what is printed is true.

    Examples
    --------
    >>> upper_text(0.69312), upper_text(0.25), upper_text(1234.1), upper_text(0.00001234), upper_text(float("inf"))
    ('0.6932', '0.25', '1,235', '0.000013', 'infinite')
    """
    if not 0 < value < 1e15:
        return number_text(value, digits)
    if value >= 1000:
        return number_text(math.ceil(value * (1 - DIGITS_ROUNDING)))
    return nats_text(rounded_up(value, 2 if value < FEW_DIGITS_BELOW else digits), max(digits, 4))


def lower_text(value: float, digits: int = 4) -> str:
    """Return a number that is said to be reached at least, rounded down, so that what is printed is true.

    Examples
    --------
    >>> lower_text(0.69319), lower_text(0.25), lower_text(1234.9), lower_text(0.0)
    ('0.6931', '0.25', '1,234', '0')
    """
    if not 0 < value < 1e15:
        return number_text(value, digits)
    step = 1.0 if value >= 1000 else max(5e-324, 10.0 ** (math.floor(math.log10(value)) - digits + 1))
    return number_text(math.floor(value / step * (1 + DIGITS_ROUNDING)) * step, digits)


def upper_percent(share: float) -> str:
    """Return a share that is reached at most in percent, rounded up to two digits.

    Examples
    --------
    >>> upper_percent(0.5514), upper_percent(0.0125), upper_percent(2.9957), upper_percent(0.0)
    ('56 %', '1.3 %', '300 %', '0 %')
    """
    return f"{upper_text(100 * share, 2)} %"


SPELLED = 30
"""Factors of more nats than this are printed as powers of ten."""


def factor_text(nats: float) -> str:
    """The factor exp(nats), rounded up; as a power of ten where the number would be too long to read.

    Examples
    --------
    >>> factor_text(1.0), factor_text(0.2), factor_text(8.0), factor_text(1000.0), factor_text(float("inf"))
    ('2.72', '1.23', '2,990', '10^435', 'infinite')
    """
    if math.isinf(nats):
        return "infinite"
    return number_text(rounded_up(math.exp(nats)), 3) if nats <= SPELLED else f"10^{math.ceil(nats / math.log(10))}"


def times_text(nats: float) -> str:
    """How far odds move at most: how many times, with the nats in brackets, both rounded up.

    Examples
    --------
    >>> times_text(0.0), times_text(1.0), times_text(0.2331), times_text(float("inf"))
    ('not at all', '2.72 times (1 nat)', '1.27 times (0.2331 nats)', 'any factor')
    """
    if not 0 < nats < math.inf:
        return "any factor" if nats else "not at all"
    amount = upper_text(nats)
    return f"{factor_text(nats)} times ({amount} nat{'s' * (amount != '1')})"


def by_times(nats: float) -> str:
    """The same after the verb.

    Examples
    --------
    >>> by_times(0.0), by_times(1.0), by_times(float("inf"))
    ('not at all', 'by at most 2.72 times (1 nat)', 'by any factor')
    """
    most = "by at most " if nats < math.inf else "by "
    return f"{most if nats else ''}{times_text(nats)}"


FEW_DIGITS_BELOW = 1e-4
"""Less than this of anything without a unit is written with two digits."""

SMALLEST = 1e-6
"""Less than this of anything without a unit is not spelled out."""


def nats_text(value: float, digits: int = 4) -> str:
    """Return a number of nats, or another number without a unit, as people write it.

    Examples
    --------
    >>> nats_text(4.726e-94), nats_text(0.0000123456), nats_text(0.4157), nats_text(0.0)
    ('under 0.000001', '0.000012', '0.4157', '0')
    """
    if 0 < value < SMALLEST:
        return f"under {SMALLEST:.6f}"
    if 0 < value < FEW_DIGITS_BELOW:
        return f"{value:.{1 - math.floor(math.log10(value))}f}"
    return number_text(value, digits)


RARE = 1e-3
"""A probability below this is said as one in so many."""

RAREST = 1e-12
"""A probability below this is not spelled out."""


def chance_text(chance: float) -> str:
    """Return a probability; a small one as one in so many.

    Examples
    --------
    >>> chance_text(0.25), chance_text(6.802e-7), chance_text(2.93e-204), chance_text(0.0)
    ('0.25', '1 in 1.47 million', 'under 1 in a trillion', '0')
    """
    if 0 < chance < RAREST:
        return "under 1 in a trillion"
    return f"1 in {rough_text(float(f'{1 / chance:.3g}'))}" if 0 < chance < RARE else number_text(chance)


def upper_chance(chance: float) -> str:
    """Return a probability that is reached at most, such as a delta, rounded up, in the same way.

    Examples
    --------
    >>> upper_chance(0.25), upper_chance(0.12341), upper_chance(2.924e-6), upper_chance(0.0)
    ('0.25', '0.124', '1 in 341,000', '0')
    """
    if not RAREST <= chance < RARE:
        return chance_text(rounded_up(chance) if chance >= RARE else chance)
    step = 10.0 ** (math.floor(math.log10(1 / chance)) - 2)
    return f"1 in {rough_text(math.floor(1 / chance / step * (1 + DIGITS_ROUNDING)) * step)}"


def rough_text(value: float) -> str:
    """Return a large number as it is said.

    Examples
    --------
    >>> rough_text(33_554_432), rough_text(1_048_576), rough_text(20_000), rough_text(7e10), rough_text(5.2e19)
    ('33.6 million', '1.05 million', '20,000', '70 billion', '5.2e+19')
    """
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if size <= abs(value) < 1000 * size:
            return f"{value / size:.3g} {word}"
    return number_text(value)


def full_text(value: float) -> str:
    """Return a number with as many digits as it has: one that is part of a claim must not be rounded.

    Examples
    --------
    >>> full_text(1.0), full_text(0.25), full_text(1234567.0), full_text(1e-6)
    ('1', '0.25', '1234567', '0.000001')
    """
    short = f"{value:g}"
    exact = short if float(short) == value else repr(value).removesuffix(".0")
    return f"{Decimal(exact):f}" if RAREST <= abs(value) < MOST_SPELLED else exact


def percent_text(share: float) -> str:
    """Return a share in percent; what is not quite all or nothing does not look like it.

    Examples
    --------
    >>> percent_text(0.23197), percent_text(0.99999), percent_text(0.00001), percent_text(1.0), percent_text(5.4)
    ('23 %', 'over 99.9 %', 'under 0.1 %', '100 %', '540 %')
    """
    percent = 100 * share
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if 99.9 < percent < 100:
        return "over 99.9 %"
    digits = 1 if percent < 10 or 99 < percent < 100 else 0
    shown = f"{percent:,.{digits}f}"
    return f"{shown.removesuffix('.0')} %"


def visible(text: str) -> str:
    r"""Return a text with everything in it made visible that could steer a terminal or deceive a reader.

    Control characters, escape sequences, line breaks, changes of direction and invisible characters come out as in a
    Python string; letters of every script stay.

    Examples
    --------
    >>> print(visible("a\x1b[31m\nb\u202ec"))
    a\x1b[31m\nb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(letter if _is_plain(letter) else letter.encode("unicode_escape").decode("ascii") for letter in text)


def _is_plain(letter: str) -> bool:
    # Space separators are no letters to isprintable(), apart from the space itself, but they do no harm.
    return letter.isprintable() or letter in JOINERS or unicodedata.category(letter) == "Zs"


def shorten(text: str, most: int = 40) -> str:
    """Return a text of at most `most` characters; the middle goes, because names often differ at their ends.

    Examples
    --------
    >>> shorten("a rather long name of a column", 15)
    'a rath...column'
    """
    if len(text) <= most:
        return text
    head = (most - 2) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :].lstrip()}"


def isolated(text: str) -> str:
    """Return a text that holds letters written from right to left so that it does not reorder what stands around it."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text):
        return f"{ISOLATE}{text}{POP}"
    return text


def name_text(name: str, most: int = 40) -> str:
    """Return a name for a line of text: harmless and not too long."""
    return shorten(visible(name), most)


def in_order(names: Iterable[str]) -> list[str]:
    """Return names sorted as people do: numbers within them by their size.

    Examples
    --------
    >>> in_order(["phi[10]", "phi[2]", "mu"])
    ['mu', 'phi[2]', 'phi[10]']
    """
    return sorted(
        names, key=lambda name: ([(rest, int(number or 0)) for rest, number in _NUMBERED.findall(name)], name)
    )


_NUMBERED = re.compile(r"([^0-9]*)([0-9]*)")


def element_text(name: str, axes: Mapping[str, Sequence[tuple[str, Sequence[str]]]]) -> str:
    """Return an entry of an array in words, by the names of its dimensions; any other name as it is.

    Parameters
    ----------
    name : str
    axes : mapping from str to sequence of (str, sequence of str)
        Of every array the dimensions, each with the labels of its entries; a dimension may have no name.

    Examples
    --------
    >>> element_text("theta[Choate]", {"theta": [("school", ["Choate", "Exeter"])]}), element_text("mu", {})
    ('theta, school = Choate', 'mu')
    """
    array, _, entry = name.partition("[")
    known, inside = axes.get(array, ()), entry.removesuffix("]")
    places = inside.split(", ") if len(known) > 1 else [inside]
    if not entry or len(places) != len(known):
        return name
    said = [f"{dim} = {place}" if dim else place for (dim, _), place in zip(known, places, strict=True)]
    return ", ".join([array, *said])


def set_text(names: Iterable[str]) -> str:
    """Return names between braces, sorted.

    Examples
    --------
    >>> set_text({"sat", "height"})
    '{height, sat}'
    """
    return "{" + ", ".join(visible(name) for name in in_order(names)) + "}"


def some_text(names: Collection[str], most: int = 6, nothing: str = "none") -> str:
    """Return at most `most` names in a row, sorted, and how many more there are.

    Examples
    --------
    >>> some_text({"a", "b", "c", "d"}, most=2), some_text({"a"}), some_text(())
    ('a, b and 2 more', 'a', 'none')
    """
    shown = [name_text(name, 24) for name in in_order(names)[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return and_text(shown) if shown else nothing


def and_text(words: Sequence[str]) -> str:
    """Return words in a row.

    Examples
    --------
    >>> and_text(["a"]), and_text(["a", "b"]), and_text(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def lines_text(lines: Iterable[str]) -> str:
    """Return lines below each other; a line break inside one of them cannot pass for a line of ours."""
    return "\n".join(visible(line) for line in lines)


def shorter(lines: Sequence[str], most: int = 3) -> list[str]:
    """The first of many lines, and how many more there are.

    Examples
    --------
    >>> shorter(["a = 1", "b = 2", "c = 3"], 1)
    ['a = 1', 'and 2 more numbers']
    """
    more = len(lines) - most
    return [*lines[:most], f"and {more:,} more numbers"] if more > 1 else [*lines]


def wrapped(text: str, most: int) -> list[str]:
    """The lines of a text, each of at most `most` columns of a terminal; only a longer word is cut.

    Examples
    --------
    >>> wrapped("the answer stays sharp", 12), wrapped("", 12), wrapped("aaaaaa", 4)
    (['the answer', 'stays sharp'], [''], ['aaaa', 'aa'])
    """
    lines, line = list[str](), ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= most:
            line = longer
            continue
        lines += [line] if line else []
        line = word
        while width(line) > most:
            lines.append(line[: max(1, most // 2 if width(line[:most]) > most else most)])
            line = line[len(lines[-1]) :]
    return [*lines, line]


def clipped(text: str, most: int) -> str:
    """The first words of a text, in at most `most` columns of a terminal; names would lose their middle.

    Examples
    --------
    >>> clipped("a proved bound", 14), clipped("a proved bound", 13)
    ('a proved bound', 'a proved ...')
    """
    return text if width(text) <= most else f"{wrapped(text, most - 4)[0]} ..."


def width(text: str) -> int:
    """Return how many columns a terminal needs for a text.

    Examples
    --------
    >>> width("abc"), width("\u6771\u4eac"), width("\u2068\u05d0\u2069")
    (3, 4, 1)
    """
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def table_text(header: Sequence[str], rows: Iterable[Sequence[str]], widest: int = 60) -> str:
    """Return a table in aligned columns; a cell is shortened to `widest` characters.

    Examples
    --------
    >>> print(table_text(["quilt", "nats"], [["{sat}", "1.39"], ["{}", "0"]]))
    quilt  nats
    {sat}  1.39
    {}     0
    """
    cells = [[isolated(shorten(visible(cell), widest)) for cell in row] for row in (header, *rows)]
    widths = [max(width(row[k]) for row in cells) for k in range(len(header))]
    padded = [[cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)] for row in cells]
    return "\n".join("  ".join(row).rstrip() for row in padded)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Return a table as CSV in which no text is taken for a formula; numbers stay numbers.

    Examples
    --------
    >>> print(csv_text(["column", "nats"], [["=cmd()", -1.5], ["a, b", 2.0]]), end="")
    column,nats
    '=cmd(),-1.5
    "a, b",2.0
    """
    return "".join(",".join(_csv_cell(cell) for cell in row) + "\n" for row in (header, *rows))


def _csv_cell(cell: str | float) -> str:
    if not isinstance(cell, str):
        return repr(cell)
    text = visible(cell)
    # An apostrophe in front makes a spreadsheet read text.
    text = f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text
    return '"' + text.replace('"', '""') + '"' if any(letter in text for letter in ',;"\n') else text


def shown_number(value: float, width: float) -> str:
    """A number with the digits that the noise leaves meaningful, or all of them if there is none."""
    if not width > 0 or not math.isfinite(width):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    digits = max(0, 2 - math.floor(math.log10(width)))
    return f"{value:,.{digits}f}" if abs(value) < 1e15 and digits <= 15 else repr(value)


def command_text(*words: str, **options: object) -> str:
    """Return a command of the shell; options without a value are left out, and lists repeat theirs.

    Examples
    --------
    >>> print(command_text("bnpriv", "plan", "my file.toml", query="count(a > 1)", delta=0.0, despite_public=True))
    bnpriv plan 'my file.toml' --query 'count(a > 1)' --despite-public
    """
    said = list(words)
    for name, value in options.items():
        for each in cast("list[object]", value) if isinstance(value, list) else [value]:
            if each:
                said += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
    return shlex.join(said)


def call_text(function: str, *words: str, **options: object) -> str:
    """Return a call in Python of arguments that are written in it; options without a value are left out.

    Examples
    --------
    >>> print(call_text("session.release", "best", key="it's", even_if_useless=False))
    session.release(best, key="it's")
    """
    said = [*words, *(f"{name}={value!r}" for name, value in options.items() if value)]
    return f"{function}({', '.join(said)})"
