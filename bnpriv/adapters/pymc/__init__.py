"""Networks from PyMC models."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.adapters.pymc.read import from_pymc

__all__ = ["from_pymc"]

__getattr__, __dir__ = lazily(__name__)
