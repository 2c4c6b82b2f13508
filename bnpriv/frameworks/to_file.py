"""Frameworks as files that `bnpriv.read_framework` and the shell read: what was made in a notebook runs there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import cast, final

from bnpriv.checks import text
from bnpriv.errors import FileError, ParameterError, SizeError
from bnpriv.frameworks.base import WrittenAsFile
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.file_network import NetworkPart
from bnpriv.frameworks.file_parts import (
    column_sections,
    law_sections,
    query_text,
    secret_of_table,
    secrets_of_parameter,
)
from bnpriv.frameworks.value import ValuePrivacy
from bnpriv.kind import kind_of
from bnpriv.networks.base import Network
from bnpriv.paths import user_path
from bnpriv.queries.asked import as_query
from bnpriv.queries.base import Query
from bnpriv.render.new_files import write_new
from bnpriv.render.toml import toml_section
from bnpriv.secrets.pair import Pair
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
        network: NetworkPart = kind_of(self.network).section(self.network, path.stem)
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


def write_framework(
    framework: WrittenAsFile,
    path: str | os.PathLike[str],
    *,
    queries: Mapping[str, Query | str] | None = None,
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write a framework to a TOML file, with its network beside it: `DistributionalAttributePrivacy.to_file`."""
    file = user_path(path)
    if file.suffix.lower() != ".toml" or "\\" in file.stem or PureWindowsPath(file.stem).drive:
        raise FileError(
            "a framework file must end in .toml, with a plain name before it",
            found=repr(file.name[:80]),
            remedy="Name it for example framework.toml.",
        )
    texts = cast(FileParts, framework.file_parts()).texts(file, _query_texts({} if queries is None else queries))
    write_new(texts, overwrite=overwrite)
    return tuple(texts)


def dataset_parts(framework: DatasetAttributePrivacy) -> FileParts:
    """Return what a file says of dataset attribute privacy."""
    states = framework.network.states
    # what follows from the bins of a column is declared there
    declared = {name: laws for name, laws in framework.column_laws.items() if name in (framework.laws or {})}
    return FileParts(
        notion="dataset",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={name: secret_of_table(secret) for name, secret in framework.protect.items()},
        laws=law_sections(declared, framework.schema, lambda name: states.get(name, ())),
    )


def distributional_parts(framework: DistributionalAttributePrivacy) -> FileParts:
    """Return what a file says of distributional attribute privacy."""
    states = framework.network.states
    return FileParts(
        notion="distributional",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={name: secrets_of_parameter(pairs, states.get(name, ())) for name, pairs in framework.secrets.items()},
        independent=framework.independent,
        laws=law_sections(framework.column_laws, framework.schema, lambda name: states.get(name, ())),
    )


def value_parts(framework: ValuePrivacy) -> FileParts:
    """Return what a file says of the privacy of single values."""
    # of a chain all pairs are hidden
    secrets: Mapping[str, tuple[Pair, ...]] = framework.secrets if framework.chain is None else {}
    states = framework.network.states
    return FileParts(
        notion="value",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={
            name: secrets_of_parameter(secrets[name], states[name]) if name in secrets else {}
            for name in framework.protected
        },
    )


def _query_texts(queries: object) -> dict[str, str]:
    if not isinstance(queries, Mapping):
        raise ParameterError(
            "queries are given by their names", found="no mapping", remedy='Write {"tall": "count(height > 180)"}.'
        )
    named = cast("Mapping[object, object]", queries)
    return {text("a query's name", name): query_text(as_query(query)) for name, query in named.items()}
