"""The privacy notions: who must not learn what, from which tables, under which models. Values that compute nothing."""

from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy, of_parameters
from bnpriv.frameworks.guarantee import Guarantee
from bnpriv.frameworks.pairs import DistributionPrivacy

Framework = DistributionalAttributePrivacy | DatasetAttributePrivacy | DistributionPrivacy

__all__ = [
    "DatasetAttributePrivacy",
    "DistributionPrivacy",
    "DistributionalAttributePrivacy",
    "Framework",
    "Guarantee",
    "of_parameters",
]
