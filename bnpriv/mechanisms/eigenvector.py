"""Gaussian noise along the eigenvectors that the covariances of a normal answer have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from bnpriv.mechanisms.added_covariance import along_eigenvectors
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.covariance_noise import CovarianceChoice, Needed


@final
@dataclass(frozen=True, kw_only=True)
class EigenvectorMechanism(CovarianceChoice, Mechanism):
    """Gaussian noise along the common eigenvectors of the laws: in each only what the answer's own variance lacks.

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
    docs/claims/eigenvector.md. Theorem 4.5 of Chen, Ohrimenko, "Protecting Global Properties of Datasets with
    Distribution Privacy Mechanisms" (AISTATS 2023).

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Normal
    >>> covariance = [[22, -6], [-6, 13]]
    >>> pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> mechanism = bp.mechanisms.EigenvectorMechanism(constant="textbook")
    >>> calibration = mechanism.calibrate(framework, epsilon=1.0, delta=1e-3)
    >>> round(float(calibration.noise.covariance.trace()), 2)
    22.05
    """

    claim: ClassVar[str] = "eigenvector.md"
    _theorem: ClassVar[str] = "Eigenvector mechanism"
    _needed: ClassVar[Needed] = staticmethod(along_eigenvectors)
