"""The page on Laplace and Gaussian noise says what the package computes today."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks import lecture
from bnpriv.core.gaussian_curve import CONSTANTS


def test_the_page_is_what_its_program_writes() -> None:
    assert lecture.PAGE.read_text(encoding="utf-8") == lecture.page()


def test_noise_crosses_where_the_page_says() -> None:
    for epsilon, delta in lecture.ASKED:
        for constant in CONSTANTS:
            at = lecture.crossing(epsilon, delta, constant)
            for k in (int(at), int(at) + 1):
                better = lecture.error(lecture.gaussian(k, epsilon, delta, constant)) < lecture.error(
                    lecture.laplace(k, epsilon)
                )
                assert better == (k > at)
    assert lecture.crossing(1.0, 1e-5, "analytic") == pytest.approx(8.86, abs=0.005)


def test_name_and_shame_passes_for_private_at_delta_of_one_over_n() -> None:
    for records, size in ((3, 1), (7, 1), (7, 3)):
        assert lecture.excess(records, size) == Fraction(size, records)
    assert lecture.refusal(1e-4).startswith("delta must be below one over the number of records")
    assert lecture.refusal(9e-5) == "accepted"
