"""What is said last where a release is interrupted: whether it was charged."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from bnpriv import checks
from bnpriv.accounting.ledger_values import Charge
from bnpriv.errors import BnprivError

NOTHING_CHARGED = "Nothing was charged."

PERHAPS_CHARGED = (
    "It is not known whether this release was charged, as the ledger could not be read: see bnpriv ledger show."
)


def charged_text(account: str, number: int) -> str:
    """Return that a release was charged, in words.

    Examples
    --------
    >>> charged_text("survey", 3)
    "Release 3 of the account 'survey' was charged, and stays so; its answer was not shown."
    """
    return (
        f"Release {number:,} of the account {checks.cut(account)} was charged, and stays so; its answer was not shown."
    )


def is_interrupt(error: BaseException) -> bool:
    """Return whether it is none of our refusals: Ctrl-C, or what another handler of a signal raises."""
    return not isinstance(error, BnprivError)


@contextmanager
def charge_named(account: str, charge: Charge) -> Generator[None]:
    """Name what was charged, as the last line of whatever interrupts what follows.

    Parameters
    ----------
    account : str
        The name of the account.
    charge : Charge
    """
    try:
        yield
    except BaseException as error:
        if is_interrupt(error):
            error.add_note(charged_text(account, charge.number))
        raise
