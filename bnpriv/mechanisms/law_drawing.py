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
from bnpriv.render.text import number_text, visible
from bnpriv.render.two_laws import TwoLaws, two_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAW_POINTS = 400
"""Points of a density that matplotlib draws."""

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
    """Return the drawing, or None for laws of several numbers."""
    first, second = drawable(decision.first), drawable(decision.second)
    if first is None or second is None:
        return None
    spans = [_span(first), _span(second)]
    low, high = min(a for a, _ in spans), max(b for _, b in spans)
    margin = PLOTTED_SCALES * decision.scale or 0.05 * (high - low) or 1.0
    places = np.linspace(low - margin, high + margin, COLUMNS + 1)
    if not places[1] - places[0] > LEAST_STEP:
        return None
    binned = [_binned(law, places) for law in (first, second)]
    noisy = [_noisy(masses, places, decision) for masses in binned] if decision.scale > 0 else []
    known = f"law learned from {decision.draws:,} draws" if decision.draws else "exact law"
    scale = f"noise of scale {number_text(decision.scale)}" if noisy else "no noise"
    title = f"The two laws that decided the noise for {visible(decision.protected)}"
    drawn = TwoLaws(
        start=float(places[0]),
        end=float(places[-1]),
        exact=(_heights(places, binned[0], thin=True), _heights(places, binned[1], thin=True)),
        noisy=(_heights(places, noisy[0]), _heights(places, noisy[1])) if noisy else None,
        names=("one secret", "the other"),
        title=title,
        desc=f"Above the {known} under each secret, means {number_text(float(first.mean[0]))} and "
        f"{number_text(float(second.mean[0]))}; below what is released, with {scale}.",
    )
    which = model_text(decision.model, decision.models)
    learned = f", from {decision.draws:,} draws of each" if decision.draws else ""
    caption = f"{title}: {decision.pair}{which}; {decision.rule}{learned}, up to a shift; {scale}."
    return Figure(two_laws(drawn), caption)


def plot_decision(decision: LawDecision, ax: Axes | None) -> Axes:
    """Draw the two laws that decided the noise, as `LawDecision.plot` says.

    Raises
    ------
    LawError
        If the laws are not of one number.
    MissingExtraError
        If matplotlib is not installed.
    """
    first, second = drawable(decision.first), drawable(decision.second)
    if first is None or second is None:
        raise LawError(
            "only laws of one number are drawn",
            found=f"{type(decision.first).__name__} in dimension {decision.first.dimension}",
            remedy="Look at to_json() instead.",
        )
    drawn, known = axes(ax), "from draws" if decision.draws else "exact"
    for law, colour, name in ((first, "tab:blue", "first"), (second, "tab:orange", "second")):
        drawn.vlines(law.support, 0, law.probabilities, color=colour, alpha=0.5, label=f"{name} secret, {known}")
        if decision.scale > 0:
            grid, density = _noisy_density(law, decision.scale, decision.noise)
            drawn.plot(grid, density, color=colour, label=f"{name} secret, with noise")
    drawn.set_xlabel("answer, up to a shift")
    drawn.set_ylabel("probability, or density with noise")
    drawn.set_title(f"{decision.protected}: {decision.pair}{model_text(decision.model, decision.models)}")
    drawn.legend()
    return drawn


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


def channel_drawing(first: Atoms, second: Atoms, channel: Channel, name: str) -> Figure | None:
    """Return two laws of the answer, and those of what a channel releases; None where all mass is on one number."""
    exact = first, second
    low, high = min(_span(law)[0] for law in exact), max(_span(law)[1] for law in exact)
    places = np.linspace(low, high, COLUMNS + 1)
    if not places[1] - places[0] > LEAST_STEP:
        return None
    rows = channel.numerators / channel.denominator
    released = [
        Atoms(channel.outputs, masses / np.sum(masses)) for masses in (_given(channel, law) @ rows for law in exact)
    ]
    before, after = ([_heights(places, _binned(law, places), thin=True) for law in laws] for laws in (exact, released))
    title = f"The answer and what is released of it, for {visible(name)}"
    drawn = TwoLaws(
        start=float(places[0]),
        end=float(places[-1]),
        exact=(before[0], before[1]),
        noisy=(after[0], after[1]),
        names=("one secret", "the other"),
        title=title,
        desc="Above the law of the exact answer under each secret, below that of what is released: the more alike two "
        "needles are, the less that number tells.",
        noisy_needles=True,
    )
    return Figure(two_laws(drawn), f"{title}: how likely every number is under either secret.")


def _given(channel: Channel, law: Atoms) -> FloatArray:
    """Return the mass that takes each row of a channel, of shape (K,)."""
    places = [channel.place(value) for value in law.support.tolist()]
    return np.asarray(np.bincount(places, law.probabilities, len(channel.inputs)), dtype=np.float64)


def _span(law: Atoms) -> tuple[float, float]:
    """Return between which atoms nearly all mass lies."""
    below = np.cumsum(law.probabilities)
    inside = np.flatnonzero((below >= UNSEEN) & (below - law.probabilities <= 1 - UNSEEN))
    return float(law.support[inside[0]]), float(law.support[inside[-1]])


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
