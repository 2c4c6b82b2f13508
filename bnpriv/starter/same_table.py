"""Whether a table that is said to be public is the private one: by its place, its bytes, and its values.

The values of both are hashed where they have the same number of records, in memory; no hash is kept or shown, and all
that is told is that the two are one. A value is compared by what it says, whatever type an engine gave it: 1, 1.0,
"1.0" and "yes" are one, and so are all gaps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv.errors import FileError
from bnpriv.paths import user_path
from bnpriv.starter.public import PUBLIC_GAPS
from bnpriv.tables.database_urls import database_file, is_database
from bnpriv.tables.interrupts import interruptible
from bnpriv.tables.readings import BLANKS, number, truth

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
    if not (same or interruptible(private, lambda: _same_file(private, public) or _same_records(private, public))):
        return
    raise FileError(
        "the public table must be another than the private one",
        found="the same table",
        remedy="Learn from a table that anybody may see; what is learned from the private one gives it away.",
    )


def _same_file(private: object, public: object) -> bool:
    if not (isinstance(private, (str, os.PathLike)) and isinstance(public, (str, os.PathLike))):
        return False
    one, other = (
        user_path(cast("str | os.PathLike[str]", private)),
        user_path(cast("str | os.PathLike[str]", public)),
    )
    both = os.path.isfile(one) and os.path.isfile(other)
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
    # no table, values without a hash, or a panic of Polars: what is wrong with a table is told where it is read
    except BaseException:
        return False


def _is_here(data: object) -> bool:
    """Whether a table is in memory or in a file: others would have to be fetched whole."""
    import narwhals as nw

    from bnpriv.tables.files import is_data

    if is_database(data):
        return database_file(cast(str, data)) is not None
    if isinstance(data, (str, os.PathLike)):
        return is_data(user_path(cast("str | os.PathLike[str]", data)))
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

    return fingerprint_of({name: _said(values) for name, values in public_columns(data, names).items()})


def _said(values: Sequence[object]) -> list[str | None]:
    """Return values as texts that are alike where an engine, or a file, writes one value in two ways."""
    known: dict[object, str | None] = {}
    for value in values:
        # 1 and True say the same, and are one key
        if value not in known:
            known[value] = _plainly(value)
    return [known[value] for value in values]


def _plainly(value: object) -> str | None:
    text = str(value).strip(BLANKS)
    if value is None or text in PUBLIC_GAPS:
        return None
    known = number(text if isinstance(value, str) else value)
    if known != known and isinstance(value, str) and (word := truth(text)) is not None:
        known = float(word)
    if known != known:
        return text.removesuffix(" 00:00:00")  # of a date with a time where an engine knows no other
    with np.errstate(over="ignore"):
        return repr(float(np.float32(known)) + 0.0)  # some files hold numbers with half the digits
