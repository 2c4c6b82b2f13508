"""The two laws that decided the noise, drawn for a page."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.laws import Atoms
from bnpriv.mechanisms.law_decision import LawDecision, drawable, model_text
from bnpriv.noise.channel import Channel
from bnpriv.render.document import Figure
from bnpriv.render.text import number_text, visible
from bnpriv.render.two_laws import TwoLaws, two_laws

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
