"""A network of records: learned from a public table, or the corners of what edges by hand and their strengths allow."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import closest, listing, member, whole
from bnpriv.core.columns import Categorical
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Parents
from bnpriv.core.schema import Column
from bnpriv.errors import NetworkError, ParameterError
from bnpriv.io.networks.texts import WrittenTable
from bnpriv.io.pgmpy import quiet
from bnpriv.io.starter.codebook import node_states, states_of
from bnpriv.io.starter.public import PublicValues
from bnpriv.kinds.graphs import model_class
from bnpriv.kinds.public_records import PublicRecords, public_records_of
from bnpriv.progress import progress, tracked

if TYPE_CHECKING:
    import pandas as pd

MOST_PARENTS_LEARNED = 2
MOST_PUBLIC_SEARCHED = 20_000
"""Public records by which a graph is searched; its tables are learned from all."""

LEAST_PROBABILITY = sys.float_info.min
"""What is written for a probability that no double holds: a file with zero would call it impossible."""

LEARNED_MODELS = 20
LEARNED_SEED = 0

MOST_STATED_MODELS = 256
"""Corners of a class of networks, each of which is a model of its own and in the shell a file."""

MOST_STRENGTH = 1e6

STRENGTH_MARGIN = 1e-9
"""How much farther out than stated corners lie, relative to the strength: tables of them are rounded."""


def learned(
    columns: Mapping[str, Column],
    values: Mapping[str, PublicValues],
    *,
    public: str,
    edges: str | ExpertEdges | None = None,
    protect: Sequence[str] = (),
    draws: int = LEARNED_MODELS,
    graphs: int = 1,
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
    edges : str or mapping, optional
        An expert's graph, as "age > income, sex > income"; by default hill climbing with BIC.
    protect : sequence of str
        Columns of which no other is independent in a graph that was searched; see `connected`.
    draws : int
        How many models are drawn.
    graphs : int
        In how many resamples of the public table a graph is looked for; 1 for the table itself.

    Raises
    ------
    NetworkError, ParameterError
        If the edges name no column, or are not well formed; or graphs are looked for beside edges, or more than models.
    """
    check_graphs(graphs, draws, edges)
    import pandas as pd

    table = pd.DataFrame({name: states_of(column, values[name]) for name, column in columns.items()})
    if edges is not None:
        found = [_parents(edges, list(columns))]
    elif graphs == 1:
        with progress("looking for a graph"):
            found = [connected(_searched(table), protect)]
    else:
        with progress("looking for graphs in resamples"):
            found = [
                connected(_searched(each), protect) for each in tracked(_resamples(table, graphs), "graphs", graphs)
            ]
    states = {name: node_states(column) for name, column in columns.items()}
    # the models are shared among the resamples; those that give the same graph are drawn together
    share: dict[frozenset[tuple[str, str]], int] = {}
    above: dict[frozenset[tuple[str, str]], dict[str, list[str]]] = {}
    for k, parents in enumerate(found):
        key = frozenset((parent, name) for name, named in parents.items() for parent in named)
        above.setdefault(key, parents)
        share[key] = share.get(key, 0) + draws // len(found) + (k < draws % len(found))
    made: list[DiscreteNetwork] = []
    facts = None
    with progress("learning its tables" if len(share) == 1 else "learning their tables"):
        for k, (key, models) in enumerate(share.items()):
            drawn = DiscreteNetwork.posterior(
                above[key], table, public=public, states=states, draws=models, seed=LEARNED_SEED + k
            )
            facts = facts or drawn.posterior_draws
            made.append(_as_written(drawn, above[key]))
    assert facts is not None
    facts = replace(facts, draws=draws, in_file=True)
    if graphs > 1:
        facts = replace(facts, graphs=graphs, independent=False)
    return replace(model_class(made), posterior_draws=facts)


def check_graphs(graphs: int, draws: int, edges: object) -> None:
    """Refuse graphs that are looked for beside one that is given, or of which some would have no model.

    Raises
    ------
    ParameterError
    """
    number = whole("graphs", graphs)
    if number > 1 and edges is not None:
        raise ParameterError(
            "graphs are looked for, or one is given", found="graphs beside edges", remedy="Leave one of them out."
        )
    if number > draws:
        raise ParameterError(
            "every graph needs a model", found=f"{number:,} graphs, {draws:,} draws", remedy="Draw more, draws=..."
        )


def _resamples(table: pd.DataFrame, count: int) -> Iterator[pd.DataFrame]:
    """Yield tables of as many records as the search reads, each drawn from the public table with replacement."""
    generator = np.random.default_rng(LEARNED_SEED)
    for _ in range(count):
        rows = generator.integers(len(table), size=min(len(table), MOST_PUBLIC_SEARCHED))
        yield table.iloc[rows].reset_index(drop=True)


Strengths = Mapping[tuple[str, str], float]
"""The strength of each edge, from the column above to the one below."""

ExpertEdges = Mapping[tuple[str, str], float | None]
"""Edges by hand, whatever their columns are called, each with the strength that it states, or None."""


def stated(
    columns: Mapping[str, Column], shares: Mapping[str, Sequence[float]], strengths: Strengths, protect: Sequence[str]
) -> DiscreteNetwork:
    """Return the corners of all networks of records that have some shares, and edges of at most some strength.

    Whatever the state of the column above an edge, the odds of one state of the column below against another are within
    the factor of its strength of the odds that its shares give. Noise that the rule for one record finds enough for all
    corners is enough for every such network: docs/claims/stated_strength.md.

    Parameters
    ----------
    columns : mapping from str to Categorical or Binned
        The nodes; categories or bins are their states.
    shares : mapping from str to sequence of float
        How frequent each state is in public.
    strengths : mapping from (str, str) to float
    protect : sequence of str

    Raises
    ------
    NetworkError, ParameterError
        If edges make a cycle, a column has two edges into it, a protected one has any, or there are too many corners.

    Examples
    --------
    >>> from bnpriv.core.columns import Categorical
    >>> yes_or_no = {"smokes": Categorical(["no", "yes"]), "ill": Categorical(["no", "yes"])}
    >>> shares = {"smokes": [0.8, 0.2], "ill": [0.5, 0.5]}
    >>> network = stated(yes_or_no, shares, {("smokes", "ill"): 2.0}, ["smokes"])
    >>> network.probabilities("ill")[:, 1].round(6).tolist()
    [[0.666667, 0.666667], [0.666667, 0.333333], [0.333333, 0.666667], [0.333333, 0.333333]]
    """
    parents = {name: [above for above, below in strengths if below == name] for name in columns}
    _check_stated(parents, protect)
    states = {name: node_states(column) for name, column in columns.items()}
    rows = [(below, factor) for (above, below), factor in strengths.items() for _ in states[above]]
    every = math.prod(2 ** len(states[name]) - 2 for name, _ in rows) <= MOST_STATED_MODELS
    number = math.prod(len(states[name]) for name, _ in rows)
    if not every and number > MOST_STATED_MODELS:
        raise ParameterError(
            f"edges and states of their columns may make at most {MOST_STATED_MODELS} models, one for each choice of a "
            "state of the column below for every state of the column above",
            found=f"{number:,}",
            remedy="Put categories or bins of these columns together, two or three of each, or leave edges out.",
        )
    corners = [_corners(shares[name], factor, every=every) for name, factor in rows]
    fixed = {name: np.divide(shares[name], math.fsum(shares[name])) for name in columns}
    models: list[DiscreteNetwork] = []
    for chosen in product(*corners):
        left = iter(chosen)
        below = {name: np.stack([next(left) for _ in states[above]], axis=1) for above, name in strengths}
        models.append(DiscreteNetwork.from_tables({**fixed, **below}, states=states, parents=parents, level="records"))
    return _as_written(model_class(models), parents)


def _check_stated(parents: Mapping[str, Sequence[str]], protect: Sequence[str]) -> None:
    twice = next((name for name, above in parents.items() if len(above) > 1), None)
    if twice is not None:
        raise ParameterError(
            "with a stated strength a column has at most one edge into it",
            found=f"{len(parents[twice])} into {twice!r}",
            remedy="Keep the stronger one, or turn the other around: an odds ratio is the same in both directions.",
        )
    if not protect:
        raise ParameterError(
            "edges with a strength are stated for the columns that are protected",
            found="none",
            remedy="Name them, --protect or protect=, and their shares in the codebook.",
        )
    into = next((name for name in protect if parents.get(name)), None)
    if into is not None:
        raise ParameterError(
            "with a stated strength no edge leads into a protected column",
            found=f"{parents[into][0]} -> {into}",
            remedy=f"Turn it around, {into} -> {parents[into][0]}: an odds ratio is the same in both directions. "
            "If both are protected, start a framework for each.",
        )


def _corners(shares: Sequence[float], factor: float, *, every: bool) -> FloatArray:
    """Return the corners of the laws whose odds are within a factor of those of shares, or of what covers them."""
    states = len(shares)
    sets = np.array(list(product((0, 1), repeat=states))[1:-1]) if every else np.eye(states)
    raised = (factor - 1) * (1 + STRENGTH_MARGIN) * (1 if every else states - 1)
    weights = np.asarray(shares) * (1 + raised * sets)
    return weights / weights.sum(axis=1, keepdims=True)


def public_records(
    columns: Mapping[str, Column], values: Mapping[str, PublicValues], draws: int = LEARNED_MODELS
) -> PublicRecords:
    """Return the public table itself as models of one record, read as a private one is."""
    read = {
        name: states_of(column, values[name]) if isinstance(column, Categorical) else values[name]
        for name, column in columns.items()
    }
    return public_records_of(read, columns, draws=draws, seed=LEARNED_SEED)


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


def _as_written(network: DiscreteNetwork, parents: Parents) -> DiscreteNetwork:
    """Return the network that is read from the files of another one's models."""
    models = [
        DiscreteNetwork.from_tables(
            {table.name: table.numbers for table in written_tables(network, model)},
            states=network.states,
            parents=parents,
            level="records",
        )
        for model in range(network.models)
    ]
    return model_class(models)


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


def _parents(edges: str | ExpertEdges, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the parents that an expert's edges declare."""
    if not isinstance(edges, str) and any(own is not None for own in edges.values()):
        raise ParameterError(
            "a strength is that of edges by hand, where no table is learned from",
            found="one beside a table to learn from",
            remedy="Write None in its place: the table says how strong an edge is.",
        )
    parents: dict[str, list[str]] = {name: [] for name in names}
    for above, below in _ends(edges, names):
        if above not in parents[below]:
            parents[below].append(above)
    return parents


def _ends(edges: str | Iterable[tuple[str, str]], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    if isinstance(edges, str):
        listed = filter(None, map(str.strip, edges.split(",")))
        edges = [tuple(end.strip() for end in re.split("->|>", edge)) for edge in listed]  # type: ignore[misc]
    for ends in edges:
        if len(ends) != 2:
            edge = " -> ".join(map(str, ends))
            raise ParameterError(
                'edges must read "a -> b, b -> c"', found=repr(edge[:80]), remedy="Separate them by commas."
            )
        for end in ends:
            member("an end of an edge", end, names, error=NetworkError)
        yield ends[0], ends[1]


def strengths_of(
    edges: str | ExpertEdges, strength: float | None, names: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Return the strength of each edge that somebody states.

    Parameters
    ----------
    edges : str or mapping
        As "income -> score: 1.5, income -> sex".
    strength : float, optional
        Of the edges that state none.
    names : sequence of str
        The columns that can be ends of edges.

    Raises
    ------
    NetworkError, ParameterError
        If an end is none of them, or a strength is missing, or no number from 1 to a million.

    Examples
    --------
    >>> strengths_of("income -> score: 1.5, income -> sex", 2, ["income", "score", "sex"])
    {('income', 'score'): 1.5, ('income', 'sex'): 2.0}
    """
    found: dict[tuple[str, str], float] = {}
    for named, own in _with_own_strengths(edges, names):
        try:
            factor = strength if own is None else own if isinstance(own, bool) else float(own)
        except (TypeError, ValueError, OverflowError):
            factor = math.nan
        if factor is None or isinstance(factor, bool) or not 1 <= factor <= MOST_STRENGTH:
            raise ParameterError(
                "the strength of an edge is a factor between odds, from 1 (says nothing) to a million",
                found="none" if factor is None else repr((isinstance(own, str) and own.strip()) or factor)[:80],
                remedy='Write strength=2, in the shell --strength 2, or beside the edge "income -> score: 2".',
            )
        for ends in _ends(named, names):
            found[ends] = max(float(factor), found.get(ends, 1.0))
    return found


def _with_own_strengths(
    edges: str | ExpertEdges, names: Sequence[str]
) -> Iterator[tuple[str | list[tuple[str, str]], str | float | None]]:
    """Yield edges, each with the strength that stands beside it."""
    if not isinstance(edges, str):
        yield from (([ends], own) for ends, own in edges.items())
        return
    for edge in filter(None, map(str.strip, edges.split(","))):
        named, sign, own = edge.rpartition(":")
        yield (named, own) if sign and not edge.endswith(tuple(names)) else (edge, None)


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
    name: str, known: Sequence[str], *, nameless: str | None = None, told: bool = True, what: str = "a protected column"
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
