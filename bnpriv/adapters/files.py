"""Network files: BIF, XMLBIF and NET, read by pgmpy behind checks that a hostile or broken file cannot pass."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, final

import numpy as np

from bnpriv.adapters import bif, net, xmlbif
from bnpriv.adapters.formats import Declared, Source
from bnpriv.adapters.pgmpy import from_pgmpy, quiet
from bnpriv.checks import listing, member
from bnpriv.errors import FileError, NetworkError, SizeError
from bnpriv.networks.discrete import LEVELS, DiscreteNetwork, Level
from bnpriv.networks.graph import Graph

MOST_BYTES = 2**23
"""Largest network file, 8 MiB: half as much again as the largest network in common use."""

MOST_NET_WORK = 2**24
"""Most characters that pgmpy's NET reader may look at: it reads the whole text again for every node in it."""

_PICKLES = (".pkl", ".pickle", ".joblib", ".npy", ".npz", ".dill", ".pt", ".pth")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz")
_MAGIC = {b"\x80": "a pickle", b"\x93NUMPY": "a NumPy file", b"\x1f\x8b": "a gzip file", b"PK": "a zip file"}


@final
@dataclass(frozen=True)
class _Format:
    """How one format is scanned, and how pgmpy builds a model from what the scan found."""

    scan: Callable[[Source], Declared]
    build: Callable[[Declared], Any]


def read_network(
    path: str | os.PathLike[str], level: Level = "parameters", *, normalize: bool = False
) -> DiscreteNetwork:
    """Read a network from a BIF, XMLBIF or NET file.

    Parameters
    ----------
    path : str or path
        A file that ends in .bif, .xml, .xmlbif or .net, in UTF-8, of at most 8 MiB.
    level : {"parameters", "records"}
        What a node means: the parameter that governs the column of that name, or the column itself in one record.
    normalize : bool
        Divide every column of every table by its sum, for tables printed with few decimals: a sum may then be 1 % off.

    Returns
    -------
    DiscreteNetwork
        All its states are strings.

    Raises
    ------
    FileError
        If the file is missing, no regular file, too large, of another format, or not whole.
    SizeError
        If its tables are too large; found out from what the file declares, before a table is allocated.
    NetworkError
        If the network has a cycle, or a column does not sum to 1 within 1e-9.

    Notes
    -----
    Every file is read twice, by a strict scan and by pgmpy's reader, which is given only what the scan has understood;
    the two must agree. Pickles are never opened, XML entities are refused, and nothing outside the file is fetched.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "coin.bif")
    ...     _ = file.write_text(
    ...         "variable coin { type discrete [ 2 ] { heads, tails }; } probability ( coin ) { table 0.5, 0.5; }"
    ...     )
    ...     network = read_network(file)
    >>> network.states
    {'coin': ('heads', 'tails')}
    """
    member("level", level, LEVELS, error=NetworkError)
    kind = _FORMATS[_suffix(path)]
    source = Source(str(path), read_text(path, MOST_BYTES))
    declared = kind.scan(source)
    # This names a cycle, where there is one. Parents come first, so that pgmpy's own search for cycles ends at once.
    graph = Graph({name: family.parents for name, family in declared.items()})
    declared = {name: declared[name] for name in graph.nodes}
    try:
        with quiet():
            model = kind.build(declared)
            agrees = _agrees(model, declared)
    except SizeError:
        raise
    except Exception as broken:
        raise _misread(source, f"a {type(broken).__name__} from it") from None
    if not agrees:
        raise _misread(source, "another network than the file declares")
    return from_pgmpy(model, level, normalize=normalize)


def read_text(path: str | os.PathLike[str], most_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, of a size that is checked before it is read.

    Raises
    ------
    FileError
        If the path is missing, a link, no regular file, or unreadable; if the file is too large, packed, or no text.
    """
    label = str(path)
    raw = _read_bytes(Path(path), label, most_bytes)
    kind = next((kind for magic, kind in _MAGIC.items() if raw.startswith(magic)), None)
    if kind is not None:
        raise FileError(f"{label}: the file must be text", found=kind, remedy="Export it as text first.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise FileError(
            f"{label}: the file must be in UTF-8", found=f"another byte at {broken.start}", remedy="Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise FileError(f"{label}: the file must be text", found="a NUL character", remedy="Save it as UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_bytes(path: Path, label: str, most_bytes: int) -> bytes:
    remedy = "Give the path of a readable, regular file."
    # Neither follows a link, nor waits for the other end of a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise FileError(f"{label}: a file must not be a symbolic link", found="a link", remedy=remedy)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FileError(f"{label}: a regular file is needed", found="something else", remedy=remedy)
            if not about.st_size <= most_bytes:
                raise FileError(
                    f"{label}: the file may have at most {most_bytes:,} bytes",
                    found=f"{about.st_size:,}",
                    remedy="Check that it is the right file.",
                )
            return file.read(most_bytes)
    except (OSError, ValueError) as broken:
        if isinstance(broken, FileError):
            raise
        reason = (broken.strerror if isinstance(broken, OSError) else None) or "no path"
        raise FileError(f"{label}: the file must be readable", found=reason, remedy=remedy) from None


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix in _FORMATS:
        return suffix
    remedy = "Export the model as BIF, for example with pgmpy's BIFWriter."
    if suffix in _PICKLES:
        raise FileError(
            f"{path}: a model file must not be a pickle, because opening one can run any program",
            found=suffix,
            remedy=remedy,
        )
    if suffix in _PACKED:
        raise FileError(f"{path}: a model file must not be packed", found=suffix, remedy="Unpack it first.")
    raise FileError(f"{path}: a model file must end in {listing(_FORMATS)}", found=suffix or "no ending", remedy=remedy)


def _misread(source: Source, found: str) -> FileError:
    return source.refusal(
        "pgmpy's reader must understand the file as it is written",
        found=found,
        remedy="Use short plain names that differ in more than case, or build the network with from_tables.",
    )


def _build_bif(declared: Declared) -> Any:
    from pgmpy.readwrite import BIFReader

    return cast(Any, BIFReader(string=bif.write(declared))).get_model()


def _build_xmlbif(declared: Declared) -> Any:
    from pgmpy.readwrite import XMLBIFReader

    return cast(Any, XMLBIFReader(string=xmlbif.write(declared))).get_model()


def _build_net(declared: Declared) -> Any:
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import NETReader

    work = sum((1 + len(family.parents)) * len(net.write(declared, name)) for name, family in declared.items())
    if not work <= MOST_NET_WORK:
        raise SizeError(
            f"reading a NET file may take at most {MOST_NET_WORK:,} steps",
            found=f"{work:,}",
            remedy="Save the network as BIF, or build it with DiscreteNetwork.from_tables.",
        )
    model: Any = DiscreteBayesianNetwork()
    model.add_nodes_from(declared)
    model.add_edges_from([(parent, name) for name, family in declared.items() for parent in family.parents])
    for name in declared:
        one = cast(Any, NETReader(string=net.write(declared, name))).get_model()
        model.add_cpds(one.get_cpds(name))
    return model


def _agrees(model: Any, declared: Declared) -> bool:
    """Return whether pgmpy has read the same attributes, states, parents and numbers as the scan."""
    if sorted(model.nodes) != sorted(declared) or len(model.get_cpds()) != len(declared):
        return False
    tables = {table.variable: table for table in model.get_cpds()}
    for name, family in declared.items():
        axes = [name, *family.parents]
        states = {axis: list(declared[axis].states) for axis in axes}
        if tables[name].variables != axes or tables[name].state_names != states:
            return False
        if not np.allclose(tables[name].get_values(), family.values(), rtol=1e-14, atol=0):
            return False
    return True


_FORMATS: Mapping[str, _Format] = {
    ".bif": _Format(bif.scan, _build_bif),
    ".xml": _Format(xmlbif.scan, _build_xmlbif),
    ".xmlbif": _Format(xmlbif.scan, _build_xmlbif),
    ".net": _Format(net.scan, _build_net),
}
