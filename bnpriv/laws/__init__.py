"""Laws of an answer: finitely many atoms, or a normal law; mixtures and sums of independent draws."""

from bnpriv.laws.atoms import Atoms, mixture
from bnpriv.laws.normal import Normal
from bnpriv.laws.sums import add, n_fold

__all__ = ["Atoms", "Normal", "add", "mixture", "n_fold"]
