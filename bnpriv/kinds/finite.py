"""Networks of tables: finitely many states, and a probability of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.kind import NetworkKind, TableEnds, kind_of


def _tables(network: DiscreteNetwork, model: int) -> TableEnds:
    """The probabilities of one model, twice: they are exact."""
    tables = {name: network.probabilities(name)[model] for name in network.attributes}
    return tables, tables, ()


def _is_deterministic(network: DiscreteNetwork, name: str) -> bool:
    logs = network.tables[name].values  # a probability below the range of doubles is no zero
    return bool(np.all((logs == 0) | np.isneginf(logs)))


def unfixed_protecting(network: Any, protected: Iterable[object]) -> Any:
    """Return the network in which nothing is fixed, with protected functions of parameters, if there is one."""
    return None if network.unfixed is None else network.unfixed.protecting(protected)


def _some(network: DiscreteNetwork, models: Sequence[int]) -> DiscreteNetwork:
    """The network with some of its models."""
    tables = {
        name: table
        if len(table.values) == 1
        else LogTable(axes=table.axes, values=table.values[list(models)], error=table.error)
        for name, table in network.tables.items()
    }
    forward = network.forward
    if forward is not None and forward.models > 1:
        forward = kind_of(forward).some(forward, models)
    drawn = network.posterior_draws and replace(network.posterior_draws, draws=len(models))
    return replace(network, tables=tables, models=len(models), posterior_draws=drawn, forward=forward)


FINITE_KIND = NetworkKind(
    exact_tables=True,
    forward=attrgetter("forward"),
    unfixed=unfixed_protecting,
    influence="bnpriv.core.influence.finite:finite_influence",
    losses="bnpriv.core.influence.finite:influence_losses",
    explain="bnpriv.core.influence.finite:explain_tables",
    conditional="bnpriv.kinds.density.influence:two_conditionals",
    work="bnpriv.core.influence.finite:influence_work",
    budgeted="bnpriv.core.influence.finite:budgeted_influence",
    rows="bnpriv.kinds.junction.rows:finite_rows",
    lower_bound="bnpriv.core.influence.finite:lower_bound",
    tree_choice="bnpriv.core.influence.finite:tree_choice",
    edge_removal="bnpriv.kinds.sensitivity:edge_removal",
    gradient="bnpriv.kinds.sensitivity:tables_gradient",
    laws_of_parameters="bnpriv.core.evidence.laws:laws_of_tables",
    table_ends=_tables,
    is_deterministic=_is_deterministic,
    some=_some,
    sampler="bnpriv.lab.sampling.records:TablesSampler",
    section="bnpriv.io.framework_text:tables_section",
)
