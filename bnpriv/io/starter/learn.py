"""A network of records learned from a public table: its graph by search or by an expert, its tables as draws."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from bnpriv.checks import closest, listing, member
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Parents
from bnpriv.core.networks.model_class import model_class
from bnpriv.core.schema import Column
from bnpriv.errors import NetworkError, ParameterError
from bnpriv.io.networks.texts import WrittenTable
from bnpriv.io.pgmpy import quiet
from bnpriv.io.starter.codebook import node_states, states_of
from bnpriv.io.starter.public import PublicValues

MOST_PARENTS_LEARNED = 2
MOST_PUBLIC_SEARCHED = 20_000
"""Public records by which a graph is searched; its tables are learned from all."""

LEAST_PROBABILITY = sys.float_info.min
"""What is written for a probability that no double holds: a file with zero would call it impossible."""

LEARNED_MODELS = 20
LEARNED_SEED = 0


def learned(
    columns: Mapping[str, Column],
    values: Mapping[str, PublicValues],
    *,
    public: str,
    edges: str | None = None,
    protect: Sequence[str] = (),
    draws: int = LEARNED_MODELS,
) -> DiscreteNetwork:
    """Return draws from the posterior of a network of records, given a public table.

    Its tables are numbers as files hold them, so that it is the same network that is read from its files.

    Parameters
    ----------
    columns : mapping from str to Categorical, Binned or Integer
        The nodes; the categories, bins or whole numbers are their states.
    values : mapping from str to sequence
        The public table.
    public : str
        Where it comes from.
    edges : str, optional
        An expert's graph, as "age > income, sex > income"; by default hill climbing with BIC.
    protect : sequence of str
        Columns of which no other is independent in a graph that was searched; see `connected`.
    draws : int
        How many models are drawn.

    Raises
    ------
    NetworkError, ParameterError
        If the edges name no column, or are not well formed.
    """
    import pandas as pd

    table = pd.DataFrame({name: states_of(column, values[name]) for name, column in columns.items()})
    parents = connected(_searched(table), protect) if edges is None else _parents(edges, list(columns))
    states = {name: node_states(column) for name, column in columns.items()}
    drawn = DiscreteNetwork.posterior(parents, table, public=public, states=states, draws=draws, seed=LEARNED_SEED)
    return _as_written(drawn, parents)


def connected(parents: Mapping[str, Sequence[str]], protect: Sequence[str]) -> dict[str, list[str]]:
    """Return a graph in which every column depends on the protected ones, or on the first where none is named yet.

    A search leaves out edges for which it sees too little evidence. A column without any path to a protected one would
    be released without noise, on the word of a search that can miss dependences; with an edge, the draws of its table
    say how much of a dependence the public table leaves open.

    A column is independent of a protected one, nothing else being known, if they have no common ancestor and neither
    is the other's. So it is enough that every column without parents is above the protected one, or right below it.
    """
    joined = {name: list(above) for name, above in parents.items()}
    for hub in protect or list(joined)[:1]:
        known = _above(joined, hub)
        for name, above in joined.items():
            if not above and name not in known:
                above.append(hub)
    return joined


def _above(parents: Mapping[str, Sequence[str]], name: str) -> set[str]:
    """Return a column and all its ancestors."""
    found, waiting = {name}, [name]
    while waiting:
        new = set(parents[waiting.pop()]) - found
        found |= new
        waiting.extend(new)
    return found


def _as_written(drawn: DiscreteNetwork, parents: Parents) -> DiscreteNetwork:
    """Return the network that is read from the files of another one's models."""
    models = [
        DiscreteNetwork.from_tables(
            {table.name: table.numbers for table in written_tables(drawn, model)},
            states=drawn.states,
            parents=parents,
            level="records",
        )
        for model in range(drawn.models)
    ]
    facts = drawn.posterior_draws
    assert facts is not None
    return replace(model_class(models), posterior_draws=replace(facts, in_file=True))


def _searched(table: object) -> dict[str, list[str]]:
    """Return the parents of every column, found by hill climbing with BIC.

    Columns go by whole numbers meanwhile: the search breaks ties in the order of a set, which for texts is another one
    in every process.
    """
    import pandas as pd

    assert isinstance(table, pd.DataFrame)
    names = list(table.columns)
    # as objects, which stay Python's numbers: older pandas takes a list of NumPy's for an array when it unstacks
    plain = table.set_axis(pd.Index(range(len(names)), dtype=object), axis=1)
    if len(plain) > MOST_PUBLIC_SEARCHED:
        plain = plain.sample(MOST_PUBLIC_SEARCHED, random_state=LEARNED_SEED)
    varied = [name for name in plain.columns if plain[name].nunique() > 1]
    parents: dict[str, list[str]] = {name: [] for name in names}
    if len(varied) < 2:
        return parents
    with quiet():
        from pgmpy.estimators import HillClimbSearch

        found = HillClimbSearch(plain[varied]).estimate(
            scoring_method="bic-d", max_indegree=MOST_PARENTS_LEARNED, show_progress=False
        )
    for above, below in sorted(cast("Iterable[tuple[int, int]]", cast(Any, found).edges())):
        parents[names[below]].append(names[above])
    return parents


def _parents(edges: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the parents that an expert's edges declare."""
    parents: dict[str, list[str]] = {name: [] for name in names}
    for edge in filter(None, map(str.strip, edges.split(","))):
        ends = [end.strip() for end in edge.split(">")]
        if len(ends) != 2:
            raise ParameterError(
                'edges must read "a > b, b > c"', found=repr(edge[:80]), remedy="Separate them by commas."
            )
        for end in ends:
            member("an end of an edge", end, names, error=NetworkError)
        if ends[0] not in parents[ends[1]]:
            parents[ends[1]].append(ends[0])
    return parents


def written_tables(network: DiscreteNetwork, model: int) -> list[WrittenTable]:
    """Return the tables of one model of a network as numbers that a file can hold."""
    tables: list[WrittenTable] = []
    for name in network.graph.nodes:
        table = network.tables[name]
        parents = tuple(table.axes[1:])
        numbers = np.exp(table.values[model if len(table.values) > 1 else 0])
        # what is drawn is never impossible, however little of it a double holds
        numbers = np.maximum(numbers / numbers.sum(axis=0), LEAST_PROBABILITY)
        tables.append(WrittenTable(name=name, states=network.states[name], parents=parents, numbers=numbers))
    return tables


def check_protected(
    name: str,
    known: Sequence[str],
    *,
    nameless: str | None = None,
    told: bool = True,
    what: str = "a protected column",
) -> None:
    """Refuse to protect, or to read in some way, what is no column.

    Parameters
    ----------
    name : str
    known : sequence of str
        The columns.
    nameless : str, optional
        What the column is called here whose name the codebook does not tell.
    told : bool
        Whether the columns may be told: not where they may be a record.
    what : str
        What the column is to be.

    Raises
    ------
    ParameterError
    """
    if name in known:
        return
    near = closest(name, known) if told else None
    remedy = "Check the spelling." if near is None else f"Did you mean {near!r}?"
    if near is None and nameless is not None:
        place = known.index(nameless) + 1
        remedy = (
            f"The codebook does not name column {place}, which is called {nameless!r} here: protect {nameless!r}, or "
            f'name all {len(known)} columns in the order of the table, --names "{known[0]},...,{name[:80]}".'
        )
    elif not told:
        remedy = 'Check the spelling; if the first line is a record, name the columns: --names "age,sex,income".'
    raise ParameterError(
        f"{what} must be one of the table",
        found=f"{name[:80]!r}, none of {listing(known) if told else 'the fields of its first line'}",
        remedy=remedy,
    )
