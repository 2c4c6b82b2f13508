"""Privacy curves, and the privacy loss of two laws in every view."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.divergences.curve import PrivacyCurve
    from bnpriv.divergences.gaussian import (
        CONSTANTS,
        GaussianConstant,
        constant_refusal,
        delta_of_constant,
        gaussian_delta,
        gaussian_mu,
        gaussian_ratio,
    )
    from bnpriv.divergences.information import capacity
    from bnpriv.divergences.loss import PrivacyLoss
    from bnpriv.divergences.views import ternary_chi

__all__ = [
    "CONSTANTS",
    "GaussianConstant",
    "PrivacyCurve",
    "PrivacyLoss",
    "capacity",
    "constant_refusal",
    "delta_of_constant",
    "gaussian_delta",
    "gaussian_mu",
    "gaussian_ratio",
    "ternary_chi",
]

__getattr__, __dir__ = lazily(__name__)
