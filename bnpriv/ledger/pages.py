"""The pages of a session and of a ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bnpriv import checks
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.entries import rounded_up
from bnpriv.core.frameworks.question import own_query
from bnpriv.core.queries.base import GivenAnswer
from bnpriv.errors import LedgerError
from bnpriv.ledger.counted import CountedAccount, budget_text
from bnpriv.ledger.external import DIFFERENTIAL_PRIVACY
from bnpriv.ledger.history import History
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.prices import questions_text, questions_within
from bnpriv.ledger.values import Account
from bnpriv.render.document import Code, Document, Fact, Facts, Paragraph, Section, fact
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import Json, name_text, shorten, upper_text
from bnpriv.views.accountant import promised_lines, swaps_data
from bnpriv.views.calibration import guarantee_section
from bnpriv.views.cards import MOST_SAID, belief_fact

# --------------------------------------------------------------------------------------------------
# The page of a session: what was asked, what it told about each protected attribute so far, what is left.
# --------------------------------------------------------------------------------------------------


def session_document(account: CountedAccount, history: History, accountant: Accountant) -> Document:
    """Return the page of a session.

    Parameters
    ----------
    account : CountedAccount
    history : History
        Its releases.
    accountant : Accountant
        What counted them.
    """
    asked = Section(title="What was asked", id="asked", blocks=(history.table,), explained=True)
    promised: list[Section] = []
    delta = float(account.budget.delta)
    if accountant.entries:
        promised.append(guarantee_section(accountant.guarantee(delta)))
    useful = tuple(_questions(account, history))
    told = [section for section in accountant.document.sections if "protected" in str(section.title)]
    return Document(
        kind="session",
        kicker=f"bnpriv session: account {account.account.name!r}",
        headline=history.headline,
        short=(
            *(promised_lines(accountant, delta) or _nothing(account)),
            *(f"Useful questions: {each.lines[0]}." for each in useful),
            "Next: session.ask(query, error=...) names a price, session.plan([...]) splits what is left.",
        ),
        number=history.remaining,
        answer=(history.bar,),
        facts=(*_facts(account, accountant), *useful, fact("Hash of the ledger's last row", (Code(account.head),))),
        sections=(*((asked,) if len(history) else ()), *told, *promised, _limits()),
        data={
            "account": account.account.name,
            "framework": account.account.framework,
            "table": account.account.data,
            "head": account.head,
            "budget": {"epsilon": float(account.budget.epsilon), "delta": float(account.budget.delta)},
            "spent": rounded_up(history.spent),
            "releases": [made.to_json() for made in history.releases],
            "attributes": [
                {
                    "protected": share.protected,
                    "epsilon": None if share.total is None else rounded_up(share.total),
                    "influence": share.influence.upper if math.isfinite(share.influence.upper) else None,
                    "near": sorted(share.near),
                }
                for share in accountant.shares
            ],
            "properties": swaps_data(accountant.records),
        },
    )


def _facts(account: CountedAccount, accountant: Accountant) -> Iterable[Fact]:
    for share in (*accountant.shares, *accountant.records):
        told = "without bound" if share.total is None else f"epsilon {upper_text(rounded_up(share.total), 6)}"
        yield fact(f"Told so far about {name_text(share.protected)}", told)
    if accountant.entries:
        yield belief_fact(accountant.guarantee(float(account.budget.delta)))


def _nothing(account: CountedAccount) -> tuple[str, ...]:
    """What is protected where nothing was released yet."""
    protected = "; ".join(map(str, account.framework.protected_secrets))
    return (
        f"Protected from anybody who sees the answers: {shorten(protected, MOST_SAID)}.",
        f"Strength: all releases together tell at most {budget_text(account.budget)}.",
        f"Under the model: {shorten(account.framework.source, MOST_SAID)}.",
    )


def _questions(account: CountedAccount, history: History) -> Iterable[Fact]:
    """Say how many useful answers the budget holds, of the last kind that was asked for, or of a usual one."""
    framework = account.framework
    asked = history.releases[-1].entry.query if history.releases else own_query(framework)
    query = asked or service("query.usual")(*next(iter(framework.schema.columns.items())))
    if not isinstance(query, GivenAnswer):
        budget, left = float(account.budget.epsilon), max(0.0, float(account.budget.epsilon - history.spent))
        said = questions_text(framework, query, budget, str(query), "the whole budget of ")
        number = questions_within(framework, query, left)[0] if history.releases and left else 0
        if history.releases and not math.isinf(number):
            said += f"; {f'about {number:,.0f} of them' if number else 'none'} in what is left"
        yield fact("Useful questions", said)


def _limits() -> Section:
    return Section(
        title="What the budget does not count",
        blocks=(
            Paragraph(
                "Releases of the same table from another ledger, under another name or with another framework are not "
                "counted here, and what they tell does not simply add to this. A charge counts whether or not its "
                "answer was shown. Keep the hash that a release prints: a ledger that lacks it was turned back."
            ),
        ),
    )


# --------------------------------------------------------------------------------------------------
# The page of a ledger: its accounts, what was charged to each, and the heads by which a copy is recognized.
# --------------------------------------------------------------------------------------------------


MOST_ACCOUNTS = 5
"""Accounts that are printed."""


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
        """Its releases, and its head."""
        history = self.history
        facts = Facts(
            (
                fact("Charged without a stored answer", f"{self.unanswered:,}"),
                fact("Framework", (Code(self.account.framework),)),
                fact("Hash of its last row", (Code(self.head),)),
            )
        )
        table = (history.table,) if len(history) else ()
        return Section(title=self.line, blocks=(history.bar, *table, facts), explained=True)

    @property
    def line(self) -> str:
        """Its name, and what is spent."""
        return f"Account {self.account.name!r}: {self.history.headline}"

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
            short=(
                *(each.line for each in self.accounts[:MOST_ACCOUNTS]),
                *(self.accounts[0].history.listed[-4:] if len(self.accounts) == 1 else ()),
                *((f"and {more:,} more",) if (more := len(self.accounts) - MOST_ACCOUNTS) > 0 else ()),
                "Every charge counts, whether or not its answer was shown. Next: --full or .explain() lists them.",
            ),
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
        unanswered=sum(
            charge.sequence not in book.answers and charge.entry["mechanism"] != DIFFERENTIAL_PRIVACY
            for charge in book.charges
        ),
    )
