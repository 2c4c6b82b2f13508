"""Mechanisms: each one file, one claim in docs/claims, one line here."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.mechanisms.base import Calibration, Mechanism
    from bnpriv.core.mechanisms.certificate import Certificate, Decision
    from bnpriv.core.mechanisms.column import ColumnMechanism
    from bnpriv.core.mechanisms.law_decision import LawDecision
    from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
    from bnpriv.core.mechanisms.tight import TightMechanism
    from bnpriv.core.mechanisms.wasserstein import WassersteinMechanism
    from bnpriv.mechanisms.baselines import GroupPrivacyMechanism, RecordPrivacyMechanism
    from bnpriv.mechanisms.chain import ChainDecision, MarkovChainMechanism
    from bnpriv.mechanisms.gaussian.attribute import AttributeGaussianMechanism
    from bnpriv.mechanisms.gaussian.covariance import (
        DirectionalUncertaintyMechanism,
        EigenvectorMechanism,
        OptimalGaussianMechanism,
    )
    from bnpriv.mechanisms.misspecified import Misspecified
    from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
    from bnpriv.mechanisms.plan import STANDARD
    from bnpriv.mechanisms.quantization import QuantizationMechanism
    from bnpriv.mechanisms.translations.directional import DirectionalMechanism, ExpectedValueMechanism
    from bnpriv.mechanisms.usefulness import Usefulness

__all__ = [
    "STANDARD",
    "AttributeGaussianMechanism",
    "Calibration",
    "Certificate",
    "ChainDecision",
    "ColumnMechanism",
    "Decision",
    "DirectionalMechanism",
    "DirectionalUncertaintyMechanism",
    "EigenvectorMechanism",
    "ExpectedValueMechanism",
    "GroupPrivacyMechanism",
    "LawDecision",
    "MarkovChainMechanism",
    "MarkovQuiltMechanism",
    "Mechanism",
    "Misspecified",
    "OptimalGaussianMechanism",
    "OptimalMechanism",
    "QuantizationMechanism",
    "RecordPrivacyMechanism",
    "TightMechanism",
    "Usefulness",
    "WassersteinMechanism",
]

__getattr__, __dir__ = lazily(__name__)
