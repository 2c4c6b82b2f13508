"""What mechanisms ask of a framework: structural evidence (influences), never the notion itself."""

from bnpriv.evidence.base import Influences
from bnpriv.evidence.distributional import DistributionalInfluences, influences

__all__ = ["DistributionalInfluences", "Influences", "influences"]
