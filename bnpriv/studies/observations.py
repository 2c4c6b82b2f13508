"""Public observations of a network's attributes, counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.errors import DataError
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.tables.schema import State

if TYPE_CHECKING:
    import narwhals as nw


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Observations:
    """A public table: how many rows it has, and which attributes are among its columns.

    Parameters
    ----------
    frame : narwhals.DataFrame
    rows : int
    columns : frozenset of str
    """

    frame: nw.DataFrame[Any]
    rows: int
    columns: frozenset[str]

    @classmethod
    def of(cls, network: DiscreteNetwork, data: object) -> Observations:
        """Open a table of any engine.

        Raises
        ------
        DataError
            If it is none, or has none of the attributes as a column.
        """
        from bnpriv.tables.public import public_table

        frame = public_table(data, network.attributes)
        columns = frozenset(frame.columns)
        if not columns:
            raise DataError(
                "the public table must have attributes of the network as columns",
                found="none of them",
                remedy=f"Call columns like attributes: {checks.listing(network.attributes)}.",
            )
        return cls(frame=frame, rows=len(frame), columns=columns)

    def counts(self, network: DiscreteNetwork, names: Sequence[str]) -> NDArray[np.int64]:
        """Return how often every combination of states occurs, of shape (states of each name)."""
        import narwhals as nw

        places = [_places(network.states[name]) for name in names]
        seen = np.zeros([len(network.states[name]) for name in names], dtype=np.int64)
        keys = [f"k{k}" for k in range(len(names))]
        renamed = self.frame.select(*(nw.col(name).alias(key) for name, key in zip(names, keys, strict=True)))
        for *values, count in renamed.group_by(*keys).agg(nw.len().alias("n")).iter_rows():
            cell = [_place(known, value) for known, value in zip(places, values, strict=True)]
            if None not in cell:
                seen[tuple(cast("list[int]", cell))] += int(count)
        return seen


def _places(states: Sequence[State]) -> dict[object, int]:
    """Return where states stand, by themselves and, where that is clear, by their text."""
    texts = [str(state) for state in states]
    clear = {text: k for k, text in enumerate(texts) if texts.count(text) == 1}
    return {**clear, **{state: k for k, state in enumerate(states)}}


def _place(known: Mapping[object, int], value: object) -> int | None:
    """Return where the state stands that a value means; a table may hold 1 or 1.0 for the state "1"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (str, int, float)) and value in known:
        return known[value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return known.get(str(value))
