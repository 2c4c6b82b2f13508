"""The examples that come with bnpriv: framework files with their networks and simulated data."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from bnpriv.adapters.framework_file import names_pymc, read_framework
from bnpriv.adapters.pymc import from_pymc
from bnpriv.adapters.pymc.backend import pymc
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
