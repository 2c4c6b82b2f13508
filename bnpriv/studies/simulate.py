"""A made-up table: parameters drawn from the network, then records drawn from the laws of the columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, ParameterError, SecretError
from bnpriv.frameworks import DistributionalAttributePrivacy, of_parameters
from bnpriv.networks import DiscreteNetwork, State, require_discrete
from bnpriv.networks.factors import LogTable, marginal
from bnpriv.render.text import toml_key
from bnpriv.tables.column_laws import ColumnLaw
from bnpriv.tables.schema import Column, Integer, Real

if TYPE_CHECKING:
    import pandas as pd

Assumed = Mapping[str, State | Collection[State]]
"""States that attributes are known to have; of several states of one attribute, it has one of them."""


def simulate(
    framework: DistributionalAttributePrivacy,
    records: int | None = None,
    *,
    secret: Assumed | None = None,
    model: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Make up a table as the model describes it, with the same rows for the same seed.

    The rows are invented, so they tell nothing about a real table; nor does anything protect them, and publishing
    statistics of them is no rehearsal of privacy. For that see `rehearse`.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
        It needs a law for every column of its schema.
    records : int, optional
        Number of rows; the one that the schema declares by default.
    secret : mapping from str to state or collection of states, optional
        What is true of some attributes, such as ``{"income": "high"}``; the other parameters are drawn given it.
    model : int
        Index of the model in Theta.
    seed : int
        Rows are drawn with NumPy's generator of this seed.

    Returns
    -------
    pandas.DataFrame
        One column per column of the schema; values inside the bounds, none missing.

    Raises
    ------
    FrameworkError
        If a column has no law.
    NetworkError
        If the network is given by intervals.
    SecretError
        If the secret is no state of the network, or has probability zero.
    ParameterError
        If the number of records, the model or the seed is out of range.

    Notes
    -----
    All parameters are drawn once from their exact joint law given the secret, by variable elimination; then every
    column is drawn by its own parameter alone, which is the model of distributional attribute privacy.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.9, 0.2], [0.1, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["weak", "strong"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> schema = bp.Schema(records=1000, columns={"sat": bp.Categorical(["fail", "pass"])})
    >>> framework = bp.DistributionalAttributePrivacy(
    ...     network, schema, "income", source="invented", laws={"sat": {"weak": 0.5, "strong": 1.0}}
    ... )
    >>> simulate(framework, 2, secret={"sat": "strong"})["sat"].tolist()
    ['pass', 'pass']
    """
    import pandas as pd

    schema = of_parameters(framework, "a made-up table").schema
    network = require_discrete(framework.network, "a made-up table")
    require_laws(framework, schema.columns)
    count = schema.records if records is None else checks.whole("records", records, remedy="Ask for at least one row.")
    random = np.random.default_rng(checks.whole("seed", seed, least=0))
    drawn = draw_parameters(network, random, secret=secret, model=model)
    return pd.DataFrame({name: law_given(framework, name, drawn).sample(count, random) for name in schema.columns})


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
    if secret is not None and not isinstance(secret, Mapping):
        raise SecretError(
            "a secret to be assumed is a mapping from attributes to states",
            found=checks.type_text(secret),
            remedy='Write secret={"income": "high"}.',
        )
    tables = _model_tables(require_discrete(network, "a made-up table"), model)
    evidence = [_evidence(network, name, known) for name, known in (secret or {}).items()]
    graph, drawn = network.graph, dict[str, int]()
    for name in network.attributes:
        # what matters for this state: the evidence below it, and all that lies above either
        needed = graph.ancestral([name, *(table.axes[0] for table in evidence)])
        relevant = [*evidence, *(tables[other] for other in network.attributes if other in needed)]
        law = np.exp(marginal([_fixed(table, drawn) for table in relevant], (name,)).values[0])
        if not law.sum() > 0:
            raise SecretError(
                "the secret must have positive probability",
                found=f"probability zero in model {model}",
                remedy="Choose states that the model allows together.",
            )
        drawn[name] = int(random.choice(len(law), p=law / law.sum()))
    return {name: network.states[name][place] for name, place in drawn.items()}


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


def law_given(framework: DistributionalAttributePrivacy, name: str, parameters: Mapping[str, State]) -> ColumnLaw:
    """Return the law of a column given the states of the parameters."""
    states = framework.network.states
    places = {above: states[above].index(parameters[above]) for above in framework.governing(name)}
    return framework.column_laws[name][framework.law_place(name, places)]


def model_index(network: DiscreteNetwork, model: int) -> int:
    """Return `model` if it is the index of a model of Theta.

    Raises
    ------
    ParameterError
        If it is not.
    """
    index = checks.whole("model", model, least=0)
    if index >= network.models:
        raise ParameterError(
            f"model must be below the number of models, {network.models}",
            found=checks.shown(index),
            remedy="Count models from 0.",
        )
    return index


def _model_tables(network: DiscreteNetwork, model: int) -> dict[str, LogTable]:
    index = model_index(network, model)
    return {
        name: LogTable(axes=table.axes, values=table.values[[min(index, len(table.values) - 1)]], error=table.error)
        for name, table in network.tables.items()
    }


def _evidence(network: DiscreteNetwork, name: str, known: State | Collection[State]) -> LogTable:
    checks.member("an attribute of the secret", name, network.attributes, error=SecretError)
    allowed = (known,) if isinstance(known, (str, int, float, bool)) else tuple(known)
    states = network.states[name]
    unknown = [state for state in allowed if state not in states]
    if unknown or not allowed:
        raise SecretError(
            f"the secret about {name!r} must name its states {listing(states)}",
            found=listing(map(repr, unknown)),
            remedy=checks.spelling(next(iter(unknown), None), states),
        )
    values: NDArray[np.float64] = np.array([[0.0 if state in allowed else -np.inf for state in states]])
    return LogTable(axes=(name,), values=values)


def _fixed(table: LogTable, drawn: Mapping[str, int]) -> LogTable:
    """Return the table with the attributes that are drawn at their states."""
    index = tuple(drawn.get(axis, slice(None)) for axis in table.axes)
    kept = tuple(axis for axis in table.axes if axis not in drawn)
    return LogTable(axes=kept, values=np.array(table.values[:, *index]), error=table.error)


def _example(column: Column) -> tuple[str, str]:
    """Return how a law of such a column is written in Python and in a framework file."""
    if isinstance(column, Real) or (isinstance(column, Integer) and (column.lower, column.upper) != (0, 1)):
        return "scipy.stats.norm(mean, sd)", "normal = [mean, sd]"
    if isinstance(column, Integer):
        return "p", "bernoulli = p"
    return "{category: probability, ...}", "categorical = {category = probability, ...}"
