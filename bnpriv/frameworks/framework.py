"""A framework of any notion."""

from __future__ import annotations

from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.frameworks.value import ValuePrivacy

Framework = DistributionalAttributePrivacy | DatasetAttributePrivacy | DistributionPrivacy | ValuePrivacy
"""A framework of any notion."""
