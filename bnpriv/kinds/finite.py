"""Networks of tables: finitely many states, and a probability of each."""

from __future__ import annotations

import numpy as np

from bnpriv.kind import NetworkKind, TableEnds
from bnpriv.networks.discrete import DiscreteNetwork


def _tables(network: DiscreteNetwork, model: int) -> TableEnds:
    """The probabilities of one model, twice: they are exact."""
    tables = {name: network.probabilities(name)[model] for name in network.attributes}
    return tables, tables, ()


def _is_deterministic(network: DiscreteNetwork, name: str) -> bool:
    logs = network.tables[name].values  # a probability below the range of doubles is no zero
    return bool(np.all((logs == 0) | np.isneginf(logs)))


FINITE_KIND = NetworkKind(
    exact_tables=True,
    influence="bnpriv.influence.finite:finite_influence",
    losses="bnpriv.influence.finite:influence_losses",
    explain="bnpriv.influence.finite:explain_tables",
    conditional="bnpriv.influence.conditionals:two_conditionals",
    work="bnpriv.influence.finite:influence_work",
    budgeted="bnpriv.influence.finite:budgeted_influence",
    rows="bnpriv.influence.junction:finite_rows",
    lower_bound="bnpriv.influence.witness:at_least",
    tree_choice="bnpriv.influence.tree_choice:tree_choice",
    gradient="bnpriv.influence.sensitivity:tables_gradient",
    laws_of_parameters="bnpriv.evidence.laws:laws_of_tables",
    table_ends=_tables,
    is_deterministic=_is_deterministic,
    sampler="bnpriv.studies.records:TablesSampler",
    section="bnpriv.frameworks.file_network:tables_section",
)
