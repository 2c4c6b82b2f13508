"""Published distances and those worked out by hand."""

from __future__ import annotations

import math

import pytest

from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.transport import bounded_closeness, closeness, w_infinity


def both(f: Atoms, g: Atoms, delta: float = 0.0) -> list[float]:
    """Return the distance in both orders, lower and upper ends."""
    found = [closeness(*pair, delta) for pair in ((f, g), (g, f))]
    return [end for bound in found for end in (bound.lower, bound.upper)]


def test_chen_and_ohrimenko_figure_1() -> None:
    """AISTATS 2023: the distance is 97, but all except 0.1 of the mass moves by 1 only."""
    mu, nu = Atoms([1, 2, 3, 100], [0.6, 0.2, 0.0, 0.2]), Atoms([1, 2, 3, 100], [0.4, 0.3, 0.2, 0.1])
    assert both(mu, nu) == [97] * 4
    assert both(mu, nu, 0.1) == [1] * 4
    assert both(mu, nu, 0.0999) == [97] * 4


def test_song_wang_chaudhuri_flu_clique() -> None:
    """SIGMOD 2017: the number of people with flu, given that one of them is well or ill."""
    well, ill = Atoms(range(5), [0.2, 0.225, 0.5, 0.075, 0.0]), Atoms(range(5), [0.0, 0.075, 0.5, 0.225, 0.2])
    assert both(well, ill) == [2] * 4


def test_a_tail_of_1e_minus_300_counts() -> None:
    assert both(Atoms([0, 5], [1.0, 1e-300]), Atoms([0, 5], [1.0, 0.0])) == [5] * 4


def test_rounding_does_not_count() -> None:
    """In doubles .1 + .2 is not .3, and the distance would be 8."""
    assert both(Atoms([0, 1, 9], [0.1, 0.2, 0.7]), Atoms([0, 1, 9], [0.3, 0.0, 0.7])) == [1] * 4


def test_normal_laws() -> None:
    """All of the gap with delta 0; what is left of it may have a total variation of delta."""
    f, g = Normal(0.0, 4.0), Normal(3.0, 4.0)
    assert float(w_infinity(f, g)) == pytest.approx(3)
    assert float(closeness(f, g, 0.3829249225480262)) == pytest.approx(3 - 2, rel=1e-9)  # 2 Phi(1/2) - 1
    assert float(closeness(f, g, 0.6)) == 0
    assert math.isinf(w_infinity(f, Normal(3.0, 4.1)).upper)


def test_chen_and_ohrimenko_theorem_3_3() -> None:
    """Standard normal laws: c = 1.959964 at delta 0.1, so W = gap + 2 c."""
    found = bounded_closeness(Normal(0.0, 1.0), Normal(1.0, 1.0), 0.1)
    assert found.upper == pytest.approx(1 + 2 * 1.959963984540054, rel=1e-10)
