"""The column mechanism: noise that hides any change of the queried columns; no model, always composes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bnpriv.bound import UNIT_ROUNDOFF, Bound
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.mechanisms.base import Mechanism, Search
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise, Gaussian, Laplace, Noise, NoNoise
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.errors import Refusal
from bnpriv.text import full_text, number_text

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

NO_QUERY_FOR_COLUMNS = Refusal(
    required="column sensitivity needs a query",
    found="distributions of an answer alone",
    remedy="Pass query=... and schema=... to the framework, or use WassersteinMechanism or TightMechanism.",
)


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
    needs_model: ClassVar[bool] = False

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        def search() -> Found:
            norm = 1 if self.noise == "laplace" else 2
            moved = column_sensitivity(query, query.columns, framework.schema, norm)
            certificate = Certificate(
                theorem="Additive noise for the column sensitivity of all queried columns",
                claim=self.claim,
                decisions=(),
                sensitivity=moved,
                source=framework.source,
                assumptions=query.assumptions,
                notes=("The noise hides any change of all queried columns; no model is needed.",),
                zero_noise_reason=None if moved.upper else "the answer does not depend on the data",
            )
            noise, spent = noise_for(moved, self.noise, query.dimension(framework.schema), epsilon, delta)
            return Found(noise, certificate, spent)

        return columns_refusal(self.noise, framework, query, delta, large_delta=self.large_delta) or search


def columns_refusal(
    noise: str, framework: Framework, query: Query, delta: float, *, large_delta: bool
) -> Refusal | None:
    """Why noise for a sensitivity alone does not serve a query; None if it does."""
    if isinstance(query, GivenAnswer):
        return NO_QUERY_FOR_COLUMNS
    # Laplace noise needs no delta
    return None if noise == "laplace" else noise_refusal(noise, framework, delta, large_delta=large_delta)


def noise_for(
    moved: Bound, noise: ContinuousNoise, dimension: int, epsilon: float, delta: float
) -> tuple[Noise, float]:
    """The noise that hides a given movement of the answer, and the delta that it needs."""
    if moved.upper == 0:
        return NoNoise(dimension), 0.0
    if noise == "laplace":
        # the quotient and the factor are rounded: a few units more keep the scale above the exact one
        return Laplace(moved.upper / epsilon * (1 + 8 * UNIT_ROUNDOFF), dimension), 0.0
    return Gaussian(moved.upper / gaussian_mu(epsilon, delta) * (1 + 8 * UNIT_ROUNDOFF), dimension), delta


def large_delta_refusal(framework: Framework, delta: float) -> Refusal | None:
    """Why a delta of 1 / records or more is refused, or None if it is smaller."""
    if delta < 1 / framework.schema.records:
        return None
    return Refusal(
        required=f"delta must be below one over the number of records, {number_text(1 / framework.schema.records)}",
        found=f"{full_text(delta)}: publishing some records in full would pass as private",
        remedy="Choose a smaller delta. In Python the option large_delta=True of the mechanism waives this.",
    )


def noise_refusal(noise: str, framework: Framework, delta: float, *, large_delta: bool) -> Refusal | None:
    """Why a law of noise does not go with delta, or None if it does."""
    if noise == "gaussian" and delta == 0:
        return Refusal(
            required="Gaussian noise needs delta above 0",
            found="delta 0",
            remedy="Pass a delta well below one over the number of records, or use Laplace noise.",
        )
    return None if large_delta or delta == 0 else large_delta_refusal(framework, delta)
