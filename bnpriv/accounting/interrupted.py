"""What is said last where a release is interrupted: whether it was charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnpriv import checks
from bnpriv.errors import BnprivError

if TYPE_CHECKING:
    from bnpriv.accounting.ledger_values import Charge

NOTHING_CHARGED = "Nothing was charged."

PERHAPS_CHARGED = (
    "It is not known whether this release was charged, as the ledger could not be read: see bnpriv ledger show."
)


NOT_SHOWN = "its answer was not shown."


def charged_text(account: str, number: int, rest: str = NOT_SHOWN) -> str:
    """Return that a release was charged, in words.

    Examples
    --------
    >>> charged_text("survey", 3)
    "Release 3 of the account 'survey' was charged, and stays so; its answer was not shown."
    """
    return f"Release {number:,} of the account {checks.cut(account)} was charged, and stays so; {rest}"


def is_interrupt(error: BaseException) -> bool:
    """Return whether it is none of our refusals: Ctrl-C, or what another handler of a signal raises."""
    return not isinstance(error, BnprivError)


def name_charge(error: BaseException, account: str, charge: Charge | None) -> None:
    """Name what was charged, as the last line of whatever ends a release before its answer is shown.

    Called by the frame that holds the charge: a context manager could itself be interrupted before it begins.

    Parameters
    ----------
    error : BaseException
        What was raised.
    account : str
        The name of the account.
    charge : Charge or None
        None if this call charged nothing, as far as the frame knows: what was noted further inside counts.
    """
    if charge is not None:
        error.add_note(charged_text(account, charge.number))
    elif is_interrupt(error) and not getattr(error, "__notes__", None):
        error.add_note(NOTHING_CHARGED)
