"""Mappings that cannot be changed by accident."""

from __future__ import annotations

from typing import Any, Never, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(dict[K, V]):
    """A dictionary whose methods do not change it; it prints, compares and pickles like one.

    Examples
    --------
    >>> ReadOnly({"a": 1})["a"]
    1
    """

    def _refuse(self, *_: object, **__: object) -> Never:
        raise TypeError("this mapping is read-only; make a new one instead")

    _changing: Any = _refuse
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _changing

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return (ReadOnly, (dict(self),))
