"""A framework file to start from: the columns of a table by name and type, everything else left to be declared.

Only the header is read. Bounds and categories are left blank on purpose: they must come from public knowledge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bnpriv.errors import FileError
from bnpriv.render.text import toml_key

if TYPE_CHECKING:
    from narwhals.dtypes import DType

_HEAD = """\
# A bnpriv framework: what is public about a table, and what answers about it must not reveal.
# Fill in every line that ends in "= ..." and remove the # in front of it. Nothing here may be taken from the data.

notion = "distributional"
# source = "..."                # where the network comes from; it is printed with every answer

[network]
# file = "..."                  # a BIF, XMLBIF or NET file beside this one: how the columns' parameters depend
# level = "parameters"          # a state of a node says what the whole column is like, as "most smoke"; a network that
                                # was fitted to records is of level "records", for notion = "dataset" or "value"

[records]
# count = ...                   # the number of rows, a public fact

# Missing values count as `missing`: the middle of the bounds or the first category, unless you say otherwise.
"""

_TAIL = """\
# [protect.NAME]                # a column whose parameter must stay hidden; all pairs of its states by default
# pairs = [["low", "high"]]

# [queries]
# tall = "count(height > 180)"  # a name of other signs stands between backticks: 'mean(`blood-pressure`)'
"""

_COLUMN_BODY: Mapping[str, str] = {
    "real": 'type = "real"\n# lower = ...\n# upper = ...\n',
    "integer": 'type = "integer"\n# lower = ...\n# upper = ...\n',
    "categorical": 'type = "categorical"\n# categories = [...]\n',
    "unknown": '# type = ...                    # "real", "integer" (lower, upper) or "categorical" (categories)\n',
}


def starter(data: str | os.PathLike[str]) -> str:
    """Return a commented framework file for a table, with bounds and categories left blank.

    Parameters
    ----------
    data : str or path
        A Parquet or CSV file; only its header is used.

    Returns
    -------
    str
        TOML, to be completed by hand; `read_framework` names what is still missing.

    Raises
    ------
    FileError
        If the file is missing, unreadable or of another kind.

    Examples
    --------
    >>> from bnpriv.adapters.examples import example_data
    >>> "[columns.income]" in starter(example_data("student")).splitlines()
    True
    """
    columns = _header(Path(data))
    parts = [f"[columns.{toml_key(name)}]\n{_COLUMN_BODY[kind]}" for name, kind in columns.items()]
    return "\n".join([_HEAD, *parts, _TAIL])


def _header(path: Path) -> dict[str, str]:
    """Return the columns of a file with the kind of column that their types suggest."""
    from bnpriv.tables.files import file_frame, is_data

    known = path.suffix.lower() in (".parquet", ".csv")
    if not known or not is_data(path) or path.is_dir():
        raise FileError(
            f"{path}: a Parquet or CSV file is needed",
            found="none there" if known else f"the ending {path.suffix or '(none)'}",
            remedy="Give the path of the table.",
        )
    with file_frame(path) as (frame, names):
        if path.suffix.lower() == ".csv":  # types could only be guessed from values
            return dict.fromkeys(names, "unknown")
        return dict(zip(names, map(_kind, frame.collect_schema().dtypes()), strict=True))


def _kind(dtype: DType) -> str:
    if dtype.is_integer():
        return "integer"
    return "real" if dtype.is_numeric() else "categorical"
