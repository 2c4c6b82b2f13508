"""Privacy curves in closed form."""

from bnpriv.divergences.gaussian import (
    CONSTANTS,
    GaussianConstant,
    constant_refusal,
    delta_of_constant,
    gaussian_delta,
    gaussian_mu,
    gaussian_ratio,
)

__all__ = [
    "CONSTANTS",
    "GaussianConstant",
    "constant_refusal",
    "delta_of_constant",
    "gaussian_delta",
    "gaussian_mu",
    "gaussian_ratio",
]
