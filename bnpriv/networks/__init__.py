"""Bayesian networks as frozen values."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.networks.base import Level, Network
    from bnpriv.networks.chain import MarkovChain
    from bnpriv.networks.density import DensityNetwork, Parameter, Sampling
    from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork
    from bnpriv.networks.draw_cache import DrawCache
    from bnpriv.networks.exact import from_weights, no_tables, require_discrete
    from bnpriv.networks.forward import forward_of, unfixed_of
    from bnpriv.networks.gaussian import GaussianNetwork
    from bnpriv.networks.graph import Graph
    from bnpriv.networks.learning.groups import parameters_by_group
    from bnpriv.networks.model_class import model_class
    from bnpriv.networks.parameter_draws import ParameterDraws
    from bnpriv.networks.posterior import Posterior
    from bnpriv.networks.reading import NodeReading, Reading, driven_by, drivers, modelled
    from bnpriv.tables.schema import State

__all__ = [
    "DensityNetwork",
    "DiscreteNetwork",
    "DrawCache",
    "GaussianNetwork",
    "Graph",
    "IntervalNetwork",
    "Level",
    "MarkovChain",
    "Network",
    "NodeReading",
    "Parameter",
    "ParameterDraws",
    "Posterior",
    "Reading",
    "Sampling",
    "State",
    "driven_by",
    "drivers",
    "forward_of",
    "from_weights",
    "model_class",
    "modelled",
    "no_tables",
    "parameters_by_group",
    "require_discrete",
    "unfixed_of",
]

__getattr__, __dir__ = lazily(__name__)
