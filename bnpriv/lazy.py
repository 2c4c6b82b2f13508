"""Packages that load a name when it is first used, so that importing one does not run all that it offers."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType


def lazily(package: str, beside: tuple[str, ...] = ()) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose imports stand under ``if TYPE_CHECKING:``.

    The imports are read from the package's own source, so that type checkers, readers and the interpreter all go by
    the same lines: each is written ``name as name``, which hands it on, and ``__all__`` is made of them.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    beside : tuple of str
        Names that it gives to those who ask, and does not list in its ``__all__``.

    Returns
    -------
    tuple of callable
        ``__getattr__``, which loads a name when it is first asked for and keeps it, and ``__dir__``.
    """
    where = dict(_imports(package))
    face = sys.modules[package]
    face.__dict__["_offered"] = frozenset(name for name, (module, _) in where.items() if module != package)
    face.__dict__["__all__"] = sorted(where.keys() - set(beside))
    face.__class__ = _Face

    def load(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inner = where[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), inner)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        loaded = vars(face)
        return sorted({*loaded["__all__"], *(name for name in loaded if name.startswith("__"))})

    return load, names


class _Face(ModuleType):
    """A package whose names its modules do not take: ``bnpriv.release`` stays a function once the room is loaded."""

    _offered: frozenset[str]

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in self._offered):
            super().__setattr__(name, value)


def _imports(package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every name that the source of a package imports under ``if TYPE_CHECKING:``, with where it comes from."""
    for block in ast.parse(inspect.getsource(sys.modules[package])).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((alias.asname or alias.name, (line.module, alias.name)) for alias in line.names)
