"""Networks as the text of a BIF, XMLBIF, NET or UAI file, from which every probability is read back bit for bit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, type_text
from bnpriv.core.columns import State
from bnpriv.core.networks.discrete import DiscreteNetwork, FiniteNetwork
from bnpriv.errors import FileError, SizeError
from bnpriv.io.networks import formats
from bnpriv.paths import user_path
from bnpriv.render.outputs import numbered, write_new

_BARE = re.compile(r"[A-Za-z][\w.-]*+", re.ASCII)
_NET_NODE = re.compile(r"[\w-]++", re.ASCII)
_UAI_NODE = re.compile(r"var_(?:0|[1-9][0-9]*+)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """One attribute of a network that is written: its states, its parents, and the numbers as they were declared.

    Parameters
    ----------
    name : str
    states : tuple of states
    parents : tuple of str
    numbers : ndarray of shape (states, *states of the parents)
        nan in rows without data.
    """

    name: str
    states: tuple[State, ...]
    parents: tuple[str, ...]
    numbers: FloatArray

    @property
    def rows(self) -> FloatArray:
        """The numbers, one row for each combination of states of the parents, the last parent fastest."""
        return np.moveaxis(self.numbers, 0, -1).reshape(-1, len(self.states))


WrittenTables = Sequence[WrittenTable]


def network_text(tables: WrittenTables, suffix: str) -> str:
    """Return the text of a file that ends in `suffix`.

    Parameters
    ----------
    tables : sequence of WrittenTable
        Parents before children.
    suffix : str
        One of ``.bif``, ``.xml``, ``.xmlbif``, ``.net`` and ``.uai``.

    Raises
    ------
    FileError
        If the format is another one, or cannot hold a name or a state.
    SizeError
        If the file would be larger than one that is read.

    Examples
    --------
    >>> coin = WrittenTable(name="coin", states=("heads", "tails"), parents=(), numbers=np.array([0.5, 0.5]))
    >>> print(network_text([coin], ".net"))
    net
    {
    }
    node coin
    {
      states = ("heads" "tails");
    }
    potential (coin)
    {
      data = (0.5 0.5);
    }
    <BLANKLINE>
    """
    if suffix not in _FORMATS:
        raise FileError(
            f"a network is written to a file that ends in {listing(_FORMATS)}",
            found=suffix or "no ending",
            remedy="Name it for example model.bif.",
        )
    _check_sizes(tables)
    for table in tables:
        _check_names(table, suffix)
    text = "\n".join(_FORMATS[suffix](tables)) + "\n"
    size = len(text.encode())
    if not size <= formats.MOST_NETWORK_BYTES:
        raise SizeError(
            f"a network file may have at most {formats.MOST_NETWORK_BYTES:,} bytes",
            found=f"{size:,}",
            remedy="Keep the network in Python.",
        )
    return text


def can_be_written(tables: WrittenTables, suffix: str) -> bool:
    """Whether files that end in `suffix` can hold all names and states."""
    return all(_refused_name(table, suffix) is None for table in tables)


def _check_sizes(tables: WrittenTables) -> None:
    letters = sum(len(str(state)) for table in tables for state in table.states)
    for what, found, most in (
        ("attributes in one file", len(tables), formats.MOST_ATTRIBUTES),
        ("parents of one attribute", max(len(table.parents) for table in tables), formats.MOST_PARENTS),
        ("characters in the names of states", letters, formats.MOST_FILE_NAMES),
        ("cells in the tables of one file", sum(table.numbers.size for table in tables), formats.MOST_FILE_CELLS),
    ):
        if not found <= most:
            raise SizeError(
                f"there may be at most {most:,} {what}", found=f"{found:,}", remedy="Keep the network in Python."
            )


def _check_names(table: WrittenTable, suffix: str) -> None:
    state = next((state for state in table.states if not isinstance(state, str)), None)
    if state is not None:
        raise FileError(
            f"the states of {table.name!r} must be texts, as in every network file",
            found=f"{state!r}, {type_text(state)}",
            remedy="Name the states by texts.",
        )
    refused = _refused_name(table, suffix)
    if refused is not None:
        others = [other for other in (".bif", ".xml") if other != suffix and can_be_written([table], other)]
        raise FileError(
            f"a file that ends in {suffix} must be able to hold every name",
            found=f"{refused[:80]!r}, which it cannot",
            remedy=f"Rename it, or write a file that ends in {others[0]}." if others else "Rename it.",
        )


def _refused_name(table: WrittenTable, suffix: str) -> str | None:
    """Return a name of a table that would not be read back as it is; None if there is none."""
    for name in (table.name, *table.parents):
        if not _holds(name, suffix) or (suffix in _NODE_NAMES and not _NODE_NAMES[suffix].fullmatch(name)):
            return name
    if suffix == ".uai":
        return next((str(state) for k, state in enumerate(table.states) if state != str(k)), None)
    return next((str(state) for state in table.states if not _holds(str(state), suffix)), None)


_NODE_NAMES = {".net": _NET_NODE, ".uai": _UAI_NODE}
"""What a node may be called, where a format allows for fewer names than the others."""


def _holds(name: str, suffix: str) -> bool:
    if suffix == ".bif":
        return formats.may_be_named(name, formats.BIF_BARRED + '"') and name == " ".join(name.split())
    if suffix == ".net":
        return formats.may_be_named(name, '"')
    return formats.may_be_named(name) and name == name.strip()


def _numbers(row: FloatArray) -> list[str]:
    """Return the shortest decimals that are read as the same doubles."""
    return [repr(float(number)) for number in row.tolist()]


def _bif(tables: WrittenTables) -> Iterator[str]:
    states = {table.name: [_bif_name(str(state)) for state in table.states] for table in tables}
    yield "network unknown {\n}"
    for name, named in states.items():
        yield f"variable {_bif_name(name)} {{\n  type discrete [ {len(named)} ] {{ {', '.join(named)} }};\n}}"
    for table in tables:
        given = f" | {', '.join(map(_bif_name, table.parents))}" if table.parents else ""
        yield f"probability ( {_bif_name(table.name)}{given} ) {{"
        for labels, row in zip(product(*(states[parent] for parent in table.parents)), table.rows, strict=True):
            place = f"({', '.join(labels)})" if labels else "table"
            yield f"  {place} {', '.join(_numbers(row))};"
        yield "}"


def _bif_name(name: str) -> str:
    return name if _BARE.fullmatch(name) else f'"{name}"'


def _xmlbif(tables: WrittenTables) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>'
    for table in tables:
        yield f'<VARIABLE TYPE="nature">\n  <NAME>{escape(table.name, quote=False)}</NAME>'
        yield from (f"  <OUTCOME>{escape(str(state), quote=False)}</OUTCOME>" for state in table.states)
        yield "</VARIABLE>"
    for table in tables:
        yield f"<DEFINITION>\n  <FOR>{escape(table.name, quote=False)}</FOR>"
        yield from (f"  <GIVEN>{escape(parent, quote=False)}</GIVEN>" for parent in table.parents)
        rows = "\n    ".join(" ".join(_numbers(row)) for row in table.rows)
        yield f"  <TABLE>\n    {rows}\n  </TABLE>\n</DEFINITION>"
    yield "</NETWORK>\n</BIF>"


def _net(tables: WrittenTables) -> Iterator[str]:
    yield "net\n{\n}"
    sizes = {table.name: len(table.states) for table in tables}
    for table in tables:
        named = " ".join(f'"{state}"' for state in table.states)
        yield f"node {table.name}\n{{\n  states = ({named});\n}}"
    for table in tables:
        given = f" | {' '.join(table.parents)}" if table.parents else ""
        data = [f"({' '.join(_numbers(row))})" for row in table.rows]
        for parent in reversed(table.parents):
            size = sizes[parent]
            data = [f"({' '.join(data[k : k + size])})" for k in range(0, len(data), size)]
        yield f"potential ({table.name}{given})\n{{\n  data = {data[0]};\n}}"


def _uai(tables: WrittenTables) -> Iterator[str]:
    sizes = {table.name: len(table.states) for table in tables}
    names = [f"var_{k}" for k in range(len(tables))]
    if sizes.keys() != set(names):
        raise FileError(
            f"the attributes of a UAI file are var_0 to {names[-1]}", found=listing(sizes), remedy="Write a .bif file."
        )
    yield f"BAYES\n{len(names)}\n{' '.join(str(sizes[name]) for name in names)}\n{len(tables)}"
    for table in tables:
        scope = " ".join(name.removeprefix("var_") for name in (*table.parents, table.name))
        yield f"{1 + len(table.parents)} {scope}"
    for table in tables:
        yield f"\n{table.numbers.size}"
        yield from (" ".join(_numbers(row)) for row in table.rows)


_FORMATS: Mapping[str, Callable[[WrittenTables], Iterator[str]]] = {
    ".bif": _bif,
    ".xml": _xmlbif,
    ".xmlbif": _xmlbif,
    ".net": _net,
    ".uai": _uai,
}


def write_network(network: FiniteNetwork, path: str | os.PathLike[str], *, overwrite: bool) -> tuple[Path, ...]:
    """Write a network to files: `bnpriv.core.networks.discrete.FiniteMethods.to_file`."""
    models = written_models(network)
    files = numbered(user_path(path), len(models))
    texts = [network_text(tables, files[0].suffix.lower()) for tables in models]
    write_new(dict(zip(files, texts, strict=True)), overwrite=overwrite)
    return files


def written_models(network: FiniteNetwork) -> list[list[WrittenTable]]:
    """Return the tables of every model as files hold them.

    Raises
    ------
    FileError
        If files cannot hold the network.
    """
    if network.reading.columns or not network.declared:
        held = "columns that are no attribute" if network.reading.columns else network.kind_text
        if network.posterior_draws is not None:
            held = f"{network.models:,} draws of a posterior"
        raise FileError(
            "a network file holds tables of probabilities that were declared one by one",
            found=held,
            remedy="Keep it in Python: write there what made it, and calibrate there.",
        )
    return [
        [
            WrittenTable(name=name, states=part.states[name], parents=part.graph.parents[name], numbers=tables[name])
            for name in part.attributes
        ]
        for part in cast(DiscreteNetwork, network).parts
        for tables in part.declared
    ]
