"""Model classes learned from public tables: draws from conjugate posteriors."""

from bnpriv.networks.learning.groups import parameters_by_group
from bnpriv.networks.learning.network import posterior_network

__all__ = ["parameters_by_group", "posterior_network"]
