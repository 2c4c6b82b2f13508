"""Bins for the answer, chosen from the laws alone, such that the bin tells little about a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, Bound
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Laws
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.framework import Framework
from bnpriv.laws.base import FUNCTION_ERROR, magnitude
from bnpriv.mechanisms.alike import LEANS_ON
from bnpriv.mechanisms.base import Found, Mechanism, Search
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.channel_facts import ALONE
from bnpriv.mechanisms.law_table import table_of
from bnpriv.mechanisms.optimal_laws import LawTable, Loss
from bnpriv.mechanisms.quantization_bins import Bins, best_bins
from bnpriv.noise.channel import Channel
from bnpriv.queries.base import Query
from bnpriv.render.text import number_text

MOST_BINNED = 4_000
"""Atoms for which all bins are tried: a few seconds."""

MOST_SAID_BINS = 8
"""Bins that are told in words."""


@final
@dataclass(frozen=True, kw_only=True)
class QuantizationMechanism(Mechanism):
    """Releases a bin of the answer without any noise: the bins are the best that are alike under all secrets.

    Parameters
    ----------
    error : {"absolute", "squared", "zero-one"}
        What an error costs when bins are chosen: its size, its square, or one unless it is zero.
    weights : None
        Not taken: bins are for an answer of one number.

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

    error: Loss = "absolute"
    claim: ClassVar[str] = "quantization.md"
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"error": ("absolute", "squared", "zero-one")}
    fixed_shape: ClassVar[bool] = True

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal):
            return evidence
        table = table_of(evidence)
        if isinstance(table, Refusal):
            return table
        if table.size > MOST_BINNED:
            return Refusal(
                required=f"all bins are tried for at most {MOST_BINNED:,} answers",
                found=f"{table.size:,}",
                remedy="Take a coarser grid, or use TightMechanism.",
            )
        return partial(self._search, evidence, table, framework, query, epsilon)

    def _search(self, evidence: Laws, table: LawTable, framework: Framework, query: Query, epsilon: float) -> Found:
        first, second = table.ways[table.ways[:, 0] < table.ways[:, 1]].T
        logs = table.logs[first], table.logs[second]
        bins = best_bins(table.points, table.mean, *logs, epsilon - _lost(table), self.error)
        certificate = Certificate(
            theorem="Bins of the answer that are alike under all secrets",
            claim=self.claim,
            decisions=(),
            sensitivity=Bound(0.0, 0.0, table.kind),
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=evidence.dropped,
            notes=(_bins_text(table, bins), LEANS_ON, ALONE),
            zero_noise_reason="Every bin of the answer is about as likely under either secret of every pair.",
        )
        return Found(_channel(table, bins), certificate, 0.0)


def _lost(table: LawTable) -> float:
    """Return by how much the log ratio of the masses of a bin may be off, rounding included."""
    steps = table.size * (magnitude(table.logs) + 2 * FUNCTION_ERROR)
    return 2 * (float(np.max(table.errors)) + UNIT_ROUNDOFF * steps)


def _channel(table: LawTable, bins: Bins) -> Channel:
    """Return the channel that releases for every answer the atom that stands for its bin."""
    size, count = table.size, len(bins.starts)
    rows = np.zeros((size, count), dtype=np.int64)
    rows[np.arange(size), np.searchsorted(bins.starts, np.arange(size), side="right") - 1] = 1
    return Channel(table.points.tolist(), table.points[bins.released].tolist(), rows, 1, table.mean)


def _bins_text(table: LawTable, bins: Bins) -> str:
    """Return the bins in words; of many the first ones."""
    lasts = np.append(bins.starts[1:], table.size) - 1
    ends = zip(table.points[bins.starts], table.points[lasts], table.points[bins.released], strict=True)
    if len(lasts) == 1:
        only = number_text(float(table.points[bins.released[0]]))
        return f"Whatever the answer is, {only} is released: no finer bins are alike under all secrets."
    texts = [
        f"{number_text(low)}{'' if low == high else f' to {number_text(high)}'} as {number_text(value)}"
        for low, high, value in ends
    ]
    more = f" and {len(texts) - MOST_SAID_BINS:,} more" if len(texts) > MOST_SAID_BINS else ""
    return f"The answer is released as one of {len(texts):,} bins: {', '.join(texts[:MOST_SAID_BINS])}{more}."
