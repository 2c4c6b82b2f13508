"""What every pair of secrets has, whether they are states, values, or whole distributions."""

from __future__ import annotations

from typing import Protocol


class Pair(Protocol):
    """Two secrets of one attribute that must not be told apart; hashable, and equal where both secrets are.

    ``str(pair)`` is the pair in words, with few digits.
    """

    @property
    def first(self) -> object:
        """The one secret: a set of states, an interval of values, a distribution."""
        ...

    @property
    def second(self) -> object:
        """The other secret, of the same form."""
        ...

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        ...

    @property
    def is_point(self) -> bool:
        """Whether both secrets are single states or values."""
        ...

    @property
    def farthest(self) -> float:
        """Largest distance of a value in the first from one in the second; inf where they are no numbers."""
        ...

    @property
    def reverse(self) -> Pair:
        """The pair the other way round."""
        ...

    @property
    def identity(self) -> str:
        """The pair with all digits of its numbers, for hashes."""
        ...

    def __hash__(self) -> int:
        """Return a hash of both secrets."""
        ...
