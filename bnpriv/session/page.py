"""The page of a session: what was asked, what it told about each protected attribute so far, what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bnpriv.accounting.accountant import Accountant
from bnpriv.accounting.counted import CountedAccount, budget_text
from bnpriv.accounting.exact import rounded_up
from bnpriv.frameworks.guarantee_facts import belief_fact
from bnpriv.mechanisms.sections import guarantee_section
from bnpriv.render.document import Code, Document, Fact, Paragraph, Section, fact
from bnpriv.render.text import name_text, upper_text
from bnpriv.session.history import History


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
    asked = Section(title="What was asked", id="asked", blocks=(history.table,))
    promised: list[Section] = []
    if accountant.entries:
        promised.append(guarantee_section(accountant.guarantee(float(account.budget.delta))))
    told = [section for section in accountant.document.sections if "protected" in str(section.title)]
    return Document(
        kind="session",
        kicker=f"bnpriv session: account {account.account.name!r}",
        headline=history.headline,
        answer=(history.bar,),
        facts=tuple(_facts(account, history, accountant)),
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
        },
    )


def _facts(account: CountedAccount, history: History, accountant: Accountant) -> Iterable[Fact]:
    yield fact("Budget", budget_text(account.budget))
    yield fact("Spent", f"epsilon {upper_text(rounded_up(history.spent), 6)} in {history.several}")
    yield fact("Left", f"epsilon {history.remaining}")
    for share in accountant.shares:
        told = "without bound" if share.total is None else f"epsilon {upper_text(rounded_up(share.total), 6)}"
        yield fact(f"Told so far about {name_text(share.protected)}", told)
    if accountant.entries:
        yield belief_fact(accountant.guarantee(float(account.budget.delta)))
    yield fact("Head of the ledger", (Code(account.head),))


def _limits() -> Section:
    return Section(
        title="What the budget does not count",
        blocks=(
            Paragraph(
                "Releases of the same table from another ledger, under another name or with another framework are not "
                "counted here, and what they tell does not simply add to this. A charge counts whether or not its "
                "answer was shown. Keep the head that a release prints: a ledger that lacks it was turned back."
            ),
        ),
    )
