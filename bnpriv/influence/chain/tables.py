"""What is known of chains only: what neighbouring values tell, and the noise at other epsilons."""

from __future__ import annotations

import numpy as np

from bnpriv.influence.chain.search import ChainQuilt, ExactInfluence, chain_scale, together
from bnpriv.influence.chain.spectral import SpectralBound, spectral_refusal
from bnpriv.influence.further import FurtherTable
from bnpriv.networks.chain import MarkovChain
from bnpriv.render.text import name_text, number_text

DISTANCES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Distances of the values whose influence is shown."""

FORGOTTEN = 1e-6
"""Influences of more distant values than the first that tells less are not shown."""

NOISE_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Budgets for which the noise is shown."""


def chain_tables(network: MarkovChain) -> tuple[FurtherTable, ...]:
    """What neighbouring values tell, and the noise at other epsilons."""
    exact = [ExactInfluence(network, model) for model in range(network.models)]
    return (_neighbours(network, exact), _noises(network, exact))


def _bounds(chain: MarkovChain, *, published: bool) -> list[SpectralBound]:
    if spectral_refusal(chain):
        return []
    return [SpectralBound.of(chain, model, published=published) for model in range(chain.models)]


def _neighbours(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    """Return influences at a step in the middle, where both sides are there."""
    length = max(chain.length)
    middle = (length + 1) // 2
    bounds = _bounds(chain, published=False)
    rows: list[tuple[int, float, float]] = []
    for distance in DISTANCES:
        if distance >= middle or distance > length - middle:
            break
        told = max(_at(each, length, middle, distance) for each in exact)
        rows.append((distance, told, max((_at(each, length, middle, distance) for each in bounds), default=np.inf)))
        if told < FORGOTTEN:
            break
    return FurtherTable(
        title="What the values before and after tell about the one between",
        intro=(
            "A value is hidden together with its neighbours: the values some steps before and after it still tell "
            "something about it, in nats; the noise hides those between, with what is left of epsilon."
        ),
        header=("steps away", "exact", "spectral bound"),
        rows=tuple(rows),
    )


def _at(told: ExactInfluence | SpectralBound, length: int, place: int, distance: int) -> float:
    step = next(group for group in told.steps(length) if group.first <= place <= group.last)
    return max(0.0, float(together(told.left(step, distance), told.right(step, distance)).max()))


def _noises(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    spectral, published = (_bounds(chain, published=form) for form in (False, True))
    rows: list[tuple[str | int | float, ...]] = []
    for epsilon in NOISE_EPSILONS:
        quilts = [quilt for told in exact if (quilt := chain_scale(chain.length, epsilon, told)) is not None]
        if not quilts:
            continue
        worst = max(quilts, key=lambda quilt: quilt.score)
        least = [_least(chain, epsilon, told) for told in (spectral, published)]
        rows.append((epsilon, worst.score, *least, worst.near, _sides(worst)))
    return FurtherTable(
        title="Noise per unit of sensitivity",
        intro="For how many records the noise must stand at other epsilons, at the step that needs the most.",
        header=("epsilon", "exact", "spectral", "as published", "values hidden", "quilt"),
        rows=tuple(rows),
        finding="".join(_finding(chain, float(row[1])) for row in rows if row[0] == 1.0),
    )


def _finding(chain: MarkovChain, score: float) -> str:
    column = name_text(chain.column)
    return f"One value of {column} hides behind noise for {number_text(score)} records at epsilon 1"


def _least(chain: MarkovChain, epsilon: float, told: list[SpectralBound]) -> float:
    found = [chain_scale(chain.length, epsilon, each) for each in told]
    return max((quilt.score for quilt in found if quilt is not None), default=np.inf)


def _sides(quilt: ChainQuilt) -> str:
    sides = [("before", quilt.before), ("after", quilt.after)]
    return " and ".join(f"{distance:,} {side}" for side, distance in sides if distance is not None) or "none"
