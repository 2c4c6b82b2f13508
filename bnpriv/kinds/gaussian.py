"""Linear-Gaussian networks: all attributes together are normal."""

from __future__ import annotations

import math

from bnpriv.kind import NetworkKind, method
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.secrets.values import ValuesApart


class GaussianKind(NetworkKind):
    """A `GaussianNetwork`."""

    sampler = "bnpriv.studies.normal:GaussianSampler"
    keeps_draws = True

    influence = method("bnpriv.influence.gaussian:gaussian_influence")
    laws_of_records = method("bnpriv.evidence.gaussian_laws:laws_of_normal_records")
    laws_of_parameters = method("bnpriv.evidence.gaussian_laws:laws_of_normal_parameters")
    section = method("bnpriv.frameworks.file_network:regressions_section")

    def assumptions(self, network: GaussianNetwork) -> tuple[str, ...]:
        """That parameters are normal."""
        return ("All parameters together are normal under every model.",)

    def usual_pairs(self, network: GaussianNetwork, attribute: str) -> tuple[ValuesApart, ...]:
        """Any two values as far apart as the largest standard deviation of the attribute under any model."""
        place = network.attributes.index(attribute)
        return (ValuesApart(math.sqrt(float(network.covariance[:, place, place].max()))),)

    def centred(self, network: GaussianNetwork) -> tuple[str, ...]:
        """All attributes: records are numbers about a mean."""
        return network.attributes


GAUSSIAN_KIND = GaussianKind()
