"""Mechanisms: each one file, one claim in docs/claims, one line here."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.mechanisms.attribute_gaussian import AttributeGaussianMechanism
    from bnpriv.mechanisms.base import Calibration, Mechanism
    from bnpriv.mechanisms.baselines import GroupPrivacyMechanism, RecordPrivacyMechanism
    from bnpriv.mechanisms.certificate import Certificate, Decision
    from bnpriv.mechanisms.chain import MarkovChainMechanism
    from bnpriv.mechanisms.chain_decision import ChainDecision
    from bnpriv.mechanisms.column import ColumnMechanism
    from bnpriv.mechanisms.directional import DirectionalMechanism
    from bnpriv.mechanisms.directional_uncertainty import DirectionalUncertaintyMechanism
    from bnpriv.mechanisms.eigenvector import EigenvectorMechanism
    from bnpriv.mechanisms.expected_value import ExpectedValueMechanism
    from bnpriv.mechanisms.law_decision import LawDecision
    from bnpriv.mechanisms.misspecified import Misspecified
    from bnpriv.mechanisms.optimal import OptimalMechanism
    from bnpriv.mechanisms.optimal_gaussian import OptimalGaussianMechanism
    from bnpriv.mechanisms.quantization import QuantizationMechanism
    from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
    from bnpriv.mechanisms.standard import STANDARD
    from bnpriv.mechanisms.tight import TightMechanism
    from bnpriv.mechanisms.usefulness import Usefulness
    from bnpriv.mechanisms.wasserstein import WassersteinMechanism

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
