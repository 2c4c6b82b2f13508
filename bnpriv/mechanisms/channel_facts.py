"""What is known of a channel: how near it is to the least error that there is, and what each of its outputs tells."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import final

from bnpriv.bound import Kind
from bnpriv.mechanisms.alike import LEANS_ON
from bnpriv.render.document import Section, Table
from bnpriv.render.text import Json, lower_text, number_text, percent_text, upper_text

MOST_MEANINGS = 40
"""Outputs of which a document says what they tell: of more, those that are likeliest."""

SMALL_GAP = 0.01
"""A larger share of the error says little where the error itself is as small as what a solver tells apart."""

AT_THE_LIMIT = 1e-4
"""Relative gap up to which a channel is said to have the least error: so many digits are shown."""

OVER_ALL = "averaged over the laws under both secrets of every pair"
"""Over what errors are averaged where nothing else was asked for."""

ALONE = "The guarantee is for this one release: it cannot be added up with those of other releases."

LOSSES = {
    "absolute": "mean absolute error",
    "squared": "mean squared error",
    "zero-one": "probability of another answer than the exact one",
}


@final
@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What one output tells about the pair of secrets that it tells most about.

    Parameters
    ----------
    output : float
    chance : float
        How often it comes out, under the prior.
    pair : str
        The two secrets.
    factor : float
        By how much it multiplies the odds of the first against the second; infinite if it rules the second out.
    """

    output: float
    chance: float
    pair: str
    factor: float

    @property
    def factor_text(self) -> str:
        """Return by how much the odds of the first secret grow, or shrink."""
        if self.factor == 1:
            return "unchanged"
        if self.factor in (0.0, math.inf):
            return f"the {'second' if self.factor else 'first'} is ruled out"
        return f"times {number_text(self.factor)}" if self.factor > 1 else f"divided by {number_text(1 / self.factor)}"


@final
@dataclass(frozen=True, kw_only=True)
class ChannelFacts:
    """What is known of a channel.

    Parameters
    ----------
    loss : {"absolute", "squared", "zero-one"}
    prior : str
        Over what the error is averaged, in words.
    value : float
        What the solver found, before its solution was made exact; never outside `bound` and `error`.
    error : float
        That of the rows that are drawn from, rounded up.
    bound : float
        No channel with outputs on the answers has a smaller error: proved from prices of the constraints, rounded down.
    answers, runs : int
        How many exact answers there are, and how many of them are told apart.
    meanings : tuple of Meaning
        What the likeliest outputs tell, in the order of the outputs.
    outputs : int
        How many outputs there are.
    prices : dict
        What proves the bound, as it is stored.
    kind : {"exact", "certified", "estimate"}
        How well the laws are known.
    """

    loss: str
    prior: str
    value: float
    error: float
    bound: float
    answers: int
    runs: int
    meanings: tuple[Meaning, ...]
    outputs: int
    prices: Json
    kind: Kind

    @property
    def gap(self) -> float:
        """Return by which share of itself the error may be above the least one."""
        return 0.0 if self.error <= self.bound else (self.error - self.bound) / self.error

    @property
    def _left(self) -> str:
        """Return by how much less it may be; where that is a large share of the error, what it is of the answer too."""
        if self.gap <= SMALL_GAP:
            return f"{percent_text(self.gap)} less"
        return f"{upper_text(self.error - self.bound)} less, {percent_text(self.gap)} of it"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return why there is a table, how good it is, and what it leans on, in sentences."""
        why = (
            f"It keeps the laws of what is released alike under all secrets, with the least {LOSSES[self.loss]}; it "
            "leans on these laws more than added noise does."
        )
        merged = (
            f"Of {self.answers:,} possible answers {self.runs:,} runs are told apart: the program is too large for all."
        )
        return (why, self._least, *((merged,) if self.runs < self.answers else ()), LEANS_ON, ALONE)

    @property
    def _least(self) -> str:
        """Return how near the channel is to the least error that there is."""
        any_other = "any mechanism can have that sees the data only through this answer"
        if self.loss == "squared":  # other outputs than answers might have a smaller one
            any_other += " and releases one of its values"
        found = f"The {LOSSES[self.loss]}, {self.prior}, is"
        if self.kind == "estimate":
            any_other += ", if the laws, which are an estimate, are right"
        if self.gap <= AT_THE_LIMIT:
            return f"{found} {number_text(self.error)}: the least that {any_other}."
        return (
            f"{found} {upper_text(self.error)}; the least that {any_other} is at least {lower_text(self.bound)} "
            f"({self._left})."
        )

    @property
    def section(self) -> Section:
        """Return what each output tells: the likeliest ones, in their order."""
        pairs = list(dict.fromkeys(each.pair for each in self.meanings))
        one = len(pairs) == 1
        told = f"how far it moves the odds of {pairs[0]}" if one else "the two secrets whose odds it moves most"
        rows = [
            (number_text(each.output), percent_text(each.chance), *(() if one else (each.pair,)), each.factor_text)
            for each in self.meanings
        ]
        left = self.outputs - len(rows)
        table = Table(
            caption=f"What an answer tells: {told}",
            header=("answer", "how often", *(() if one else ("secrets",)), "odds of the first"),
            rows=rows,
            numbers=(0, 1),
            more=f"{left:,} more outputs, each of them rarer." if left > 0 else "",
        )
        return Section(title="What an answer tells", id="meaning", blocks=(table,), folded=True)

    def to_json(self) -> Json:
        """Return the facts as plain values."""
        return {
            "loss": self.loss,
            "prior": self.prior,
            "value": self.value,
            "error": self.error,
            "bound": self.bound,
            "answers": self.answers,
            "runs": self.runs,
            "outputs": self.outputs,
            "meanings": [
                {**asdict(each), "factor": each.factor if math.isfinite(each.factor) else None}
                for each in self.meanings
            ],
            "prices": self.prices,
        }
