"""Tables about one kind of network, which a report shows as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, kw_only=True)
class FurtherTable:
    """A table about one kind of network.

    Parameters
    ----------
    title : str
    intro : str
        What its numbers mean.
    header : tuple of str
    rows : tuple of tuple of str, int or float
        One entry for every heading; infinite where there is no bound.
    finding : str
        The most important of it as a sentence, without a full stop; empty if there is none.
    """

    title: str
    intro: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    finding: str = ""
