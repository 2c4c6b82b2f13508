"""Laws of an answer: finitely many atoms, a normal law, or independent draws; mixtures and sums of them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.laws.atoms import Atoms, log_mixture, mixture
    from bnpriv.laws.draws import Draws
    from bnpriv.laws.normal import ExactLaw, Normal
    from bnpriv.laws.whole import WholeLaw, add, n_fold, nearest_doubles, summed, sums_bound

__all__ = [
    "Atoms",
    "Draws",
    "ExactLaw",
    "Normal",
    "WholeLaw",
    "add",
    "log_mixture",
    "mixture",
    "n_fold",
    "nearest_doubles",
    "summed",
    "sums_bound",
]

__getattr__, __dir__ = lazily(__name__)
