"""What a question would cost, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from bnpriv.accounting.exact import rounded_up
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.answer import verdict_badge
from bnpriv.mechanisms.base import Calibration, Mechanism
from bnpriv.mechanisms.usefulness import LEVEL
from bnpriv.render.document import Block, Code, Document, Fact, Figure, fact
from bnpriv.render.shown import Shown
from bnpriv.render.text import lower_text, number_text, percent_text, upper_text
from bnpriv.session.accuracy import AskedAccuracy
from bnpriv.session.budget_bar import budget_bar, left
from bnpriv.session.cost import ReleaseCost


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Price(Shown):
    """What a release would cost, beside those that were made; nothing is spent by asking.

    Parameters
    ----------
    cost : ReleaseCost
        What it adds.
    accuracy : AskedAccuracy or None
        What was asked for, where an accuracy was.
    """

    cost: ReleaseCost
    accuracy: AskedAccuracy | None = None

    @property
    def calibration(self) -> Calibration:
        """The mechanism, noise and guarantee; `Session.release` takes it as a question."""
        return self.cost.calibration

    @property
    def epsilon(self) -> float:
        """What it would add to the total, rounded up; infinite where nothing bounds it."""
        return self.cost.epsilon

    @property
    def alone(self) -> float:
        """The epsilon of its own guarantee: what it would cost at most as the only release."""
        return self.calibration.guarantee.epsilon

    @property
    def total(self) -> float:
        """What all releases would tell together then, rounded up; infinite where nothing bounds it."""
        return math.inf if self.cost.after is None else rounded_up(self.cost.after)

    @property
    def remaining(self) -> float:
        """What of the budget would be left, rounded down; negative where it does not fit."""
        return -math.inf if self.cost.after is None else left(self.cost.budget, self.cost.after)

    @property
    def fits(self) -> bool:
        """Whether the budget allows it."""
        return self.cost.fits

    @property
    def document(self) -> Document:
        """Return the price in words."""
        badge = verdict_badge(self.calibration)
        return Document(
            kind="price",
            kicker="bnpriv price: nothing is spent by asking",
            title=f"{self.calibration.query}: what it would cost",
            headline=(Code(str(self.calibration.query)), f" {self._headline()}"),
            verdict=badge.text,
            tone=badge.tone,
            lead=self._lead(),
            answer=self._bar(),
            facts=self._facts(),
            data={
                "query": str(self.calibration.query),
                "mechanism": str(self.calibration.mechanism),
                "epsilon_alone": self.alone,
                "adds": _finite(self.epsilon),
                "total": _finite(self.total),
                "remaining": _finite(self.remaining),
                "fits": self.fits,
                "scale": self.calibration.scale,
                "error": self.calibration.quantile(self._probability),
                "probability": self._probability,
                "refusal": None if self.cost.refusal is None else str(self.cost.refusal),
            },
        )

    @property
    def _probability(self) -> float:
        return LEVEL if self.accuracy is None else self.accuracy.probability

    def _headline(self) -> str:
        if self.cost.refusal is not None:
            return "cannot be released beside what was released"
        if self.cost.after is None:
            return "would add more than any budget: nothing bounds what all releases tell together"
        if not self.fits:
            return f"would add epsilon {upper_text(self.epsilon)}: more than is left"
        return f"would add epsilon {upper_text(self.epsilon)}"

    def _lead(self) -> str:
        if self.cost.refusal is not None:
            return str(self.cost.refusal)
        alone = upper_text(self.alone)
        if upper_text(self.epsilon) == alone or self.cost.after is None:
            return ""
        if self.epsilon > self.alone:
            return f"Alone it would cost epsilon {alone}. Columns may tell more together than apart."
        if not self.cost.before:
            return f"Its guarantee is epsilon {alone}; what it tells is less."
        once = "What columns tell is paid once, and each protected attribute is counted for itself."
        return f"Alone it would cost epsilon {alone}. {once}"

    def _bar(self) -> tuple[Block, ...]:
        if self.cost.after is None:
            return ()
        return (Figure(budget_bar([self.cost.before], self.cost.budget, next_total=self.cost.after)),)

    def _facts(self) -> tuple[Fact, ...]:
        error = self.calibration.quantile(self._probability)
        often = percent_text(self._probability)
        said = "none: the exact answer" if error == 0 else f"at most {upper_text(error)} with {often} probability"
        return (
            fact("Error", said),
            fact("Noise", f"scale {number_text(self.calibration.scale)}, {self.calibration.mechanism}"),
            fact("Epsilon alone", upper_text(self.alone, 6)),
            fact("All releases together then", _bounded(self.total)),
            fact("Left of the budget then", lower_text(self.remaining, 6) if self.fits else "it does not fit"),
        )

    def __repr__(self) -> str:
        left_then = lower_text(self.remaining, 6) if self.remaining > 0 else f"{self.remaining:.6g}"
        return f"Price(adds={self.epsilon:.6g}, remaining={left_then}, fits={self.fits})"


def as_it_is(given: Calibration | Price, *, delta: float, **others: float | Mechanism | None) -> Calibration:
    """Return a calibration, or that of a price, if nothing else was asked for beside it.

    Parameters
    ----------
    given : Calibration or Price
    delta : float
    **others : float, Mechanism or None
        What else was passed.

    Raises
    ------
    ParameterError
        If something else was asked for.
    """
    named = [name for name, value in others.items() if value is not None] + (["delta"] if delta else [])
    if named:
        raise ParameterError(
            "a calibration or a price is released as it is",
            found=f"{named[0]} beside it",
            remedy=f"Leave {named[0]} out, or pass the query itself.",
        )
    return given if isinstance(given, Calibration) else given.calibration


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _bounded(total: float) -> str:
    return f"epsilon {upper_text(total, 6)}" if math.isfinite(total) else "without bound"
