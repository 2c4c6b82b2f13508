"""Bayesian networks as frozen values."""

from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.discrete import DiscreteNetwork, Level, State
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.networks.graph import Graph
from bnpriv.networks.interval import IntervalNetwork, Network, exact_tables
from bnpriv.networks.model_class import model_class
from bnpriv.networks.posterior import Posterior

__all__ = [
    "DiscreteNetwork",
    "GaussianNetwork",
    "Graph",
    "IntervalNetwork",
    "Level",
    "MarkovChain",
    "Network",
    "Posterior",
    "State",
    "exact_tables",
    "model_class",
]
