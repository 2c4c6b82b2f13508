"""Bayesian networks as frozen values."""

from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.density import DensityNetwork, Parameter, Sampling
from bnpriv.networks.discrete import DiscreteNetwork, Level, from_weights
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.networks.graph import Graph
from bnpriv.networks.interval import ContinuousNetwork, IntervalNetwork, Network, exact_tables
from bnpriv.networks.model_class import model_class
from bnpriv.networks.posterior import Posterior
from bnpriv.networks.reading import NodeReading, Reading, drivers
from bnpriv.tables.schema import State

__all__ = [
    "ContinuousNetwork",
    "DensityNetwork",
    "DiscreteNetwork",
    "GaussianNetwork",
    "Graph",
    "IntervalNetwork",
    "Level",
    "MarkovChain",
    "Network",
    "NodeReading",
    "Parameter",
    "Posterior",
    "Reading",
    "Sampling",
    "State",
    "drivers",
    "exact_tables",
    "from_weights",
    "model_class",
]
