"""What `bnpriv.release` returns, without knowing the room that touches data."""

from __future__ import annotations

from typing import Protocol

from bnpriv.frameworks.guarantee import Guarantee

IntervalEnds = tuple[float, float]
"""The ends of an interval for an exact answer."""


class Released(Protocol):
    """A released answer: what `bnpriv.release` returns."""

    @property
    def value(self) -> float | tuple[float, ...]:
        """Return the number if there is one, else the tuple of all."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """Return what the release promises."""
        ...

    def interval(self, level: float = 0.95) -> IntervalEnds | tuple[IntervalEnds, ...]:
        """Return intervals that hold all the exact answers at once, with probability `level` over the noise."""
        ...

    def clamped(self) -> Released:
        """Return the release with every number moved into the range of its exact answer."""
        ...

    def rounded(self) -> Released:
        """Return the release with counts and other whole-numbered answers rounded."""
        ...

    def to_json(self) -> str:
        """Return the release with its calibration as JSON."""
        ...
