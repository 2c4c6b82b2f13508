"""Linear-Gaussian networks: all attributes together are normal."""

from __future__ import annotations

import math
from operator import attrgetter

from bnpriv.core.secrets import ValuesApart
from bnpriv.kind import NetworkKind
from bnpriv.kinds.gaussian.network import GaussianNetwork


def _usual_pairs(network: GaussianNetwork, attribute: str) -> tuple[ValuesApart, ...]:
    """Any two values as far apart as the largest standard deviation of the attribute under any model."""
    place = network.attributes.index(attribute)
    return (ValuesApart(math.sqrt(float(network.covariance[:, place, place].max()))),)


def _assumptions(network: GaussianNetwork) -> tuple[str, ...]:
    return ("All parameters together are normal under every model.",)


def _centred(network: GaussianNetwork) -> tuple[str, ...]:
    return network.attributes


GAUSSIAN_KIND = NetworkKind(
    keeps_draws=True,
    forward=attrgetter("forward"),
    unfixed=attrgetter("unfixed"),
    influence="bnpriv.kinds.gaussian.influence:gaussian_influence",
    mu="bnpriv.kinds.gaussian.influence:largest_distance",
    losses="bnpriv.kinds.gaussian.influence:gaussian_losses",
    explain="bnpriv.kinds.gaussian.influence:explain_distance",
    conditional="bnpriv.kinds.gaussian.influence:two_normals",
    assumptions=_assumptions,
    usual_pairs=_usual_pairs,
    centred=_centred,
    laws_of_records="bnpriv.kinds.gaussian.laws:laws_of_normal_records",
    laws_of_parameters="bnpriv.kinds.gaussian.laws:laws_of_normal_parameters",
    sampler="bnpriv.lab.sampling.drawn:GaussianSampler",
    section="bnpriv.io.framework_text:regressions_section",
)
