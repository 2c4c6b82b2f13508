"""Laws of an answer: finitely many atoms, a normal law, or independent draws; mixtures and sums of them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.distributions import Atoms, ExactLaw, Normal, log_mixture
    from bnpriv.core.draws import Draws
    from bnpriv.core.whole_numbers import WholeLaw, nearest_doubles, summed, sums_bound
    from bnpriv.kinds.pairs_of_laws import add, mixture, n_fold
    from bnpriv.lab.laws_by_property import laws_by_property

__all__ = [
    "Atoms",
    "Draws",
    "ExactLaw",
    "Normal",
    "WholeLaw",
    "add",
    "laws_by_property",
    "log_mixture",
    "mixture",
    "n_fold",
    "nearest_doubles",
    "summed",
    "sums_bound",
]

__getattr__, __dir__ = lazily(__name__)
