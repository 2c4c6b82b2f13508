"""Privacy curves in closed form."""

from bnpriv.divergences.gaussian import gaussian_delta, gaussian_mu

__all__ = ["gaussian_delta", "gaussian_mu"]
