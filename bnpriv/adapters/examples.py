"""The examples that come with bnpriv: framework files with their networks and simulated data."""

from __future__ import annotations

from pathlib import Path

from bnpriv.adapters.framework_file import read_framework
from bnpriv.checks import member
from bnpriv.errors import FileError
from bnpriv.frameworks import Framework

_FRAMEWORK = "framework.toml"


def examples() -> tuple[str, ...]:
    """Return the names of the examples.

    Examples
    --------
    >>> "student" in examples()
    True
    """
    return tuple(sorted(file.parent.name for file in _folder().glob(f"*/{_FRAMEWORK}")))


def example(name: str) -> Framework:
    """Return the framework of an example.

    Parameters
    ----------
    name : str
        One of `examples()`.

    Returns
    -------
    Framework

    Raises
    ------
    FileError
        If there is no such example.

    Examples
    --------
    >>> sorted(example("student").secrets)
    ['income']
    """
    return read_framework(example_path(name))


def example_path(name: str) -> Path:
    """Return the path of an example's framework file.

    Raises
    ------
    FileError
        If there is no such example.
    """
    member("an example", name, examples(), error=FileError)
    return (_folder() / name / _FRAMEWORK).resolve()


def example_data(name: str) -> Path:
    """Return the path of an example's simulated table.

    Parameters
    ----------
    name : str
        One of `examples()`.

    Returns
    -------
    Path
        A Parquet file.

    Raises
    ------
    FileError
        If there is no such example, or it has no table.

    Examples
    --------
    >>> example_data("student").name
    'students.parquet'
    """
    tables = sorted(example_path(name).parent.glob("*.parquet"))
    if len(tables) != 1:
        raise FileError(
            f"the example {name!r} must have one table", found=str(len(tables)), remedy="Use another example."
        )
    return tables[0]


def _folder() -> Path:
    """Return the folder of the examples: in the package when installed, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
