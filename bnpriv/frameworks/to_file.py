"""Frameworks as files that `bnpriv.read_framework` and the shell read: what was made in a notebook runs there."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import cast, final

from bnpriv.checks import text
from bnpriv.errors import FileError, ParameterError, SizeError
from bnpriv.frameworks.file_network import network_part
from bnpriv.frameworks.file_parts import column_sections, query_text
from bnpriv.networks import Network
from bnpriv.paths import user_path
from bnpriv.queries import Query, as_query
from bnpriv.render.new_files import write_new
from bnpriv.render.toml import toml_section
from bnpriv.tables.schema import Schema

MOST_FRAMEWORK_BYTES = 2**18
"""Largest framework file, 256 KiB."""


@final
@dataclass(frozen=True, kw_only=True)
class FileParts:
    """What a framework file says.

    Parameters
    ----------
    notion : str
        As a file names it.
    source : str
    network : Network
    schema : Schema
    protect : mapping from str to mapping
        What every section ``[protect.NAME]`` says.
    independent : iterable of str
        Columns that are no node.
    laws : sequence of str
        The sections of laws.
    """

    notion: str
    source: str
    network: Network
    schema: Schema
    protect: Mapping[str, Mapping[str, object]]
    independent: Iterable[str] = ()
    laws: Iterable[str] = ()

    def texts(self, path: Path, queries: Mapping[str, str]) -> dict[Path, str]:
        """Return the texts of all files, those of the network first."""
        network = network_part(self.network, path.stem)
        found = {path.with_name(name): content for name, content in network.files.items()}
        content = "\n\n".join(self._sections(network.section, queries)) + "\n"
        if not len(content.encode()) <= MOST_FRAMEWORK_BYTES:
            raise SizeError(
                f"a framework file may have at most {MOST_FRAMEWORK_BYTES:,} bytes",
                found=f"{len(content.encode()):,}",
                remedy="Keep the framework in Python.",
            )
        return found | {path: content}

    def _sections(self, network: str, queries: Mapping[str, str]) -> Iterator[str]:
        yield toml_section([], {"notion": self.notion, "source": self.source})
        yield network
        yield from column_sections(self.schema, self.independent)
        for name, values in self.protect.items():
            yield toml_section(["protect", name], values)
        yield from self.laws
        if queries:
            yield toml_section(["queries"], queries)


class WrittenAsFile:
    """What all notions do alike that a framework file can hold."""

    @abstractmethod
    def file_parts(self) -> FileParts:
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
        file = user_path(path)
        if file.suffix.lower() != ".toml" or "\\" in file.stem or PureWindowsPath(file.stem).drive:
            raise FileError(
                "a framework file must end in .toml, with a plain name before it",
                found=repr(file.name[:80]),
                remedy="Name it for example framework.toml.",
            )
        texts = self.file_parts().texts(file, _query_texts({} if queries is None else queries))
        write_new(texts, overwrite=overwrite)
        return tuple(texts)


def _query_texts(queries: object) -> dict[str, str]:
    if not isinstance(queries, Mapping):
        raise ParameterError(
            "queries are given by their names", found="no mapping", remedy='Write {"tall": "count(height > 180)"}.'
        )
    named = cast("Mapping[object, object]", queries)
    return {text("a query's name", name): query_text(as_query(query)) for name, query in named.items()}
