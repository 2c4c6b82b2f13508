"""What a ledger takes and returns: budgets, accounts, charges, receipts, and where a release stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import NoReturn, cast

from bnpriv import checks
from bnpriv.core.accounting.entries import rounded_up, typed
from bnpriv.errors import LedgerError, ParameterError
from bnpriv.render.as_text import PRINTED_WIDTH, inline
from bnpriv.render.document import Code, Fact, fact
from bnpriv.text import Json, upper_text, wrapped

# --------------------------------------------------------------------------------------------------
# What a ledger takes and returns: budgets, accounts, charges, receipts.
# --------------------------------------------------------------------------------------------------

MOST_DIGITS = 1000
"""Of an exact number that is kept: the shortest decimal of any double has fewer."""

_EXACT_TEXT = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")


@dataclass(frozen=True, init=False)
class Budget:
    """The most that all releases of an account may tell together, in exact numbers.

    Parameters
    ----------
    epsilon : float or Fraction
        Above 0. A float means its shortest decimal: .3 is three tenths.
    delta : float or Fraction
        At least 0 and below 1.

    Raises
    ------
    ParameterError
        If one of them is out of range, NaN or no number.

    Examples
    --------
    >>> Budget(0.3).epsilon
    Fraction(3, 10)
    >>> Budget(1, delta=1e-6)
    Budget(epsilon=1, delta=1/1000000)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction = 0) -> None:
        object.__setattr__(self, "epsilon", _exact("epsilon of a budget", epsilon))
        object.__setattr__(self, "delta", _exact("delta of a budget", delta))
        if not self.epsilon > 0:
            remedy = "Choose the bound on the log odds that you accept for all releases together, for example 2.0."
            raise ParameterError("epsilon of a budget must be above 0", found=f"{float(self.epsilon):g}", remedy=remedy)
        if not 0 <= self.delta < 1:
            remedy = "Pass 0, or a number well below one over the number of records."
            raise ParameterError(
                "delta of a budget must be at least 0 and below 1", found=f"{float(self.delta):g}", remedy=remedy
            )

    def __repr__(self) -> str:
        return f"Budget(epsilon={self.epsilon}, delta={self.delta})"


@dataclass(frozen=True, kw_only=True)
class Account:
    """One budget in a ledger, and what it is the budget of.

    Parameters
    ----------
    number : int
        Of its chain.
    name : str
    framework, data : str
        Fingerprints.
    budget : Budget
    opening : str
        The hash of the row that opened it, with which its chain starts.
    """

    number: int
    name: str
    framework: str
    data: str
    budget: Budget
    opening: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Charge:
    """A release that was charged.

    Parameters
    ----------
    number : int
        Which charge of the account it is, from 1.
    sequence : int
        Its row in the chain of the account.
    hash : str
        Of that row.
    entry : mapping
        What the accountant keeps of it.
    key : str or None
        The caller's name for this one release.
    total : Fraction
        At least what all releases up to this one tell together, and not above the budget.
    time : str
        When, in UTC, by the clock of who asked.
    """

    number: int
    sequence: int
    hash: str
    entry: Mapping[str, object]
    key: str | None
    total: Fraction
    time: str


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredAnswer:
    """A released answer as it is kept.

    Parameters
    ----------
    sequence : int
        Its row in the chain of the account.
    hash : str
        Of that row: the head of the account when the answer was shown.
    content : mapping
        What was shown.
    """

    sequence: int
    hash: str
    content: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, eq=False)
class Receipt:
    """What `Ledger.charge` returns.

    Parameters
    ----------
    account : Account
    charge : Charge
    answer : StoredAnswer or None
        None for a new charge: compute the answer, store it, show it. Otherwise the answer that was stored under the
        same key: show that.
    """

    account: Account
    charge: Charge
    answer: StoredAnswer | None


@dataclass(frozen=True, kw_only=True)
class LedgerCheck:
    """What `Ledger.verify` found whole.

    Parameters
    ----------
    accounts, charges, answers : int
        How many.
    heads : mapping from str to str
        The last hash of each account, by name.
    """

    accounts: int
    charges: int
    answers: int
    heads: Mapping[str, str]


class Uncopied:
    """What stands for a place that others charge too: a copy would be another thing, so it is refused."""

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled.

        Raises
        ------
        ParameterError
        """
        raise ParameterError(
            f"a {type(self).__name__} must be opened where it is used",
            found="a copy or a pickle of one",
            remedy="Open it there with the same ledger: all who do share one budget.",
        )


def read_exact(text: object) -> Fraction:
    """Read an exact number that was written as text.

    Raises
    ------
    ValueError
        If it is anything else: negative, NaN, too long, or not in lowest terms.

    Examples
    --------
    >>> read_exact("3/10")
    Fraction(3, 10)
    """
    if not isinstance(text, str) or not _EXACT_TEXT.fullmatch(text):
        raise ValueError
    try:
        found = Fraction(text)
    except ZeroDivisionError:
        raise ValueError from None
    if str(found) != text:
        raise ValueError
    return found


def total_text(total: Fraction, budget: Budget) -> str:
    """Return a total as text: itself, or where it has too many digits a number from it up to the budget.

    Examples
    --------
    >>> total_text(Fraction(1, 3), Budget(2.0))
    '1/3'
    """
    if _is_short(total):
        return str(total)
    above = rounded_up(total)
    return str(min(Fraction(above), budget.epsilon) if above < 2**53 else budget.epsilon)


def check_entry(entry: object) -> None:
    """Check that the epsilon and delta of a release are exact, not negative, and no more than numbers can be.

    Raises
    ------
    LedgerError
        If they are not.
    """
    try:
        if not isinstance(entry, Mapping):
            raise TypeError
        given = cast("Mapping[str, object]", entry)
        read_exact(given["epsilon"])
        if not read_exact(given["delta"]) < 1:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise LedgerError(
            "a release that is charged must have an epsilon of at least 0 and a delta from 0 to below 1, as exact text",
            found="another",
            remedy='Pass what Entry.to_json() returns: "epsilon": "1/10".',
        ) from None


def is_key(key: object) -> bool:
    """Say whether something can be the key of a release: a text that is not blank, of at most 200 letters."""
    return isinstance(key, str) and bool(key.strip()) and len(key) <= 200


def _exact(what: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (Fraction, Integral)):
        return typed(checks.number(what, value))
    found = value if isinstance(value, Fraction) else Fraction(int(value))
    if not _is_short(found):
        remedy = "Pass a float, or a fraction with fewer digits."
        raise ParameterError(f"{what} must have at most {MOST_DIGITS} digits", found="more", remedy=remedy)
    return found


def _is_short(number: Fraction) -> bool:
    return max(abs(number.numerator), number.denominator) < 10**MOST_DIGITS


# --------------------------------------------------------------------------------------------------
# Where a release stands in a ledger, so that a reader can tell whether the ledger was turned back later.
# --------------------------------------------------------------------------------------------------

NOT_COUNTED_BEFORE = (
    "It is the first of this account: what was released of the table before, with another ledger, under another name, "
    "with another framework or without a ledger, is not counted."
)
"""Said loudly, as a ledger that was lost or forgotten gives a second budget to the same table."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Where a release stands in a ledger; printed with it.

    Parameters
    ----------
    account : str
        The name of the account that was charged.
    number : int
        Which release of the account it is, from 1.
    head : str
        The last hash of the ledger's chain. A ledger that does not hold it any more was turned back or replaced.
    total : float
        What all releases of the account tell together, this one included: epsilon, rounded up.
    budget : float
        What they may tell together.
    delta : float
        With what failure probability; 0 where the budget has none.
    """

    account: str
    number: int
    head: str
    total: float
    budget: float
    delta: float = 0.0

    @property
    def fact(self) -> Fact:
        """Return it as an answer to the question where the release is recorded."""
        failing = f" with delta {self.delta:g}" if self.delta else ""
        return fact(
            "Where it is recorded",
            f"Release {self.number:,} of the account {self.account!r}; together epsilon "
            f"{upper_text(self.total, 6)} at most, of a budget of {self.budget:g}{failing}.",
            *((NOT_COUNTED_BEFORE,) if self.number == 1 else ()),
            ("Hash of the ledger's last row: ", Code(self.head)),
        )

    def __str__(self) -> str:
        return "\n".join(row for line in self.fact.lines for row in wrapped(inline(line), PRINTED_WIDTH))

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "account": self.account,
            "number": self.number,
            "head": self.head,
            "epsilon_together": self.total,
            "budget": self.budget,
            "delta": self.delta,
        }
