"""Networks from PyMC models."""

from bnpriv.adapters.pymc.read import from_pymc

__all__ = ["from_pymc"]
