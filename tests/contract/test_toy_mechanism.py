"""A new mechanism decides once, by a search or a refusal; calibration, plan's form, JSON and release follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import Laplace
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.errors import Refusal
from tests.later import Later

pd = Later("pandas")


# the new mechanism
@dataclass(frozen=True, kw_only=True)
class CautiousMechanism(Mechanism):
    """Noise for the column sensitivity, some times as much of it; for answers of one number."""

    caution: str = "twice"
    claim: ClassVar[str] = "column.md"
    needs_model: ClassVar[bool] = False
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"caution": ("twice", "thrice")}

    def _decide(self, framework, query, epsilon, delta):
        if query.dimension(framework.schema) != 1:
            return Refusal(required="the answer must be one number", found="several", remedy="Ask for one at a time.")

        def search() -> Found:
            moved = column_sensitivity(query, query.columns, framework.schema)
            times = {"twice": 2, "thrice": 3}[self.caution]
            certificate = Certificate(
                theorem="More noise than column sensitivity needs",
                claim=self.claim,
                decisions=(),
                sensitivity=moved,
                source=framework.source,
                assumptions=(),
            )
            return Found(Laplace(times * moved.upper / epsilon * (1 + 1e-15)), certificate, 0.0)

        return search


FRAMEWORK = bp.example("student")
TALL = bp.count(bp.col("height") > 180)


@pytest.mark.parametrize(("caution", "times"), [("twice", 2), ("thrice", 3)])
def test_its_noise_is_what_it_decided(caution: str, times: int) -> None:
    found = CautiousMechanism(caution=caution).calibrate(FRAMEWORK, TALL, epsilon=0.5)
    assert found.scale == pytest.approx(times * bp.ColumnMechanism().calibrate(FRAMEWORK, TALL, epsilon=0.5).scale)
    assert found.delta == 0.0
    assert "More noise than column sensitivity needs" in found.text


def test_what_it_does_not_support_is_refused_once_in_its_own_words() -> None:
    both = bp.stack(TALL, bp.mean("height"))
    reason = CautiousMechanism().supports(FRAMEWORK, both, 1.0)
    assert reason is not None
    assert "the answer must be one number" in str(reason)
    with pytest.raises(bp.errors.RefusedError, match="must be one number"):
        CautiousMechanism().calibrate(FRAMEWORK, both, 1.0)
    with pytest.raises(bp.errors.ParameterError):
        CautiousMechanism(caution="never")


def test_it_is_released_and_counted() -> None:
    found = CautiousMechanism().calibrate(FRAMEWORK, TALL, epsilon=0.5)
    released = bp.release(found, bp.example_data("student"))
    assert released.interval(0.95)[0] <= released.value <= released.interval(0.95)[1]
    assert bp.Accountant(FRAMEWORK).record(found).epsilon <= 0.5
