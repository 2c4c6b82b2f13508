"""What columns tell about a protected attribute, and which sets of columns tell all of it.

Importing the room registers every kind of network with `bnpriv.influence.base.influence_of`.
"""

from bnpriv.influence import density, finite, gaussian, interval

__all__ = ["density", "finite", "gaussian", "interval"]
