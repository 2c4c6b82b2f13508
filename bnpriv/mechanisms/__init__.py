"""Mechanisms: each one file, one claim in docs/claims, one line here."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.mechanisms.base import Calibration as Calibration, Mechanism as Mechanism
    from bnpriv.core.mechanisms.certificate import Certificate as Certificate, Decision as Decision
    from bnpriv.core.mechanisms.column import ColumnMechanism as ColumnMechanism
    from bnpriv.core.mechanisms.law_decision import LawDecision as LawDecision
    from bnpriv.core.mechanisms.law_mechanisms import (
        TightMechanism as TightMechanism,
        WassersteinMechanism as WassersteinMechanism,
    )
    from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism as MarkovQuiltMechanism
    from bnpriv.mechanisms.baselines import (
        GroupPrivacyMechanism as GroupPrivacyMechanism,
        RecordPrivacyMechanism as RecordPrivacyMechanism,
    )
    from bnpriv.mechanisms.chain import ChainDecision as ChainDecision, MarkovChainMechanism as MarkovChainMechanism
    from bnpriv.mechanisms.directional import (
        DirectionalMechanism as DirectionalMechanism,
        ExpectedValueMechanism as ExpectedValueMechanism,
    )
    from bnpriv.mechanisms.gaussian.mechanisms import (
        AttributeGaussianMechanism as AttributeGaussianMechanism,
        DirectionalUncertaintyMechanism as DirectionalUncertaintyMechanism,
        EigenvectorMechanism as EigenvectorMechanism,
        OptimalGaussianMechanism as OptimalGaussianMechanism,
    )
    from bnpriv.mechanisms.misspecified import Misspecified as Misspecified
    from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism as OptimalMechanism
    from bnpriv.mechanisms.plan import STANDARD as STANDARD
    from bnpriv.mechanisms.quantization import QuantizationMechanism as QuantizationMechanism
    from bnpriv.mechanisms.usefulness import Usefulness as Usefulness


__getattr__, __dir__ = lazily(__name__)
