"""Records drawn from a network of them, also with a given property, and sequences drawn from a chain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, RefusedError, SecretError
from bnpriv.evidence.counts import Counts, impossible, meant
from bnpriv.evidence.dataset import network_record_law
from bnpriv.evidence.records import state_cells
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.laws.base import log_sum
from bnpriv.laws.whole import WholeLaw, summed
from bnpriv.networks.base import Network
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import require_discrete
from bnpriv.queries.arrays import answers
from bnpriv.queries.normal_form import NormalForm, normal_form
from bnpriv.secrets.properties import Secret
from bnpriv.tables.column_laws import ColumnLaw, bin_laws
from bnpriv.tables.schema import Categorical, Schema, State, is_whole

Places = Mapping[str, NDArray[np.int64]]
"""For every attribute the places of the states of all records."""

RECORDS_AT_ONCE = 2**18
"""Records that are drawn at once where only some are kept."""

MOST_RECORDS_TRIED = 2**26
"""Records that are drawn to keep those that are asked for."""


def draw_places(network: DiscreteNetwork, count: int, random: np.random.Generator, model: int = 0) -> Places:
    """Draw independent records, every attribute given its parents.

    Parameters
    ----------
    network : DiscreteNetwork
    count : int
        Number of records.
    random : numpy.random.Generator
    model : int
        Index of the model in Theta.

    Returns
    -------
    mapping from str to ndarray of shape (count,)
        Places of states.
    """
    drawn: dict[str, NDArray[np.int64]] = {}
    for name in network.graph.nodes:
        table = network.tables[name]
        values = table.values[min(model, len(table.values) - 1)]
        above = [axis for axis in table.axes if axis != name]
        law = np.exp(np.moveaxis(values, table.axes.index(name), -1))
        rows = law[tuple(drawn[parent] for parent in above)] if above else np.broadcast_to(law, (count, len(law)))
        drawn[name] = chosen(rows, random)
    return drawn


def chosen(rows: FloatArray, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw one place from each row of weights, of shape (rows, places)."""
    ends = np.cumsum(rows, axis=1)
    return np.count_nonzero(random.random((len(rows), 1)) * ends[:, -1:] >= ends, axis=1).astype(np.int64)


def record_columns(
    network: DiscreteNetwork,
    schema: Schema,
    laws: Mapping[str, Sequence[ColumnLaw]],
    places: Places,
    random: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Return the values of the columns of `schema` for records whose states are drawn.

    Raises
    ------
    FrameworkError
        If a state is no value of its column, and no law of the column is declared.
    """
    known = {**bin_laws(schema, network.states, laws), **laws}
    return {name: _values(network, schema, known, name, places[name], random) for name in schema.columns}


def require_nodes(network: Network, schema: Schema) -> None:
    """Refuse a schema with columns that the network says nothing about.

    Raises
    ------
    FrameworkError
    """
    missing = [name for name in schema.columns if name not in network.attributes]
    if missing:
        raise FrameworkError(
            "every simulated column must be a node of the network of records",
            found=f"none for {listing(missing)}",
            remedy="Add the column to the network, without parents if it depends on nothing, or leave it out.",
        )


def _values(
    network: DiscreteNetwork,
    schema: Schema,
    laws: Mapping[str, Sequence[ColumnLaw]],
    name: str,
    places: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[Any]:
    if name not in laws:
        return state_values(schema, name, network.states[name])[places]
    parts = [law.sample(int(np.count_nonzero(places == k)), random) for k, law in enumerate(laws[name])]
    values = np.empty(len(places), dtype=np.result_type(*(part.dtype for part in parts)))
    for k, part in enumerate(parts):
        values[places == k] = part
    return values


def state_values(schema: Schema, name: str, states: Sequence[State]) -> NDArray[Any]:
    """Return the values of a column that the states of its node stand for.

    Raises
    ------
    FrameworkError
        If a state is no value of the column.
    """
    column = schema[name]
    values = state_cells(name, column, states).values.tolist()
    if isinstance(column, Categorical):
        return np.array(values)
    return np.array(values, dtype=np.int64 if is_whole(column) else np.float64)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Property:
    """A property of a protected column under one model, and the values that it can have.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    secret : Secret
    model : int
    records : int
        In the table.
    """

    framework: DatasetAttributePrivacy
    secret: Secret
    model: int
    records: int

    @property
    def network(self) -> DiscreteNetwork:
        """The network of the records."""
        return require_discrete(self.framework.network, "a made-up table")

    @cached_property
    def form(self) -> NormalForm:
        """The property as a query."""
        schema = self.framework.schema
        return normal_form(self.secret.property, Schema(records=self.records, columns=schema.columns))

    @cached_property
    def one(self) -> WholeLaw:
        """The law of what one record adds to the numerator of the property."""
        laws = self.framework.column_laws
        return network_record_law(self.network, self.form.schema, self.secret.property, laws, self.model)

    @cached_property
    def total(self) -> WholeLaw:
        """The law of the numerator, but for its shift."""
        return self.sum(self.records)

    def sum(self, records: int) -> WholeLaw:
        """Return the law of what so many records add."""
        known: dict[int, WholeLaw] = self._sums
        if records not in known:
            known[records] = summed((self.one, records))
        return known[records]

    @cached_property
    def _sums(self) -> dict[int, WholeLaw]:
        return {}

    def numerators(self, values: Collection[State]) -> list[int]:
        """Return the numerators, but for the shift, that stand for values of the property.

        Raises
        ------
        SecretError
            If none is possible.
        """
        scale, steps = self.form.wholes()[0], self.one.columns[0]
        if self.one.size == 2:
            low, high = map(int, steps)
            counts = Counts.of(scale, self.records, low, high).possible(frozenset(values))
            found = [self.records * low + (high - low) * count for count in counts]
        else:
            known = {Fraction(int(each) + scale.shift, scale.denominator): int(each) for each in self.total.columns[0]}
            found = [known[value] for value in meant(values, known)]
        possible = np.isin(np.array(found, dtype=self.total.columns[0].dtype), self.total.columns[0])
        kept = [numerator for numerator, holds in zip(found, possible, strict=True) if holds]
        if not kept:
            raise impossible(listing(values))
        return sorted(kept)

    def log_mass(self, numerators: Collection[int]) -> float:
        """Return the log of the probability that the numerator is one of several."""
        return self.total.log_mass(numerators)

    def draw(self, numerators: Collection[int], random: np.random.Generator) -> dict[int, int]:
        """Draw how many records add what, given that their sum is one of several numerators.

        Returns
        -------
        dict from int to int
            The number of records by what each of them adds.

        Notes
        -----
        The sum of one half of the records given that of all has law P(x) P(s - x) / P(s); halves are halved in turn.
        """
        places = np.flatnonzero(np.isin(self.total.columns[0], np.array(list(numerators))))
        first = int(self.total.columns[0][places[_drawn(self.total.logs[places], random)]])
        found = dict.fromkeys(map(int, self.one.columns[0]), 0)
        if self.one.size == 2:
            low, high = found
            found[high] = (first - self.records * low) // (high - low)
            found[low] = self.records - found[high]
            return found
        left = [(self.records, first)]
        while left:
            records, value = left.pop()
            if records == 1:
                found[value] += 1
                continue
            half = self._half(records, value, random)
            left += [(records // 2, half), (records - records // 2, value - half)]
        return found

    def _half(self, records: int, value: int, random: np.random.Generator) -> int:
        """Draw what the first half of some records adds, given what all of them add."""
        first, second = self.sum(records // 2), self.sum(records - records // 2)
        rest = value - first.columns[0]
        places = np.minimum(np.searchsorted(second.columns[0], rest), second.size - 1)
        logs = np.where(second.columns[0][places] == rest, first.logs + second.logs[places], -np.inf)
        return int(first.columns[0][_drawn(logs, random)])


def _drawn(logs: FloatArray, random: np.random.Generator) -> int:
    """Draw a place by the logs of weights."""
    weights = np.exp(logs - log_sum(logs))
    return int(random.choice(len(weights), p=weights / weights.sum()))


def draw_with_property(
    held: Property, numerators: Collection[int], random: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw a table whose property has one of several values.

    Parameters
    ----------
    held : Property
    numerators : collection of int
        What the records may add to the property together.
    random : numpy.random.Generator

    Returns
    -------
    dict from str to ndarray of shape (records,)
        The columns.

    Raises
    ------
    RefusedError
        If a kind of record that is needed hardly ever comes up.

    Notes
    -----
    How many records add what is drawn from its exact law; each of them is then a record of the network given what it
    adds, and they stand in random order, because the records are alike.
    """
    framework = held.framework
    wanted = {value: count for value, count in held.draw(numerators, random).items() if count}
    kept: dict[int, list[dict[str, NDArray[Any]]]] = {value: [] for value in wanted}
    left, tried = dict(wanted), 0
    while any(left.values()):
        rarest = min(np.exp(held.one.log_mass([value])) / count for value, count in left.items() if count)
        batch = min(RECORDS_AT_ONCE, int(1.1 / rarest) + 64) if rarest > 0 else RECORDS_AT_ONCE
        places = draw_places(held.network, batch, random, held.model)
        columns = record_columns(held.network, framework.schema, framework.column_laws, places, random)
        added = _added(held, columns[held.secret.column])
        for value, count in left.items():
            here = np.flatnonzero(added == value)[:count]
            kept[value].append({name: column[here] for name, column in columns.items()})
            left[value] -= len(here)
        tried += batch
        if tried > MOST_RECORDS_TRIED:
            raise RefusedError(
                "records that a table is made of must come up in draws of the model",
                found=f"{sum(left.values()):,} missing after {tried:,} draws",
                remedy="Assume a more probable value of the property, or ask for fewer records.",
            )
    order = random.permutation(held.records)
    parts = [part for several in kept.values() for part in several]
    return {name: np.concatenate([part[name] for part in parts])[order] for name in framework.schema.columns}


def _added(held: Property, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return what every record adds to the numerator of a property."""
    scale = held.form.wholes()[0]
    alone = answers(held.form, {held.secret.column: values[:, np.newaxis]})
    return np.rint(alone * scale.denominator) - scale.shift


def draw_chain(
    chain: MarkovChain,
    draws: int,
    random: np.random.Generator,
    *,
    model: int = 0,
    step: int = 0,
    inside: Collection[State] = (),
) -> NDArray[np.int64]:
    """Draw sequences of one chain, given that one step is in one of several states.

    Parameters
    ----------
    chain : MarkovChain
        Of one length.
    draws : int
    random : numpy.random.Generator
    model : int
        Index of the model in Theta.
    step : int
        Counted from 0.
    inside : collection of states, optional
        Any by default.

    Returns
    -------
    ndarray of shape (draws, steps)
        Places of states.

    Raises
    ------
    SecretError
        If the states have probability zero.

    Notes
    -----
    The step is drawn from its law given the states, what follows by the transition matrix, what came before by the
    reversed one, P(before = i | now = j) = P(before = i) P(i, j) / P(now = j).
    """
    matrix, (steps,) = chain.matrix(model), chain.length
    laws = step_laws(chain, step, model)
    now = laws[-1] if not inside else np.where([state in inside for state in chain.state_space], laws[-1], 0.0)
    if not now.sum() > 0:
        raise SecretError(
            "the secret must have positive probability",
            found=f"probability zero in model {model}",
            remedy="Choose states that the chain can be in at that step.",
        )
    drawn = np.empty((draws, steps), dtype=np.int64)
    drawn[:, step] = chosen(np.broadcast_to(now, (draws, len(now))), random)
    for place in range(step + 1, steps):
        drawn[:, place] = chosen(matrix[drawn[:, place - 1]], random)
    for place in range(step - 1, -1, -1):
        back = laws[place][np.newaxis] * matrix.T
        drawn[:, place] = chosen(back[drawn[:, place + 1]], random)
    return drawn


def step_laws(chain: MarkovChain, step: int, model: int) -> list[FloatArray]:
    """Return the law of every step of a chain up to one, counted from 0; where the start may be any, it is uniform."""
    laws = [chain.first(model)]
    for _ in range(step):
        laws.append(laws[-1] @ chain.matrix(model))
    return laws
