"""A framework of any notion."""

from __future__ import annotations

from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.frameworks.value import ValuePrivacy

AttributeFramework = DistributionalAttributePrivacy | DatasetAttributePrivacy | ValuePrivacy
"""A framework that hides attributes of a network."""

Framework = AttributeFramework | DistributionPrivacy
"""A framework of any notion."""
