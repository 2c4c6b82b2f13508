"""What networks with finitely many states do alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.networks.base import Level, Network, NetworkMethods, level_of
from bnpriv.services import service

DeclaredNumbers = Mapping[str, FloatArray]
"""The numbers of a table of every attribute, with axes (attribute, *parents)."""


class FiniteNetwork(Network, Protocol):
    """A network of tables, exact or by intervals."""

    @property
    def declared(self) -> tuple[DeclaredNumbers, ...]:
        """The tables of every model as they were declared; none if they were not, or no file can say what they are."""
        ...

    def laws(self, attribute: str) -> tuple[FloatArray, ...]:
        """The numbers of the table of an attribute."""
        ...


class FiniteMethods(NetworkMethods):
    """A network of tables, exact or by intervals; `laws` gives the numbers of the table of an attribute."""

    def of_level(self, level: Level) -> Self:
        """Return the same network with what a node means.

        Raises
        ------
        NetworkError
            If it is no level.

        Examples
        --------
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> coin.of_level("records").level
        'records'
        """
        network = cast(Any, self)
        reading = replace(network.reading, level_assumed=False)
        return cast(Self, replace(network, level=level_of(level), reading=reading))

    def to_file(self: FiniteNetwork, path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the network to a BIF, XMLBIF or NET file, from which `bnpriv.read_network` reads it bit for bit.

        Parameters
        ----------
        path : str or path
            A file that ends in .bif, .xml, .xmlbif or .net. Several models are written to as many files:
            ``model-1.bif``, ``model-2.bif``, ..., which `bnpriv.model_class` joins again.
        overwrite : bool
            Whether files that are there already are replaced.

        Returns
        -------
        tuple of Path
            The files, one for each model.

        Raises
        ------
        FileError
            If a file is there already or cannot be written, the ending is another one, the format cannot hold a name
            or a state, or the network says more than such a file can: intervals, draws of a posterior, columns that
            are no attribute.
        SizeError
            If the file would be larger than one that is read.

        Notes
        -----
        The file does not hold the level, nor how a table is read: pass ``level``, and ``normalize=True`` or
        ``missing_rows="any"`` if the network was declared with them. A framework's file holds all of it.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> with TemporaryDirectory() as folder:
        ...     [file.name for file in coin.to_file(Path(folder, "coin.bif"))]
        ['coin.bif']
        """
        return service("network.to_file")(self, path, overwrite=overwrite)

    def same_law(self: FiniteNetwork, other: Network, attribute: str) -> bool:
        """Return whether another network is of the same kind and has the same table of an attribute."""
        family = (attribute, *self.graph.parents[attribute])
        if type(self) is not type(other) or family != (attribute, *other.graph.parents[attribute]):
            return False
        if any(self.states[name] != other.states[name] for name in family):
            return False
        pairs = zip(self.laws(attribute), cast(FiniteNetwork, other).laws(attribute), strict=True)
        # one table may stand for all models where another has it once per model
        return all((len(a) == len(b) or 1 in (len(a), len(b))) and bool(np.all(a == b)) for a, b in pairs)
