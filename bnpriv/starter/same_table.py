"""Whether a table that is said to be public is the private one: by its place, its bytes, and its values.

The values of both are hashed where they have the same number of records, in memory; no hash is kept or shown, and all
that is told is that the two are one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bnpriv.errors import FileError
from bnpriv.tables.database_urls import database_file, is_database

if TYPE_CHECKING:
    from bnpriv.networks.posterior import TableFingerprint


def refuse_the_same(private: object, public: object) -> None:
    """Refuse a public table that is the private one.

    Raises
    ------
    FileError
        If both are one object, one file, files with the same content, or tables with the same records in any order in
        the columns of the private one.
    """
    same = public is private or (isinstance(public, str) and isinstance(private, str) and public == private)
    if not (same or _same_file(private, public) or _same_records(private, public)):
        return
    raise FileError(
        "the public table must be another than the private one",
        found="the same table",
        remedy="Learn from a table that anybody may see; what is learned from the private one gives it away.",
    )


def _same_file(private: object, public: object) -> bool:
    if not (isinstance(private, (str, os.PathLike)) and isinstance(public, (str, os.PathLike))):
        return False
    one, other = Path(cast("str | os.PathLike[str]", private)), Path(cast("str | os.PathLike[str]", public))
    both = one.is_file() and other.is_file()
    return both and (os.path.samefile(one, other) or _digest(one) == _digest(other))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same_records(private: object, public: object) -> bool:
    """Whether two tables that are here hold the same records, whatever files or engines they are in."""
    if not (_is_here(private) and _is_here(public)):
        return False
    try:
        (names, records), (others, as_many) = _shape(private), _shape(public)
        if not names or not set(names) <= set(others) or records != as_many:
            return False
        return _fingerprint(private, names).rows == _fingerprint(public, names).rows
    except (KeyboardInterrupt, SystemExit):
        raise
    except (
        BaseException
    ):  # no table, values without a hash, a panic of Polars: it is told without them where they count
        return False


def _is_here(data: object) -> bool:
    """Whether a table is in memory or in a file: others would have to be fetched whole."""
    import narwhals as nw

    from bnpriv.tables.files import is_data

    if is_database(data):
        return database_file(cast(str, data)) is not None
    if isinstance(data, (str, os.PathLike)):
        return is_data(Path(cast("str | os.PathLike[str]", data)))
    frame = nw.from_native(cast(Any, data), pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.implementation.is_polars() or frame.implementation.is_duckdb()
    return isinstance(frame, nw.DataFrame)


def _shape(data: object) -> tuple[Sequence[str], int]:
    """Return the names of the columns, and the number of records."""
    import narwhals as nw

    from bnpriv.tables.reader import collected, source

    with source(data, ()) as (frame, names):
        if isinstance(frame, nw.DataFrame):
            return names, len(frame)
        return names, int(collected(frame.select(nw.len())).item())


def _fingerprint(data: object, names: Sequence[str]) -> TableFingerprint:
    from bnpriv.networks.learning.fingerprint import fingerprint_of
    from bnpriv.tables.public import public_columns

    return fingerprint_of(public_columns(data, names))
