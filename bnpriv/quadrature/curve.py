"""Privacy losses by quadrature: the law of the log ratio of what is seen given two secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from bnpriv.errors import SizeError
from bnpriv.factors import FloatArray
from bnpriv.losses import MOST_LOSSES, Losses
from bnpriv.quadrature.axes import Axis, steps
from bnpriv.quadrature.lattice import Lattice, sided
from bnpriv.quadrature.refine import impossible, parts_of, points_at

FINEST = 2**13
"""Points of an axis that is seen, at most."""

MOST_KEPT = 2**18
"""Cells in either direction that are aimed at."""

FEWEST = 12
"""Points of an axis that is seen, at least."""

LEVELS = 12

PROBES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Levels of the privacy curve that are compared between two grids."""

TOLERANCE = 1e-7
"""Change of the curve at which what is not seen is taken for finely enough cut."""


@final
@dataclass(frozen=True, kw_only=True)
class Curve:
    """The losses of a frontier for one pair of secrets.

    Parameters
    ----------
    losses : Losses
        In both directions. What the grid lost, and by how much the curve moved last, count as fully telling.
    change : float
        By how much the privacy curve moved last.
    settled : bool
        Whether finer grids of what is not seen moved it no more.
    """

    losses: Losses
    change: float
    settled: bool


def curve_of(lattice: Lattice, border: Sequence[str]) -> Curve:
    """Return the losses of a frontier for the pair of a lattice.

    Raises
    ------
    SizeError
        If a table would be too large.
    NetworkError
        If a density that is needed is missing.
    """
    if impossible(lattice):
        nothing = np.zeros((1, 2, 1))
        losses = Losses(ratios=nothing, masses=nothing, possible=np.zeros((1, 2), dtype=np.bool_))
        return Curve(losses=losses, change=0.0, settled=True)
    seen, losses = _start(lattice, border)
    points, change, settled = points_at(0), np.inf, False
    for level in range(1, LEVELS):
        finer = _if_it_fits(lattice, border, points_at(level), seen)
        if finer is None:
            break
        points, change, losses = points_at(level), _moved(losses, finer), finer
        settled = change <= TOLERANCE
        if settled:
            break
    finest = _if_it_fits(lattice, border, points, 2 * seen)
    if finest is not None:
        change, losses = change + _moved(losses, finest), finest
    return Curve(losses=_with_lost(losses, min(change, 1.0)), change=change, settled=settled and finest is not None)


def _start(lattice: Lattice, border: Sequence[str]) -> tuple[int, Losses]:
    """Return how many points per axis that is seen are possible, with the losses at the first level."""
    endless = sum(lattice.parameter(name).states is None for name in border)
    seen = min(FINEST, int(MOST_KEPT ** (1 / max(endless, 1)))) // 2
    while seen > FEWEST:
        losses = _if_it_fits(lattice, border, points_at(0), seen)
        if losses is not None:
            return seen, losses
        seen //= 2
    return FEWEST, _losses(lattice, border, points_at(0), FEWEST)


def _if_it_fits(lattice: Lattice, border: Sequence[str], points: int, seen: int) -> Losses | None:
    try:
        return _losses(lattice, border, points, seen)
    except SizeError:
        return None


def _moved(before: Losses, after: Losses) -> float:
    """Return the largest difference of two privacy curves."""
    return max(float(np.max(np.abs(before.excess(level) - after.excess(level)))) for level in PROBES)


def _losses(lattice: Lattice, border: Sequence[str], points: int, seen: int) -> Losses:
    """Return the losses on grids of so many points."""
    first = second = np.zeros(1)
    sides = lattice.sides(points)
    tops = sided(lattice.prior(points, lattice.base), sides)
    for names in parts_of(lattice, border, points):
        special = {name: _fine(lattice, name, seen) for name in names}
        joint = lattice.joint((lattice.protected, *names), points, lattice.base, special)
        one, other = (logs.ravel() - top for logs, top in zip(sided(joint, sides), tops, strict=True))
        if 2 * first.size * one.size > MOST_LOSSES:
            raise SizeError(
                f"the losses of a pair may have at most {MOST_LOSSES:,} cells",
                found=f"{2 * first.size * one.size:,}",
                remedy="Query fewer columns at once, or ask for delta = 0.",
            )
        first, second = np.add.outer(first, one).ravel(), np.add.outer(second, other).ravel()
    above, below = np.stack((first, second)), np.stack((second, first))
    with np.errstate(invalid="ignore", over="ignore"):
        ratios = np.where(np.isneginf(above), 0.0, above - below)
        masses = np.exp(above)
    return Losses(ratios=ratios[np.newaxis], masses=masses[np.newaxis], possible=np.ones((1, 2), dtype=np.bool_))


def _fine(lattice: Lattice, name: str, seen: int) -> Axis:
    if lattice.parameter(name).states is not None:
        return lattice.axis(name, seen, lattice.base)
    return steps(lattice.scale(name), *lattice.reach(name, lattice.base), seen)


def _with_lost(losses: Losses, change: float) -> Losses:
    """Return the losses with one more cell, which tells everything, for what the grid lost and what is not known."""
    lost: FloatArray = np.maximum(0.0, 1.0 - losses.masses.sum(axis=2, keepdims=True)) + change
    return replace(
        losses,
        ratios=np.concatenate((losses.ratios, np.full(lost.shape, np.inf)), axis=2),
        masses=np.concatenate((losses.masses, np.minimum(lost, 1.0)), axis=2),
    )
