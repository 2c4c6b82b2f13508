"""What drawn tables are conditioned on: that a parameter, or a property of the table, has a value of a secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.core.columns import State
from bnpriv.core.evidence.laws import number_of
from bnpriv.core.queries.base import NormalForm
from bnpriv.core.queries.contribution import answers
from bnpriv.core.secrets import NEAR, Interval
from bnpriv.errors import RefusedError
from bnpriv.kinds.density.network import Parameter

SecretSide = Interval | frozenset[State]
"""A secret: an interval of values, or some values."""

Settable = Callable[[str], bool]
"""Whether to set a parameter is to condition on it."""

TRIED = 20_000
"""Draws of a parameter alone, which tell how often a secret comes up."""

TRIED_TABLES = 4000
"""Tables that are drawn to tell how often a property of them comes up."""

FEWEST_TRIED_TABLES = 200
"""Of tables that are large."""

MOST_TRIED_NUMBERS = 2**28
"""Numbers in the tables that are tried, unless these are the fewest."""


@dataclass(frozen=True, eq=False)
class OfParameter:
    """The condition that a parameter has a value of a secret."""

    parameter: Parameter

    columns = ()
    near = 0.0

    @property
    def name(self) -> str:
        """The parameter."""
        return self.parameter.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameter alone."""
        return (self.parameter.name,)

    def tried(self, records: int) -> int:
        """Return how many draws of the parameter tell how often a secret comes up."""
        return TRIED

    def values(self, drawn: Mapping[str, NDArray[np.float64]]) -> FloatArray:
        """Return the values of the parameter."""
        return drawn[self.name]

    def settings(self, side: SecretSide, settable: Settable) -> Mapping[str, float] | None:
        """Return the parameter with its value, where that is one and nothing that varies lies above the parameter.

        Parameters
        ----------
        side : secret
        settable : callable
            Whether to set a parameter is to condition on it.

        Raises
        ------
        RefusedError
            If it is one value of a continuous parameter that depends on others.
        """
        if not isinstance(side, Interval) or side.low < side.high:
            return None
        if settable(self.name):
            return {self.name: side.low}
        if self.parameter.states is None:
            raise RefusedError(
                "a single value of a parameter that depends on others cannot be drawn exactly",
                found=f"{self.name} = {side}",
                remedy=f"Declare a narrow interval around it, such as bnpriv.intervals((({side}, ...), (...))).",
            )
        return None


@dataclass(frozen=True, eq=False)
class OfProperty:
    """The condition that a property of the table has a value of a secret (docs/claims/conditional_draws.md).

    Parameters
    ----------
    form : NormalForm
        The property, one number; it is computed from the drawn table as a release computes answers.
    columns : tuple of str
        The columns that it reads.
    name : str
        The property in words.
    """

    form: NormalForm
    columns: tuple[str, ...]
    name: str

    parameters = ()
    near = float(NEAR)

    def tried(self, records: int) -> int:
        """Return how many tables tell how often a secret comes up: fewer where they are large."""
        affordable = MOST_TRIED_NUMBERS // (records * len(self.columns))
        return min(TRIED_TABLES, max(FEWEST_TRIED_TABLES, affordable))

    def values(self, drawn: Mapping[str, NDArray[np.float64]]) -> FloatArray:
        """Return the property of every table."""
        return answers(self.form, {name: drawn[name] for name in self.columns})

    def settings(self, side: SecretSide, settable: Settable) -> None:
        """Return None: tables are drawn until they have the property."""


Condition = OfParameter | OfProperty
"""A number that is drawn together with a table, and whose value is secret.

Its name is what it is called in refusals, and the seeds of its draws follow from it; `near` is how far, relative to
itself, a number of a secret may be from the value that it stands for.
"""


def inside(side: SecretSide, values: FloatArray, near: float = float(NEAR)) -> NDArray[np.bool_]:
    """Return which values a secret holds: an interval those between its ends, a number those within `near` of it.

    Examples
    --------
    >>> inside(Interval(2, 3), np.array([1.0, 2.0, 3.0])), inside(frozenset({0.333333333}), np.array([1 / 3]))
    (array([False,  True,  True]), array([ True]))
    """
    if isinstance(side, Interval):
        return (values >= side.low) & (values <= side.high)
    found = np.zeros(values.shape, dtype=np.bool_)
    for number in map(number_of, side):
        found |= np.abs(values - number) <= near * max(1.0, abs(number))
    return found


def side_words(side: SecretSide) -> str:
    """Return a secret in words."""
    return str(side) if isinstance(side, Interval) else " or ".join(f"{x:g}" for x in sorted(map(number_of, side)))
