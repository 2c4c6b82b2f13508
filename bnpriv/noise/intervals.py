"""Where the exact answer lies, given what was released."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bnpriv.noise.continuous import Noise

Ends = tuple[float, float]


def intervals(noise: Noise, values: Sequence[float], margins: Sequence[float], level: float) -> tuple[Ends, ...]:
    """Return intervals that hold all the exact answers at once, with probability `level` over the noise.

    Parameters
    ----------
    noise : Noise
    values : sequence of float
        What was released, one for each number.
    margins : sequence of float
        By how much each was moved since.
    level : float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        If `level` is out of range.

    Examples
    --------
    >>> from bnpriv.noise import Channel, NoNoise
    >>> intervals(NoNoise(), [3.0], [0.0], 0.95)
    ((3.0, 3.0),)
    >>> intervals(Channel([0, 1, 2], [1], [[1], [1], [1]], 1, [0.25, 0.5, 0.25]), [1.0], [0.0], 0.95)
    ((0.0, 2.0),)
    """
    own = getattr(noise, "interval", None)
    if own is not None:
        return tuple(own(value, level) for value in values)
    halves = (reach + margin for reach, margin in zip(noise.quantiles(level), margins, strict=True))
    return tuple(
        (value, value)
        if half == 0
        else (math.nextafter(value - half, -math.inf), math.nextafter(value + half, math.inf))
        for value, half in zip(values, halves, strict=True)
    )


def is_none(noise: Noise) -> bool:
    """Return whether an answer is released as it is.

    Examples
    --------
    >>> from bnpriv.noise import Laplace, NoNoise
    >>> is_none(NoNoise()), is_none(Laplace(1.0))
    (True, False)
    """
    exact: bool | None = getattr(noise, "is_exact", None)
    if exact is not None:  # a channel that errs under no law of its prior may err for other answers
        return exact
    return noise.accounted_noise() is None and not any(noise.scales)
