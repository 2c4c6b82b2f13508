"""Noise that hides any change of the queried columns: needs no model, and always composes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bnpriv.bound import UNIT_ROUNDOFF, Bound
from bnpriv.divergences.gaussian import gaussian_mu
from bnpriv.errors import Refusal
from bnpriv.mechanisms.base import Mechanism
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.noise.continuous import ContinuousNoise, Gaussian, Laplace, Noise, NoNoise
from bnpriv.queries.base import Query
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.sensitivity import column_sensitivity
from bnpriv.render.text import full_text, number_text

if TYPE_CHECKING:
    from bnpriv.frameworks.framework import Framework

NO_QUERY_FOR_COLUMNS = Refusal(
    required="column sensitivity needs a query",
    found="laws of an answer alone",
    remedy="Pass query=... and schema=... to the framework, or use WassersteinMechanism or TightMechanism.",
)


@final
@dataclass(frozen=True, kw_only=True)
class ColumnMechanism(Mechanism):
    """Laplace or Gaussian noise for the column sensitivity of all queried columns together.

    It is differential privacy for arbitrary changes of whole columns, so it holds in every framework, under every
    model, and its epsilons add.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm and a pure guarantee, or Gaussian noise for the 2-norm, which needs delta > 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `noise` is neither.

    Notes
    -----
    docs/claims/column.md; the Gaussian scale is that of Balle, Wang, "Improving the Gaussian mechanism" (ICML 2018).

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> round(bp.ColumnMechanism().calibrate(bp.example("student"), query, epsilon=1.0).scale)
    10000
    """

    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "column.md"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": ("laplace", "gaussian")}
    needs_model: ClassVar[bool] = False

    def _refusal(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Refusal | None:
        if isinstance(query, GivenAnswer):
            return NO_QUERY_FOR_COLUMNS
        if self.noise == "laplace":
            return None
        if delta == 0:
            return Refusal(
                required="Gaussian noise needs delta above 0",
                found="delta 0",
                remedy="Pass a delta well below one over the number of records, or use Laplace noise.",
            )
        return None if self.large_delta else large_delta_refusal(framework, delta)

    def _calibrated(
        self, framework: Framework, query: Query, epsilon: float, delta: float
    ) -> tuple[Noise, Certificate, float]:
        schema = framework.schema
        sensitivity = column_sensitivity(query, query.columns, schema, 1 if self.noise == "laplace" else 2)
        dimension = query.dimension(schema)
        noise: Noise
        spent = 0.0
        if sensitivity.upper == 0:
            noise = NoNoise(dimension)
        elif self.noise == "laplace":
            noise = Laplace(sensitivity.upper / epsilon * (1 + 8 * UNIT_ROUNDOFF), dimension)
        else:
            noise = Gaussian(sensitivity.upper / gaussian_mu(epsilon, delta) * (1 + 8 * UNIT_ROUNDOFF), dimension)
            spent = delta
        return noise, self._certificate(framework, query, sensitivity), spent

    def _certificate(self, framework: Framework, query: Query, sensitivity: Bound) -> Certificate:
        return Certificate(
            theorem="Additive noise for the column sensitivity of all queried columns",
            claim=self.claim,
            decisions=(),
            sensitivity=sensitivity,
            source=framework.source,
            assumptions=query.assumptions,
            notes=("The noise hides any change of all queried columns; no model is needed.",),
            zero_noise_reason=None if sensitivity.upper else "the answer does not depend on the data",
        )


def large_delta_refusal(framework: Framework, delta: float) -> Refusal | None:
    """Return why a delta of one over the number of records or more is refused, or None if it is smaller."""
    if delta < 1 / framework.schema.records:
        return None
    return Refusal(
        required=f"delta must be below one over the number of records, {number_text(1 / framework.schema.records)}",
        found=f"{full_text(delta)}: publishing some records in full would pass as private",
        remedy="Choose a smaller delta. In Python the option large_delta=True of the mechanism waives this.",
    )


def noise_refusal(noise: str, framework: Framework, delta: float, *, large_delta: bool) -> Refusal | None:
    """Return why a law of noise does not go with delta, or None if it does."""
    if noise == "gaussian" and delta == 0:
        return Refusal(
            required="Gaussian noise needs delta above 0",
            found="delta 0",
            remedy="Pass a delta well below one over the number of records, or use Laplace noise.",
        )
    return None if large_delta or delta == 0 else large_delta_refusal(framework, delta)
