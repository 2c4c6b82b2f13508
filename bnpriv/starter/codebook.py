"""Codebooks: what a public document says about columns, as a table, as TOML, or in the style of a ``.names`` file."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, final

from bnpriv.adapters.files import path_text, read_text
from bnpriv.adapters.toml_file import parse_toml
from bnpriv.checks import listing, member
from bnpriv.errors import FileError
from bnpriv.starter.header import distinct

MOST_CODEBOOK_BYTES = 2**22

CODEBOOK_TYPES = ("real", "integer", "categorical", "unknown")

_CODEBOOK_LINE = re.compile(r"(?P<name>[^:|]+):(?P<said>[^|]*)")
_SAID_OF_NUMBERS = ("continuous", "numeric", "real")


@final
@dataclass(frozen=True, kw_only=True)
class Described:
    """What is public about one column; what is not known is None or empty.

    Parameters
    ----------
    kind : str
        "real", "integer", "categorical" or "unknown".
    lower, upper : float, optional
    categories : tuple of str
    nameless : bool
        Whether the codebook lists the column's categories without its name.
    """

    kind: str = "unknown"
    lower: float | None = None
    upper: float | None = None
    categories: tuple[str, ...] = ()
    nameless: bool = False

    def __post_init__(self) -> None:
        member("a type in a codebook", self.kind, CODEBOOK_TYPES, error=FileError)
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise FileError(
                "lower must be below upper in a codebook",
                found=f"{self.lower:g} and {self.upper:g}",
                remedy="Correct the codebook.",
            )
        repeated = [each for k, each in enumerate(self.categories) if each in self.categories[:k]]
        if repeated:
            raise FileError(
                "categories of a codebook must differ", found=f"{listing(repeated)} again", remedy="List each once."
            )


def read_codebook(path: str | os.PathLike[str]) -> dict[str, Described]:
    """Read a codebook.

    Parameters
    ----------
    path : str or path
        A CSV file with the columns column, type, lower, upper and categories (separated by ``|``); a TOML file with a
        table of these keys for each column; or lines like ``age: continuous.`` and ``sex: Female, Male.``

    Returns
    -------
    dict from str to Described
        In the order of the file.

    Raises
    ------
    FileError
        If it is unreadable, describes nothing, or describes a column twice or not well.
    """
    label = path_text(path)
    text = read_text(path, MOST_CODEBOOK_BYTES)
    suffix = Path(path).suffix.lower()
    reader = {".toml": _from_toml, ".csv": _from_csv}.get(suffix, _from_lines)
    try:
        found = reader(label, text)
        distinct([name for name, _ in found])
    except FileError as refused:
        required = refused.required if refused.required.startswith(label) else f"{label}: {refused.required}"
        raise FileError(required, found=refused.found, remedy=refused.remedy) from None
    return dict(found)


def _from_toml(label: str, text: str) -> list[tuple[str, Described]]:
    values = parse_toml(label, text)
    tables = values.get("columns", values)
    rows: list[tuple[str, Described]] = []
    for name, said in cast("Mapping[str, Any]", tables).items() if isinstance(tables, Mapping) else ():
        if not isinstance(said, Mapping):
            raise FileError(f"{name[:80]!r} must be a table", found="another value", remedy="Write [columns.NAME].")
        known = {str(key): value for key, value in cast("Mapping[str, Any]", said).items()}
        listed = known.get("categories", [])
        if not isinstance(listed, list):
            raise FileError("categories must be a list", found="another value", remedy='Write ["a", "b"].')
        rows.append((name, _described(known, tuple(map(str, cast("list[object]", listed))))))
    return rows


def _from_csv(label: str, text: str) -> list[tuple[str, Described]]:
    del label
    table = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
    if "column" not in (table.fieldnames or ()):
        raise FileError(
            "a codebook needs the columns column, type, lower, upper, categories",
            found="no column named column",
            remedy="Write its first line: column,type,lower,upper,categories",
        )
    rows: list[tuple[str, Described]] = []
    for row in table:
        said = {str(key): str(value).strip() for key, value in row.items() if value}
        listed = tuple(each.strip() for each in said.get("categories", "").split("|") if each.strip())
        rows.append((said.get("column", ""), _described(said, listed)))
    return rows


def _from_lines(label: str, text: str) -> list[tuple[str, Described]]:
    """Read lines of the ``.names`` style; the classes, which stand first without a name, are the last column."""
    rows: list[tuple[str, Described]] = []
    classes: tuple[str, ...] = ()
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("|"):
            continue
        match = _CODEBOOK_LINE.fullmatch(line.split("|")[0])
        if match is None:
            if not rows and not classes:
                classes = _listed(line)
            continue
        said = match["said"].strip().rstrip(".").lower()
        kind = "real" if said in _SAID_OF_NUMBERS else "unknown" if not said else "categorical"
        listed = _listed(match["said"]) if kind == "categorical" else ()
        rows.append((match["name"].strip(), Described(kind=kind, categories=listed)))
    if not rows:
        raise FileError(
            "a codebook describes columns",
            found="no line like `age: continuous.`",
            remedy=f"Give {label} as CSV or TOML, or with lines like `sex: Female, Male.`",
        )
    last = Described(kind="categorical", categories=classes, nameless=True)
    return [*rows, ("class", last)] if len(classes) > 1 else rows


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.strip().rstrip(".").split(",") if each.strip())


def _described(said: Mapping[str, Any], categories: tuple[str, ...]) -> Described:
    lower, upper = (_number(key, said.get(key)) for key in ("lower", "upper"))
    usual = "categorical" if categories else "unknown" if lower is None else "real"
    return Described(kind=str(said.get("type") or usual), lower=lower, upper=upper, categories=categories)


def _number(key: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError):
        number = float("nan")
    if number - number != 0:
        raise FileError(f"{key} must be a finite number", found="something else", remedy="Correct the codebook.")
    return number
