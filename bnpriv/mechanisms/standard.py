"""The mechanisms that a plan tries."""

from __future__ import annotations

from bnpriv.mechanisms.attribute_gaussian import AttributeGaussianMechanism
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.chain import MarkovChainMechanism
from bnpriv.mechanisms.column import ColumnMechanism
from bnpriv.mechanisms.directional import DirectionalMechanism
from bnpriv.mechanisms.directional_uncertainty import DirectionalUncertaintyMechanism
from bnpriv.mechanisms.optimal import OptimalMechanism
from bnpriv.mechanisms.optimal_gaussian import OptimalGaussianMechanism
from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.mechanisms.tight import TightMechanism
from bnpriv.mechanisms.wasserstein import WassersteinMechanism

STANDARD: tuple[Mechanism, ...] = (
    MarkovQuiltMechanism(),
    MarkovQuiltMechanism(noise="gaussian"),
    TightMechanism(),
    TightMechanism(noise="gaussian"),
    OptimalMechanism(),
    WassersteinMechanism(),
    WassersteinMechanism(noise="gaussian"),
    AttributeGaussianMechanism(),
    MarkovChainMechanism(),
    MarkovChainMechanism(influence="spectral"),
    DirectionalMechanism(),
    DirectionalUncertaintyMechanism(),
    OptimalGaussianMechanism(),
    ColumnMechanism(),
    ColumnMechanism(noise="gaussian"),
)
"""What `plan` tries."""
