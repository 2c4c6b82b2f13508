"""How a model of another library was read: what became of each of its variables, and what drives the columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, final

Treatment = Literal["exact", "quadrature", "draws", "refused"]
NodeRole = Literal["parameter", "column", "fixed"]


@final
@dataclass(frozen=True, kw_only=True)
class NodeReading:
    """What became of one random variable.

    Parameters
    ----------
    name : str
        The variable, or one element of it.
    law : str
        Its law, for example "Normal".
    role : {"parameter", "column", "fixed"}
        A parameter that columns depend on, a column of the table, or a number fixed to draws of a posterior.
    treatment : {"exact", "quadrature", "draws", "refused"}
        How guarantees reckon with it.
    reason : str
        Why.
    """

    name: str
    law: str
    role: NodeRole
    treatment: Treatment
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.law}): {self.role}, {self.treatment}: {self.reason}"


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a model of another library was read.

    Parameters
    ----------
    nodes : tuple of NodeReading
        One per random variable.
    columns : mapping from str to tuple of str
        The columns that are no attribute of the network, each with the attributes that drive it: given these, its
        records say nothing more about any attribute.
    laws : mapping from str to tuple
        For such columns whose records are independent and alike the declared law of one record for every combination
        of states of the attributes that drive it, the last one changing fastest.
    identity : str
        A hash of the model.
    functions : frozenset of str
        Functions of attributes that the model has names for, such as the Deterministics of PyMC, and that are none of
        the network.
    level_assumed : bool
        Whether nobody said what a node means, so that it is taken for the parameter of the column of that name.
    """

    nodes: tuple[NodeReading, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    laws: Mapping[str, tuple[object, ...]] = field(default_factory=dict[str, tuple[object, ...]])
    identity: str = ""
    functions: frozenset[str] = frozenset()
    level_assumed: bool = False


class HasReading(Protocol):
    """A network that knows how it was read."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes."""
        ...

    @property
    def reading(self) -> Reading:
        """Return how it was read."""
        ...


def modelled(network: HasReading, columns: Iterable[str]) -> frozenset[str]:
    """Return those of `columns` of which the network says something: its attributes, and what these drive.

    The others are declared independent, or unknown. Nothing is asked of the graph about them: they tell nothing of any
    attribute, so that no noise need hide them.
    """
    return frozenset(columns).intersection((*network.attributes, *network.reading.columns))


def drivers(network: HasReading, columns: Iterable[str]) -> frozenset[str]:
    """Return the attributes that stand for `columns`: themselves, or what drives them; independent columns have none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> reading = Reading(columns={"height": ("mean", "deviation")})
    >>> network = SimpleNamespace(attributes=("income", "mean", "deviation"), reading=reading)
    >>> sorted(drivers(network, {"height", "income", "weather"}))
    ['deviation', 'income', 'mean']
    """
    driving = network.reading.columns
    found = frozenset(name for column in modelled(network, columns) for name in driving.get(column, (column,)))
    return found.intersection(network.attributes)


def driven_by(network: HasReading, columns: Iterable[str], attributes: Collection[str]) -> frozenset[str]:
    """Return those of `columns` that are one of `attributes`, or that one of them drives."""
    return frozenset(name for name in columns if not drivers(network, {name}).isdisjoint(attributes))


NOTHING_READ = Reading()
"""Of a network that was declared here."""

LEVEL_ASSUMED = Reading(level_assumed=True)
"""Of a network that was declared here, or read, without its level."""
