"""Does public data contradict the model? Nothing here is private or protected."""

from bnpriv.model_check.check import ModelCheck, RowCheck, check_model

__all__ = ["ModelCheck", "RowCheck", "check_model"]
