"""The examples that come with bnpriv: framework files with their networks and simulated data."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from bnpriv.checks import member
from bnpriv.core.frameworks.question import Framework
from bnpriv.errors import FileError
from bnpriv.io.framework_file import names_pymc, read_framework
from bnpriv.io.pymc.backend import pymc
from bnpriv.io.pymc.read import from_pymc

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
    MissingExtraError
        If it is "admissions", "counties" or "schools", whose network is a PyMC model, and PyMC is not installed.

    Examples
    --------
    >>> sorted(example("student").secrets)
    ['income']
    """
    path = example_path(name)
    if not names_pymc(path):
        return read_framework(path)
    return read_framework(path, network=from_pymc(example_module(name).model()))


def example_module(name: str) -> Any:
    """Return the PyMC module of an example, ``schools_pymc`` for ``schools``.

    Raises
    ------
    FileError
        If there is no such example, or it has no such module.
    MissingExtraError
        If PyMC is not installed.
    """
    pymc()
    path = example_path(name).with_name(f"{name.replace('-', '_')}_pymc.py")
    if not path.is_file():
        raise FileError(
            f"the example {name!r} must have a PyMC module", found="none", remedy="Use bnpriv.example(name)."
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example_path(name: str) -> Path:
    """Return the path of an example's framework file.

    Raises
    ------
    FileError
        If there is no such example.
    """
    member("an example", name, examples(), error=FileError)
    return (_folder() / name / _FRAMEWORK).resolve()


def example_data(name: str, *, public: bool = False) -> Path:
    """Return the path of an example's simulated table.

    Parameters
    ----------
    name : str
        One of `examples()`.
    public : bool
        The public table beside it, which "census" has.

    Returns
    -------
    Path
        A Parquet file; for "census" a CSV file.

    Raises
    ------
    FileError
        If there is no such example, or it has no such table.

    Examples
    --------
    >>> example_data("student").name
    'students.parquet'
    >>> example_data("census", public=True).name
    'public.csv'
    """
    folder = example_path(name).parent
    private = [*folder.glob("*.parquet"), *folder.glob("private.csv")]
    tables = [*folder.glob("public.csv")] if public else private
    if len(tables) != 1:
        kind = "one public table" if public else "one table"
        raise FileError(f"the example {name!r} must have {kind}", found=str(len(tables)), remedy="Use another example.")
    return tables[0]


def _folder() -> Path:
    """Return the folder of the examples: in the package when installed, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"
