"""Bayesian networks as frozen values."""

from bnpriv.networks.discrete import DiscreteNetwork, Level, State
from bnpriv.networks.graph import Graph

__all__ = ["DiscreteNetwork", "Graph", "Level", "State"]
