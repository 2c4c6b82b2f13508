"""Mechanisms: each one file, one claim in docs/claims, one line here."""

from bnpriv.mechanisms.base import Calibration, Mechanism
from bnpriv.mechanisms.certificate import Certificate, Decision
from bnpriv.mechanisms.column import ColumnMechanism
from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.mechanisms.usefulness import Usefulness

STANDARD: tuple[Mechanism, ...] = (
    MarkovQuiltMechanism(),
    ColumnMechanism(),
    ColumnMechanism(noise="gaussian"),
)
"""What `plan` tries."""

__all__ = [
    "STANDARD",
    "Calibration",
    "Certificate",
    "ColumnMechanism",
    "Decision",
    "MarkovQuiltMechanism",
    "Mechanism",
    "Usefulness",
]
