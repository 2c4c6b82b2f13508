"""The sets of outputs of two laws with finitely many atoms, for every kind of noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.cells import LossCells
from bnpriv.divergences.gaussian_cells import gaussian_cells
from bnpriv.divergences.laplace import LaplacePair, from_left, from_right, smoothing_error
from bnpriv.divergences.product import common_logs
from bnpriv.errors import LawError, Refusal, SizeError
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import log_sum_exp, magnitude
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Laplace, NoNoise
from bnpriv.noise.discrete import DiscreteLaplace

FEWEST_LOSS_CELLS, MOST_LOSS_CELLS = 2**11, 2**17
"""Sets of outputs that Laplace noise is cut into."""

LOSS_STEP = 2.0**-7
"""Steps of the loss, in nats, at which outputs with Laplace noise are cut; longer ones where that makes too many."""

MOST_WHOLE_OUTPUTS = 2**20
"""Whole numbers between the outer atoms."""

OTHER_NOISE = Refusal(
    required="the privacy loss is worked out for independent Laplace, Gaussian or whole-number noise, or a channel",
    found="noise with a shape of its own",
    remedy="Ask for the curve of a calibration of TightMechanism or WassersteinMechanism.",
)


@singledispatch
def loss_cells(noise: object, first: Atoms, second: Atoms) -> LossCells:
    """Return the sets of outputs of two laws of an answer behind some noise, with the privacy loss on each.

    Parameters
    ----------
    noise : Noise or Channel
    first, second : Atoms
        On the line; of any dimension without noise.

    Returns
    -------
    LossCells

    Raises
    ------
    RefusedError
        If nothing is known of such noise.
    LawError
        If there is noise and the laws are not on the line.
    SizeError
        If there are too many sets.

    Notes
    -----
    docs/claims/curves.md.

    Examples
    --------
    >>> cells = loss_cells(Laplace(1.0), Atoms([0.0], [1.0]), Atoms([1.0], [1.0]))
    >>> round(float(cells.high.max()), 6), round(float(cells.low.min()), 6)
    (1.0, -1.0)
    """
    raise OTHER_NOISE.error()


@loss_cells.register
def _(noise: NoNoise, first: Atoms, second: Atoms) -> LossCells:
    _, (p, q) = common_logs([first, second])
    return LossCells.of_masses(p, q, max(first.error, second.error))


@loss_cells.register
def _(noise: DiscreteLaplace, first: Atoms, second: Atoms) -> LossCells:
    """Cut into the whole numbers between the outer atoms, and all beyond them on either side."""
    pair, scale = line_pair(first, second), noise.scales[0]
    start, end = float(pair.atoms[0]), float(pair.atoms[-1])
    if not np.all(pair.atoms == np.rint(pair.atoms)):
        raise LawError("whole-number noise needs whole numbers", found="fractions", remedy="Use Laplace noise.")
    if end - start >= MOST_WHOLE_OUTPUTS:
        raise SizeError(
            f"the privacy loss is worked out for at most {MOST_WHOLE_OUTPUTS:,} outputs",
            found=f"{end - start + 1:,.0f}",
            remedy="Use Laplace noise, whose loss needs no list of outputs.",
        )
    whole = start + np.arange(int(end - start) + 1, dtype=np.float64)
    place = np.searchsorted(whole, pair.atoms)
    # P(k) = exp(-|k| / scale) (1 - r) / (1 + r) with r = exp(-1 / scale); all beyond an end is r / (1 - r) of it
    unit = math.log(-math.expm1(-1 / scale)) - math.log1p(math.exp(-1 / scale))
    tail = -1 / scale - math.log(-math.expm1(-1 / scale))
    laws: list[FloatArray] = []
    error = pair.error
    for masses in (pair.first, pair.second):
        logs = np.full(whole.shape, -math.inf)
        logs[place] = masses
        left, right = from_left(whole, logs, scale), from_right(whole, logs, scale)
        inner = np.logaddexp(left, np.append(right[1:] - 1 / scale, -math.inf))
        laws.append(np.concatenate([[right[0] + tail], inner, [left[-1] + tail]]) + unit)
        error = max(
            error, pair.error + smoothing_error(whole, logs, scale) + UNIT_ROUNDOFF * 16 * (4 - unit + abs(tail))
        )
    return LossCells.of_masses(laws[0], laws[1], error)


@loss_cells.register
def _(noise: Laplace, first: Atoms, second: Atoms) -> LossCells:
    return laplace_cells(LaplaceSums.of(line_pair(first, second), noise.scales[0]))


@loss_cells.register
def _(noise: Gaussian, first: Atoms, second: Atoms) -> LossCells:
    line_pair(first, second)
    return gaussian_cells(first, second, noise.scales[0])


@loss_cells.register
def _(noise: Channel, first: Atoms, second: Atoms) -> LossCells:
    """Return the outputs of a channel, with the mass of each under the two laws of the exact answer."""
    line_pair(first, second)
    with np.errstate(divide="ignore"):
        rows = np.log(noise.numerators.astype(np.float64)) - math.log(noise.denominator)
    laws: list[FloatArray] = []
    for law in (first, second):
        places = [noise.place(value) for value in law.support.tolist()]
        laws.append(log_sum_exp(rows[places] + law.logs[:, None], 0))
    size = magnitude(rows) + max(magnitude(law.logs) for law in (first, second))
    rounding = UNIT_ROUNDOFF * (4 * max(first.size, second.size) + 8 * size + 64)
    return LossCells.of_masses(laws[0], laws[1], max(first.error, second.error) + rounding)


def line_pair(first: Atoms, second: Atoms) -> LaplacePair:
    """Return two laws over the union of their atoms; raise LawError for laws that are not on the line."""
    if first.dimension > 1 or second.dimension > 1:
        raise LawError(
            "with noise the privacy loss is worked out for one number",
            found=f"dimension {max(first.dimension, second.dimension)}",
            remedy="Ask for one number at a time.",
        )
    return LaplacePair.of(first, second)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LaplaceSums:
    """What two laws with Laplace noise weigh at their atoms: the same wherever outputs are cut.

    Parameters
    ----------
    gaps : ndarray of shape (K - 1,)
        Distances of neighbouring atoms, in scales.
    left, right : tuple of ndarray of shape (K,)
        For either law the logs of the sums from both sides, as `from_left` and `from_right` return them.
    losses : ndarray of shape (K,)
        The loss at every atom.
    losses_error : float
        A bound on the error of the losses.
    error : float
        A bound on the relative error of masses of sets, and of half of that of their losses.
    """

    gaps: FloatArray
    left: tuple[FloatArray, ...]
    right: tuple[FloatArray, ...]
    losses: FloatArray
    losses_error: float
    error: float

    @classmethod
    def of(cls, pair: LaplacePair, scale: float) -> LaplaceSums:
        """Add up what two laws weigh with noise of a scale above 0."""
        gaps, laws = np.diff(pair.atoms) / scale, (pair.first, pair.second)
        losses, error = pair.losses(scale)
        return cls(
            gaps=gaps,
            left=tuple(from_left(pair.atoms, logs, scale) for logs in laws),
            right=tuple(from_right(pair.atoms, logs, scale) for logs in laws),
            losses=losses,
            losses_error=error,
            error=error + UNIT_ROUNDOFF * (64 + 8 * float(np.max(gaps, initial=0.0))),
        )


def laplace_cells(sums: LaplaceSums, levels: tuple[float, ...] | None = None) -> LossCells:
    """Return the outputs with Laplace noise, cut where the loss has given values or passes multiples of a step.

    Parameters
    ----------
    sums : LaplaceSums
    levels : tuple of float, optional
        Where to cut; by default at multiples of a step.
    """
    gaps, left, right, losses = sums.gaps, sums.left, sums.right, sums.losses
    where, at = _cuts(losses, left, right, gaps, levels)
    # the two ends of every set, in scales from the atom on its left
    begin, last = at, np.diff(where, append=-1) != 0
    end = np.where(last, gaps[where], np.append(at[1:], 0.0)[: at.size])
    masses: list[FloatArray] = []
    ends: list[tuple[FloatArray, FloatArray]] = []
    for down, up in zip(left, right, strict=True):
        a, b, gap = down[:-1][where], up[1:][where], gaps[where]
        with np.errstate(divide="ignore"):
            width = np.log(-np.expm1(begin - end)) - math.log(2)
        inside = np.logaddexp(a - begin, b + end - gap) + width
        masses.append(np.concatenate([[up[0] - math.log(2)], inside, [down[-1] - math.log(2)]]))
        ends.append((np.logaddexp(a - begin, b + begin - gap), np.logaddexp(a - end, b + end - gap)))
    sides = [p - q for p, q in zip(*ends, strict=True)]
    outer = [losses[:1], losses[-1:]]
    low = np.concatenate([outer[0], np.minimum(*sides), outer[1]])
    high = np.concatenate([outer[0], np.maximum(*sides), outer[1]])
    kept = np.concatenate([[True], end > begin, [True]])
    return LossCells(
        low=low[kept],
        high=high[kept],
        first=masses[0][kept],
        second=masses[1][kept],
        error=sums.error,
    )


def _cuts(
    losses: FloatArray,
    left: tuple[FloatArray, ...],
    right: tuple[FloatArray, ...],
    gaps: FloatArray,
    levels: tuple[float, ...] | None,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], FloatArray]:
    """Return where sets begin: the gap between atoms, and how far in it, sorted; every gap begins with one."""
    low, high = np.minimum(losses[:-1], losses[1:]), np.maximum(losses[:-1], losses[1:])
    if levels is None:
        whole = float(np.sum(high - low))
        step = max(min(LOSS_STEP, whole / FEWEST_LOSS_CELLS), whole / MOST_LOSS_CELLS)
        counts = np.ceil((high - low) / step).astype(np.intp) if step > 0 else np.zeros(gaps.size, dtype=np.intp)
        where = np.repeat(np.arange(gaps.size), counts)
        nth = np.arange(where.size) - np.repeat(np.cumsum(counts) - counts, counts)
        level = low[where] + (nth + 0.5) * ((high - low) / np.maximum(counts, 1))[where]
    else:
        asked = np.asarray(levels, dtype=np.float64)
        where = np.repeat(np.arange(gaps.size), asked.size)
        level = np.tile(asked, gaps.size)
        crossed = (level > low[where]) & (level < high[where])
        where, level = where[crossed], level[crossed]
    a, c = (each[:-1][where] for each in left)
    b, d = (each[1:][where] for each in right)
    # exp(a - s) + exp(b + s - gap) is exp(level) times the same of the second law
    with np.errstate(invalid="ignore"):
        at = (gaps[where] + _log_difference(a, level + c) - _log_difference(level + d, b)) / 2
    at = np.clip(np.where(np.isnan(at), 0.0, at), 0.0, gaps[where])
    where = np.concatenate([np.arange(gaps.size), where])
    at = np.concatenate([np.zeros(gaps.size), at])
    order = np.lexsort((at, where))
    return where[order], at[order]


def _log_difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the log of the size of exp(one) - exp(other)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.maximum(one, other)
        return np.where(np.isneginf(high), -np.inf, high + np.log(-np.expm1(-np.abs(one - other))))
