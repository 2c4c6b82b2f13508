"""Where a release stands in a ledger, so that a reader can tell whether the ledger was turned back later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.render.document import Code, Fact, fact
from bnpriv.render.text import Json, upper_text

NOT_COUNTED_BEFORE = (
    "It is the first of this account: what was released of the table before, with another ledger, under another name, "
    "with another framework or without a ledger, is not counted."
)
"""Said loudly, as a ledger that was lost or forgotten gives a second budget to the same table."""


@final
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
            f"Release {self.number:,} of the account {self.account!r}; all of them together: epsilon "
            f"{upper_text(self.total, 6)} at most, of a budget of {self.budget:g}{failing}.",
            *((NOT_COUNTED_BEFORE,) if self.number == 1 else ()),
            ("Head of the ledger: ", Code(self.head)),
        )

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
