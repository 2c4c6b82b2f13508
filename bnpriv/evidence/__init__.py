"""What mechanisms ask of a framework: influences or laws, never the notion itself."""

from bnpriv.evidence.base import Influences
from bnpriv.evidence.constraints import Constraint, Law, LawPair, Laws, RecordPair
from bnpriv.evidence.distributional import DistributionalInfluences, influences
from bnpriv.evidence.intervals import IntervalInfluences
from bnpriv.evidence.laws import laws

__all__ = [
    "Constraint",
    "DistributionalInfluences",
    "Influences",
    "IntervalInfluences",
    "Law",
    "LawPair",
    "Laws",
    "RecordPair",
    "influences",
    "laws",
]
