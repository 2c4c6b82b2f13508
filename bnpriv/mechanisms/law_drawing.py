"""The two laws that decided the noise, drawn for a page or by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import LawError
from bnpriv.evidence.constraints import AnswerLaw
from bnpriv.laws.atoms import Atoms
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.posterior_draws import model_text
from bnpriv.noise.channel import Channel
from bnpriv.render.document import Figure
from bnpriv.render.plotting import axes
from bnpriv.render.svg import BOTH_SECRETS
from bnpriv.render.text import number_text, visible
from bnpriv.render.two_laws import TwoLaws, two_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NORMAL_DRAWN = 4.0
"""A normal law is drawn so many standard deviations to either side."""

DRAWN_COLUMNS = 161
"""Columns that draw a normal law."""

COLUMNS = 300
"""Places at which masses are drawn; atoms between two of them are added up."""

PLOTTED_SCALES = 4.0
"""The axis goes so many scales of the noise beyond the atoms that are drawn."""

LEAST_STEP = 2.0**-1000
"""Laws that lie closer together are not drawn: doubles between them have few digits."""

UNSEEN = 1e-4
"""Mass of each tail that is not drawn."""


def law_drawing(decision: LawDecision) -> Figure | None:
    """The drawing for a page; None for laws of several numbers, or that lie too close together."""
    drawn = decided_laws(decision)
    if drawn is None:
        return None
    which = f"{decision.pair}{model_text(decision.model, decision.models)}; {decision.rule}"
    learned = f", from {decision.draws:,} draws of each" if decision.draws else ""
    return Figure(two_laws(drawn), f"{drawn.title}: {which}{learned}, up to a shift; {_noise_text(decision)}.")


def plot_decision(decision: LawDecision, ax: Axes | None) -> Axes:
    """Draw the same by matplotlib, as `LawDecision.plot` says.

    Raises
    ------
    LawError
        If the laws are not of one number, or lie too close together.
    MissingExtraError
        If matplotlib is not installed.
    """
    laws, dimension = decided_laws(decision), decision.first.dimension
    if laws is None:
        kind = type(decision.first).__name__
        raise LawError(
            "only laws of one number are drawn",
            found=f"{kind} in dimension {dimension}" if dimension > 1 else "numbers too close together for doubles",
            remedy="Look at to_json() instead.",
        )
    drawn, known = axes(ax), "from draws" if decision.draws else "exact"
    # what each kernel of `_noisy` sums up to, which a picture without numbers does without
    mass = decision.scale * (np.sqrt(2 * np.pi) if decision.noise == "gaussian" else 2.0)
    for law, noisy, colour, name in zip(
        laws.exact, laws.noisy or ((), ()), ("tab:blue", "tab:orange"), BOTH_SECRETS, strict=True
    ):
        x, masses = np.transpose(law)
        drawn.vlines(x, 0, masses, color=colour, alpha=0.5, label=f"{name} secret, {known}")
        if noisy:
            x, heights = np.transpose(noisy)
            drawn.plot(x, heights / mass, color=colour, label=f"{name} secret, with noise")
    drawn.set_xlabel("answer, up to a shift")
    drawn.set_ylabel("probability, or density with noise")
    drawn.set_title(f"{decision.protected}: {decision.pair}{model_text(decision.model, decision.models)}")
    drawn.legend()
    return drawn


def decided_laws(decision: LawDecision) -> TwoLaws | None:
    """The two laws that decided the noise and what is released of them, as pages and matplotlib draw them."""
    first, second = drawable(decision.first), drawable(decision.second)
    if first is None or second is None:
        return None
    (low, high), scale = _span(first, second), decision.scale
    margin = PLOTTED_SCALES * scale or 0.05 * (high - low) or 1.0
    places = _places(low - margin, high + margin)
    if places is None:
        return None
    binned = [_binned(law, places) for law in (first, second)]
    noisy = [_heights(places, _noisy(masses, places, decision)) for masses in binned] if scale > 0 else None
    known = f"law learned from {decision.draws:,} draws" if decision.draws else "exact law"
    return TwoLaws(
        start=float(places[0]),
        end=float(places[-1]),
        exact=[_heights(places, masses, thin=True) for masses in binned],
        noisy=noisy,
        names=("one secret", "the other"),
        title=f"The two laws that decided the noise for {visible(decision.protected)}",
        desc=f"Above the {known} under each secret, means {number_text(float(first.mean[0]))} and "
        f"{number_text(float(second.mean[0]))}; below what is released, with {_noise_text(decision)}.",
    )


def _noise_text(decision: LawDecision) -> str:
    return f"noise of scale {number_text(decision.scale)}" if decision.scale > 0 else "no noise"


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


def channel_drawing(first: Atoms, second: Atoms, channel: Channel, name: str) -> Figure | None:
    """Two laws of the answer, and those of what a channel releases; None where all mass is on one number."""
    exact = first, second
    places = _places(*_span(first, second))
    if places is None:
        return None
    rows = channel.numerators / channel.denominator
    masses = [_given(channel, law) @ rows for law in exact]
    released = [Atoms(channel.outputs, each / np.sum(each)) for each in masses]
    title = f"The answer and what is released of it, for {visible(name)}"
    drawn = TwoLaws(
        start=float(places[0]),
        end=float(places[-1]),
        exact=[_heights(places, _binned(law, places), thin=True) for law in exact],
        noisy=[_heights(places, _binned(law, places), thin=True) for law in released],
        names=("one secret", "the other"),
        title=title,
        desc="Above the law of the exact answer under each secret, below that of what is released: the more alike two "
        "needles are, the less that number tells.",
        noisy_needles=True,
    )
    return Figure(two_laws(drawn), f"{title}: how likely every number is under either secret.")


def _places(low: float, high: float) -> FloatArray | None:
    """Where masses are drawn; None where doubles between the ends have few digits."""
    places = np.linspace(low, high, COLUMNS + 1)
    return places if places[1] - places[0] > LEAST_STEP else None


def _given(channel: Channel, law: Atoms) -> FloatArray:
    """Return the mass that takes each row of a channel, of shape (K,)."""
    places = [channel.place(value) for value in law.support.tolist()]
    return np.asarray(np.bincount(places, law.probabilities, len(channel.inputs)), dtype=np.float64)


def _span(*laws: Atoms) -> tuple[float, float]:
    """Between which atoms nearly all mass of every law lies."""
    ends: list[float] = []
    for law in laws:
        below = np.cumsum(law.probabilities)
        inside = np.flatnonzero((below >= UNSEEN) & (below - law.probabilities <= 1 - UNSEEN))
        ends += law.support[inside[[0, -1]]].tolist()
    return min(ends), max(ends)


def _binned(law: Atoms, places: FloatArray) -> FloatArray:
    nearest = np.rint((law.support - places[0]) / (places[1] - places[0]))
    column = np.clip(nearest, 0, len(places) - 1).astype(int)
    return np.asarray(np.bincount(column, law.probabilities, len(places)), dtype=np.float64)


def _noisy(masses: FloatArray, places: FloatArray, decision: LawDecision) -> FloatArray:
    with np.errstate(over="ignore"):  # whose exponential is 0
        z = (places[:, None] - places[None, :]) / decision.scale
        kernel = np.exp(-0.5 * z * z) if decision.noise == "gaussian" else np.exp(-np.abs(z))
    return kernel @ masses


def _heights(places: FloatArray, heights: FloatArray, *, thin: bool = False) -> list[tuple[float, float]]:
    rows = zip(places.tolist(), heights.tolist(), strict=True)
    return [(x, height) for x, height in rows if height > 0 or not thin]
