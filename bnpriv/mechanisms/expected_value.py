"""Noise for the gap of the means of laws that are translations of one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from bnpriv.bound import FloatArray
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.moved_laws import ForTranslations, scale_for
from bnpriv.mechanisms.search import found_scale, noise_of
from bnpriv.mechanisms.translations import MovedLaw
from bnpriv.noise.continuous import Noise


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
