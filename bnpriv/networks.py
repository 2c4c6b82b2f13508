"""Bayesian networks as frozen values."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.columns import State
    from bnpriv.core.networks.base import (
        ImportReport,
        Level,
        Network,
        NodeReading,
        Posterior,
        driven_by,
        drivers,
        forward_of,
        modelled,
        unfixed_of,
    )
    from bnpriv.core.networks.discrete import (
        DiscreteNetwork,
        IntervalNetwork,
        from_weights,
        no_tables,
        require_discrete,
    )
    from bnpriv.core.networks.graph import Graph
    from bnpriv.io.learning import parameters_by_group
    from bnpriv.kinds.chain.network import MarkovChain
    from bnpriv.kinds.density.network import DensityNetwork, Parameter, Sampling
    from bnpriv.kinds.draws.cache import DrawCache
    from bnpriv.kinds.draws.parameter_draws import ParameterDraws
    from bnpriv.kinds.gaussian.network import GaussianNetwork
    from bnpriv.kinds.graphs import model_class
    from bnpriv.lab.held_out import halves

__all__ = [
    "DensityNetwork",
    "DiscreteNetwork",
    "DrawCache",
    "GaussianNetwork",
    "Graph",
    "ImportReport",
    "IntervalNetwork",
    "Level",
    "MarkovChain",
    "Network",
    "NodeReading",
    "Parameter",
    "ParameterDraws",
    "Posterior",
    "Sampling",
    "State",
    "driven_by",
    "drivers",
    "forward_of",
    "from_weights",
    "halves",
    "model_class",
    "modelled",
    "no_tables",
    "parameters_by_group",
    "require_discrete",
    "unfixed_of",
]

__getattr__, __dir__ = lazily(__name__)
