"""What mechanisms ask of a framework: influences or laws, never the notion itself."""

from bnpriv.evidence.base import Influences
from bnpriv.evidence.constraints import Constraint, Drawn, Law, LawPair, Laws, RecordPair
from bnpriv.evidence.distributional import DistributionalInfluences, discrete_influences, influences
from bnpriv.evidence.draws import DrawnLaws
from bnpriv.evidence.intervals import IntervalInfluences
from bnpriv.evidence.laws import laws
from bnpriv.evidence.possible import impossibility, require_possible
from bnpriv.evidence.values import ValueInfluences

__all__ = [
    "Constraint",
    "DistributionalInfluences",
    "Drawn",
    "DrawnLaws",
    "Influences",
    "IntervalInfluences",
    "Law",
    "LawPair",
    "Laws",
    "RecordPair",
    "ValueInfluences",
    "discrete_influences",
    "impossibility",
    "influences",
    "laws",
    "require_possible",
]
