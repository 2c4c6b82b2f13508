"""What decided the noise of a mechanism that works on the laws of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from bnpriv.bound import Bound, FloatArray, Kind
from bnpriv.errors import LawError
from bnpriv.evidence import AnswerLaw
from bnpriv.frameworks.pairs import DISTRIBUTION
from bnpriv.laws import Atoms
from bnpriv.noise.words import unit_name
from bnpriv.render import Json, number_text
from bnpriv.render.plotting import axes
from bnpriv.render.text import name_text, upper_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAW_POINTS = 400
"""Points of a drawn density."""

NORMAL_DRAWN = 4.0
"""A normal law is drawn so many standard deviations to either side."""

GAP_RULE = "the two normal laws of the answer"
"""What noise keeps alike that covers the gap of two means, for normal laws."""

MOVED_RULE = "the two laws of the answer"
"""The same for laws that are translations of one another."""

DRAWN_COLUMNS = 161
"""Columns that draw a normal law."""


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
        first, second = drawable(self.first), drawable(self.second)
        if first is None or second is None:
            raise LawError(
                "only laws of one number are drawn",
                found=f"{type(self.first).__name__} in dimension {self.first.dimension}",
                remedy="Look at to_json() instead.",
            )
        drawn, known = axes(ax), "from draws" if self.draws else "exact"
        for law, colour, name in ((first, "tab:blue", "first"), (second, "tab:orange", "second")):
            drawn.vlines(law.support, 0, law.probabilities, color=colour, alpha=0.5, label=f"{name} secret, {known}")
            if self.scale > 0:
                grid, density = _noisy_density(law, self.scale, self.noise)
                drawn.plot(grid, density, color=colour, label=f"{name} secret, with noise")
        drawn.set_xlabel("answer, up to a shift")
        drawn.set_ylabel("probability, or density with noise")
        drawn.set_title(f"{self.protected}: {self.pair}{model_text(self.model, self.models)}")
        drawn.legend()
        return drawn

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


def model_text(model: int, models: int) -> str:
    """Return which of several models decides; nothing where there is only one.

    Examples
    --------
    >>> model_text(0, 1), model_text(2, 3)
    ('', ', model 2')
    """
    return f", model {model}" if models > 1 else ""


def drawable(law: AnswerLaw) -> Atoms | None:
    """Return the atoms that are drawn for a law, a normal one by its density on a grid; None for several numbers."""
    if law.dimension > 1:
        return None
    if isinstance(law, Atoms):
        return law
    deviations = np.linspace(-NORMAL_DRAWN, NORMAL_DRAWN, DRAWN_COLUMNS)
    spread = float(np.sqrt(law.covariance[0, 0]))
    if spread == 0:
        return Atoms(law.mean, [1.0])
    masses = np.exp(-0.5 * deviations**2)
    return Atoms(law.mean[0] + spread * deviations, masses / masses.sum())


def _noisy_density(law: Atoms, scale: float, noise: str) -> tuple[FloatArray, FloatArray]:
    """Return the density of a law with noise on a grid around its atoms."""
    grid = np.linspace(float(law.support[0]) - 3 * scale, float(law.support[-1]) + 3 * scale, LAW_POINTS)
    z = (grid[:, None] - law.support[None, :]) / scale
    kernel = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) if noise == "gaussian" else 0.5 * np.exp(-np.abs(z))
    return grid, kernel / scale @ law.probabilities
