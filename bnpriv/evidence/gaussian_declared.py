"""What linear-Gaussian networks declare in their own way: secrets that are numbers some distance apart."""

from __future__ import annotations

import math

from bnpriv.frameworks.distributional import centred
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.secrets.declared import usual_pairs
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.values import ValuesApart


@usual_pairs.register
def _(network: GaussianNetwork, attribute: str) -> tuple[Pair, ...]:
    place = network.attributes.index(attribute)
    return (ValuesApart(math.sqrt(float(network.covariance[:, place, place].max()))),)


@centred.register
def _(network: GaussianNetwork) -> tuple[str, ...]:
    return network.attributes
