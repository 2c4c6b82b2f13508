"""Laws of an answer: finitely many atoms, a normal law, or independent draws; mixtures and sums of them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.distributions import (
        Atoms as Atoms,
        Draws as Draws,
        ExactLaw as ExactLaw,
        Normal as Normal,
        log_mixture as log_mixture,
    )
    from bnpriv.core.whole_numbers import (
        WholeLaw as WholeLaw,
        nearest_doubles as nearest_doubles,
        summed as summed,
        sums_bound as sums_bound,
    )
    from bnpriv.kinds.pairs_of_laws import add as add, mixture as mixture, n_fold as n_fold
    from bnpriv.lab.laws_by_property import laws_by_property as laws_by_property


__getattr__, __dir__ = lazily(__name__)
