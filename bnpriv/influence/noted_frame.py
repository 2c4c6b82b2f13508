"""A data frame that says why rows of it have no numbers; imported where one is made, as pandas is."""

from __future__ import annotations

from html import escape
from typing import Any, cast, final

import pandas as pd  # noqa: TID253  (this module is imported where a frame is made)


@final
class NotedFrame(pd.DataFrame):
    """A data frame whose `attrs["refused"]`, a mapping from rows to reasons, is printed below it."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        # what is made of it may have other rows
        return pd.DataFrame

    @property
    def reasons(self) -> list[str]:
        """Return why rows are empty, a line each."""
        return [f"{name}: {why}" for name, why in self.attrs["refused"].items()]

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.reasons])

    def _repr_html_(self) -> str | None:
        shown = cast("str | None", cast(Any, super())._repr_html_())
        return None if shown is None else shown + "".join(f"<p>{escape(each)}</p>" for each in self.reasons)
