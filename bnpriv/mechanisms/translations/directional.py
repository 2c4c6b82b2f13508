"""Noise in the directions in which laws that are translations of one another differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.mechanisms.base import Mechanism, found_scale, noise_of
from bnpriv.core.noise import Gaussian, Laplace, Noise, NoNoise
from bnpriv.errors import Refusal
from bnpriv.mechanisms.gaussian.covariance import LAST_SHARE, Gap, kept, log_tail, repaired, variance_refusal
from bnpriv.mechanisms.gaussian.laws import OF_TABLES, NormalPair
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.translations.laws import ForTranslations, MovedLaw, scale_for, translations
from bnpriv.mechanisms.translations.noise import DirectionalLaplace, limits_for, moved_by_rounding

# --------------------------------------------------------------------------------------------------
# Noise only in the directions in which laws that are translations of one another differ.
# --------------------------------------------------------------------------------------------------

LEAST_SHARE = 2.0**-20
"""Least share of epsilon for what is moved across the directions, which the noise drawn last hides."""

SAME_SPAN = 2.0**-44
"""Directions along which no gap has a larger part than this share of the longest are left to the noise drawn last."""


@final
@dataclass(frozen=True, kw_only=True)
class DirectionalMechanism(ForTranslations, Mechanism):
    """Noise only in the directions of the gaps between laws that are translations of one another.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm of the gap's coordinates along the directions; Gaussian noise for its 2-norm, which
        needs delta above 0.
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise: the exact curve; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    nearly : bool
        Also serve laws of finitely many answers that are translations only nearly: noise in all directions hides how
        far mass must move from one to the other, moved by the gap of the means.
    weights : sequence of float, optional
        None: noise along directions has a shape of its own.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/directional.md. Theorems 4.3 and 4.7 of Chen, Ohrimenko, "Protecting Global Properties of Datasets with
    Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> pair = (Normal([0, 0], [[4, 1], [1, 2]]), Normal([3, 4], [[4, 1], [1, 2]]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> calibration = bp.mechanisms.DirectionalMechanism().calibrate(framework, epsilon=1.0)
    >>> [round(scale, 4) for scale in calibration.noise.scales], round(calibration.expected_error, 4)
    ([3.0, 4.0], 5.0)
    """

    nearly: bool = False
    claim: ClassVar[str] = "directional.md"
    fixed_shape: ClassVar[bool] = True
    _theorem: ClassVar[str] = "Directional mechanism"

    def _translations(self, pairs: Sequence[NormalPair]) -> list[MovedLaw] | Refusal:
        return translations(pairs, nearly=self.nearly)

    def _unfit(self, moved: Sequence[MovedLaw], ratio: float) -> Refusal | None:
        if any(each.pair.departure is not None for each in moved):
            return OF_TABLES
        return variance_refusal(max(each.farthest(self.norm) for each in moved), ratio)

    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        rows = directions([each.gap for each in moved], self.norm)
        shape = _Shape(moved=moved, rows=rows, ratio=ratio, reach=reach)
        alone = shape.laplace_scale if self.noise == "laplace" else shape.gaussian_scale
        # laws that stay where they are, but for masses that are paid for, are hidden by no noise at all
        if not any(each.farthest(2) + each.rounding for each in moved):
            return NoNoise(len(reach)), alone
        found_scale(max(map(shape.laplace_scale, moved)), epsilon, delta)
        return (shape.laplace() if self.noise == "laplace" else shape.gaussian(log_tail(epsilon, delta))), alone


def directions(gaps: Sequence[FloatArray], norm: int) -> FloatArray:
    """Return orthonormal directions, one row each, along which all gaps lie up to rounding.

    Of several bases of the same space the one with the least coordinates, in the given norm, is returned.

    Examples
    --------
    >>> np.abs(directions([np.array([3.0, 4.0]), np.array([6.0, 8.0])], 1)).round(9).tolist()
    [[0.6, 0.8]]
    """
    stacked = np.stack(gaps)
    size = stacked.shape[1]
    # a power of two, which changes no bit, keeps the squares of the gaps from being too small or too large for doubles
    stacked = np.ldexp(stacked, -int(np.frexp(np.abs(stacked).max())[1]))
    longest = float(np.linalg.norm(stacked, axis=1).max())
    if longest == 0 or size == 1:
        return np.eye(size)
    _, sizes, rows = np.linalg.svd(stacked / longest, full_matrices=False)
    rank = max(1, int(np.sum(sizes > SAME_SPAN * math.sqrt(len(stacked)))))
    if rank == size:
        bases = [np.eye(size), rows]
    else:
        order = np.argsort(-np.linalg.norm(stacked, axis=1), kind="stable")
        turned = np.linalg.qr((stacked[order] @ rows[:rank].T)[:, :].T)[0].T @ rows[:rank]
        bases = [rows[:rank], turned]
    # rows that touch a number by rounding alone leave it alone
    bases = [np.where(np.abs(basis) > SAME_SPAN, basis, 0.0) for basis in bases]
    return min(bases, key=lambda basis: float(np.linalg.norm(stacked @ basis.T, norm, axis=1).max()))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Shape:
    """Noise along directions for some translations.

    `rows` has shape (k, d); `reach` holds the largest size of each number of the answer.
    """

    moved: Sequence[MovedLaw]
    rows: FloatArray
    ratio: float
    reach: FloatArray

    @property
    def whole(self) -> bool:
        """Whether the directions are the numbers of the answer themselves."""
        return np.array_equal(self.rows, np.eye(self.rows.shape[1]))

    def laplace_scale(self, each: MovedLaw, share: float = LEAST_SHARE) -> float:
        """Return the scale that a pair needs along the directions if a share is kept for the last step, rounded up."""
        along = np.abs(self.rows @ each.gap) + np.abs(self.rows) @ each.aside
        rounding = len(self.rows) * (each.rounding + 8 * UNIT_ROUNDOFF * float(np.abs(each.gap).sum()))
        return scale_for(float(along.sum()) + rounding, self.ratio * (1 - share))

    def gaussian_scale(self, each: MovedLaw) -> float:
        """Return the deviation that a pair needs along the directions."""
        return scale_for(math.hypot(*(self.rows @ each.gap).tolist()), self.ratio * kept(LAST_SHARE) * (1 - 2.0**-30))

    def _left_over(self, each: MovedLaw) -> FloatArray:
        """Return how far each number is moved across the directions, rounded up."""
        sizes, along = np.abs(self.rows), np.abs(self.rows @ each.gap)
        across = np.abs(each.gap - self.rows.T @ (self.rows @ each.gap))
        across += 16 * UNIT_ROUNDOFF * (np.abs(each.gap) + sizes.T @ along)
        return across + each.aside + sizes.T @ (sizes @ each.aside) + (1 + len(sizes)) * each.rounding

    def laplace(self) -> Noise:
        """Return Laplace noise along the directions, with the best of several shares for the last step."""
        if self.whole:
            return Laplace(max(map(self.laplace_scale, self.moved)), self.rows.shape[1])
        shares = (LEAST_SHARE * 4**k for k in range(10))
        return min(map(self._laplace, shares), key=lambda noise: noise.error().upper)

    def _laplace(self, share: float) -> DirectionalLaplace:
        scale, size = max(self.laplace_scale(each, share) for each in self.moved), self.rows.shape[1]
        limits = limits_for(scale, self.rows, self.reach)
        moved = np.max([self._left_over(each) for each in self.moved], axis=0)
        moved = moved + 2 * moved_by_rounding(self.rows, limits, self.reach)
        dithers = moved * size / (self.ratio * share) * (1 + 16 * UNIT_ROUNDOFF)
        return DirectionalLaplace(
            scale=scale,
            directions=tuple(map(tuple, self.rows.tolist())),
            limits=tuple(limits.tolist()),
            dithers=tuple(dithers.tolist()),
        )

    def gaussian(self, log_tail: float) -> Noise:
        """Return Gaussian noise along the directions, with the best of several shares for the last step."""
        size = self.rows.shape[1]
        if len(self.rows) == size:
            far = max(each.farthest(2) + each.pair.rounding for each in self.moved)
            return Gaussian(scale_for(far, self.ratio), size)
        shares = (LAST_SHARE * 4**k for k in range(5))
        return min((self._gaussian(log_tail, share) for share in shares), key=lambda noise: noise.error().upper)

    def _gaussian(self, log_tail: float, share: float) -> CorrelatedGaussian:
        needed = max(map(self.gaussian_scale, self.moved)) ** 2 * self.rows.T @ self.rows
        needed = (needed + needed.T) / 2
        dithers = self._dithers(needed, log_tail, share)
        # half of the variance that is drawn last hides what gaps have across the directions, half of it rounding
        places = np.flatnonzero(dithers > 0)
        spread = np.diag(np.square(dithers[places]) / 2)
        gaps = [Gap(each.gap[places], spread) for each in self.moved]
        inner = np.ix_(places, places)
        larger = needed.copy()
        larger[inner] = repaired(needed[inner], gaps, self.ratio * kept(share))
        return CorrelatedGaussian(larger, np.maximum(dithers, self._dithers(larger, log_tail, share)).tolist())

    def _dithers(self, needed: FloatArray, log_tail: float, share: float) -> FloatArray:
        """Return the deviations of what is drawn last."""
        plain = CorrelatedGaussian(needed)
        moved = np.max([each.aside + each.rounding for each in self.moved], axis=0)
        moved = moved + 2 * plain.moved(self.reach.tolist(), log_tail)
        # numbers that no direction moves, and no gap, need no noise
        moved[(np.diag(needed) == 0) & (moved == 0)] = 0.0
        per_move = math.sqrt(2 * len(moved)) / (share * self.ratio) * (1 + 16 * UNIT_ROUNDOFF)
        return np.maximum(plain.dithers, moved * per_move)


# --------------------------------------------------------------------------------------------------
# Noise for the gap of the means of laws that are translations of one another.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ExpectedValueMechanism(ForTranslations, Mechanism):
    """The same noise on every number, for the largest gap of means of laws that are translations of one another.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm of the gap; Gaussian noise for the 2-norm, which needs delta above 0.
    constant : {"analytic", "textbook", "lecture"}
        Of Gaussian noise: the exact curve; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/expected_value.md. Theorems 4.1 and 4.2 of Chen, Ohrimenko, "Protecting Global Properties of Datasets
    with Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([3, 4, 5], [0.2, 0.5, 0.3]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> round(bp.mechanisms.ExpectedValueMechanism().calibrate(framework, epsilon=0.5).scale, 6)
    6.0
    """

    claim: ClassVar[str] = "expected_value.md"
    _theorem: ClassVar[str] = "Expected value mechanism"

    def _noise_for(
        self, moved: Sequence[MovedLaw], ratio: float, reach: FloatArray, epsilon: float, delta: float
    ) -> tuple[Noise, Callable[[MovedLaw], float]]:
        def alone(each: MovedLaw) -> float:
            return scale_for(each.farthest(self.norm) + each.pair.rounding, ratio)

        scale = found_scale(max(map(alone, moved)), epsilon, delta)
        return noise_of(self.noise, scale, len(reach)), alone
