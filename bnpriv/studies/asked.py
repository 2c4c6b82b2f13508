"""What a made-up table is to be like, what comes back, and what all that draw one check."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, ParameterError, SecretError
from bnpriv.networks.base import Network
from bnpriv.queries.arrays import cleaned
from bnpriv.tables.schema import Categorical, Column, Schema, State, is_whole

Assumed = Mapping[str, State | Collection[State]]
"""What is true of some attributes: a state, a number, or several of which one holds."""

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
@dataclass(frozen=True, eq=False)
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
    """Values as a column holds them: inside its bounds, whole, or a category."""
    clean = cleaned(column, values)
    if isinstance(column, Categorical):
        return np.array(column.categories)[clean]
    return clean.astype(np.int64) if is_whole(column) else clean


def new_seed(random: np.random.Generator) -> int:
    """A seed for a simulator."""
    return int(random.integers(2**62))


def model_index(models: int, model: int) -> int:
    """Return `model` if it is the index of one of so many models.

    Raises
    ------
    ParameterError
        If it is not.
    """
    index = checks.whole("model", model, least=0)
    if index >= models:
        raise ParameterError(
            f"model must be below the number of models, {models}",
            found=checks.shown(index),
            remedy="Count models from 0.",
        )
    return index


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


def one_secret(given: Assumed) -> SecretError:
    """The refusal of several secrets at once."""
    return SecretError(
        "a table is made up with one property given",
        found=f"the properties of {listing(given)}",
        remedy="Assume the value of one of them.",
    )


def zero_probability(found: str, remedy: str) -> SecretError:
    """The refusal of a secret that never holds."""
    return SecretError("the secret must have positive probability", found=found, remedy=remedy)


def states_among(what: str, known: object, states: Iterable[State]) -> tuple[State, ...]:
    """The states that are assumed, one or several, if all of them are among `states`.

    Raises
    ------
    SecretError
        If one is not, or there are none; `what` must name its states, as it says.
    """
    listed = (known,) if isinstance(known, (str, int, float)) else tuple(cast("Iterable[State]", known))
    states = tuple(states)
    unknown = [state for state in listed if state not in states]
    if unknown or not listed:
        raise SecretError(
            f"{what} {listing(states)}",
            found=listing(map(repr, unknown)),
            remedy=checks.spelling(next(iter(unknown), None), states),
        )
    return listed


def ends_of(name: str, known: object, what: str = "a number") -> tuple[float, float]:
    """The ends of the interval in which a number is assumed to lie; both are the number where one is given.

    Raises
    ------
    SecretError
        If it is neither a number nor two ends in order.
    """
    ends: tuple[object, ...] = known, known
    if isinstance(known, Iterable) and not isinstance(known, str):
        ends = tuple(cast("Iterable[object]", known))
    numbers = [checks.number(f"the secret about {name!r}", end, error=SecretError) for end in ends]
    if len(numbers) != 2 or not numbers[0] <= numbers[1]:
        raise SecretError(
            f"the secret about {name!r} must be {what}, or the two ends of an interval",
            found=listing(numbers),
            remedy=f'Write secret={{"{name}": (30, 40)}}.',
        )
    return numbers[0], numbers[1]
