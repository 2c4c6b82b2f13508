"""What was computed from a frozen value and stays with it."""

from __future__ import annotations

from typing import Any, final


@final
class Kept:
    """Results that were computed from a frozen value, kept with it: neither compared, hashed nor pickled.

    Whoever keeps results must bound how many, and they may depend on nothing but the value.

    Examples
    --------
    >>> import pickle
    >>> kept = Kept()
    >>> kept.table("squares")[3] = 9
    >>> kept.table("squares"), pickle.loads(pickle.dumps(kept)).table("squares")
    ({3: 9}, {})
    """

    def __init__(self) -> None:
        self._tables: dict[str, dict[Any, Any]] = {}

    def table(self, name: str) -> dict[Any, Any]:
        """Return the results of one sort by what they were computed for; to be filled by the caller."""
        return self._tables.setdefault(name, {})

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def __repr__(self) -> str:
        return "Kept()"
