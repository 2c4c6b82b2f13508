"""Parameters drawn from their exact joint law given a secret, and the laws of columns that hang on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, SecretError
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import LogTable, marginal
from bnpriv.render.text import toml_key
from bnpriv.studies.asked import Assumed, model_index, states_among, zero_probability
from bnpriv.tables.schema import Categorical, Column, State, is_whole


def draw_parameters(
    network: DiscreteNetwork, random: np.random.Generator, *, secret: Assumed | None = None, model: int = 0
) -> dict[str, State]:
    """Draw one state for every attribute from the exact joint law given a secret.

    Parameters
    ----------
    network : DiscreteNetwork
    random : numpy.random.Generator
    secret : mapping from str to state or collection of states, optional
        What is true of some attributes.
    model : int
        Index of the model in Theta.

    Returns
    -------
    dict from str to state
        Parents before children.

    Raises
    ------
    SecretError
        If the secret is no state of the network, or has probability zero.
    ParameterError
        If there is no such model.
    SizeError
        If a table on the way would be too large.
    """
    tables, evidence = _known(network, secret or {}, model)
    graph, drawn = network.graph, dict[str, int]()
    for name in network.attributes:
        # what matters for this state: the evidence below it, and all that lies above either
        needed = graph.ancestral([name, *(table.axes[0] for table in evidence)])
        relevant = [*evidence, *(tables[other] for other in network.attributes if other in needed)]
        law = np.exp(marginal([_fixed(table, drawn) for table in relevant], (name,)).values[0])
        if not law.sum() > 0:
            remedy = "Choose states that the model allows together."
            raise zero_probability(f"probability zero in model {model}", remedy)
        drawn[name] = int(random.choice(len(law), p=law / law.sum()))
    return {name: network.states[name][place] for name, place in drawn.items()}


def secret_probability(network: DiscreteNetwork, secret: Assumed, model: int) -> float:
    """How probable a secret is under a model."""
    tables, evidence = _known(network, secret, model)
    if not evidence:
        return 1.0
    needed = network.graph.ancestral([table.axes[0] for table in evidence])
    relevant = [*evidence, *(tables[name] for name in network.attributes if name in needed)]
    return min(1.0, math.exp(float(marginal(relevant, ()).values[0])))


def _known(network: DiscreteNetwork, secret: Assumed, model: int) -> tuple[dict[str, LogTable], list[LogTable]]:
    """The tables of one model, and one table for each attribute of a secret: 0 where it holds, else -inf."""
    index = model_index(network.models, model)
    tables = {
        name: LogTable(axes=table.axes, values=table.values[[min(index, len(table.values) - 1)]], error=table.error)
        for name, table in network.tables.items()
    }
    evidence: list[LogTable] = []
    for name, known in secret.items():
        checks.member("an attribute of the secret", name, network.attributes, error=SecretError)
        states = network.states[name]
        allowed = states_among(f"the secret about {name!r} must name its states", known, states)
        values = np.array([[0.0 if state in allowed else -np.inf for state in states]])
        evidence.append(LogTable(axes=(name,), values=values))
    return tables, evidence


def _fixed(table: LogTable, drawn: Mapping[str, int]) -> LogTable:
    """A table without the axes of attributes that are drawn."""
    index = tuple(drawn.get(axis, slice(None)) for axis in table.axes)
    kept = tuple(axis for axis in table.axes if axis not in drawn)
    return LogTable(axes=kept, values=np.array(table.values[:, *index]), error=table.error)


def require_laws(framework: DistributionalAttributePrivacy, columns: Iterable[str]) -> None:
    """Refuse columns whose law is not declared.

    Raises
    ------
    FrameworkError
        It names the keys to add.
    """
    missing = [name for name in columns if name not in framework.column_laws]
    if not missing:
        return
    name = missing[0]
    law, key = _example(framework.schema[name]), toml_key(name)
    states = framework.network.states.get(name)
    if states is None:
        keys = (
            f'laws={{"{name}": {law[0]}}} and declare it independent, or [laws.{key}] {law[1]} in a framework file, '
            f"with independent = true in [columns.{key}]"
        )
    else:
        keys = (
            f'laws={{"{name}": {{{states[0]!r}: {law[0]}, ...}}}} with every state of its node, or '
            f"[laws.{key}.{toml_key(str(states[0]))}] {law[1]} in a framework file"
        )
    raise FrameworkError(
        "every simulated column needs a law", found=f"none for {listing(missing)}", remedy=f"Add {keys}."
    )


def _example(column: Column) -> tuple[str, str]:
    """How a law of such a column is written in Python and in a framework file."""
    if isinstance(column, Categorical):
        return "{category: probability, ...}", "categorical = {category = probability, ...}"
    if is_whole(column) and (column.lower, column.upper) == (0, 1):
        return "p", "bernoulli = p"
    return "scipy.stats.norm(mean, sd)", "normal = [mean, sd]"
