"""Bayesian networks as frozen values."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.columns import State as State
    from bnpriv.core.networks.base import (
        ImportReport as ImportReport,
        Level as Level,
        Network as Network,
        NodeReading as NodeReading,
        Posterior as Posterior,
        driven_by as driven_by,
        drivers as drivers,
        forward_of as forward_of,
        modelled as modelled,
        unfixed_of as unfixed_of,
    )
    from bnpriv.core.networks.discrete import (
        DiscreteNetwork as DiscreteNetwork,
        IntervalNetwork as IntervalNetwork,
        from_weights as from_weights,
        no_tables as no_tables,
        require_discrete as require_discrete,
    )
    from bnpriv.core.networks.graph import Graph as Graph
    from bnpriv.io.learning import parameters_by_group as parameters_by_group
    from bnpriv.kinds.chain.network import MarkovChain as MarkovChain
    from bnpriv.kinds.density.network import (
        DensityNetwork as DensityNetwork,
        Parameter as Parameter,
        Sampling as Sampling,
    )
    from bnpriv.kinds.draws.cache import DrawCache as DrawCache
    from bnpriv.kinds.draws.parameter_draws import ParameterDraws as ParameterDraws
    from bnpriv.kinds.gaussian.network import GaussianNetwork as GaussianNetwork
    from bnpriv.kinds.graphs import model_class as model_class
    from bnpriv.lab.held_out import halves as halves


__getattr__, __dir__ = lazily(__name__)
