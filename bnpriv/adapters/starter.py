"""A framework file to start from: the columns of a table by name and type, everything else left to be declared.

Only the header is read. Bounds and categories are left blank on purpose: they must come from public knowledge.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path

from bnpriv.errors import FileError
from bnpriv.render.text import toml_key
from bnpriv.tables.files import is_data

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
    import duckdb

    readers = {".parquet": "read_parquet(?)", ".csv": "read_csv(?, all_varchar = true, header = true)"}
    reader = readers.get(path.suffix.lower())
    if reader is None or not is_data(path) or path.is_dir():
        raise FileError(
            f"{path}: a Parquet or CSV file is needed",
            found="none there" if reader else f"the ending {path.suffix or '(none)'}",
            remedy="Give the path of the table.",
        )
    try:
        with duckdb.connect() as connection:
            rows = connection.execute(
                f"DESCRIBE SELECT * FROM {reader}", [glob.escape(str(path.absolute()))]
            ).fetchall()
    except duckdb.Error:
        rows = []
    if not rows:
        raise FileError(
            f"{path}: the table must have a header", found="none that can be read", remedy="Export it again."
        )
    # The types of a CSV file could only be guessed from its values.
    return {str(row[0]): "unknown" if path.suffix.lower() == ".csv" else _kind(str(row[1])) for row in rows}


def _kind(dtype: str) -> str:
    if dtype.startswith(("DOUBLE", "FLOAT", "DECIMAL", "REAL")):
        return "real"
    return "integer" if dtype.endswith(("INT", "INTEGER")) else "categorical"
