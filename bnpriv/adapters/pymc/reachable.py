"""What Python functions can get hold of: by closures, defaults, globals, methods and partial applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from bnpriv.adapters.pymc.backend import is_library, is_variable, pymc

_NO_NAMES = frozenset[str]()


def reachable(roots: Iterable[object]) -> Sequence[Any]:
    """Return the PyTensor variables and PyMC models that functions, or objects with functions, can get hold of.

    Of modules, classes and objects of the user's only what some function names is followed; so an object may hold a
    variable that none of its methods in use speaks of.
    """
    start, names, before = list(roots), _NO_NAMES, None
    found: Sequence[Any] = ()
    while names != before:
        before = names
        found, names = _walk(start, names)
    return found


def _walk(roots: Sequence[object], names: frozenset[str]) -> tuple[Sequence[Any], frozenset[str]]:
    """Return what is found if code uses these names, and these names with those of all code on the way."""
    todo, found = list(roots), list[Any]()
    seen: dict[int, object] = {}  # it keeps what it has seen alive, and so its id
    while todo:
        here = todo.pop()
        if id(here) in seen:
            continue
        seen[id(here)] = here
        if _is_found(here):
            found.append(here)
            continue
        if isinstance(here, FunctionType) and not is_library(here):
            names |= _names(here.__code__)
        todo += _within(here, names)
    return found, names


def _is_found(thing: object) -> bool:
    return is_variable(thing) or isinstance(thing, pymc().Model)


def _within(here: object, names: frozenset[str]) -> Iterable[object]:
    if isinstance(here, FunctionType):
        return _of_function(here)
    if isinstance(here, BuiltinFunctionType):
        return (here.__self__,)
    if isinstance(here, MethodType):
        owner = here.__self__
        held = (owner,) if _is_found(owner) else _of_object(owner, names)
        return here.__func__, *held
    if isinstance(here, partial):
        return here.func, *here.args, *here.keywords.values()
    if isinstance(here, Mapping):
        return cast(Mapping[object, object], here).values()
    if isinstance(here, (list, tuple, set, frozenset)):
        return cast(Iterable[object], here)
    if isinstance(here, np.ndarray):
        array = cast(Any, here)
        return array.ravel().tolist() if array.dtype == object else ()
    return _of_object(here, names | {"__call__"})


def _of_function(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if callable(held) or not is_library(function):  # PyMC's own keep the parameters of a law too
            yield held
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    if not is_library(function):
        used = _names(function.__code__)
        yield from (function.__globals__[name] for name in used if name in function.__globals__)


def _of_object(here: object, names: frozenset[str]) -> Iterator[object]:
    """Yield what code may use of a module, a class or an object of the user's; all that an object of PyMC's holds."""
    if isinstance(here, (ModuleType, type)):
        yield from () if is_library(here) else _named(vars(here), names)
        return
    # a decorated, static or class method, or a property
    yield from (getattr_static(here, name, None) for name in ("__wrapped__", "__func__", "fget"))
    held: Mapping[str, object] = getattr(here, "__dict__", {})
    whole = type(here).__module__.split(".")[0] == "pymc"  # such as the parts of a Gaussian process
    yield from held.values() if whole else _named(held, names)
    for kind in type(here).__mro__:
        if not is_library(kind):
            yield from _named(vars(kind), names)
            slots = getattr(kind, "__slots__", ())
            yield from (getattr(here, name, None) for name in slots if name in names)


def _named(held: Mapping[str, object], names: frozenset[str]) -> Iterator[object]:
    return (held[name] for name in names if name in held)


def _names(code: CodeType) -> frozenset[str]:
    """Return the globals, attributes and keys that code uses, and the functions written inside it."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    keys = (each for each in code.co_consts if isinstance(each, str) and each.isidentifier())
    return frozenset(code.co_names).union(keys, *inner)
