"""The page of a ledger: its accounts, what was charged to each, and the heads by which a copy is recognized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv import checks
from bnpriv.accounting.counted import budget_text
from bnpriv.accounting.exact import rounded_up
from bnpriv.accounting.ledger import Ledger
from bnpriv.accounting.ledger_values import Account
from bnpriv.errors import LedgerError
from bnpriv.render.document import Code, Document, Facts, Paragraph, Section, fact
from bnpriv.render.shown import Shown
from bnpriv.render.text import Json, upper_text
from bnpriv.session.history import History


@final
@dataclass(frozen=True, kw_only=True)
class AccountHistory:
    """An account with its releases.

    Parameters
    ----------
    account : Account
    history : History
    head : str
        The last hash of its chain.
    unanswered : int
        Charges without a stored answer: it may have been seen all the same.
    """

    account: Account
    history: History
    head: str
    unanswered: int

    @property
    def section(self) -> Section:
        """Return its budget, its releases and its head."""
        history = self.history
        facts = Facts(
            (
                fact("Budget", budget_text(self.account.budget)),
                fact("Spent", f"epsilon {upper_text(rounded_up(history.spent), 6)} in {history.several}"),
                fact("Left", f"epsilon {history.remaining}"),
                fact("Charged without a stored answer", f"{self.unanswered:,}"),
                fact("Framework", (Code(self.account.framework),)),
                fact("Head", (Code(self.head),)),
            )
        )
        table = (history.table,) if len(history) else ()
        return Section(title=f"Account {self.account.name!r}", blocks=(facts, history.bar, *table))

    def to_json(self) -> Json:
        """Return it as plain values."""
        budget = self.account.budget
        return {
            "account": self.account.name,
            "framework": self.account.framework,
            "table": self.account.data,
            "head": self.head,
            "budget": {"epsilon": float(budget.epsilon), "delta": float(budget.delta)},
            "spent": rounded_up(self.history.spent),
            "unanswered": self.unanswered,
            "releases": [made.to_json() for made in self.history.releases],
        }


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerPage(Shown):
    """What is in a ledger; answers are left out.

    Parameters
    ----------
    accounts : tuple of AccountHistory
    """

    accounts: tuple[AccountHistory, ...]

    @staticmethod
    def of(ledger: Ledger, name: str | None = None) -> LedgerPage:
        """Return the page of a ledger, or of one account of it.

        Parameters
        ----------
        ledger : Ledger
        name : str, optional

        Raises
        ------
        LedgerError
            If there is no such account, or the ledger is not whole.
        """
        accounts = ledger.accounts()
        chosen = [account for account in accounts if name is None or account.name == name]
        if name is not None and not chosen:
            raise LedgerError(
                f"an account must be one of {checks.listing(account.name for account in accounts)}",
                found=checks.cut(name),
                remedy=checks.spelling(name, [account.name for account in accounts]),
            )
        return LedgerPage(accounts=tuple(_history(ledger, account) for account in chosen))

    @property
    def document(self) -> Document:
        """Return the accounts, one after the other."""
        several = "1 account" if len(self.accounts) == 1 else f"{len(self.accounts):,} accounts"
        return Document(
            kind="ledger",
            kicker="bnpriv ledger",
            headline=f"A ledger of {several}",
            answer=(Paragraph("Every charge counts, whether or not its answer was shown.", soft=True),),
            sections=tuple(each.section for each in self.accounts),
            data={"accounts": [each.to_json() for each in self.accounts]},
        )


def _history(ledger: Ledger, account: Account) -> AccountHistory:
    book = ledger.book(account)
    return AccountHistory(
        account=account,
        history=History.of(book.charges, account.budget),
        head=book.head,
        unanswered=len(book.charges) - len(book.answers),
    )
