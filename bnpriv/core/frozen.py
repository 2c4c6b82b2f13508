"""Frozen values: read-only mappings, and caches of what was computed from a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Never, TypeVar

# --------------------------------------------------------------------------------------------------
# Mappings that cannot be changed by accident.
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Caches that stay with a frozen value.
# --------------------------------------------------------------------------------------------------


class Cache:
    """A cache of results computed from a frozen value, kept with it: neither compared, hashed nor pickled.

    Whoever keeps results must bound how many, and they may depend on nothing but the value.

    Examples
    --------
    >>> import pickle
    >>> kept = Cache()
    >>> kept.table("squares")[3] = 9
    >>> kept.table("squares"), pickle.loads(pickle.dumps(kept)).table("squares")
    ({3: 9}, {})
    """

    def __init__(self) -> None:
        self._tables: dict[str, dict[Any, Any]] = {}

    def table(self, name: str) -> dict[Any, Any]:
        """The results of one kind, by what they were computed for; the caller fills it."""
        return self._tables.setdefault(name, {})

    def latest(self, name: str, key: Hashable, most: int, make: Callable[[], V]) -> V:
        """What was worked out for a key, or is now; only the latest are kept."""
        kept = self.table(name)
        if key not in kept:
            found = make()
            while len(kept) >= most:
                del kept[next(iter(kept))]
            kept[key] = found
        return kept[key]

    def __reduce__(self) -> tuple[type[Cache], tuple[()]]:
        return Cache, ()

    def __repr__(self) -> str:
        return "Cache()"
