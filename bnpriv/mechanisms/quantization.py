"""Bins for the answer, chosen from the laws alone, such that the bin tells little about a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import Refusal
from bnpriv.evidence import laws
from bnpriv.frameworks import Framework
from bnpriv.laws.base import FUNCTION_ERROR, magnitude
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.law_table import LawTable, law_table
from bnpriv.mechanisms.quantization_bins import Bins, ErrorMeasure, best_bins
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Noise
from bnpriv.queries.base import Query

MOST_BINNED = 4_000
"""Atoms for which all bins are tried: a few seconds."""


@final
@dataclass(frozen=True, kw_only=True)
class QuantizationMechanism(Mechanism):
    """Releases a bin of the answer without any noise: the bins are the best that are alike under all secrets.

    Parameters
    ----------
    error : {"absolute", "squared", "zero-one"}
        What an error costs when bins are chosen: its size, its square, or one unless it is zero.

    Raises
    ------
    ParameterError
        If `error` is none of these.

    Notes
    -----
    docs/claims/quantization.md. Lin, Wang, Sekar, Fanti, "Summary Statistic Privacy in Data Sharing" (IEEE Journal on
    Selected Areas in Information Theory, 2024) release the bin of a parameter, against attackers who guess a secret.
    Here the bins bear a guarantee of the kind that all mechanisms give. A channel whose rows are all certain, so that
    `OptimalMechanism` never errs by more. The guarantee is pure: no part of delta is used.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2, 3], [0.2, 0.3, 0.3, 0.2]), Atoms([0, 1, 2, 3], [0.3, 0.2, 0.2, 0.3]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> calibration = bp.mechanisms.QuantizationMechanism().calibrate(framework, epsilon=0.1)
    >>> calibration.noise.outputs, round(calibration.expected_error, 9)
    ((0.0, 2.0), 0.5)
    """

    error: ErrorMeasure = "absolute"
    claim: ClassVar[str] = "quantization.md"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"error": ("absolute", "squared", "zero-one")}
    fixed_shape: ClassVar[bool] = True

    def _refusal(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Refusal | None:
        table = _table(framework, query)
        if isinstance(table, Refusal):
            return table
        if len(table.atoms) <= MOST_BINNED:
            return None
        return Refusal(
            required=f"all bins are tried for at most {MOST_BINNED:,} answers",
            found=f"{len(table.atoms):,}",
            remedy="Take a coarser grid, or use OptimalMechanism.",
        )

    def _calibrated(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Noise, Certificate, float]:
        table = _table(framework, query)
        if isinstance(table, Refusal):
            raise table.error()
        room = epsilon - log_error(table.logs, table.error)
        bins = best_bins(table.atoms, table.prior, table.first, table.second, room, self.error)
        return channel_of(table, bins), _certificate(framework, query, table, bins, self.claim), 0.0
