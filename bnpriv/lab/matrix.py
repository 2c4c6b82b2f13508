"""What every attribute of a network tells about every other one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import type_text, whole
from bnpriv.core.networks.base import Network, require_network
from bnpriv.core.secrets import Declared
from bnpriv.errors import SecretError
from bnpriv.kind import kind_of
from bnpriv.kinds.junction.rows import InfluenceRows
from bnpriv.progress import progress
from bnpriv.render.document import Document, Figure, HeatMap, Items, Name, Table, json_number
from bnpriv.render.figures import HeatCell, heat_legend, heat_picture
from bnpriv.render.html import join
from bnpriv.shown import Shown
from bnpriv.text import by_times, name_text, times_text
from bnpriv.views.influence import LEGEND, heat_cell

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# A data frame that a notebook colours, and that says why rows of it have no numbers.
# --------------------------------------------------------------------------------------------------

FRAME_COLOURS = {"1": "#fff4e5", "2": "#ffe3c2", "3": "#ffcb8f", "4": "#f7a35a", "5": "#bf4a17", "6": "#86290b"}
"""Of the levels of a heat map; black on the first four, white on the others, in light and dark notebooks alike."""


def coloured(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame of influences that colours them, and says `attrs["refused"]` (rows to reasons) below them."""
    shown = _class()(frame)
    shown.attrs.update(frame.attrs)
    return shown


def _colour(nats: float) -> str:
    level = heat_cell(nats, ()).level
    if level in ("zero", "none"):
        return ""
    return f"background-color: {FRAME_COLOURS.get(level, '#2a0d06')}; color: {'#1d1006' if level in '1234' else '#fff'}"


@cache
def _class() -> type[pd.DataFrame]:
    """Return the class of such frames, made once pandas is there."""
    import pandas as pd

    class InfluenceFrame(pd.DataFrame):
        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return pd.DataFrame  # what is made of it may have other rows

        @property
        def _reasons(self) -> list[str]:
            return [f"{name}: {why}" for name, why in self.attrs["refused"].items()]

        def __repr__(self) -> str:
            return "\n".join([super().__repr__(), *self._reasons])

        @property
        def style(self) -> Any:
            plain: Any = super().style
            for axis in (0, 1):  # names go into the page as they are, but for this
                plain = plain.format_index(escape="html", axis=axis)
            return plain.map(_colour).format("{:.3f}", na_rep="\u2013").set_caption("in nats")

        def _repr_html_(self) -> str | None:
            # pandas colours by Jinja, which not everybody has; what is too large to be read is cut short
            fits = max(self.shape) <= READABLE_COLUMNS and find_spec("jinja2") is not None
            table = cast("str | None", self.style.to_html() if fits else cast(Any, super())._repr_html_())
            return None if table is None else table + "".join(f"<p>{escape(each)}</p>" for each in self._reasons)

        def __reduce__(self) -> tuple[Any, ...]:
            return coloured, (self.copy(),)  # a copy is a plain frame, with the same reasons

    return InfluenceFrame


READABLE_COLUMNS = 60
"""Columns of a heat map whose numbers can be read."""

LISTED_PAIRS = 20
"""What is listed of a larger one."""


INFLUENCES_PRINTED = 4
"""Influences that are printed."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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
    def of(
        network: Network, pairs: Mapping[str, Declared] | None = None, *, workers: int | None = 1
    ) -> InfluenceMatrix:
        """Return the matrix of a network, with the refusals of `influence_matrix`.

        Parameters
        ----------
        network : Network
        pairs : mapping of str to pairs, optional
            Secrets of the protected attributes; all pairs by default.
        workers : int, optional
            As for `influence_matrix`.

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
        if workers is not None:
            workers = whole("the number of workers", workers)
        names = network.attributes
        chosen = {
            network.require(name): None if pairs is None else pairs[name]
            for name in (names if pairs is None else pairs)
        }
        rows: InfluenceRows = kind_of(network).rows(network, chosen, workers)
        rows.values.flags.writeable = False
        return InfluenceMatrix(
            protected=rows.protected,
            columns=tuple(names),
            values=rows.values,
            refused=rows.refused,
            dropped=rows.dropped,
        )

    def __repr__(self) -> str:
        return f"InfluenceMatrix(protected={len(self.protected)}, columns={len(self.columns)})"

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame: row = protected attribute, column = attribute that is seen.

        A notebook colours it, by its `style`, where Jinja is installed; why a row has no numbers is printed below it.
        """
        import pandas as pd

        frame = pd.DataFrame(self.values.copy(), index=list(self.protected), columns=list(self.columns))
        frame.attrs.update(refused=dict(self.refused), dropped=dict(self.dropped))
        return coloured(frame)

    @property
    def document(self) -> Document:
        """Return the matrix as a heat map, without the columns that tell nothing about anything.

        A matrix of more columns than can be read is a picture, beside what tells most.
        """
        kept = [k for k in range(len(self.columns)) if np.any(self.values[:, k] > 0)]
        left = len(self.columns) - len(kept)
        heat = HeatMap(
            caption="By how many times seeing one attribute moves the odds about another: rows are protected "
            "attributes, columns what is seen",
            corner="protected",
            columns=tuple(self.columns[k] for k in kept),
            rows=[
                (name, [self._cell(place, k) for k in kept])
                for place, name in enumerate(self.protected)
                if name not in self.refused
            ],
            legend=LEGEND,
            more=f"{left} more tell nothing about any of these." if left and kept else "",
        )
        shown = (heat,) if len(kept) <= READABLE_COLUMNS else (self._picture(heat), self._most())
        unbound = (f"{name}: no constraint: {', '.join(pairs)}" for name, pairs in self.dropped.items())
        notes = (*(f"{name}: {why}" for name, why in self.refused.items()), *unbound)
        return Document(
            kind="influence matrix",
            headline="What every attribute tells about every other one",
            lead="" if kept else "No attribute tells anything about another.",
            short=(*self._strongest(), *notes[:1], "Next: .explain() shows all; bp.leaks(network, query) a query."),
            answer=(*(shown if kept else ()), *((Items(notes),) if notes else ())),
            data={
                "protected": list(self.protected),
                "columns": list(self.columns),
                "nats": [[json_number(value) for value in row] for row in self.values.tolist()],
                "refused": [{"protected": name, "reason": why} for name, why in self.refused.items()],
                "dropped": [{"protected": name, "pairs": list(pairs)} for name, pairs in self.dropped.items()],
            },
        )

    def _strongest(self) -> tuple[str, ...]:
        """The largest influences, in lines of what is printed."""
        known = np.nan_to_num(self.values, nan=-1.0, posinf=np.inf)
        order = np.unravel_index(np.argsort(-known, axis=None)[:INFLUENCES_PRINTED], known.shape)
        places: list[tuple[int, int]] = list(zip(*(each.tolist() for each in order), strict=True))
        lines = [
            f"{name_text(self.columns[k])} moves the odds on {name_text(self.protected[row])} "
            f"{by_times(float(known[row, k]))}."
            for row, k in places
            if known[row, k] > 0
        ]
        return tuple(lines) or ("No attribute tells anything about another.",)

    def _picture(self, heat: HeatMap) -> Figure:
        levels = [[cell.level for cell in cells] for _, cells in heat.rows]
        size = f"{len(heat.rows):,} protected attributes, {len(heat.columns):,} that are seen"
        words = f"A picture of {size}. {heat.more}".strip()
        return Figure(
            join(heat_picture(levels, heat.caption, words), heat_legend(heat.legend)),
            f"{heat.caption}, in the order of the network. {heat.more}".strip(),
            words,
        )

    def _most(self) -> Table:
        values = np.nan_to_num(self.values, nan=0.0, posinf=np.inf)
        order = np.argsort(-values, axis=None, kind="stable")[:LISTED_PAIRS]
        places = [divmod(int(k), len(self.columns)) for k in order]
        tell = int(np.count_nonzero(values))
        return Table(
            caption="What tells most",
            header=("protected", "seen", "odds move by at most"),
            rows=[
                ((Name(self.protected[i]),), (Name(self.columns[k]),), times_text(float(values[i, k])))
                for i, k in places
                if values[i, k] > 0
            ],
            numbers=(2,),
            more=f"{tell - LISTED_PAIRS:,} more tell something; to_pandas() has the numbers."
            if tell > LISTED_PAIRS
            else "",
        )

    def _cell(self, row: int, column: int) -> HeatCell:
        itself = self.protected[row] == self.columns[column]
        return heat_cell(None if itself else float(self.values[row, column]), (self.columns[column],))


def influence_matrix(
    network: Network, pairs: Mapping[str, Declared] | None = None, *, workers: int | None = 1
) -> pd.DataFrame:
    """Return the influence of every attribute on every other one.

    Parameters
    ----------
    network : network
        Of any kind: one or several models, or all within intervals.
    pairs : mapping from str to SecretPairs, Apart or IntervalPairs, optional
        The protected attributes with their pairs of secrets; by default every attribute with all pairs of its states.
    workers : int, optional
        Among how many processes the models of a network of tables are shared out, by joblib; None for as many, and as
        such workers, as ``joblib.parallel_config`` says: of Dask, Ray or Spark too (docs/many-models.md). The numbers
        are the same bits for any of them.

    Returns
    -------
    pandas.DataFrame
        Row = protected attribute, column = attribute that is seen; upper bounds in nats. NaN on the diagonal, and in
        the whole row of an attribute none of whose pairs is possible: ``attrs["refused"]`` has the reason by
        attribute. ``attrs["dropped"]`` has the pairs of the other rows that are no constraint under a model.
        A notebook colours it by its `style`; ``bnpriv.types.InfluenceMatrix.of(network)`` has the same numbers, and
        draws them.

    Raises
    ------
    NetworkError
        If a name is unknown.
    ParameterError
        If the number of workers is no positive whole number.
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
    with progress("computing influences"):
        return InfluenceMatrix.of(network, pairs, workers=workers).to_pandas()
