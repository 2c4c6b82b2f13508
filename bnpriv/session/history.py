"""The releases of an account, in order, with what each of them added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from bnpriv.accounting.counted import budget_text
from bnpriv.accounting.entries import Entry
from bnpriv.accounting.exact import rounded_up
from bnpriv.accounting.ledger_values import Budget, Charge
from bnpriv.render.document import Code, Document, Figure, Table
from bnpriv.render.shown import Shown
from bnpriv.render.text import Json, name_text, number_text, upper_text
from bnpriv.session.budget_bar import budget_bar, left_text

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS_OF_HISTORY = 50
"""Releases that are listed, the last ones."""

MOST_KEY_LETTERS = 20
"""Of a key that is listed."""


@final
@dataclass(frozen=True, kw_only=True)
class Made:
    """A release that was charged.

    Parameters
    ----------
    number : int
        From 1.
    entry : Entry
        What was asked, with which noise.
    total : Fraction
        What all releases up to this one tell together.
    before : Fraction
        The same without this one.
    time : str
        When, in UTC.
    key : str or None
        The caller's name for it.
    """

    number: int
    entry: Entry
    total: Fraction
    before: Fraction
    time: str
    key: str | None

    @property
    def added(self) -> float:
        """What it added to the total, rounded up."""
        return rounded_up(self.total - self.before)

    @property
    def called(self) -> str:
        """On which day it was charged, and its key."""
        when = self.time[: len("2026-01-01")]
        return when if self.key is None else f"{when}, key {name_text(self.key, MOST_KEY_LETTERS)}"

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "number": self.number,
            "query": self.entry.text,
            "mechanism": self.entry.mechanism,
            "scale": self.entry.scale,
            "epsilon_alone": float(self.entry.epsilon),
            "delta_alone": float(self.entry.delta),
            "added": self.added,
            "total": rounded_up(self.total),
            "time": self.time,
            "key": self.key,
        }


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class History(Shown):
    """What was released, in order, and what it cost; a charge counts whether or not its answer was shown.

    Parameters
    ----------
    releases : tuple of Made
    budget : Budget
    """

    releases: tuple[Made, ...]
    budget: Budget

    @staticmethod
    def of(charges: Sequence[Charge], budget: Budget) -> History:
        """Return the history of charges.

        Parameters
        ----------
        charges : sequence of Charge
        budget : Budget
        """
        made: list[Made] = []
        before = Fraction(0)
        for number, charge in enumerate(charges, start=1):
            made.append(
                Made(
                    number=number,
                    entry=Entry.from_json(charge.entry),
                    total=charge.total,
                    before=before,
                    time=charge.time,
                    key=charge.key,
                )
            )
            before = charge.total
        return History(releases=tuple(made), budget=budget)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def spent(self) -> Fraction:
        """What all of them tell together."""
        return self.releases[-1].total if self.releases else Fraction(0)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each release."""
        import pandas as pd

        names = list(Made.to_json(self.releases[0])) if self.releases else ["number", "query", "added", "total"]
        return pd.DataFrame([made.to_json() for made in self.releases], columns=names)

    @property
    def several(self) -> str:
        """How many there are, in words."""
        return "1 release" if len(self) == 1 else f"{len(self):,} releases"

    @property
    def headline(self) -> str:
        """What is spent, in a sentence."""
        if not self.releases:
            return f"Nothing was released; the budget is {budget_text(self.budget)}"
        return f"{self.several}: {upper_text(rounded_up(self.spent), 6)} of {budget_text(self.budget)} is spent"

    @property
    def remaining(self) -> str:
        """What is left, as text, rounded down."""
        return left_text(self.budget, self.spent, 6)

    @property
    def bar(self) -> Figure:
        """The budget, drawn."""
        totals = [made.total for made in self.releases]
        return Figure(budget_bar(totals, self.budget), words=f"Left of the budget: {self.remaining}.")

    @property
    def table(self) -> Table:
        """The releases, with what each of them added."""
        earlier = len(self) - MOST_ROWS_OF_HISTORY
        return Table(
            caption="What was asked, and what each release added to the total",
            header=("release, day", "query", "mechanism", "scale", "epsilon alone", "added", "total"),
            rows=[
                (
                    f"{made.number}, {made.called}",
                    (Code(made.entry.text),),
                    made.entry.mechanism,
                    number_text(made.entry.scale),
                    upper_text(float(made.entry.epsilon)),
                    upper_text(made.added),
                    upper_text(rounded_up(made.total)),
                )
                for made in self.releases[-MOST_ROWS_OF_HISTORY:]
            ],
            numbers=(3, 4, 5, 6),
            more=f"{earlier:,} earlier ones." if earlier > 0 else "",
        )

    @property
    def document(self) -> Document:
        """Return the releases with a bar of the budget."""
        return Document(
            kind="history",
            kicker="bnpriv history",
            headline=self.headline,
            answer=(self.bar, *((self.table,) if self.releases else ())),
            data={
                "budget": {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)},
                "spent": rounded_up(self.spent),
                "releases": [made.to_json() for made in self.releases],
            },
        )

    def __repr__(self) -> str:
        return f"History(releases={len(self)}, spent={rounded_up(self.spent):.6g})"
