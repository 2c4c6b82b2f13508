"""The privacy notions: who must not learn what, from which tables, under which models. Values that compute nothing."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.frameworks.dataset import DatasetAttributePrivacy
    from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
    from bnpriv.frameworks.framework import Framework
    from bnpriv.frameworks.guarantee import Guarantee, observer_text
    from bnpriv.frameworks.pairs import DistributionPrivacy
    from bnpriv.frameworks.protected import ProtectedSecret, bounds_belief
    from bnpriv.frameworks.question import require_framework
    from bnpriv.frameworks.value import ValuePrivacy

__all__ = [
    "DatasetAttributePrivacy",
    "DistributionPrivacy",
    "DistributionalAttributePrivacy",
    "Framework",
    "Guarantee",
    "ProtectedSecret",
    "ValuePrivacy",
    "bounds_belief",
    "observer_text",
    "require_framework",
]

__getattr__, __dir__ = lazily(__name__)
