"""Linear-Gaussian networks: all attributes together are normal."""

from __future__ import annotations

import math

from bnpriv.kind import NetworkKind
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.secrets.values import ValuesApart


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
    influence="bnpriv.influence.gaussian:gaussian_influence",
    mu="bnpriv.influence.gaussian:largest_distance",
    losses="bnpriv.influence.gaussian:gaussian_losses",
    explain="bnpriv.influence.gaussian:explain_distance",
    conditional="bnpriv.influence.gaussian:two_normals",
    assumptions=_assumptions,
    usual_pairs=_usual_pairs,
    centred=_centred,
    laws_of_records="bnpriv.evidence.gaussian_laws:laws_of_normal_records",
    laws_of_parameters="bnpriv.evidence.gaussian_laws:laws_of_normal_parameters",
    sampler="bnpriv.studies.normal:GaussianSampler",
    section="bnpriv.frameworks.file_network:regressions_section",
)
