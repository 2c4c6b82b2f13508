"""Session: many questions on one table, one budget, and what is left of it."""

from bnpriv.session.ledger_page import LedgerPage
from bnpriv.session.session import Session

__all__ = ["LedgerPage", "Session"]
