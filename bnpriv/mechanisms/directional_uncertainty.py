"""Gaussian noise in the one direction in which the means differ, less what the answer's own uncertainty hides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from bnpriv import checks
from bnpriv.divergences import CONSTANTS, GaussianConstant
from bnpriv.errors import Refusal
from bnpriv.frameworks import Framework
from bnpriv.mechanisms.added_covariance import along_direction
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.covariance_noise import NormalQuestion, has_normal_laws
from bnpriv.noise.continuous import Noise
from bnpriv.queries.base import Query


@final
@dataclass(frozen=True, kw_only=True)
class DirectionalUncertaintyMechanism(Mechanism):
    """Gaussian noise in the one direction of all gaps between means, less what the answer's own uncertainty hides.

    Parameters
    ----------
    constant : {"analytic", "textbook", "lecture"}
        The exact curve of the normal law; the square root of 2 log(1.25/delta), or of 2 log(2/delta), over epsilon.
    beyond_proof : bool
        Waive the refusal of an epsilon above 1 with the last two constants; the guarantee then names the delta that
        holds.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    relaxation : float, optional
        How much of epsilon may be given up on either side for normal laws whose covariances differ: others with their
        means and the mean of their covariances stand for them (docs/claims/normal_approximations.md).
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/directional_uncertainty.md. Appendix A.2, here in closed form, of Chen, Ohrimenko,
    "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> covariance = [[22, -6], [-6, 13]]
    >>> pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> mechanism = bp.mechanisms.DirectionalUncertaintyMechanism(constant="textbook")
    >>> calibration = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3)
    >>> round(float(calibration.noise.covariance.trace()), 2)
    6.78
    """

    constant: GaussianConstant = "analytic"
    beyond_proof: bool = False
    large_delta: bool = False
    relaxation: float | None = None
    claim: ClassVar[str] = "directional_uncertainty.md"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"constant": CONSTANTS}
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {"relaxation": checks.not_negative}

    def concerns(self, framework: Framework) -> bool:
        """Return whether answers may have normal laws."""
        return has_normal_laws(framework)

    def _refusal(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Refusal | None:
        question = self._question(framework, query, epsilon, delta)
        return question.refusal(beyond_proof=self.beyond_proof, large_delta=self.large_delta)

    def _calibrated(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Noise, Certificate, float]:
        return self._question(framework, query, epsilon, delta).calibrated(
            "Directional uncertainty mechanism", self.claim
        )

    def _question(self, framework: Framework, query: Query, epsilon: float, delta: float) -> NormalQuestion:
        return NormalQuestion(
            framework=framework,
            query=query,
            epsilon=epsilon,
            delta=delta,
            constant=self.constant,
            relaxation=self.relaxation,
            needed=along_direction,
        )
