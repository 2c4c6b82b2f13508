"""Laws of an answer: finitely many atoms, a normal law, or independent draws; mixtures and sums of them."""

from bnpriv.laws.atoms import Atoms, mixture
from bnpriv.laws.draws import Draws
from bnpriv.laws.normal import Normal
from bnpriv.laws.sums import add, n_fold

__all__ = ["Atoms", "Draws", "Normal", "add", "mixture", "n_fold"]
