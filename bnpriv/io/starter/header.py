"""What may be read of a private table before anything is declared: the names of its columns.

No value is read, and no type: pandas turns whole numbers into fractions where one is missing, and into texts where one
is none, whatever reads a CSV file guesses its types from the values, and Parquet files hold what was guessed. A first
line that holds no names is a record: then the names must come from elsewhere, and nothing of that line is ever shown.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from codecs import BOM_UTF8
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, cast

from bnpriv.checks import listing, type_text
from bnpriv.errors import DataError, FileError, InstallationError
from bnpriv.paths import user_path
from bnpriv.tables.files import is_database, refuse_other_encoding, separator_in
from bnpriv.tables.readings import SEPARATORS

LONGEST_FIRST_LINE = 2**20

_NUMERIC_FIELD = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[\W_]*\d[\W\d_]*")
"""A number, or a date, a time or an amount of money: digits and no letters."""
_GAPS_AND_TRUTH = frozenset(("?", "na", "nan", "null", "none", "true", "false"))
_OTHER_SEPARATORS = re.compile(f"[{''.join(SEPARATORS)}]")


@dataclass(frozen=True, kw_only=True)
class Header:
    """The columns of a table.

    Parameters
    ----------
    names : tuple of str
    lacks_names : bool
        Whether the first line of the file is a record, so that the names come from elsewhere.
    separator : str, optional
        The sign between the fields of that line; None of what is no text file.
    """

    names: tuple[str, ...]
    lacks_names: bool = False
    separator: str | None = None


def header_of(data: object, names: Sequence[str] | None = None) -> Header:
    """Return the columns of a table.

    Parameters
    ----------
    data : table, str or path
        A Parquet file, a file of values between commas, the URL of a table in a database, or a table of an engine.
    names : sequence of str, optional
        The columns, for a file that does not name them.

    Raises
    ------
    FileError, DataError
        If there is no table, a name is empty or twice there, or the first line looks like a record and no names are
        given; nothing of that line is told.

    Examples
    --------
    >>> import pandas as pd
    >>> header_of(pd.DataFrame({"age": [20], "sex": ["f"]})).names
    ('age', 'sex')
    """
    if not isinstance(data, (str, os.PathLike)):
        return Header(names=distinct(_columns_of(data)))
    if is_database(cast(object, data)):
        from bnpriv.tables.reader import database_columns

        return Header(names=distinct(database_columns(cast(str, data))))
    path = user_path(cast("str | os.PathLike[str]", data))
    if path.suffix.lower() == ".parquet":
        from bnpriv.tables.files import file_frame

        with file_frame(path) as (_, found):
            return Header(names=distinct(found))
    fields, sign = first_line(path), separator_of(path)
    if is_comment(fields):
        raise FileError(
            f"{path}: the first line must hold the names of the columns, or a record",
            found="a comment that begins with |",
            remedy=f"Copy the file without it, tail -n +2 {path} > COPY.csv, and start with the copy.",
        )
    if names is not None:
        if len(fields) != len(names):
            raise FileError(
                f"{path}: there must be a name for each column",
                found=f"{len(names)} names for {len(fields)} columns",
                remedy="Name all columns, in the order of the file.",
            )
        return Header(names=distinct(names), lacks_names=fields != list(names), separator=sign)
    if looks_like_a_record(fields):
        raise FileError(
            f"{path}: the first line must name the columns",
            found="numbers, gaps or the same text twice, as in a record",
            remedy="Where names stand there, rename what is no name or is there twice; where a record does, give the "
            'option names, "age,sex,income", or the option codebook.',
        )
    return Header(names=tuple(fields), separator=sign)


def is_text_file(data: object) -> bool:
    """Whether a table is given by the path of a file of texts between separators."""
    if is_database(data) or not isinstance(data, (str, os.PathLike)):
        return False
    return Path(cast(str, data)).suffix.lower() != ".parquet"


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, none of which is empty or twice there.

    Raises
    ------
    FileError
    """
    if not all(isinstance(cast(object, name), str) for name in names):
        raise FileError(
            "every column needs a text as its name",
            found="a number, or another name that is none",
            remedy='Rename the columns: table.columns = ["age", "sex", "income"].',
        )
    repeated = [name for k, name in enumerate(names) if name in names[:k]]
    if repeated or not names or not all(name.strip() for name in names):
        raise FileError(
            "every column needs a name of its own",
            found=f"{listing(repeated)} again" if repeated else "an empty name" if names else "none",
            remedy="Rename it.",
        )
    return tuple(names)


def is_comment(fields: Sequence[str]) -> bool:
    """Whether a line is a comment as in files of the UCI repository, and no field of a table.

    Examples
    --------
    >>> is_comment(["|1x3 Cross validator"]), is_comment(["|", "x"])
    (True, False)
    """
    return len(fields) == 1 and fields[0].startswith("|")


def first_line(path: Path, *, comments: bool = True) -> list[str]:
    """Return the fields of the first line of a text file, without blanks around them.

    Parameters
    ----------
    path : path
    comments : bool
        Whether a comment counts as a line.

    Raises
    ------
    FileError
        If there is none.
    """
    try:
        if not os.path.isfile(path):
            raise FileError(
                f"{path}: a Parquet or CSV file is needed",
                found="a folder" if os.path.isdir(path) else "none there",
                remedy="Give the path of the table.",
            )
        refuse_other_encoding(path)
        text = _beginning(path)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator_in(text))
        rows = rows if comments else dropwhile(is_comment, rows)
        fields = [field.strip() for row in islice(rows, 1) for field in row]
    except (OSError, ValueError, csv.Error) as broken:
        if isinstance(broken, FileError):
            raise
        fields = []
    if any("\ufffd" in field for field in fields):
        raise FileError(
            f"{path}: the table must be UTF-8",
            found="other bytes in its first line, as older versions of Excel write them",
            remedy="Save it as CSV UTF-8.",
        )
    # a quote that never closes takes records into the names
    if not any(fields) or set("\0\r\n") & set("".join(fields)):
        raise FileError(
            f"{path}: a table must start with a line of fields between commas or other separators",
            found="none",
            remedy="Give a CSV or Parquet file.",
        )
    return fields


def separator_of(path: Path) -> str:
    """Return the sign between the fields of the first line of a text file."""
    return separator_in(_beginning(path))


def write_with_names(path: Path, names: Sequence[str], copy: Path) -> None:
    """Write a copy, for nobody else, of a text file without a line of names, with one in front."""
    sign, line = separator_of(path), io.StringIO(newline="")
    csv.writer(line, delimiter=sign, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(names)
    if separator_in(line.getvalue()) != sign:
        raise FileError(
            f"{path}: names must not seem to be parted by another sign than its fields",
            found=f"a name with one in it beside fields parted by {sign!r}",
            remedy="Leave commas, semicolons, bars and tabs out of the names.",
        )
    with path.open("rb") as old, open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
        new.write(line.getvalue().encode())
        new.write(old.read(len(BOM_UTF8)).removeprefix(BOM_UTF8))
        shutil.copyfileobj(old, new)


def _beginning(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return file.read(LONGEST_FIRST_LINE)


def looks_like_a_record(fields: Sequence[str]) -> bool:
    """Whether a first line holds what no names are: numbers, gaps, or a text twice.

    Examples
    --------
    >>> looks_like_a_record(["39", "State-gov"]), looks_like_a_record(["age", "workclass"])
    (True, False)
    """
    if len(fields) == 1:  # perhaps not between commas
        fields = [part.strip() for part in _OTHER_SEPARATORS.split(fields[0])]
    return len(set(fields)) < len(fields) or any(
        not field or "@" in field or field.lower() in _GAPS_AND_TRUTH or _NUMERIC_FIELD.fullmatch(field)
        for field in fields
    )


def shares_names(fields: Sequence[str], known: Collection[str]) -> bool:
    """Whether a first line holds names that are known: half of them, since a value may happen to be called like one.

    Examples
    --------
    >>> shares_names(["age", "sex"], ["sex", "age", "ill"]), shares_names(["Private", "Bachelors"], ["age", "sex"])
    (True, False)
    """
    shared = len(set(fields) & set(known))
    return shared > 0 and 2 * shared >= min(len(fields), len(known))


def _columns_of(data: object) -> Sequence[str]:
    import narwhals as nw

    from bnpriv.tables.files import with_imports_named

    try:
        frame = with_imports_named(lambda: nw.from_native(cast(Any, data)))
        # for types narwhals would look at the values of a pandas table
        names = frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns
    except (KeyboardInterrupt, SystemExit, InstallationError):
        raise
    except BaseException:  # what an engine says may quote the data; a panic of Polars is no Exception
        names = None
    if names is None:
        raise DataError("a table is needed", found=type_text(data), remedy="Pass a data frame, or the path of a file.")
    return names
