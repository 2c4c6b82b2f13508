"""The relative difference of masses that distances do not see, because rounding may have made it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import magnitude
from bnpriv.laws.normal import Normal

MASS_TOLERANCE = 1e-12
"""Relative difference of masses that never counts; rounding and the error of the laws are added."""

FLOW = 1e-13
"""Relative accuracy to which a flow in space has to meet the masses."""


@final
@dataclass(frozen=True, kw_only=True)
class Slack:
    """What a comparison of masses of two laws may be off by, as logs.

    Parameters
    ----------
    rounding : float
        True masses and those compared differ by at most a factor of exp(rounding), f and g taken together.
    """

    rounding: float

    @property
    def factor(self) -> float:
        """Return the part of one law that has to fit inside the other: rounding alone cannot keep it from fitting."""
        return math.exp(-(MASS_TOLERANCE + self.rounding))

    @property
    def band(self) -> float:
        """Return -log(1 - u), at least: if that part is found to fit, 1 - u of the true law fits inside the other."""
        return MASS_TOLERANCE + 2 * self.rounding

    def allowance(self, delta: float) -> float:
        """Return how much of the part may be left over where `delta` of the law may be."""
        return delta * (1 + MASS_TOLERANCE + self.rounding)


def whole(f: Atoms, g: Atoms) -> bool:
    """Return whether all coordinates are whole numbers of a size whose sums and differences are not rounded."""
    supports = [law.support for law in (f, g)]
    return all(np.array_equal(x, np.rint(x)) and np.max(np.abs(x)) < 2**52 / f.dimension for x in supports)


def slack(f: Atoms, g: Atoms) -> Slack:
    """Bound all rounding in the comparison of two laws: the laws' own, exp and log, and one step per atom met."""
    steps = 4 * (f.size + g.size) + 16 * (magnitude(f.logs) + magnitude(g.logs)) + 256
    flow = 4 * FLOW if f.dimension > 1 else 0.0
    return Slack(rounding=f.error + g.error + UNIT_ROUNDOFF * steps + flow)


def tolerance(f: Atoms | Normal, g: Atoms | Normal) -> float:
    """Return u: a distance W between `f` and `g` moves 1 - u of either law inside the other.

    A mechanism that turns W into epsilon has to add ``-log(1 - u)`` to epsilon; one that uses (W, delta)-closeness also
    has to multiply delta by ``(1 + u) / (1 - u)``.

    Parameters
    ----------
    f, g : Atoms or Normal
        The two laws.

    Returns
    -------
    float
        About 1e-12 for short laws; 0 for normal laws.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.transport import tolerance
    >>> tolerance(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6])) < 2e-12
    True
    """
    if isinstance(f, Normal) or isinstance(g, Normal):
        return 0.0
    return -math.expm1(-slack(f, g).band)
