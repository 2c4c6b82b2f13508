"""How far mass must move to turn one law into another: the infinity-Wasserstein distance and (W, delta)-closeness.

What is promised, and why, is in docs/claims/transport.md.
"""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.transport.closeness import bounded_closeness, closeness
    from bnpriv.transport.distance import w_infinity, w_infinity_bounds
    from bnpriv.transport.space import check_pairs, lengths
    from bnpriv.transport.tolerance import MASS_TOLERANCE, tolerance

__all__ = [
    "MASS_TOLERANCE",
    "bounded_closeness",
    "check_pairs",
    "closeness",
    "lengths",
    "tolerance",
    "w_infinity",
    "w_infinity_bounds",
]

__getattr__, __dir__ = lazily(__name__)
