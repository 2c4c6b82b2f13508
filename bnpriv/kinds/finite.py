"""Networks of tables: finitely many states, and a probability of each."""

from __future__ import annotations

import numpy as np

from bnpriv.kind import NetworkKind, TableEnds, method
from bnpriv.networks.discrete import DiscreteNetwork


class FiniteKind(NetworkKind):
    """A `DiscreteNetwork`."""

    exact_tables = True
    sampler = "bnpriv.studies.records:TablesSampler"

    influence = method("bnpriv.influence.finite:finite_influence")
    work = method("bnpriv.influence.finite:influence_work")
    budgeted = method("bnpriv.influence.finite:budgeted_influence")
    rows = method("bnpriv.influence.junction:finite_rows")
    lower_bound = method("bnpriv.influence.witness:at_least")
    tree_choice = method("bnpriv.influence.tree_choice:tree_choice")
    gradient = method("bnpriv.influence.sensitivity:tables_gradient")
    laws_of_parameters = method("bnpriv.evidence.laws:laws_of_tables")
    section = method("bnpriv.frameworks.file_network:tables_section")

    def table_ends(self, network: DiscreteNetwork, model: int) -> TableEnds:
        """The probabilities of one model, twice: they are exact."""
        tables = {name: network.probabilities(name)[model] for name in network.attributes}
        return tables, tables, ()

    def is_deterministic(self, network: DiscreteNetwork, name: str) -> bool:
        """Whether a table holds zeros and ones alone; a probability below the range of doubles is no zero."""
        logs = network.tables[name].values
        return bool(np.all((logs == 0) | np.isneginf(logs)))


FINITE_KIND = FiniteKind()
