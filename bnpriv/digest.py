"""All hashes of values and tables: of bytes as they are stored, and of values with all that they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

MOST_TYPES = 1024
"""Types of which it is kept how they are walked through: asking abstract classes takes longer than hashing."""

_SHAPES: Mapping[str, tuple[type[Any], ...]] = {
    "plain": (str, bytes, bool, int, float, complex, Fraction, np.generic, type(None)),
    "array": (np.ndarray,),
    "mapping": (Mapping,),
    "set": (Set,),
    "sequence": (list, tuple),
}

_FIRST_MODULES: Mapping[str, tuple[str, ...]] = {
    "bnpriv.secrets.apart": ("Apart",),
    "bnpriv.secrets.properties": ("Secret",),
    "bnpriv.secrets.states": ("SecretPair", "SecretPairs"),
    "bnpriv.secrets.values": ("Interval", "IntervalPair", "IntervalPairs", "ValuesApart"),
    "bnpriv.queries.base": ("Indicator", "Output", "Power", "Product"),
    "bnpriv.queries.bins": ("ColumnBin",),
    "bnpriv.queries.builtin": ("Count", "Histogram", "Linear", "Mean", "Moments", "Proportion", "Stack", "Total"),
    "bnpriv.queries.crossed": ("CountBy", "Crosstab"),
    "bnpriv.queries.custom": ("Custom",),
    "bnpriv.queries.derived": ("Derivation",),
    "bnpriv.queries.given": ("GivenAnswer",),
    "bnpriv.queries.predicates": ("And", "Col", "Comparison", "IsIn", "Not", "Or"),
    "bnpriv.queries.quantiles": ("Quantile",),
    "bnpriv.queries.spread": ("Covariance", "Std", "Variance"),
    "bnpriv.queries.weighted": ("AnswerPart", "Weighted"),
    "bnpriv.tables.bins": ("Binned",),
    "bnpriv.tables.columns": ("Categorical", "Integer", "Real"),
    "bnpriv.tables.schema": ("Schema",),
}
"""Where classes stood when they were first hashed, whose hashes are part of fingerprints.

Ledgers and calibrations keep fingerprints, so that a class is hashed under its first name wherever it stands now.
"""

_FIRST_MODULE = {name: module for module, names in _FIRST_MODULES.items() for name in names}


def sha256(*parts: str | bytes | NDArray[Any]) -> str:
    """The SHA-256 of some parts, one after the other, in hexadecimal: what ledgers, files and fingerprints keep.

    Nothing marks where a part ends: whoever calls it writes parts that cannot be taken for others.

    Examples
    --------
    >>> sha256("a", b"b", np.zeros(1)) == sha256(b"ab" + bytes(8))
    True
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            found.update(part.encode())
        else:
            found.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
    return found.hexdigest()


def digest(value: object) -> str:
    """A hash of a value: of plain values, sequences, mappings, sets, arrays, functions and dataclasses.

    A change is seen by it that frozen dataclasses do not prevent. It is equal for pickled copies, and in every process;
    fingerprints hold that of secrets. Fields of dataclasses that do not count when two are compared do not count here.
    Of other objects only the type counts.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
        Equal for values that hold the same, in all likelihood different for others.

    Examples
    --------
    >>> digest({"a": (1, 2.0)}) == digest({"a": [1, 2.0]}), digest(1) == digest(1.0)
    (True, False)
    """
    return _hash(_Walk().of(value))[1:].hex()


def first_digest(value: object) -> str:
    """The hash of a value as it was when this was first asked: what was computed since is about that.

    Whoever keeps results with a value asks for it first. If the value is changed later, `digest` differs from it.

    Examples
    --------
    >>> from bnpriv.io.examples import example
    >>> framework = example("student")
    >>> first_digest(framework) == digest(framework)
    True
    """
    known = vars(value)
    if "_digest" not in known:
        object.__setattr__(value, "_digest", digest(value))
    return cast(str, known["_digest"])


class _Walk:
    """One walk through a value, in which every object is hashed once."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self.kept: list[object] = []  # an object that is gone could leave its place to another one

    def of(self, value: object) -> bytes:
        if _shape(type(value)) == "plain":
            # hashed with what holds it; no name of a type begins like a hash
            return f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
        if id(value) not in self.known:
            self.known[id(value)] = b"above"  # what holds itself
            self.kept.append(value)
            self.known[id(value)] = self._held(value)
        return self.known[id(value)]

    def _held(self, value: object) -> bytes:
        match _shape(type(value)):
            case "sequence":
                return self._all("sequence", cast("Iterable[object]", value))
            case "array":
                array = cast("np.ndarray[Any, Any]", value)
                if array.dtype.hasobject:
                    return self._all("array", (array.shape, array.tolist()))
                return _hash("array", array.dtype.str, repr(array.shape), array.tobytes())
            case "mapping":
                pairs = cast("Mapping[object, object]", value).items()
                return _hash("mapping", *sorted(_hash(self.of(key), self.of(held)) for key, held in pairs))
            case "set":
                return _hash("set", *sorted(map(self.of, cast("Set[object]", value))))
            case "dataclass":
                return self._all(_name(type(value)), (getattr(value, name) for name in _counted(type(value))))
            case _:
                return self._behaviour(value)

    def _behaviour(self, value: object) -> bytes:
        if isinstance(value, MethodType):
            return self._all("method", (value.__func__, value.__self__))
        if isinstance(value, FunctionType):
            cells = tuple(cell.cell_contents for cell in value.__closure__ or () if _filled(cell))
            return self._all(_name(value), (value.__code__, value.__defaults__, value.__kwdefaults__, cells))
        if isinstance(value, CodeType):
            return self._all("code", (value.co_code, value.co_names, value.co_consts))
        return _hash(_name(value if isinstance(value, type) else type(value)))

    def _all(self, kind: str, parts: Iterable[object]) -> bytes:
        return _hash(kind, *map(self.of, parts))


@lru_cache(maxsize=MOST_TYPES)
def _shape(kind: type[Any]) -> str:
    """Return how values of a type are walked through."""
    if is_dataclass(kind) and not issubclass(kind, (Mapping, Set, list, tuple)):
        return "dataclass"
    return next((name for name, kinds in _SHAPES.items() if issubclass(kind, kinds)), "behaviour")


@lru_cache(maxsize=MOST_TYPES)
def _counted(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.compare)


def _name(kind: type | Callable[..., object]) -> str:
    module = kind.__module__
    if module.startswith("bnpriv.core."):
        module = _FIRST_MODULE.get(kind.__qualname__, module)
    return f"{module}.{kind.__qualname__}"


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (raises while a variable has no value)
    except ValueError:
        return False
    return True


def _hash(*parts: str | bytes) -> bytes:
    encoded = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]
    return b"#" + hashlib.sha256(b"".join([b"%d %b" % (len(part), part) for part in encoded])).digest()
