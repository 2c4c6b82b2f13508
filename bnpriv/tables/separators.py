"""Whether a file of texts is one that is read here: UTF-8, with commas between the fields of its first line."""

from __future__ import annotations

import codecs
import csv
import io
from itertools import dropwhile
from pathlib import Path

from bnpriv.errors import FileError

OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "upright bars"}


def refuse_other_encoding(path: Path) -> None:
    """Refuse a file that is UTF-16 or UTF-32, by its first bytes.

    Raises
    ------
    FileError
        If it is; nothing of the file is told.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or start.count(0) == 1:
        raise FileError(
            f"{path}: a file of texts must be UTF-8",
            found="another encoding, such as UTF-16",
            remedy="Save it as CSV UTF-8.",
        )


def refuse_other_separators(path: Path, text: str) -> None:
    """Refuse a file whose first line has no comma between its fields, but another sign.

    Parameters
    ----------
    path : path
        For the message.
    text : str
        The beginning of the file.

    Raises
    ------
    FileError
        If semicolons, tabs or upright bars part that line; a name between quotes may hold them. Nothing else of the
        line is told.
    """
    for sign, called in OTHER_SEPARATORS.items():
        if _first_row(text, ",") == 1 and _first_row(text, sign) > 1:
            raise FileError(
                f"{path}: fields must be separated by commas",
                found=called,
                remedy="Save it as CSV with commas.",
            )


def _first_row(text: str, sign: str) -> int:
    """Return how many fields the first line has that is no comment of a file of the UCI repository."""
    lines = dropwhile(lambda line: line.startswith("|"), io.StringIO(text, newline=""))
    try:
        return len(next(csv.reader(lines, delimiter=sign), ()))
    except csv.Error:
        return 0
