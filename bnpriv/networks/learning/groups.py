"""Hyperparameter networks learned from a public table of groups: rates of schools, towns or years as states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from bnpriv import checks
from bnpriv.errors import DataError, NetworkError
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.graph import Parents, parents_of
from bnpriv.networks.learning.fingerprint import complete_columns, fingerprint_of
from bnpriv.networks.learning.network import Codes, Prior, prior_text, sampled_tables, seed_or_new
from bnpriv.networks.posterior import Posterior
from bnpriv.tables.readings import ColumnValues
from bnpriv.tables.schema import State


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
