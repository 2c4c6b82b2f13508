"""Tables and parameters learned from public tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.columns import State
from bnpriv.core.networks.base import Posterior
from bnpriv.core.networks.declared import DeclaredTables, declared_tables
from bnpriv.core.networks.discrete import DiscreteNetwork, Prior
from bnpriv.core.networks.factors import MOST_TABLE_CELLS, LogTable
from bnpriv.core.networks.graph import Graph, Parents, graph_of, parents_of
from bnpriv.errors import DataError, ManyStatesWarning, NetworkError, SizeError
from bnpriv.tables.public import complete_columns, fingerprint_of
from bnpriv.tables.readings import ColumnValues
from bnpriv.text import and_text

# --------------------------------------------------------------------------------------------------
# Tables learned from a public table of records: conjugate Dirichlet draws of every table.
# --------------------------------------------------------------------------------------------------

MOST_OTHERS = 5
"""Values of a public table that a message names."""

LEAST_RECORDS_PER_STATE, FEW_STATES = 5, 5
"""Records for each state below which it is told that a node has many; never of a node with few."""

LEVELS_TO_CALLER = 4
"""From here over `posterior_tables` and `DiscreteNetwork.posterior` to the line that calls it."""

Codes = NDArray[np.intp]


class _Network(Protocol):
    """What is read of a network that is given for its graph."""

    graph: Graph
    states: Mapping[str, Sequence[State]]


def posterior_tables(
    graph: object,
    table: object,
    *,
    public: str,
    states: Mapping[str, Sequence[State]] | None = None,
    prior: Prior = "bdeu",
    equivalent_sample_size: float = 10.0,
    draws: int = 1000,
    seed: int | None = None,
    same_table_is_public: bool = False,
) -> tuple[DeclaredTables, Posterior]:
    """Draw tables of records from the posterior that a public table yields; see `DiscreteNetwork.posterior`."""
    above, known = _declared(graph)
    columns = complete_columns(table, above)
    named = {name: _states(name, columns[name], {**known, **(states or {})}) for name in above}
    codes = {name: _codes(name, columns[name], named[name]) for name in above}
    _tell_many_states({name: named[name] for name in above if name not in {**known, **(states or {})}}, codes)
    fingerprint = fingerprint_of(columns)
    facts = Posterior(
        source=checks.text("public", public, error=NetworkError),
        draws=checks.whole("draws", draws, error=NetworkError),
        seed=seed_or_new(seed),
        prior=prior_text(prior, equivalent_sample_size),
        table=fingerprint,
        same_table_is_public=same_table_is_public,
        records=fingerprint.records,
    )
    return sampled_tables(above, named, codes, facts, prior, equivalent_sample_size), facts


def sampled_tables(
    parents: Mapping[str, Sequence[str]],
    states: Mapping[str, Sequence[State]],
    codes: Mapping[str, Codes],
    facts: Posterior,
    prior: Prior,
    equivalent_sample_size: float,
) -> DeclaredTables:
    """Return the tables whose models are draws, given the position of every record's state."""
    flat = {name: np.full((len(states[name]), *(len(states[p]) for p in parents[name])), 1.0) for name in parents}
    shape = declared_tables(flat, states, parents, math.inf)
    cells = facts.draws * max(table.size for table in flat.values())
    if cells > MOST_TABLE_CELLS:
        raise SizeError(
            f"a table may have at most {MOST_TABLE_CELLS:,} cells",
            found=f"{cells:,} in all draws",
            remedy="Draw fewer.",
        )
    generator = np.random.default_rng(facts.seed)
    tables: dict[str, LogTable] = {}
    for name in shape.graph.nodes:
        axes = (name, *parents[name])
        counts = np.zeros(flat[name].shape)
        np.add.at(counts, tuple(codes[axis] for axis in axes), 1.0)
        # the parameter of the Dirichlet prior of every cell
        pseudocount = {"bdeu": equivalent_sample_size / counts.size, "jeffreys": 0.5, "uniform": 1.0}[prior]
        weights = counts + pseudocount
        tables[name] = LogTable.from_logs(axes, log_gamma_draws(weights, facts.draws, generator))
    return replace(shape, tables=tables, models=facts.draws)


def log_gamma_draws(shape: FloatArray, draws: int, generator: np.random.Generator) -> FloatArray:
    """Return logs of independent gamma draws, which are never -inf.

    Notes
    -----
    If G is gamma(a + 1) and U uniform on (0, 1], G U^(1/a) is gamma(a). In logs a small `a` makes no false zero, which
    a draw of gamma(a) itself would be below 1e-308.

    Examples
    --------
    >>> logs = log_gamma_draws(np.array([1e-3]), 1000, np.random.default_rng(0))
    >>> bool(np.isfinite(logs).all()), bool((logs < -1000).any())
    (True, True)
    """
    size = (draws, *shape.shape)
    return np.log(generator.standard_gamma(shape + 1, size)) - generator.standard_exponential(size) / shape


def prior_text(prior: str, equivalent_sample_size: float) -> str:
    """Return a prior in words, once it is known to be one."""
    checks.member("prior", prior, get_args(Prior), error=NetworkError)
    size = checks.positive("equivalent_sample_size", equivalent_sample_size, error=NetworkError)
    return f"bdeu with an equivalent sample size of {size:g}" if prior == "bdeu" else prior


def seed_or_new(seed: int | None) -> int:
    """Return a declared seed, or a random one."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return checks.whole("seed", seed, least=0, error=NetworkError)


def _declared(graph: object) -> tuple[dict[str, tuple[str, ...]], dict[str, Sequence[State]]]:
    """Return the parents of every attribute, and states where they are declared with the graph."""
    if isinstance(getattr(graph, "graph", None), Graph):
        network = cast(_Network, graph)
        return dict(network.graph.parents), dict(network.states)
    if isinstance(graph, Mapping):
        given = cast(Mapping[str, Sequence[str]], graph)
        named = {name: (above,) if isinstance(above, str) else tuple(above) for name, above in given.items()}
        roots = {name: () for above in named.values() for name in above if name not in named}
        return dict(Graph({**named, **roots}).parents), {}
    return dict(graph_of(graph).parents), {}


def _states(name: str, values: ColumnValues, declared: Mapping[str, Sequence[State]]) -> tuple[State, ...]:
    """Return the declared states, or those of the public table in their order."""
    if name in declared:
        return tuple(declared[name])
    found = set(values)
    kinds = {isinstance(value, str) for value in found}
    if len(kinds) > 1:
        raise NetworkError(
            f"the states of {name!r} must be strings or numbers", found="both", remedy="Declare states={...}."
        )
    # a file holds 0.0 and 1.0 where a column of whole numbers once had missing values
    return tuple(int(value) if isinstance(value, float) and value.is_integer() else value for value in sorted(found))


def _tell_many_states(found: Mapping[str, Sequence[State]], codes: Mapping[str, Codes]) -> None:
    """Warn of nodes whose states were read off the table, and are so many that it says little of each."""
    for name, held in found.items():
        records = len(codes[name])
        if len(held) > max(FEW_STATES, records / LEAST_RECORDS_PER_STATE):
            message = (
                f"{name!r} is learned as a node of {len(held):,} states, one for each different value, from "
                f"{records:,} records: the draws are far from each other, and values that no public record has are "
                "ruled out. Put its values into bins first, as bnpriv.start does, or declare states={...}."
            )
            warning = ManyStatesWarning(message, attribute=name, states=len(held), records=records)
            warnings.warn(warning, stacklevel=LEVELS_TO_CALLER)


def _codes(name: str, values: ColumnValues, states: Sequence[State]) -> Codes:
    places = {state: k for k, state in enumerate(states)}
    try:
        return np.array([places[value] for value in values], dtype=np.intp)
    except KeyError:
        missing = sum(value not in places for value in values)
    # the table is public: its values may be said
    others = sorted({value for value in values if value not in places}, key=str)
    likely = {other: apart for other in others if (apart := checks.spelt_apart(other, states))}
    shown = checks.listing(map(repr, others[:MOST_OTHERS]))
    hints = [f"{checks.cut(str(other))} is {apart}" for other, apart in likely.items()][:MOST_OTHERS]
    raise DataError(
        f"the values of {name!r} in the public table must be among its states",
        found=f"{missing:,} records with others, of the public values {shown}",
        remedy=f"Declare all its states, spelt as in the table.{f' Here {and_text(hints)}.' if hints else ''}",
    )


# --------------------------------------------------------------------------------------------------
# Hyperparameter networks learned from a public table of groups: rates of schools, towns or years as states.
# --------------------------------------------------------------------------------------------------


def parameters_by_group(
    public_table: object,
    by: str,
    states: Mapping[str, Sequence[float]],
    *,
    public: str,
    share_of: Mapping[str, State] | None = None,
    parents: Parents | None = None,
    prior: Prior = "bdeu",
    equivalent_sample_size: float = 10.0,
    draws: int = 1000,
    seed: int | None = None,
    same_table_is_public: bool = False,
) -> DiscreteNetwork:
    """Learn how the rates of columns depend on each other, from the groups of a *public* table.

    Every group (a school, a town, a year) is one observation of what columns are like as a whole: the mean of a column
    or the share of a category. Groups are taken for independent draws from one population of groups.

    Parameters
    ----------
    public_table : table, str or path
        Other data than those to be released: pandas, Polars, PyArrow or DuckDB, or a Parquet or CSV file.
    by : str
        The column that names the group.
    states : mapping from str to sequence of float
        For every attribute the ends of the bins of its group rate, in increasing order; a rate at an inner end counts
        to the bin above.
    public : str
        Where the public table comes from, in a sentence.
    share_of : mapping from str to state, optional
        For columns of categories the one whose share is the rate; the rate of other columns is their mean.
    parents : mapping from str to sequence of str, or networkx.DiGraph, optional
        The parents of the attributes that have any.
    prior, equivalent_sample_size, draws, seed, same_table_is_public
        As in `DiscreteNetwork.posterior`; the counts are of groups.

    Returns
    -------
    DiscreteNetwork
        Of level "parameters"; its models are draws from the posterior, its states are named like "0 to 0.3".

    Raises
    ------
    NetworkError
        If bins, graph, prior or number of draws are not well formed.
    DataError, FileError
        If the table cannot be read, a rate is outside all bins, or a column without `share_of` is not numeric.

    Notes
    -----
    docs/claims/posterior.md says what the draws stand for.

    Examples
    --------
    >>> import pandas as pd
    >>> pupils = pd.DataFrame({"school": [1, 1, 2, 2, 3, 3], "passed": [1, 1, 1, 0, 0, 0]})
    >>> schools = parameters_by_group(pupils, "school", {"passed": [0, 0.4, 1]}, public="made up", seed=1)
    >>> schools.states["passed"], schools.models
    (('0 to 0.4', '0.4 to 1'), 1000)
    """
    text, entropy = prior_text(prior, equivalent_sample_size), seed_or_new(seed)
    given = {} if parents is None else parents_of(parents)
    strange = sorted({*(share_of or {}), *given} - set(states))
    if strange or not states:
        raise NetworkError(
            "every attribute needs the bins of its rate",
            found=f"none for {checks.listing(strange)}",
            remedy="Write states={...}.",
        )
    ends = {name: _ends(name, declared) for name, declared in states.items()}
    columns = complete_columns(public_table, dict.fromkeys((by, *ends)))
    groups = np.unique(np.array([str(value) for value in columns[by]]), return_inverse=True)[1].reshape(-1)
    codes = {name: _binned(name, _rates(name, columns[name], groups, share_of or {}), ends[name]) for name in ends}
    facts = Posterior(
        source=checks.text("public", public, error=NetworkError),
        draws=checks.whole("draws", draws, error=NetworkError),
        seed=entropy,
        prior=text,
        table=fingerprint_of(columns),
        same_table_is_public=same_table_is_public,
    )
    named = {name: [f"{a:g} to {b:g}" for a, b in pairwise(end)] for name, end in ends.items()}
    above = {name: given.get(name, ()) for name in ends}
    learned = sampled_tables(above, named, codes, facts, prior, equivalent_sample_size)
    return DiscreteNetwork(
        graph=learned.graph,
        states=learned.states,
        tables=learned.tables,
        level="parameters",
        models=learned.models,
        posterior_draws=facts,
    )


def _ends(name: str, declared: Sequence[float]) -> list[float]:
    ends = [checks.number(f"an end of a bin of {name!r}", end, error=NetworkError) for end in declared]
    if len(ends) < 2 or not all(a < b for a, b in pairwise(ends)):
        raise NetworkError(
            f"the bins of {name!r} need at least two ends in increasing order",
            found=checks.listing(ends),
            remedy="Write for example [0, 0.3, 0.6, 1].",
        )
    return ends


def _rates(name: str, values: ColumnValues, groups: Codes, share_of: Mapping[str, State]) -> np.ndarray:
    """Return the mean of a column, or the share of a category, in every group."""
    if name in share_of:
        numbers = [float(value == share_of[name]) for value in values]
    elif all(isinstance(value, (int, float)) for value in values):
        numbers = [float(value) for value in values]
    else:
        raise DataError(
            f"the column {name!r} must be numeric to have a mean",
            found="other values",
            remedy=f"Name the category whose share is meant: share_of={{{name!r}: ...}}.",
        )
    return np.bincount(groups, weights=numbers) / np.bincount(groups)


def _binned(name: str, rates: np.ndarray, ends: Sequence[float]) -> Codes:
    outside = int(np.sum(~((rates >= ends[0]) & (rates <= ends[-1]))))
    if outside:
        raise DataError(
            f"the rates of {name!r} must lie within its bins", found=f"{outside:,} groups outside", remedy="Widen them."
        )
    return np.clip(np.searchsorted(ends, rates, side="right") - 1, 0, len(ends) - 2).astype(np.intp)
