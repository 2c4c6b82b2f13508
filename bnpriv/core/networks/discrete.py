"""Bayesian networks whose attributes have finitely many states: by exact tables, or by intervals."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from typing import Any, Literal, Protocol, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing, number
from bnpriv.core.columns import State
from bnpriv.core.distributions import SUM_TOLERANCE
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import (
    LEVEL_ASSUMED,
    NOTHING_READ,
    Forward,
    ImportReport,
    Level,
    Network,
    NetworkMethods,
    Posterior,
    columns_identity,
    level_of,
    require_network,
)
from bnpriv.core.networks.declared import FEW_DECIMALS, DeclaredTables, MissingRows, declared_tables
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.networks.graph import Graph, Parents, parents_of
from bnpriv.errors import NetworkError, SizeError
from bnpriv.kind import kind_of
from bnpriv.services import service

Prior = Literal["bdeu", "jeffreys", "uniform"]
"""Which Dirichlet law stands before the counts of a table that is learned."""

# --------------------------------------------------------------------------------------------------
# Intervals of probabilities: the polytope of columns that lie in them and sum to one.
# --------------------------------------------------------------------------------------------------

MOST_VERTICES = 2**12
"""The most vertices that are listed of one column's polytope."""

SAME_VERTEX = 1e-12
"""Relative distance up to which two vertices count as one: rounding makes such twins."""


def vertices(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The vertices of {p : lower <= p <= upper, sum of p = 1}, one per row.

    Parameters
    ----------
    lower, upper : ndarray of shape (states,)
        The ends of a column that is not empty.

    Returns
    -------
    ndarray of shape (vertices, states)
        In a vertex all entries but one are at an end. Where rounding alone keeps that one from zero, it is given both
        ways. Every vertex is there up to a relative distance of `SAME_VERTEX` in each entry.

    Raises
    ------
    SizeError
        If there may be more than `MOST_VERTICES`.

    Examples
    --------
    >>> vertices(np.array([0.25, 0.0, 0.25]), np.array([0.5, 0.25, 0.75])).tolist()
    [[0.25, 0.0, 0.75], [0.25, 0.25, 0.5], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25]]
    """
    low, high, unit = _whole(*_normalized([Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper]))
    free = [k for k in range(len(low)) if low[k] < high[k]]
    if not free:
        return np.array([[x / unit for x in low]])
    if len(free) << (len(free) - 1) > MOST_VERTICES:
        raise SizeError(
            f"a column may have at most {MOST_VERTICES:,} vertices",
            found=f"{len(free)} states whose probabilities vary",
            remedy="Merge states, or fix some probabilities.",
        )
    found: dict[tuple[str, ...], tuple[float, ...]] = {}
    # at a vertex all entries but one are at an end: choose that one, and let it make the sum one
    for last in free:
        others = [k for k in free if k != last]
        for ends in product(*((low[k], high[k]) for k in others)):
            column = list(low)
            for k, end in zip(others, ends, strict=True):
                column[k] = end
            for vertex in _completed(column, last, low[last], high[last], unit):
                found.setdefault(tuple(f"{x:.13g}" for x in vertex), vertex)
    return np.array(sorted(found.values()))


def _completed(column: list[int], last: int, low: int, high: int, unit: int) -> list[tuple[float, ...]]:
    """The vertex whose entry `last` makes the sum one, if there is one, and its twin with zero there."""
    rest = unit - (sum(column) - column[last])
    slack = 8 * len(column) * unit // int(1 / UNIT_ROUNDOFF)
    near = min(max(rest, low), high)
    values = [near] if abs(rest - near) <= slack else []
    if 0 == low < rest <= slack:
        values.append(low)
    return [tuple(x / unit for x in (*column[:last], value, *column[last + 1 :])) for value in values]


def _whole(low: list[Fraction], high: list[Fraction]) -> tuple[list[int], list[int], int]:
    """Fractions as integer multiples of a common unit: their sums are exact and fast."""
    unit = math.lcm(*(x.denominator for x in (*low, *high)))
    return [int(x * unit) for x in low], [int(x * unit) for x in high], unit


def _normalized(low: list[Fraction], high: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Divide ends whose sums miss one by a rounding only, as a table with such columns is divided."""
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    if below >= 1 or above <= 1:  # only one column is left then
        low = high = [x / below for x in low] if below >= 1 else [x / above for x in high]
    return low, high


def interval_ends(
    shape: DeclaredTables, name: str, lower: ArrayLike, upper: ArrayLike, tolerance: float = SUM_TOLERANCE
) -> tuple[FloatArray, FloatArray]:
    """The checked and tightened ends of one attribute's table.

    Raises
    ------
    NetworkError
        If they are not 0 <= lower <= upper <= 1, or no column within them sums to one; the place is named.
    """
    high = np.array(upper, dtype=np.float64).reshape(shape.tables[name].values.shape[1:])
    try:
        low = np.array(lower, dtype=np.float64)
    except (TypeError, ValueError):
        low = np.full(1, np.nan)
    if low.shape != high.shape or not bool(np.all((low >= 0) & (low <= high) & (high <= 1))):
        raise NetworkError(
            f"the ends of {name!r} must have 0 <= lower <= upper <= 1 throughout",
            found=_first_bad(shape, name, low, high),
            remedy="Correct the intervals.",
        )
    for place in np.ndindex(high.shape[1:]):
        column = (slice(None), *place)
        if low[column].sum() > 1 + tolerance or high[column].sum() < 1 - tolerance:
            raise NetworkError(
                f"some column in the intervals of {name!r} must sum to 1",
                found=f"sums between {low[column].sum():.6g} and {high[column].sum():.6g}{_given(shape, name, place)}",
                remedy="Widen the intervals.",
            )
        low[column], high[column] = _tightened(low[column], high[column])
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _tightened(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The ends that members of the polytope reach: an entry is bounded by what the others leave of one."""
    declared = [Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper]
    low, high = _normalized(*declared)
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    # an end that only rounding would move stays where it is: wider intervals are the safe side
    slack = 8 * len(low) * Fraction(UNIT_ROUNDOFF)
    least = [1 - above + b if 1 - above + b > a + slack else a for a, b in zip(low, high, strict=True)]
    most = [1 - below + a if 1 - below + a < b - slack else b for a, b in zip(low, high, strict=True)]
    return np.array([float(x) for x in least]), np.array([float(x) for x in most])


def middle_columns(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The member of the polytope on the straight line from the lower ends to the upper ones."""
    width = (upper - lower).sum(axis=0)
    missing = np.clip(1 - lower.sum(axis=0), 0.0, None)
    share = np.where(width > 0, missing / np.where(width > 0, width, 1.0), 0.0)
    return lower + np.clip(share, 0.0, 1.0) * (upper - lower)


def _first_bad(shape: DeclaredTables, name: str, low: FloatArray, high: FloatArray) -> str:
    if low.shape != high.shape:
        return f"a lower table of shape {low.shape} and an upper one of shape {high.shape}"
    place = tuple(int(k) for k in np.argwhere(~((low >= 0) & (low <= high) & (high <= 1)))[0])
    state = shape.states[name][place[0]]
    return f"{low[place]:g} to {high[place]:g} for {state}{_given(shape, name, place[1:])}"


def _given(shape: DeclaredTables, name: str, place: tuple[int, ...]) -> str:
    parents = zip(shape.graph.parents[name], place, strict=True)
    given = ", ".join(f"{parent} = {shape.states[parent][k]}" for parent, k in parents)
    return f" given {given}" if given else ""


# --------------------------------------------------------------------------------------------------
# What networks with finitely many states have in common.
# --------------------------------------------------------------------------------------------------

DeclaredNumbers = Mapping[str, FloatArray]
"""For every attribute the numbers of its table, with axes (attribute, *parents)."""


class FiniteNetwork(Network, Protocol):
    """A network of tables, exact or by intervals."""

    @property
    def declared(self) -> tuple[DeclaredNumbers, ...]:
        """The tables of every model as they were declared; empty if they were not, or a file cannot hold them."""
        ...

    def laws(self, attribute: str) -> tuple[FloatArray, ...]:
        """The numbers of the table of an attribute."""
        ...


class FiniteMethods(NetworkMethods):
    """Methods of a network of tables, exact or by intervals."""

    @property
    def attributes(self: FiniteNetwork) -> tuple[str, ...]:
        """The nodes, parents before children."""
        return self.graph.nodes

    @property
    def parts(self) -> tuple[Any, ...]:
        """The networks of one graph each that it stands for, with its models in their order; mostly itself alone."""
        return (self,)

    def of_model(self, model: int) -> tuple[Any, int]:
        """The part that holds one of the models, with that model's index in it."""
        ends = list(accumulate(part.models for part in self.parts))
        place = bisect_right(ends, model)
        return self.parts[place], model - ends[place] + self.parts[place].models

    def of_level(self, level: Level) -> Self:
        """The same network with a declared meaning of its nodes.

        Raises
        ------
        NetworkError
            If it is no level.

        Examples
        --------
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> coin.of_level("records").level
        'records'
        """
        network = cast(Any, self)
        reading = replace(network.reading, level_assumed=False)
        return cast(Self, replace(network, level=level_of(level), reading=reading))

    def to_file(self: FiniteNetwork, path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the network to a BIF, XMLBIF, NET or UAI file, from which `bnpriv.read_network` reads it bit for bit.

        Parameters
        ----------
        path : str or path
            A file that ends in .bif, .xml, .xmlbif, .net or .uai. Several models are written to as many files:
            ``model-1.bif``, ``model-2.bif``, ..., which `bnpriv.model_class` joins again.
        overwrite : bool
            Whether files that are there already are replaced.

        Returns
        -------
        tuple of Path
            The files, one for each model.

        Raises
        ------
        FileError
            If a file is there already or cannot be written, the ending is another one, the format cannot hold a name
            or a state, or the network says more than such a file can: intervals, draws of a posterior, columns that
            are no attribute.
        SizeError
            If the file would be larger than one that is read.

        Notes
        -----
        The file does not hold the level, nor how a table is read: pass ``level``, and ``normalize=True`` or
        ``missing_rows="any"`` if the network was declared with them. A framework's file holds all of it.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> with TemporaryDirectory() as folder:
        ...     [file.name for file in coin.to_file(Path(folder, "coin.bif"))]
        ['coin.bif']
        """
        return service("network.to_file")(self, path, overwrite=overwrite)

    def same_law(self: FiniteNetwork, other: Network, attribute: str) -> bool:
        """Whether another network is of the same kind and has the same table of an attribute."""
        family = (attribute, *self.graph.parents[attribute])
        if type(self) is not type(other) or family != (attribute, *other.graph.parents[attribute]):
            return False
        if any(self.states[name] != other.states[name] for name in family):
            return False
        pairs = zip(self.laws(attribute), cast(FiniteNetwork, other).laws(attribute), strict=True)
        # a table that all models share may be stored once, or once per model
        return all((len(a) == len(b) or 1 in (len(a), len(b))) and bool(np.all(a == b)) for a, b in pairs)


# --------------------------------------------------------------------------------------------------
# Discrete Bayesian networks, by exact tables or by intervals of probabilities.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteNetwork(FiniteMethods):
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
    posterior_draws : Posterior, optional
        Where the models were drawn from, if they are draws of a posterior.
    reading : ImportReport, optional
        How the model was read from another library, and what drives the columns that are no attribute.
    forward : DensityNetwork, optional
        The same model by forward draws of whole tables, where columns are driven by the attributes.
    unfixed : DensityNetwork, optional
        The same model with parameters that are fixed to draws here, for secrets about them.

    Examples
    --------
    >>> income = {"income": ["low", "high"], "diploma": ["no", "yes"]}
    >>> DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "diploma": [[0.7, 0.2], [0.3, 0.8]]}, states=income, parents={"diploma": ["income"]}
    ... )
    DiscreteNetwork(attributes=2, edges=1, models=1, level='parameters')
    """

    kind = "bnpriv.kinds.finite:FINITE_KIND"

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    tables: Mapping[str, LogTable]
    level: Level
    models: int
    posterior_draws: Posterior | None = None
    reading: ImportReport = NOTHING_READ
    forward: Forward | None = field(default=None, repr=False)
    unfixed: Forward | None = field(default=None, repr=False)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # results are kept with the network
        vars(self).update(states=ReadOnly(self.states), tables=ReadOnly(self.tables))

    @overload
    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Parents | None = None,
        level: Level | None = None,
        normalize: bool = False,
        missing_rows: None = None,
    ) -> DiscreteNetwork: ...

    @overload
    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Parents | None = None,
        level: Level | None = None,
        normalize: bool = False,
        missing_rows: MissingRows | None,
    ) -> DiscreteNetwork | IntervalNetwork: ...

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Parents | None = None,
        level: Level | None = None,
        normalize: bool = False,
        missing_rows: MissingRows | None = None,
    ) -> DiscreteNetwork | IntervalNetwork:
        """Declare a network by its conditional probability tables.

        Parameters
        ----------
        tables : mapping from str to array
            For every attribute an array of shape (states, *states of the parents), or (models, states, *states of
            the parents) for a model class; P(attribute | parents) sums to one over the attribute's own axis.
        states : mapping from str to sequence of states
            The names of the states of every attribute, in the order of the axis.
        parents : mapping from str to sequence of str, or networkx.DiGraph, optional
            The parents of the attributes that have any, in the order of their axes; of a graph in that of its edges.
        level : {"parameters", "records"}, optional
            What a node means: the parameter that governs the column of that name, or the column itself in one record.
            By default "parameters", but then a framework refuses a network whose states are values of its columns.
        normalize : bool
            Divide every column by its sum first, for tables printed with few decimals: a sum may then be 1 % off.
        missing_rows : {"any"}, optional
            Let every row without data, P(attribute | one state of its parents) that is nan throughout, be any law.
            By default such a row is refused; it is never filled in.

        Returns
        -------
        DiscreteNetwork or IntervalNetwork
            By intervals only where a row is missing: bounds then hold for every law in these rows.

        Raises
        ------
        NetworkError
            If the graph has a cycle or an unknown parent, or a table has the wrong shape, an entry that is negative
            or not finite, or a column whose sum is not 1 to within 1e-9 (1 % with `normalize`); a table that sums to 1
            over its parents instead is named as transposed.

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
        return tables_within(FEW_DECIMALS if normalize else SUM_TOLERANCE, tables, states, parents, level, missing_rows)

    @classmethod
    def from_intervals(
        cls,
        lower: Mapping[str, ArrayLike],
        upper: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Parents | None = None,
        level: Level | None = None,
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
        graph : mapping from str to sequence of str, Graph, networkx.DiGraph, network or pgmpy model
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
            Of level "records"; its models are the draws, and `posterior_draws` says so.

        Raises
        ------
        NetworkError
            If graph, states, prior or number of draws are not well formed.
        DataError, FileError
            If the table cannot be read, or has missing or undeclared values.
        SizeError
            If the tables of all draws would be too large.

        Warns
        -----
        ManyStatesWarning
            If states are not declared, and a node has more than one for every five records.

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
        learned, drawn = service("network.posterior_tables")(
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
        return replace(of_tables(learned, "records"), posterior_draws=drawn)

    def probabilities(self, attribute: str) -> FloatArray:
        """P(attribute | parents), of shape (models, states, *states of the parents)."""
        self.require(attribute)
        values = np.exp(self.tables[attribute].values)
        return np.broadcast_to(values, (self.models, *values.shape[1:]))

    @property
    def declared(self) -> tuple[DeclaredNumbers, ...]:
        """The tables of every model as they were declared, for files; empty if they were not."""
        weights = {name: table.weights for name, table in self.tables.items() if table.weights is not None}
        drawn = self.posterior_draws
        if len(weights) < len(self.tables) or (drawn is not None and not drawn.in_file):
            return ()
        return tuple(
            {name: table[min(model, len(table) - 1)] for name, table in weights.items()} for model in range(self.models)
        )

    kind_text = "a discrete network"
    """The kind of network, with its article."""

    def laws(self, attribute: str) -> tuple[FloatArray, ...]:
        """The log table of an attribute, with an axis for models."""
        return (self.tables[attribute].values,)

    def identity(self) -> bytes:
        """Bytes of the tables and their provenance, for a hash."""
        parts = [columns_identity(self.reading)]
        for name in sorted(self.attributes):
            table = self.tables[name]
            parts.append(repr((table.axes, table.values.shape, self.states[name])).encode())
            parts.append(table.values.tobytes())
        parts.append(b"" if self.posterior_draws is None else repr(self.posterior_draws).encode())
        if self.forward is not None and not self.forward.usual_sampling:
            parts.append(repr(self.forward.sampling).encode())
        return b"".join(parts)

    def with_sampling(
        self, *, draws: int = 10_000, seed: int = 0, confidence: float | None = None, cells: int = 2_000
    ) -> DiscreteNetwork:
        """The same network with other settings for drawing whole tables.

        Parameters
        ----------
        draws, seed, confidence, cells
            As in `DensityNetwork.with_sampling`.

        Raises
        ------
        NetworkError
            If there is no way to draw from it, or a number is out of range.
        """
        forward, unfixed = service("network.resampled")((self.forward, self.unfixed), draws, seed, confidence, cells)
        return replace(self, forward=forward, unfixed=unfixed)

    def __repr__(self) -> str:
        return (
            f"DiscreteNetwork(attributes={len(self.attributes)}, edges={len(self.graph.edges)}, "
            f"models={self.models}, level={self.level!r})"
        )


def tables_within(
    tolerance: float,
    tables: Mapping[str, ArrayLike],
    states: Mapping[str, Sequence[State]],
    parents: Parents | None,
    level: Level | None,
    missing_rows: MissingRows | None,
) -> DiscreteNetwork | IntervalNetwork:
    """The network of tables whose columns sum to 1 within a tolerance; see `DiscreteNetwork.from_tables`."""
    if missing_rows is None:
        return of_tables(declared_tables(tables, states, parents, tolerance), level)
    from bnpriv.core.networks.declared import ends_of, gaps_again, named_gaps, require_missing_rows, split_gaps

    require_missing_rows(missing_rows)
    filled, gaps = split_gaps(tables, {} if parents is None else parents_of(parents))
    shape = declared_tables(filled, states, parents, tolerance)
    if not gaps:
        return of_tables(shape, level)
    found = within_ends(shape, *ends_of(shape, filled, gaps), level, tolerance)
    return replace(found, missing=named_gaps(shape, gaps), with_gaps=gaps_again(shape, gaps))


def of_tables(declared: DeclaredTables, level: Level | None) -> DiscreteNetwork:
    """The network of tables that were checked already."""
    return DiscreteNetwork(
        graph=declared.graph,
        states=declared.states,
        tables=declared.tables,
        level=level_of(level),
        models=declared.models,
        reading=LEVEL_ASSUMED if level is None else NOTHING_READ,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalNetwork(FiniteMethods):
    """All Bayesian networks on one graph whose probabilities lie in given intervals (the model class Theta).

    Build it with `DiscreteNetwork.from_intervals`. Every column of every table varies by itself: a member is any choice
    of columns that lie in their intervals and sum to one.

    Parameters
    ----------
    graph : Graph
        The attributes with their parents.
    states : mapping from str to tuple of states
        The states of every attribute.
    lower, upper : mapping from str to ndarray
        For every attribute the ends of P(attribute | parents), with axes (attribute, *parents), tightened to what some
        member reaches.
    level : {"parameters", "records"}
        What a node means, as in `DiscreteNetwork`.
    reading : ImportReport, optional
        What drives the columns that are no attribute.
    missing : tuple of str
        The rows without data, in words: there is any law there.
    with_gaps : mapping from str to ndarray, optional
        The tables as they were declared, with nan in rows without data, if nothing else makes the intervals.
    around_it : tuple of network and float, optional
        The network all of whose neighbours these are, and how far their probabilities are from its own at most.
    """

    kind = "bnpriv.kinds.interval:INTERVAL_KIND"

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    lower: Mapping[str, FloatArray]
    upper: Mapping[str, FloatArray]
    level: Level
    reading: ImportReport = NOTHING_READ
    missing: tuple[str, ...] = ()
    with_gaps: DeclaredNumbers | None = field(default=None, repr=False)
    around_it: tuple[DiscreteNetwork | IntervalNetwork, float] | None = field(default=None, repr=False)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # results are kept with the network
        vars(self).update(states=ReadOnly(self.states), lower=ReadOnly(self.lower), upper=ReadOnly(self.upper))

    @classmethod
    def of(
        cls,
        lower: Mapping[str, ArrayLike],
        upper: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Parents | None = None,
        level: Level | None = None,
    ) -> IntervalNetwork:
        """Check intervals and tighten them; see `DiscreteNetwork.from_intervals`.

        Parameters
        ----------
        lower, upper : mapping of str to array
            For every attribute the ends of P(attribute | parents), of shape (states, *states of the parents).
        states : mapping of str to sequence
            States of each attribute, in the order of the tables.
        parents : mapping of str to sequence of str, optional
            Parents of each attribute, in the order of the axes; none by default.
        level : {"parameters", "records"}, optional
            What a node means.
        """
        shape = declared_tables(upper, states, parents, math.inf)
        if shape.models > 1 or set(lower) != set(upper):
            raise NetworkError(
                "intervals have one lower and one upper table per attribute",
                found=f"{shape.models} models" if shape.models > 1 else f"lower tables for {listing(lower)}",
                remedy="Give both tables for every attribute, without an axis for models.",
            )
        return within_ends(shape, lower, upper, level, SUM_TOLERANCE)

    @classmethod
    def around(cls, network: DiscreteNetwork | IntervalNetwork, within: float) -> IntervalNetwork:
        """All networks whose probabilities are at most `within` from those of a model of `network`.

        Zeros are widened like every other probability. Of several models the outermost probabilities count, so that
        more than the models and their surroundings is covered; of intervals the ends.

        Parameters
        ----------
        network : DiscreteNetwork or IntervalNetwork
        within : float
            From 0 to 1.

        Raises
        ------
        NetworkError
            If `within` is no number from 0 to 1.

        Examples
        --------
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> IntervalNetwork.around(coin, 0.25).lower["coin"].tolist()
        [0.25, 0.25]
        """
        width = number("within", within, error=NetworkError, remedy="Pass a distance of probabilities, such as 0.05.")
        if not 0 <= width <= 1:
            raise NetworkError(
                "within must be a distance of probabilities, from 0 to 1",
                found=f"{width:g}",
                remedy="Pass for example 0.05.",
            )
        tables = (
            {name: np.concatenate(network.laws(name)) for name in network.attributes}
            if isinstance(network, IntervalNetwork)
            else {name: network.probabilities(name) for name in network.attributes}
        )
        # outwards from the least and the greatest of all models, so that no model falls outside
        found = cls.of(
            {name: np.maximum(table.min(axis=0) - width, 0.0) for name, table in tables.items()},
            {name: np.minimum(table.max(axis=0) + width, 1.0) for name, table in tables.items()},
            states=network.states,
            parents=network.graph.parents,
            level=network.level,
        )
        missing = network.missing if isinstance(network, IntervalNetwork) else ()
        return replace(found, reading=network.reading, missing=missing, around_it=(network, width))

    models = 1
    """One: bounds hold for all members at once and are given once."""

    posterior_draws = None
    """None: nothing was drawn."""

    @property
    def models_text(self) -> str:
        """The models an adversary may believe in, as a phrase."""
        rows = f", any distribution in {len(self.missing)} row{'s' * (len(self.missing) > 1)} without data"
        return f"any model within the declared intervals{rows if self.missing else ''}"

    @property
    def declared(self) -> tuple[DeclaredNumbers, ...]:
        """The tables as they were declared, with NaN in rows without data, for files; empty if there are none."""
        return () if self.with_gaps is None else (self.with_gaps,)

    kind_text = "a network given by intervals"
    """The kind of network, with its article."""

    def laws(self, attribute: str) -> tuple[FloatArray, ...]:
        """The lower and upper ends of the table of an attribute, with an axis for models."""
        return self.lower[attribute][np.newaxis], self.upper[attribute][np.newaxis]

    def identity(self) -> bytes:
        """Bytes of the ends of all intervals, for a hash."""
        parts = [columns_identity(self.reading)]
        if self.missing:  # results are told to be certified then
            parts.append(repr(("missing", self.missing)).encode())
        for name in sorted(self.attributes):
            low, high = self.lower[name], self.upper[name]
            axes = (name, *self.graph.parents[name])
            parts.append(repr(("intervals", axes, low.shape, self.states[name])).encode())
            parts += [low.tobytes(), high.tobytes()]
        return b"".join(parts)

    def middle(self) -> DiscreteNetwork:
        """An inner member: it gives positive probability to all that some member does.

        Examples
        --------
        >>> wide = DiscreteNetwork.from_intervals({"coin": [0.25, 0.25]}, {"coin": [1, 1]}, states={"coin": [0, 1]})
        >>> wide.middle().probabilities("coin").tolist()
        [[0.5, 0.5]]
        """
        middle = {name: middle_columns(self.lower[name], self.upper[name]) for name in self.attributes}
        member = of_tables(declared_tables(middle, self.states, self.graph.parents, math.inf), self.level)
        return replace(member, reading=self.reading)

    def __repr__(self) -> str:
        return (
            f"IntervalNetwork(attributes={len(self.attributes)}, edges={len(self.graph.edges)}, level={self.level!r})"
        )


def within_ends(
    shape: DeclaredTables,
    lower: Mapping[str, ArrayLike],
    upper: Mapping[str, ArrayLike],
    level: Level | None,
    tolerance: float,
) -> IntervalNetwork:
    """All networks within checked ends."""
    ends = {name: interval_ends(shape, name, lower[name], upper[name], tolerance) for name in shape.graph.nodes}
    return IntervalNetwork(
        graph=shape.graph,
        states=shape.states,
        lower={name: low for name, (low, _) in ends.items()},
        upper={name: high for name, (_, high) in ends.items()},
        level=level_of(level),
        reading=LEVEL_ASSUMED if level is None else NOTHING_READ,
    )


# --------------------------------------------------------------------------------------------------
# Networks from computed weights, and the refusal of networks without exact tables.
# --------------------------------------------------------------------------------------------------


def from_weights(
    tables: Mapping[str, ArrayLike],
    *,
    states: Mapping[str, Sequence[State]],
    parents: Parents | None = None,
    level: Level = "parameters",
) -> DiscreteNetwork:
    """A network whose columns are known up to a factor each, as computed weights are.

    Parameters
    ----------
    tables : mapping from str to array
        As of `DiscreteNetwork.from_tables`, but a column may have any sum above 0.
    states, parents, level
        As of `DiscreteNetwork.from_tables`.

    Returns
    -------
    DiscreteNetwork

    Raises
    ------
    NetworkError
        As from `DiscreteNetwork.from_tables`; or if a column is all zeros.

    Examples
    --------
    >>> from_weights({"coin": [3, 1]}, states={"coin": ["head", "tail"]}).probabilities("coin").round(9).tolist()
    [[0.75, 0.25]]
    """
    return of_tables(declared_tables(tables, states, parents, math.inf), level_of(level))


def require_discrete(network: Network, what: str) -> DiscreteNetwork:
    """A network, if its tables are exact, which `what` needs.

    Raises
    ------
    NetworkError
        If it is given by intervals, or is of another kind.
    """
    require_network(network)  # a class of networks names a kind too
    if kind_of(network).exact_tables:
        return cast(DiscreteNetwork, network)
    raise no_tables(network, what)


def no_tables(network: Network, what: str) -> NetworkError:
    """The refusal of `what` for a network without exact tables, of whatever kind.

    Raises
    ------
    NetworkError
        If it is no network.
    """
    require_network(network)
    if kind_of(network).by_intervals:
        return NetworkError(
            f"{what} needs exact tables",
            found="an interval for every probability",
            remedy="Choose one model within the intervals, for example network.middle().",
        )
    if not network.states:
        return NetworkError(
            f"{what} needs a network whose attributes have finitely many states",
            found=network.kind_text,
            remedy="Use MarkovQuiltMechanism and influence_report, or declare the parameters in steps.",
        )
    if network.level == "records":
        return NetworkError(
            f"{what} needs records that are independent draws from tables of their columns",
            found=network.kind_text,
            remedy="Declare how the columns depend on each other by DiscreteNetwork.from_tables.",
        )
    return NetworkError(
        f"{what} needs the probability of every state, in tables",
        found=f"{network.kind_text}, of which none are known",
        remedy="Use MarkovQuiltMechanism and influence_report, or declare it by DiscreteNetwork.from_tables.",
    )
