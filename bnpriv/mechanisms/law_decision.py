"""What decided the noise of a mechanism that works on the laws of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bnpriv.bound import Bound, Kind
from bnpriv.evidence.constraints import AnswerLaw, LawPair, RecordPair
from bnpriv.frameworks.pairs import DISTRIBUTION
from bnpriv.mechanisms.posterior_draws import model_text
from bnpriv.noise.continuous import unit_name
from bnpriv.render.text import Json, name_text, number_text, upper_text
from bnpriv.services import service

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP_RULE = "the two normal laws of the answer"
"""What noise keeps alike that covers the gap of two means, for normal laws."""

MOVED_RULE = "the two laws of the answer"
"""The same for laws that are translations of one another."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawDecision:
    """What decided the noise for one protected attribute under one model.

    Parameters
    ----------
    protected : str
        The protected attribute.
    pair : str
        The secrets that need the most noise.
    model : int
        The index in Theta.
    rule : str
        Which laws the noise keeps alike, in words.
    distance : Bound or None
        How far mass must move between the two laws; None for rules that need no distance.
    kind : {"exact", "certified", "estimate"}
    scale : float
        Noise scale that this needs.
    noise : {"laplace", "gaussian", "discrete_laplace"}
    first, second : Atoms or Normal
        The two laws that decided it: of the answer, or of what one record adds.
    draws : int, optional
        From how many draws each of them was learned; 0 for laws that were computed.
    models : int, optional
        How many models Theta has; with a single one its index is not said.
    """

    protected: str
    pair: str
    model: int
    rule: str
    distance: Bound | None
    kind: Kind
    scale: float
    noise: str
    first: AnswerLaw
    second: AnswerLaw
    draws: int = 0
    models: int = 1

    @classmethod
    def of(
        cls,
        pair: LawPair | RecordPair,
        protected: str,
        model: int,
        *,
        rule: str,
        scale: float,
        noise: str,
        distance: Bound | None = None,
        kind: Kind | None = None,
        draws: int = 0,
    ) -> LawDecision:
        """What a pair of laws asks of the noise.

        Parameters
        ----------
        pair : LawPair or RecordPair
        protected : str
        model : int
        rule : str
        scale : float
        noise : {"laplace", "gaussian", "discrete_laplace"}
        distance : Bound, optional
        kind : {"exact", "certified", "estimate"}, optional
            That of the laws by default.
        draws : int, optional

        Returns
        -------
        LawDecision
        """
        return cls(
            protected=protected,
            pair=pair.pair,
            model=model,
            rule=rule,
            distance=distance,
            kind=kind or pair.kind,
            scale=scale,
            noise=noise,
            first=pair.first,
            second=pair.second,
            draws=draws,
        )

    @property
    def why(self) -> str:
        """Return in a sentence which laws the noise must keep alike."""
        return f"It keeps {self._kept} alike under {self.secrets}{self._learned}."

    @property
    def secrets(self) -> str:
        """Return the two secrets that decided it, in words."""
        return self.which if self.protected == DISTRIBUTION else f"the two secrets of {self.which}"

    @property
    def which(self) -> str:
        """Return whose secrets they are, which ones, and under which model; every pair of laws is a model."""
        if self.protected == DISTRIBUTION:
            return f"distributions {self.pair.replace(' against ', ' and ')}"
        return f"{name_text(self.protected)} ({self.pair}{model_text(self.model, self.models)})"

    @property
    def _kept(self) -> str:
        return f"{self.rule}," if "," in self.rule else self.rule

    @property
    def _learned(self) -> str:
        return f", each learned from {self.draws:,} draws" if self.draws else ""

    @property
    def text(self) -> str:
        """Return the decision in a sentence."""
        size = f"the noise has {unit_name(gaussian=self.noise == 'gaussian')} {number_text(self.scale)}"
        noise = "no noise is needed" if self.scale == 0 else size
        which = self.which[0].upper() + self.which[1:] if self.protected == DISTRIBUTION else self.which
        return f"{which}: {self._kept} must stay alike{self._learned}{self._far}; {noise}."

    @property
    def _far(self) -> str:
        """Return how far apart the laws are: by their means, where noise covers these alone."""
        if self.distance is None:
            return ""
        far = upper_text(self.distance.upper)
        if self.rule not in (GAP_RULE, MOVED_RULE):
            return f", from one to the other mass moves by at most {far}"
        norm = " in the 1-norm" if self.noise == "laplace" and self.first.dimension > 1 else ""
        return f", their means are at most {far} apart{norm}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the two laws that decided the noise, as bars, and their densities with the noise, as lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        LawError
            If the laws are not of one number.
        MissingExtraError
            If matplotlib is not installed.
        """
        return service("law_decision.plot")(self, ax)

    def to_json(self) -> Json:
        """Return the decision as plain values."""
        return {
            "protected": self.protected,
            "pair": self.pair,
            "model": self.model,
            "rule": self.rule,
            "distance": None if self.distance is None else self.distance.upper,
            "kind": self.kind,
            "scale": self.scale,
            "draws": self.draws,
        }
