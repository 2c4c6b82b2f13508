"""Guarantees: the promised numbers, what is protected, the odds, and the sentence that says it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from bnpriv.bound import Kind
from bnpriv.core.frameworks.protected import ProtectedSecret
from bnpriv.services import service
from bnpriv.shown import HasCard
from bnpriv.text import (
    Json,
    and_text,
    by_times,
    factor_text,
    full_text,
    name_text,
    number_text,
    percent_text,
    rounded_up,
    upper_chance,
)

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Odds and beliefs: what a bound on the change of log odds means for them.
#
# Every number that is printed as "at most" is rounded up, so that what is printed is true.
# --------------------------------------------------------------------------------------------------

PRIOR = 0.1
"""The prior belief that illustrates a bound on odds."""

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
"""The prior beliefs whose largest change a page shows."""

DIGITS = 3


def belief(prior: float, nats: float) -> float:
    """The largest belief that `prior` can become when its odds rise by at most a factor exp(nats).

    Examples
    --------
    >>> round(belief(0.1, 1.0), 3), belief(0.1, float("inf"))
    (0.232, 1.0)
    """
    return prior if nats == 0 else 1 / (1 + (1 - prior) / prior * math.exp(-nats))


def belief_text(prior: float, nats: float) -> str:
    """That largest belief in percent, rounded up.

    Examples
    --------
    >>> belief_text(0.1, 1.0), belief_text(0.1, 0.0), belief_text(0.1, 1e300)
    ('23.2 %', '10 %', '100 %')
    """
    return f"{rounded_up(100 * belief(prior, nats)):.{DIGITS}g} %"


def odds_text(nats: float) -> str:
    """By how much odds move, for the cell of a table.

    Examples
    --------
    >>> odds_text(1.0), odds_text(float("inf"))
    ('2.72 times', 'not bounded')
    """
    return "not bounded" if math.isinf(nats) else f"{factor_text(nats)} times"


# --------------------------------------------------------------------------------------------------
# The guarantee of a release: its numbers, what is protected, and the sentence that says it.
# --------------------------------------------------------------------------------------------------

DOUBLED = math.log(2)
"""With delta above 0, odds rise by more than twice exp(epsilon) with probability at most 2 delta."""

CERTAIN = 0.99
"""A probability from here on is hardly different from 1."""

CHOSEN = (
    "That is for an epsilon and a delta fixed beforehand: where they are chosen among several by looking at the noise, "
    "what the confidence leaves to 100 % counts once for each."
)
"""What a confidence over draws does not cover (docs/claims/draws.md)."""


@dataclass(frozen=True, kw_only=True)
class Guarantee(HasCard):
    """What a release promises, as numbers, as facts and as a sentence.

    With delta 0 the odds between the two secrets of a protected pair move by at most a factor exp(epsilon), whatever
    the answer. With delta above 0 any set of answers that has probability p under one of them has at most
    p exp(epsilon) + delta under the other; hence, if one of the two is true, the odds rise by more than
    2 exp(epsilon) with probability at most 2 delta.

    Parameters
    ----------
    epsilon, delta : float
    secrets : tuple of ProtectedSecret
        For every protected attribute what is protected.
    models : int
        How many models the adversary may hold.
    source : str
        Where the models come from.
    kind : {"exact", "certified", "estimate"}
        How well the numbers behind it are known.
    single_values : bool
        Whether the secrets are the values of the protected columns in any one record.
    by_intervals : bool
        Whether the adversary may hold any model within declared intervals.
    models_text : str
        What the adversary may believe, where that is more than the number of models.
    beyond_text : str
        What it does not cover: models that are known to be left out, values of records where states look like them.
    confidence : float, optional
        With which confidence over draws from the model it holds; None where it rests on no draws, or is an estimate.
    baseline_text : str
        For baselines: a sentence on what they hide beside the secrets.
    without_model : float, optional
        For baselines: an epsilon that holds whatever the model is, where `epsilon` rests on it.
    answers : int
        How many answers the adversary sees.
    seen : str
        What the adversary sees, where it is no answer.

    Notes
    -----
    docs/claims/guarantee.md.
    """

    epsilon: float
    delta: float
    secrets: tuple[ProtectedSecret, ...]
    models: int
    source: str
    kind: Kind
    single_values: bool = False
    by_intervals: bool = False
    models_text: str = ""
    beyond_text: str = ""
    confidence: float | None = None
    baseline_text: str = ""
    without_model: float | None = None
    answers: int = 1
    seen: str = ""

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected attributes."""
        return tuple(secret.attribute for secret in self.secrets)

    @property
    def with_belief(self) -> tuple[str, ...]:
        """The protected attributes about which beliefs are bounded: all pairs of their secrets are protected."""
        return tuple(secret.attribute for secret in self.secrets if secret.bounds_belief)

    @property
    def failure(self) -> float:
        """The largest probability that odds rise further than `nats` says; 0 with delta 0.

        A probability that is shown as 1 is 1: then nothing is said of odds.
        """
        rare = 2 * self.delta
        return rare if rare < CERTAIN else 1.0

    @property
    def nats(self) -> float:
        """The largest rise of log odds within a protected pair, except with probability `failure`."""
        if self.failure == 1:
            return math.inf
        return self.epsilon + DOUBLED if self.delta else self.epsilon

    def belief(self, prior: float) -> float | None:
        """The largest belief in a secret after the answer, except with probability `failure`.

        Parameters
        ----------
        prior : float
            The belief before, above 0 and below 1.

        Returns
        -------
        float or None
            None where no attribute has all pairs of its secrets protected: then no belief is bounded, only the odds
            between two secrets of a pair.
        """
        return belief(prior, self.nats) if self.with_belief else None

    def moved_text(self, prior: float = PRIOR) -> str:
        """The largest belief after the answer, or the factor on the odds where no belief is bounded."""
        if self.with_belief:
            return belief_text(prior, self.nats)
        return odds_text(self.nats)

    @property
    def odds_text(self) -> str:
        """How far odds move, where nothing more is bounded."""
        rare = f", except with probability {upper_chance(self.failure)} if one of the two is true" if self.delta else ""
        return (
            f"The odds between the two secrets of a protected pair rise {by_times(self.nats)}{rare}. "
            "Other pairs are not protected, so that a belief in one secret against all others has no bound."
        )

    @property
    def observer(self) -> str:
        """What the adversary may believe."""
        return observer_text(self.models, by_intervals=self.by_intervals, models_text=self.models_text)

    @property
    def protected_text(self) -> str:
        """What is protected, every attribute with its pairs."""
        return "; ".join(map(str, self.secrets))

    @property
    def sentence(self) -> str:
        """The guarantee in plain words."""
        source = "" if self.source in self.observer else f" (source: {self.source})"
        parts = [
            f"Protected: {self.protected_text}.",
            f"To somebody who believes {self.observer}{source} and sees {self._seen}, {self._moves}.",
            self._unbounded,
            "This rests on an estimate, not on a proof." if self.kind == "estimate" else "",
            ""
            if self.confidence is None
            else f"All of this holds with confidence {percent_of(self.confidence)} % over draws from the model. "
            f"{CHOSEN}",
            self.beyond_text,
            self.baseline_text,
            ""
            if self.single_values or self.baseline_text
            else "Single records are not protected by this: use record-level differential privacy for them.",
        ]
        return " ".join(part for part in parts if part)

    @property
    def _seen(self) -> str:
        """Which answers the adversary sees."""
        if self.answers == 1:
            return self.seen or "this answer"
        return "both answers" if self.answers == 2 else f"all {self.answers:,} answers"

    @property
    def _moves(self) -> str:
        """How far odds move, and beliefs where they are bounded."""
        between = "the two secrets of a protected pair"
        names = " or of ".join(map(name_text, self.with_belief))
        which = f"a belief of {percent_text(PRIOR)} in one secret of {names}"
        if not self.delta:
            moved = f"the odds between {between} move by at most {factor_text(self.epsilon)} times"
            return f"{moved}; {which} becomes at most {self.moved_text()}" if names else moved
        moved = (
            f"any set of answers that has probability p under one of {between} has at most "
            f"{factor_text(self.epsilon)} p + {number_text(rounded_up(self.delta), DIGITS)} under the other"
        )
        if self.failure == 1:
            return moved
        rare = f"with probability at most {upper_chance(self.failure)}"
        factor = factor_text(self.nats)
        moved += (
            f"; if one of the two is true, the odds of one against the other rise by more than {factor} times {rare}"
        )
        return f"{moved}, and {which} becomes more than {self.moved_text()} {rare}" if names else moved

    @property
    def _unbounded(self) -> str:
        """What is not protected, where only some pairs are."""
        rest = [name_text(secret.attribute) for secret in self.secrets if not secret.bounds_belief]
        if not rest:
            return ""
        return (
            f"Of {and_text(rest)} only these pairs are protected: the odds between other values, and a belief in one "
            "value against all others, may move further."
        )

    @property
    def document(self) -> Document:
        """The guarantee as a document: who cannot learn what, how far a belief can move, and the sentence."""
        return service("guarantee.document")(self)

    def to_json(self) -> Json:
        """The guarantee as plain values."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "kind": self.kind,
            "confidence": self.confidence,
            "secrets": [secret.to_json() for secret in self.secrets],
            "sentence": self.sentence,
        }


def percent_of(share: float) -> str:
    """A share in percent, with all its digits."""
    return full_text(float(100 * Decimal(repr(share))))


def observer_text(models: int, *, by_intervals: bool = False, models_text: str = "") -> str:
    """What somebody who must not learn the secrets may believe."""
    if models_text:
        return models_text
    if by_intervals:
        return "any model within the declared intervals"
    return "the declared model" if models == 1 else f"any one of the {models} declared models"
