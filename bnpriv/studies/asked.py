"""What a made-up table is to be like, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.queries.arrays import cleaned
from bnpriv.studies.parameters import Assumed
from bnpriv.tables.schema import Categorical, Column, is_whole

MadeUpColumns = Mapping[str, NDArray[Any]]

MOST_NUMBERS_HELD = 2**22
"""Numbers in the tables that are held at once."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """What a made-up table is to be like.

    Parameters
    ----------
    records : int
    secret : mapping from str to what is true of an attribute
    model : int
        Index of the model in Theta.
    random : numpy.random.Generator
    """

    records: int
    secret: Assumed
    model: int
    random: np.random.Generator


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class MadeUp:
    """A made-up table.

    Parameters
    ----------
    columns : mapping from str to ndarray of shape (records,)
    probability : float, optional
        How probable what was assumed is under the model; None where no model says it.
    """

    columns: MadeUpColumns
    probability: float | None = None


def held(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a column holds them: inside its bounds, whole, or a category."""
    clean = cleaned(column, values)
    if isinstance(column, Categorical):
        return np.array(column.categories)[clean]
    return clean.astype(np.int64) if is_whole(column) else clean


def new_seed(random: np.random.Generator) -> int:
    """Return a seed for a simulator."""
    return int(random.integers(2**62))
