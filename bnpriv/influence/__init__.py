"""What columns tell about a protected attribute, and which sets of columns tell all of it.

Importing the room registers every kind of network with `bnpriv.influence.base.influence_of`.
"""

from bnpriv.influence import density, finite, gaussian, interval, junction
from bnpriv.influence.chain import column

__all__ = ["column", "density", "finite", "gaussian", "interval", "junction"]
