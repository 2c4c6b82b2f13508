"""Discrete Bayesian networks: one graph, one table per node and model of Theta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.checks import listing, member, text
from bnpriv.errors import NetworkError
from bnpriv.factors import FloatArray, LogTable
from bnpriv.networks.graph import Graph
from bnpriv.networks.posterior import Posterior
from bnpriv.networks.reading import NOTHING_READ, Reading
from bnpriv.render.graph import network_html
from bnpriv.render.html import fragment

if TYPE_CHECKING:
    from bnpriv.learning.network import Prior
    from bnpriv.networks.interval import IntervalNetwork

Level = Literal["parameters", "records"]
State = str | int | float | bool

LEVELS: tuple[Level, ...] = ("parameters", "records")
SUM_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteNetwork:
    """A Bayesian network over discrete attributes, or several on one graph (the model class Theta).

    Build it with `from_tables`, `bnpriv.from_pgmpy` or `bnpriv.read_network`.

    Parameters
    ----------
    graph : Graph
        The attributes with their parents.
    states : mapping from str to tuple of states
        The states of every attribute.
    tables : mapping from str to LogTable
        For every attribute the log of P(attribute | parents), with axes (attribute, *parents).
    level : {"parameters", "records"}
        What a node means: the parameter that governs the column of that name, or the column itself in one record.
    models : int
        Number of models in Theta.
    drawn : Posterior, optional
        Where the models were drawn from, if they are draws of a posterior.
    reading : Reading, optional
        How the model was read from another library, and what drives the columns that are no attribute.
    """

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    tables: Mapping[str, LogTable]
    level: Level
    models: int
    drawn: Posterior | None = None
    reading: Reading = NOTHING_READ

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Mapping[str, Sequence[str]] | None = None,
        level: Level = "parameters",
        normalize: bool = False,
    ) -> DiscreteNetwork:
        """Declare a network by its conditional probability tables.

        Parameters
        ----------
        tables : mapping from str to array
            For every attribute an array of shape (states, *states of the parents), or (models, states, *states of
            the parents) for a model class; P(attribute | parents) sums to one over the attribute's own axis.
        states : mapping from str to sequence of states
            The names of the states of every attribute, in the order of the axis.
        parents : mapping from str to sequence of str, optional
            The parents of the attributes that have any, in the order of their axes.
        level : {"parameters", "records"}
            What a node means.
        normalize : bool
            Divide every column by its sum first, for tables printed with few decimals.

        Returns
        -------
        DiscreteNetwork

        Raises
        ------
        NetworkError
            If the graph has a cycle or an unknown parent, or a table has the wrong shape, an entry that is negative
            or not finite, or a column whose sum is not 1 to within 1e-9.

        Examples
        --------
        >>> network = DiscreteNetwork.from_tables(
        ...     {"income": [0.6, 0.4], "sat": [[0.7, 0.2], [0.3, 0.8]]},
        ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
        ...     parents={"sat": ["income"]},
        ... )
        >>> network
        DiscreteNetwork(attributes=2, edges=1, models=1, level='parameters')
        """
        member("level", level, LEVELS, error=NetworkError)
        names = [text("an attribute's name", name, error=NetworkError) for name in tables]
        if not names:
            raise NetworkError("a network needs an attribute", found="no tables", remedy="Give a table per attribute.")
        above = {name: _parents(name, (parents or {}).get(name, ())) for name in names}
        stray = [name for name in (*states, *(parents or {})) if name not in above]
        if stray:
            raise NetworkError("every attribute needs a table", found=f"none for {listing(stray)}", remedy="Add it.")
        graph = Graph(above)
        named = {name: _states(name, states.get(name)) for name in names}
        arrays = {name: _table(name, tables[name], graph, named) for name in names}
        models = _models(arrays)
        for name, array in arrays.items():
            _check_columns(name, array, graph, named, normalize=normalize)
        logs = {name: LogTable.from_columns((name, *above[name]), array) for name, array in arrays.items()}
        return cls(graph=graph, states=named, tables=logs, level=level, models=models)

    @classmethod
    def from_intervals(
        cls,
        lower: Mapping[str, ArrayLike],
        upper: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Mapping[str, Sequence[str]] | None = None,
        level: Level = "parameters",
    ) -> IntervalNetwork:
        """Declare every network whose conditional probabilities lie in given intervals.

        Parameters
        ----------
        lower, upper : mapping from str to array
            For every attribute the ends of P(attribute | parents), of shape (states, *states of the parents).
        states, parents, level
            As in `from_tables`.

        Returns
        -------
        IntervalNetwork
            Its members are all choices of columns within the intervals that sum to one, each column by itself.

        Raises
        ------
        NetworkError
            If graph or shapes do not fit, ends are not 0 <= lower <= upper <= 1, or no column within the intervals
            sums to one; the place is named.

        Examples
        --------
        >>> DiscreteNetwork.from_intervals(
        ...     {"income": [0.5, 0.3], "sat": [[0.6, 0.1], [0.2, 0.7]]},
        ...     {"income": [0.7, 0.5], "sat": [[0.8, 0.3], [0.4, 0.9]]},
        ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
        ...     parents={"sat": ["income"]},
        ... )
        IntervalNetwork(attributes=2, edges=1, level='parameters')
        """
        from bnpriv.networks.interval import IntervalNetwork

        return IntervalNetwork.of(lower, upper, states=states, parents=parents, level=level)

    @classmethod
    def posterior(
        cls,
        graph: object,
        public_table: object,
        *,
        public: str,
        states: Mapping[str, Sequence[State]] | None = None,
        prior: Prior = "bdeu",
        equivalent_sample_size: float = 10.0,
        draws: int = 1000,
        seed: int | None = None,
        same_table_is_public: bool = False,
    ) -> DiscreteNetwork:
        """Learn record networks from a *public* table: draws from the posterior of their tables.

        Parameters
        ----------
        graph : mapping from str to sequence of str, Graph, DiscreteNetwork or pgmpy model
            The parents of every attribute; only the edges count.
        public_table : table, str or path
            Other data than those to be released: pandas, Polars, PyArrow or DuckDB, or a Parquet or CSV file.
        public : str
            Where the public table comes from, in a sentence.
        states : mapping from str to sequence of states, optional
            The states of attributes; by default those of a network given as `graph`, else those in the table, sorted.
        prior : {"bdeu", "jeffreys", "uniform"}
            Every column has a Dirichlet prior: `equivalent_sample_size` records spread evenly over a table, half a
            record in every cell, or one record in every cell.
        equivalent_sample_size : float
            For "bdeu".
        draws : int
            How many models are drawn, independently of each other.
        seed : int, optional
            To draw the same models again; a random one, which is recorded, by default.
        same_table_is_public : bool
            Declare that the table to be released may be this one, because all of it is public.

        Returns
        -------
        DiscreteNetwork
            Of level "records"; its models are the draws, and `drawn` says so.

        Raises
        ------
        NetworkError
            If graph, states, prior or number of draws are not well formed.
        DataError, FileError
            If the table cannot be read, or has missing or undeclared values.
        SizeError
            If the tables of all draws would be too large.

        Notes
        -----
        The Dirichlet law is conjugate to counts (Heckerman, Geiger, Chickering, "Learning Bayesian Networks", Machine
        Learning 20, 1995). What N draws stand for is in docs/claims/posterior.md.

        Examples
        --------
        >>> import pandas as pd
        >>> census = pd.DataFrame({"ill": ["no"] * 90 + ["yes"] * 10, "smokes": ["no"] * 70 + ["yes"] * 30})
        >>> DiscreteNetwork.posterior({"smokes": ["ill"]}, census, public="made up", prior="uniform", seed=1)
        DiscreteNetwork(attributes=2, edges=1, models=1000, level='records')
        """
        from bnpriv.learning.network import posterior_network

        return posterior_network(
            graph,
            public_table,
            public=public,
            states=states,
            prior=prior,
            equivalent_sample_size=equivalent_sample_size,
            draws=draws,
            seed=seed,
            same_table_is_public=same_table_is_public,
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes, parents before children."""
        return self.graph.nodes

    def probabilities(self, attribute: str) -> FloatArray:
        """Return P(attribute | parents), of shape (models, states, *states of the parents)."""
        self.require(attribute)
        values = np.exp(self.tables[attribute].values)
        return np.broadcast_to(values, (self.models, *values.shape[1:]))

    def require(self, attribute: str) -> str:
        """Return `attribute` if it is a node.

        Raises
        ------
        NetworkError
            If it is not.
        """
        return member("an attribute", attribute, self.attributes, error=NetworkError)

    def _repr_html_(self) -> str:
        title = f"Bayesian network of level {self.level}"
        facts = f"attributes {len(self.attributes)}, edges {len(self.graph.edges)}, models {self.models}"
        return fragment(network_html(self.attributes, self.graph.edges, title=title, facts=facts))

    def __repr__(self) -> str:
        return (
            f"DiscreteNetwork(attributes={len(self.attributes)}, edges={len(self.graph.edges)}, "
            f"models={self.models}, level={self.level!r})"
        )


def _states(name: str, declared: Sequence[State] | None) -> tuple[State, ...]:
    if declared is None or isinstance(declared, str) or len(declared) == 0:
        raise NetworkError(f"{name!r} must have a list of states", found=repr(declared), remedy="Name its states.")
    states = tuple(declared)
    unnamed = [state for state in states if not isinstance(state, (str, int, float, np.generic)) or state != state]
    if unnamed:
        raise NetworkError(
            f"the states of {name!r} must be strings or numbers", found=listing(unnamed), remedy="Rename them."
        )
    if len(set(states)) != len(states):
        raise NetworkError(f"the states of {name!r} must be distinct", found=listing(states), remedy="Rename them.")
    return states


def _parents(name: str, declared: Sequence[str]) -> tuple[str, ...]:
    if isinstance(declared, str):  # its letters would be taken for names
        raise NetworkError(
            f"the parents of {name!r} must be a list of names",
            found=f"the string {declared!r}",
            remedy=f"Write [{declared!r}].",
        )
    return tuple(declared)


def _numbers(name: str, declared: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(declared)
        if array.dtype.kind in "buifO":  # not strings, dates or complex numbers
            return np.array(array, dtype=np.float64)
        found = f"entries of type {array.dtype}"
    except (TypeError, ValueError, OverflowError):
        found = "something else"
    raise NetworkError(
        f"the table of {name!r} must be a rectangular array of numbers",
        found=found,
        remedy="Give one probability per state and parent configuration.",
    )


def _table(name: str, declared: ArrayLike, graph: Graph, states: Mapping[str, tuple[State, ...]]) -> FloatArray:
    array = _numbers(name, declared)
    shape = (len(states[name]), *(len(states[parent]) for parent in graph.parents[name]))
    if array.shape == shape:
        array = array[np.newaxis]
    if array.shape[1:] != shape or array.ndim != len(shape) + 1 or array.shape[0] < 1:
        axes = ", ".join((name, *graph.parents[name]))
        raise NetworkError(
            f"the table of {name!r} must have shape {shape} for the axes ({axes}), or an axis for models before them",
            found=f"shape {tuple(array.shape)}",
            remedy="Order the axes as own states first, then the parents in the order of `parents`.",
        )
    return array


def _models(arrays: Mapping[str, FloatArray]) -> int:
    counts = {array.shape[0] for array in arrays.values()} - {1}
    if len(counts) > 1:
        raise NetworkError(
            "all tables must have the same number of models, or one",
            found=f"{listing(sorted(counts))} models",
            remedy="Give every table that differs between models the same leading axis.",
        )
    return counts.pop() if counts else 1


def _check_columns(
    name: str,
    array: FloatArray,
    graph: Graph,
    states: Mapping[str, tuple[State, ...]],
    *,
    normalize: bool,
) -> None:
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = _place(name, tuple(int(k) for k in np.argwhere(bad)[0]), graph, states)
        raise NetworkError(
            f"the probabilities of {name!r} must be finite and at least 0",
            found=f"{array[bad][0]:g} {where}",
            remedy="Correct the table.",
        )
    with np.errstate(over="ignore"):  # counts may be huge: they are divided in logs
        sums = np.sum(array, axis=1, keepdims=True)
    off = ~(sums > 0) if normalize else ~(np.abs(sums - 1) <= SUM_TOLERANCE)
    if off.any():
        where = _place(name, tuple(int(k) for k in np.argwhere(off)[0]), graph, states)
        raise NetworkError(
            f"every column of the table of {name!r} must sum to 1 within {SUM_TOLERANCE:g}",
            found=f"the sum {sums[off][0]:.12g} {where}",
            remedy="Correct the table, or pass normalize=True if it was printed with few decimals.",
        )


def _place(name: str, index: tuple[int, ...], graph: Graph, states: Mapping[str, tuple[State, ...]]) -> str:
    given = ", ".join(
        f"{parent} = {states[parent][k]}" for parent, k in zip(graph.parents[name], index[2:], strict=True)
    )
    model = f"in model {index[0]}"
    return f"{model} given {given}" if given else model
