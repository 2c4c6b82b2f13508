"""What every attribute of a network tells about every other one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import type_text
from bnpriv.errors import SecretError
from bnpriv.influence.base import influence_of
from bnpriv.influence.heat import LEGEND, heat_cell
from bnpriv.influence.maximum import impossible_secrets
from bnpriv.networks.base import Network
from bnpriv.networks.foreign import require_network
from bnpriv.render import Document, Shown
from bnpriv.render.document import HeatMap, Items
from bnpriv.render.heat import HeatCell
from bnpriv.secrets.declared import Declared, pairs_of

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class InfluenceMatrix(Shown):
    """What every attribute of a network tells about every other one; a notebook shows it as a heat map.

    Parameters
    ----------
    protected : tuple of str
        The rows: attributes about which something is told.
    columns : tuple of str
        The columns: attributes that are seen.
    values : ndarray of shape (protected, columns)
        Upper bounds in nats; NaN where an attribute meets itself, and in the rows of `refused`.
    refused : mapping from str to str
        For attributes none of whose pairs of secrets is possible, why nothing is said about them.
    dropped : mapping from str to list of str
        For the other rows, the pairs that are no constraint under a model.
    """

    protected: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    dropped: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])

    @staticmethod
    def of(network: Network, pairs: Mapping[str, Declared] | None = None) -> InfluenceMatrix:
        """Return the matrix of a network, with the refusals of `influence_matrix`.

        Parameters
        ----------
        network : Network
        pairs : mapping of str to pairs, optional
            Secrets of the protected attributes; all pairs by default.

        Examples
        --------
        >>> import bnpriv as bp
        >>> matrix = InfluenceMatrix.of(bp.example("student").network)
        >>> matrix.protected, matrix.values.shape
        (('income', 'gender', 'height', 'weight', 'sat'), (5, 5))
        """
        require_network(network)
        if pairs is not None and not isinstance(pairs, Mapping):
            raise SecretError(
                "pairs is a mapping from protected attributes to their pairs of secrets",
                found=type_text(pairs),
                remedy='Write pairs={"income": None} for all pairs of one attribute.',
            )
        names = network.attributes
        chosen = {
            network.require(name): pairs_of(network, name, None if pairs is None else pairs[name])
            for name in (names if pairs is None else pairs)
        }
        cells: dict[str, list[float]] = {}
        refused: dict[str, str] = {}
        dropped: dict[str, list[str]] = {}
        for protected, ordered in chosen.items():
            if not ordered:
                continue
            alone = influence_of(network, (), protected, ordered)
            possible = alone.pair is not None
            cells[protected] = [
                float(influence_of(network, (name,), protected, ordered)) if possible and name != protected else np.nan
                for name in names
            ]
            if not possible:
                refused[protected] = str(impossible_secrets(protected))
            elif alone.dropped:
                dropped[protected] = [f"{pair} in model {model}" for pair, model in alone.dropped]
        values = np.array(list(cells.values()), dtype=np.float64).reshape(len(cells), len(names))
        values.flags.writeable = False
        return InfluenceMatrix(
            protected=tuple(cells), columns=tuple(names), values=values, refused=refused, dropped=dropped
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame: row = protected attribute, column = attribute that is seen."""
        import pandas as pd

        frame = pd.DataFrame(self.values.copy(), index=list(self.protected), columns=list(self.columns))
        frame.attrs.update(refused=dict(self.refused), dropped=dict(self.dropped))
        return frame

    @property
    def document(self) -> Document:
        """Return the matrix as a heat map, without the columns that tell nothing about anything."""
        kept = [k for k in range(len(self.columns)) if np.any(self.values[:, k] > 0)]
        left = len(self.columns) - len(kept)
        rows = [
            (name, [self._cell(place, k) for k in kept])
            for place, name in enumerate(self.protected)
            if name not in self.refused
        ]
        heat = HeatMap(
            caption="Influence of single attributes, in nats: rows are protected attributes, columns what is seen",
            corner="protected",
            columns=tuple(self.columns[k] for k in kept),
            rows=rows,
            legend=LEGEND,
            more=f"{left} more tell nothing about any of these." if left and kept else "",
        )
        unbound = (f"{name}: no constraint: {', '.join(pairs)}" for name, pairs in self.dropped.items())
        notes = (*self.refused.values(), *unbound)
        return Document(
            kind="influence matrix",
            kicker="bnpriv influence matrix",
            headline="What every attribute tells about every other one",
            lead="" if kept else "No attribute tells anything about another.",
            answer=(*((heat,) if kept else ()), *((Items(notes),) if notes else ())),
            data={
                "protected": list(self.protected),
                "columns": list(self.columns),
                "nats": [[_number(value) for value in row] for row in self.values.tolist()],
                "refused": [{"protected": name, "reason": why} for name, why in self.refused.items()],
                "dropped": [{"protected": name, "pairs": list(pairs)} for name, pairs in self.dropped.items()],
            },
        )

    def _cell(self, row: int, column: int) -> HeatCell:
        itself = self.protected[row] == self.columns[column]
        return heat_cell(None if itself else float(self.values[row, column]), (self.columns[column],))


def _number(value: float) -> float | str | None:
    return None if math.isnan(value) else "inf" if math.isinf(value) else value


def influence_matrix(network: Network, pairs: Mapping[str, Declared] | None = None) -> pd.DataFrame:
    """Return the influence of every attribute on every other one.

    Parameters
    ----------
    network : network
        Of any kind: one or several models, or all within intervals.
    pairs : mapping from str to SecretPairs, Apart or IntervalPairs, optional
        The protected attributes with their pairs of secrets; by default every attribute with all pairs of its states.

    Returns
    -------
    pandas.DataFrame
        Row = protected attribute, column = attribute that is seen; upper bounds in nats. NaN on the diagonal, and in
        the whole row of an attribute none of whose pairs is possible: ``attrs["refused"]`` has the reason by
        attribute. ``attrs["dropped"]`` has the pairs of the other rows that are no constraint under a model.
        ``bnpriv.types.InfluenceMatrix.of(network)`` has the same numbers, and draws them.

    Raises
    ------
    NetworkError
        If a name is unknown.
    SecretError
        If the secrets do not fit, or an attribute that may be any number has none.
    SizeError
        If a table would pass the limit and no cheaper bound holds.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> influence_matrix(network).round(3).to_dict("index")
    {'income': {'income': nan, 'sat': 1.386}, 'sat': {'income': 1.386, 'sat': nan}}
    """
    return InfluenceMatrix.of(network, pairs).to_pandas()
