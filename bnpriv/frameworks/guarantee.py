"""What a release promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from bnpriv.bound import Kind


@final
@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What a release promises, as numbers and as a sentence.

    Parameters
    ----------
    epsilon, delta : float
        The odds on a secret move by at most a factor exp(epsilon), up to a failure probability delta.
    protected : tuple of str
        The protected attributes.
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
        Which models the adversary may hold, where that is more than their number.
    beyond_text : str
        A sentence on models that were left out, if any is known to be.
    confidence : float, optional
        With which confidence over draws from the model it holds; None where it rests on no draws, or is an estimate.
    """

    epsilon: float
    delta: float
    protected: tuple[str, ...]
    models: int
    source: str
    kind: Kind
    single_values: bool = False
    by_intervals: bool = False
    models_text: str = ""
    beyond_text: str = ""
    confidence: float | None = None

    def belief(self, prior: float) -> float:
        """Return the largest belief in a secret, against one alternative, after seeing the answer (delta aside)."""
        odds = prior / (1 - prior) * math.exp(self.epsilon)
        return odds / (1 + odds)

    @property
    def sentence(self) -> str:
        """Return the guarantee in plain words."""
        models = "the declared model" if self.models == 1 else f"any of the {self.models} declared models"
        if self.by_intervals:
            models = "any model within the declared intervals"
        models = self.models_text or models
        if not self.models_text or self.source not in self.models_text:
            models += f" (source: {self.source})"
        beyond = f" {self.beyond_text}" if self.beyond_text else ""
        slack = f", except with probability {self.delta:g}" if self.delta else ""
        estimate = " This rests on an estimate, not on a proof." if self.kind == "estimate" else ""
        if self.confidence is not None:
            estimate += f" All of this holds with confidence {100 * self.confidence:g} % over draws from the model."
        names = " and ".join(self.protected)
        secrets, records = (
            f"the protected secrets of {names} apart: the odds between the two secrets of a pair",
            (" Single records are not protected by this: use record-level differential privacy for them."),
        )
        if self.single_values:
            secrets, records = f"two values of {names} in any one record apart: the odds between them", ""
        return (
            f"Somebody who believes {models} and sees this answer cannot tell {secrets} move "
            f"by at most a factor {math.exp(self.epsilon):.3g}{slack}; a belief of 10 % becomes at most "
            f"{100 * self.belief(0.1):.3g} %.{estimate}{beyond}{records}"
        )
