"""Bayesian networks as frozen values."""

from bnpriv.networks.discrete import DiscreteNetwork, Level, State
from bnpriv.networks.graph import Graph
from bnpriv.networks.interval import IntervalNetwork, Network, exact_tables
from bnpriv.networks.model_class import model_class

__all__ = [
    "DiscreteNetwork",
    "Graph",
    "IntervalNetwork",
    "Level",
    "Network",
    "State",
    "exact_tables",
    "model_class",
]
