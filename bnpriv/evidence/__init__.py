"""What mechanisms ask of a framework: influences or laws, never the notion itself."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.evidence.constraints import AnswerLaw, Constraint, DrawFacts, LawPair, Laws, RecordPair
    from bnpriv.evidence.laws import laws
    from bnpriv.evidence.possible import impossibility, require_possible
    from bnpriv.evidence.sampled import SampledLaws
    from bnpriv.evidence.structural import Influences, influences
    from bnpriv.evidence.weighted import plain_laws

__all__ = [
    "AnswerLaw",
    "Constraint",
    "DrawFacts",
    "Influences",
    "LawPair",
    "Laws",
    "RecordPair",
    "SampledLaws",
    "impossibility",
    "influences",
    "laws",
    "plain_laws",
    "require_possible",
]

__getattr__, __dir__ = lazily(__name__)
