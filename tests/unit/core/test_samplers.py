"""A sampler of the caller that fails, or answers nonsense: our own error, and nothing that tells the answer."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import ParameterError

FRAMEWORK = bp.example("student")
CALIBRATION = bp.ColumnMechanism().calibrate(FRAMEWORK, bp.count(bp.col("height") > 180), epsilon=1.0)


class Strange:
    """Returns what it was made with, or raises it."""

    def __init__(self, given: object) -> None:
        self.given = given

    def laplace(self, values: Sequence[float], scale: float) -> object:
        if isinstance(self.given, BaseException):
            raise type(self.given)(f"{values}")
        return self.given

    gaussian = discrete_laplace = laplace

    def below(self, limit: int) -> object:
        return self.laplace([limit], 1.0)


NONSENSE = (None, (), (1.0, 2.0), (float("nan"),), (float("inf"),), ("1",), "1", 7, (None,), np.array([[1.0]]))


@pytest.mark.parametrize("given", [*NONSENSE, ValueError(), RuntimeError(), OverflowError(), ZeroDivisionError()])
def test_what_a_sampler_does_is_told_and_not_shown(given: object) -> None:
    with pytest.raises(ParameterError, match="finite number") as refused:
        bp.release(CALIBRATION, bp.example_data("student"), sampler=Strange(given))  # pyright: ignore[reportArgumentType]
    assert "1120" not in "".join(traceback.format_exception(refused.value))


def test_ctrl_c_in_a_sampler_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        bp.release(CALIBRATION, bp.example_data("student"), sampler=Strange(KeyboardInterrupt()))  # pyright: ignore[reportArgumentType]


def test_too_many_bins_are_told_at_once() -> None:
    with pytest.raises(bp.errors.SizeError, match="10,000 bins"):
        bp.histogram("height", (120 + k / 10**5 for k in iter(int, 1)))  # without end
    assert len(bp.histogram("height", [120 + k / 1000 for k in range(10_000)]).bins or ()) == 10_000
