"""Network files: BIF, XMLBIF, NET and UAI, read behind checks that a hostile or broken file cannot pass."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast, overload

from bnpriv.checks import listing, type_text
from bnpriv.core.networks.base import Level, foreign_remedy, level_of
from bnpriv.core.networks.declared import MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.errors import FileError
from bnpriv.io.networks import grammars
from bnpriv.io.networks.formats import MOST_NETWORK_BYTES, ReadTables, Source, network_of
from bnpriv.paths import NO_PATH, user_path

_PICKLES = (".pkl", ".pickle", ".joblib", ".npy", ".npz", ".dill", ".pt", ".pth")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz")
_MAGIC = {b"\x80": "a pickle", b"\x93NUMPY": "a NumPy file", b"\x1f\x8b": "a gzip file", b"PK": "a zip file"}


@overload
def read_network(
    path: str | os.PathLike[str], level: Level | None = None, *, normalize: bool = False, missing_rows: None = None
) -> DiscreteNetwork: ...


@overload
def read_network(
    path: str | os.PathLike[str],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None,
) -> DiscreteNetwork | IntervalNetwork: ...


def read_network(
    path: str | os.PathLike[str],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None = None,
) -> DiscreteNetwork | IntervalNetwork:
    """Read a network from a BIF, XMLBIF, NET or UAI file.

    Parameters
    ----------
    path : str or path
        A file that ends in .bif, .xml, .xmlbif, .net or .uai, in UTF-8, of at most 8 MiB. A UAI file holds no names:
        its attributes are called var_0, var_1, ..., their states 0, 1, ...
    level : {"parameters", "records"}, optional
        What a node means: the parameter that governs the column of that name, or the column itself in one record. By
        default "parameters", but then a framework refuses a network whose states are values of its columns.
    normalize : bool
        Divide every column of every table by its sum, for tables printed with few decimals: a sum may then be 1 % off.
    missing_rows : {"any"}, optional
        Let every row without data (nan throughout) be any law; by default it is refused. It is never filled in.

    Returns
    -------
    DiscreteNetwork or IntervalNetwork
        All its states are strings. By intervals only where a row is missing.

    Raises
    ------
    FileError
        If the file is missing, no regular file, too large, of another format, or not whole.
    SizeError
        If its tables are too large; found out from what the file declares, before a table is allocated.
    NetworkError
        If the network has a cycle, a column does not sum to 1 within 1e-6, or rows are missing without leave.

    Notes
    -----
    Only the strict core of each format is understood; whatever else a file holds is refused with its line. Pickles are
    never opened, XML entities are refused, and nothing outside the file is fetched. Columns whose sums are off by the
    printed decimals are divided by them, and ``network.reading.notes`` says which.

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
    level_of(level)
    scan = _SCANS[_suffix(path)]
    read = scan(Source(str(path), read_text(path, MOST_NETWORK_BYTES)))
    return network_of(read, level, normalize, missing_rows)


def read_text(path: str | os.PathLike[str], most_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, of a size that is checked before it is read.

    Raises
    ------
    FileError
        If the path is missing, a link, no regular file, or unreadable; if the file is too large, packed, or no text.
    """
    label = path_text(path)
    raw = _read_bytes(user_path(path), label, most_bytes)
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


def path_text(path: object) -> str:
    """Return a path as a text.

    Raises
    ------
    FileError
        If it is none.
    """
    if isinstance(path, (str, os.PathLike)):
        return str(cast("str | os.PathLike[str]", path))
    remedy = foreign_remedy(path) or "Pass the path of a file, as text or Path."
    raise FileError("a path is needed", found=type_text(path), remedy=remedy)


def _read_bytes(path: Path, label: str, most_bytes: int) -> bytes:
    remedy = "Give the path of a readable, regular file."
    # Neither follows a link, nor waits for the other end of a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise FileError(f"{label}: a file must not be a symbolic link", found="a link", remedy=remedy)
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
        if isinstance(broken, (FileNotFoundError, NotADirectoryError)):
            absent = "Check the path, or put the file there."
            raise FileError(f"{label}: the file must be there", found="no such file", remedy=absent) from None
        reason = (broken.strerror if isinstance(broken, OSError) else None) or NO_PATH
        raise FileError(f"{label}: the file must be readable", found=reason, remedy=remedy) from None


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path_text(path)).suffix.lower()
    if suffix in _SCANS:
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
    raise FileError(f"{path}: a model file must end in {listing(_SCANS)}", found=suffix or "no ending", remedy=remedy)


_SCANS: Mapping[str, Callable[[Source], ReadTables]] = {
    ".bif": grammars.scan_bif,
    ".xml": grammars.scan_xmlbif,
    ".xmlbif": grammars.scan_xmlbif,
    ".net": grammars.scan_net,
    ".uai": grammars.scan_uai,
}
