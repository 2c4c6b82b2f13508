"""The three constants of Gaussian noise, against a computation with 60 digits."""

from __future__ import annotations

import math

import pytest

from bnpriv.core.gaussian_curve import CONSTANTS, constant_refusal, delta_of_constant, gaussian_delta, gaussian_ratio
from bnpriv.errors import ParameterError

EPSILONS = (1e-3, 1e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 1e-2, 0.1)

TABLE = {
    1e-3: (17.40440, 9.89820, 4.61013, 2.57466, 1.44524, 0.68984, 0.40606),
    1e-5: (30.74957, 16.30413, 7.03183, 3.73063, 1.99381, 0.89187, 0.49989),
}
"""Standard deviation per gap for epsilon .1, .2, .5, 1, 2, 5 and 10."""


def test_table() -> None:
    for delta, row in TABLE.items():
        for epsilon, scale in zip((0.1, 0.2, 0.5, 1, 2, 5, 10), row, strict=True):
            assert 1 / gaussian_ratio(epsilon, delta) == pytest.approx(scale, abs=6e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.unhurried
def test_analytic_constant_to_many_digits(epsilon: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        for delta in DELTAS:

            def above(mu: object, epsilon: float = epsilon, delta: float = delta) -> object:
                first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
                return mpmath.ncdf(first) - mpmath.exp(epsilon) * mpmath.ncdf(second) - mpmath.mpf(delta)

            low, high = mpmath.mpf("1e-6"), mpmath.mpf(1000)
            for _ in range(80):
                middle = (low + high) / 2
                low, high = (low, middle) if above(middle) > 0 else (middle, high)
            ratio = gaussian_ratio(epsilon, delta)
            assert ratio <= high  # the private side
            assert ratio >= float(low) * (1 - 1e-7)


def test_the_other_constants() -> None:
    for epsilon in EPSILONS:
        for delta in (5e-324, *DELTAS, 0.5, 0.99):
            textbook = gaussian_ratio(epsilon, delta, "textbook")
            lecture = gaussian_ratio(epsilon, delta, "lecture")
            half = (math.log(1.25) - math.log(delta), math.log(2) - math.log(delta))
            assert [textbook, lecture] == pytest.approx([epsilon / math.sqrt(2 * each) for each in half], rel=1e-12)
            assert lecture < textbook
            if epsilon <= 1:  # where they are proved they need more noise than the curve
                assert textbook <= gaussian_ratio(epsilon, delta)
                assert delta_of_constant(epsilon, delta, "textbook") == delta


def test_beyond_its_proof_the_textbook_constant_fails() -> None:
    """It fails from epsilon 7.463 on at delta 1e-3; what is then promised is what holds."""
    assert delta_of_constant(7.463, 1e-3, "textbook") == 1e-3
    for epsilon in (7.464, 10.0, 50.0):
        holds = delta_of_constant(epsilon, 1e-3, "textbook")
        assert holds > 1e-3
        assert holds >= gaussian_delta(gaussian_ratio(epsilon, 1e-3, "textbook"), epsilon)


@pytest.mark.parametrize("constant", CONSTANTS)
def test_refusals(constant: str) -> None:
    for epsilon in (1e-3, 1.0):
        assert constant_refusal(constant, epsilon, beyond_proof=False) is None
    refusal = constant_refusal(constant, 1.0000001, beyond_proof=False)
    assert (refusal is None) == (constant == "analytic")
    assert constant_refusal(constant, 5.0, beyond_proof=True) is None
    for epsilon, delta in ((math.nan, 0.1), (0.0, 0.1), (1.0, 0.0), (1.0, math.nan), (1.0, 1.0)):
        with pytest.raises(ParameterError):
            gaussian_ratio(epsilon, delta, constant)
    with pytest.raises(ParameterError, match="constant"):
        gaussian_ratio(1.0, 0.1, "best")
