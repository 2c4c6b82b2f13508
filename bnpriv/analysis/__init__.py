"""What a query talks about, what another model would change, and what privacy costs: before any data are touched."""

from bnpriv.analysis.comparison import Comparison, compare
from bnpriv.analysis.leaks import Leak, Leaks, leaks
from bnpriv.analysis.matrix import influence_matrix
from bnpriv.analysis.tradeoff import Tradeoff, tradeoff

__all__ = ["Comparison", "Leak", "Leaks", "Tradeoff", "compare", "influence_matrix", "leaks", "tradeoff"]
