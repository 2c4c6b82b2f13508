"""What all releases on one framework tell together: sums that are theorems, and the ledger that keeps them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.accounting.accountant import Accountant
    from bnpriv.core.accounting.entries import rounded_up, typed
    from bnpriv.ledger.ledger import Ledger
    from bnpriv.ledger.values import Account, Budget, Receipt

__all__ = ["Account", "Accountant", "Budget", "Ledger", "Receipt", "rounded_up", "typed"]

__getattr__, __dir__ = lazily(__name__)
