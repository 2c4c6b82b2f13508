"""What all releases on one framework tell together: sums that are theorems, and the ledger that keeps them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.accounting.accountant import Accountant as Accountant
    from bnpriv.core.accounting.total import rounded_up as rounded_up, typed as typed
    from bnpriv.ledger.ledger import Ledger as Ledger
    from bnpriv.ledger.values import Account as Account, Budget as Budget, Receipt as Receipt


__getattr__, __dir__ = lazily(__name__)
