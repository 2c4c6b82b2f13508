"""What all notions do alike: a hash of what a calibration depends on, and a file that holds the framework."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from bnpriv.digest import sha256
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.normal import Normal
from bnpriv.networks.base import Network
from bnpriv.queries.base import Query
from bnpriv.secrets.properties import Secret
from bnpriv.services import service
from bnpriv.tables.schema import State


def fingerprint(facts: object, networks: Iterable[Network] = ()) -> str:
    """A hash of the representation of `facts` and of all that tells networks apart."""
    return sha256(repr(facts), *(network.identity() for network in networks))


class FrameworkFacts:
    """What a mechanism asks of a framework, so that it need not know which notion it is; here as most answer."""

    single_values: ClassVar[bool] = False
    """Whether secrets are values of single records."""

    pairs_name_models: ClassVar[bool] = False
    """Whether a pair of secrets says by itself which model it is about."""

    @property
    def by_intervals(self) -> bool:
        """Whether the adversary may hold any model within intervals."""
        return False

    @property
    def chain(self) -> Any:
        """The Markov chain whose steps are the records; None where they are none."""
        return None

    @property
    def kinds_text(self) -> str:
        """What to know where states look like values of records; empty where none do."""
        return ""

    @property
    def properties(self) -> Mapping[str, Secret]:
        """The properties of a table of independent records that are hidden."""
        return {}

    @property
    def answer_laws(self) -> Sequence[tuple[Atoms | Normal, Atoms | Normal]]:
        """The pairs of laws of the exact answer that are declared; none where they follow from a model of the table."""
        return ()

    @property
    def linear_gaussian(self) -> bool:
        """Whether laws of answers follow from a linear-Gaussian network."""
        return False

    @property
    def may_be_normal(self) -> bool:
        """Whether some law of an answer may be normal, or nearly so."""
        return self.linear_gaussian or any(isinstance(law, Normal) for pair in self.answer_laws for law in pair)

    @property
    def chosen_secrets(self) -> Mapping[str, object]:
        """What `protect` says of each attribute; empty where it leaves all to the network."""
        protect: object = getattr(self, "protect", None)
        return cast("Mapping[str, object]", protect) if isinstance(protect, Mapping) else {}

    @property
    def secret_states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute of the network, where secrets are states; else none."""
        return {}

    @property
    def from_draws(self) -> bool:
        """Whether laws of an answer are learned from tables that a model draws."""
        return False


class WrittenAsFile:
    """What all notions do alike that a framework file can hold."""

    @abstractmethod
    def file_parts(self) -> object:
        """Return what a file says of the framework.

        Raises
        ------
        FileError
            If no file can.
        """

    def to_file(
        self,
        path: str | os.PathLike[str],
        *,
        queries: Mapping[str, Query | str] | None = None,
        overwrite: bool = False,
    ) -> tuple[Path, ...]:
        """Write the framework to a TOML file, with the network in a file of its own beside it.

        `bnpriv.read_framework` reads the same framework from it, every number bit for bit, and the shell runs it.

        Parameters
        ----------
        path : str or path
            A file that ends in .toml. The network stands beside it: ``student.bif`` for ``student.toml``, in XMLBIF
            where a name needs it, and one file for each of several models.
        queries : mapping from str to Query or str, optional
            Queries that are written with it, by their names: ``bnpriv plan student.toml --query NAME`` finds them.
        overwrite : bool
            Whether files that are there already are replaced.

        Returns
        -------
        tuple of Path
            The files that were written, this one last.

        Raises
        ------
        FileError
            If a file is there already or cannot be written, or the framework says what no file can: models of PyMC,
            draws of a posterior, intervals other than around a network, a covariance, laws that are neither normal
            nor of categories, states that are no texts, custom queries.
        ParameterError
            If `queries` is no mapping from names.
        QueryError
            If the text of a query is outside the grammar.
        SizeError
            If a file would be larger than one that is read.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import bnpriv as bp
        >>> framework = bp.example("student")
        >>> with TemporaryDirectory() as folder:
        ...     files = framework.to_file(Path(folder, "mine.toml"), queries={"tall": "count(height > 180)"})
        ...     same = bp.read_framework(files[-1]).fingerprint() == framework.fingerprint()
        >>> [file.name for file in files], same
        (['mine.bif', 'mine.toml'], True)
        """
        return service("framework.to_file")(self, path, queries=queries, overwrite=overwrite)
