"""The privacy notions: who must not learn what, from which tables, under which models. Values that compute nothing."""

from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.guarantee import Guarantee

Framework = DistributionalAttributePrivacy

__all__ = ["DistributionalAttributePrivacy", "Framework", "Guarantee"]
