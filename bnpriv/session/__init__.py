"""Session: many questions on one table, one budget, and what is left of it."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.session.ledger_page import LedgerPage
    from bnpriv.session.session import Session

__all__ = ["LedgerPage", "Session"]

__getattr__, __dir__ = lazily(__name__)
