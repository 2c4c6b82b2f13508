"""A data frame that says why rows of it have no numbers."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd


def noted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame that prints `attrs["refused"]`, a mapping from rows to reasons, below its rows."""
    shown = _class()(frame)
    shown.attrs.update(frame.attrs)
    return shown


@cache
def _class() -> type[pd.DataFrame]:
    """Return the class of such frames, made once pandas is there."""
    import pandas as pd

    class NotedFrame(pd.DataFrame):
        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return pd.DataFrame  # what is made of it may have other rows

        @property
        def _reasons(self) -> list[str]:
            return [f"{name}: {why}" for name, why in self.attrs["refused"].items()]

        def __repr__(self) -> str:
            return "\n".join([super().__repr__(), *self._reasons])

        def _repr_html_(self) -> str | None:
            table = cast("str | None", cast(Any, super())._repr_html_())
            return None if table is None else table + "".join(f"<p>{escape(each)}</p>" for each in self._reasons)

        def __reduce__(self) -> tuple[Any, ...]:
            return noted, (self.copy(),)  # a copy is a plain frame, with the same reasons

    return NotedFrame
