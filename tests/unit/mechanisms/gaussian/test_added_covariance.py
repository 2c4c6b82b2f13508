"""Covariances that hide gaps: closed forms, the published example, and an independent check in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.gaussian_curve import gaussian_ratio
from bnpriv.errors import Refusal
from bnpriv.mechanisms.gaussian import mechanisms as added_covariance, mechanisms as method
from bnpriv.mechanisms.gaussian.mechanisms import (
    Gap,
    along_direction,
    along_eigenvectors,
    hidden,
    least_above,
    least_trace,
)
from tests.seeds import seeds

EXAMPLE = [Gap(np.array([1.0, -1.0]), np.array([[22.0, -6.0], [-6.0, 13.0]]))]
TEXTBOOK = gaussian_ratio(1.0, 1e-3, "textbook")
ANALYTIC = gaussian_ratio(1.0, 1e-3)


def squared_length(gap: np.ndarray, covariance: np.ndarray, added: np.ndarray) -> Fraction:
    """Return d' (C + S)^-1 d of the doubles as they are, by elimination in fractions."""
    size = len(gap)
    rows = [
        [Fraction(float(covariance[i, j])) + Fraction(float(added[i, j])) for j in range(size)]
        + [Fraction(float(gap[i]))]
        for i in range(size)
    ]
    total = Fraction(0)
    for k in range(size):
        pivot = rows[k][k]
        assert pivot > 0  # a positive definite matrix has only such pivots
        total += rows[k][size] ** 2 / pivot
        for i in range(k + 1, size):
            factor = rows[i][k] / pivot
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return total


def random_gaps(rng: np.random.Generator, *, one_covariance: bool = False, collinear: bool = False) -> list[Gap]:
    """Draw gaps in 1 to 8 dimensions, 1 to 10 of them, in units that differ by up to a factor of a thousand."""
    size, many = int(rng.integers(1, 9)), int(rng.integers(1, 11))
    units = 10 ** rng.uniform(-1.5, 1.5, size) if rng.random() < 0.5 else np.ones(size)

    def covariance() -> np.ndarray:
        root = rng.normal(size=(size, size + int(rng.integers(0, 4)))) * units[:, None]
        found = root @ root.T + 1e-3 * np.diag(units**2)
        return (found + found.T) / 2

    shared, way = covariance(), rng.normal(size=size) * units
    spread = 10 ** rng.uniform(-1, 1.5)
    return [
        Gap(
            spread * (way * rng.normal() if collinear else rng.normal(size=size) * units),
            shared if one_covariance else covariance(),
        )
        for _ in range(many)
    ]


# --- the published example -------------------------------------------------------------------------------------------


def test_theorem_4_5_example() -> None:
    assert round(2 / TEXTBOOK**2, 2) == 28.52
    variances = np.linalg.eigvalsh(_matrix(along_eigenvectors(EXAMPLE, TEXTBOOK)))
    assert variances.tolist() == pytest.approx([3.52, 18.52], abs=0.005)


def test_one_direction_and_least_trace_of_the_example() -> None:
    direction = _matrix(along_direction(EXAMPLE, TEXTBOOK))
    assert np.trace(direction) == pytest.approx(6.7845, abs=5e-5)
    assert np.linalg.matrix_rank(direction, tol=1e-9) == 1
    assert np.trace(least_trace(EXAMPLE, TEXTBOOK)) == pytest.approx(6.170, abs=5e-4)
    assert not hidden(EXAMPLE, TEXTBOOK)
    assert hidden(EXAMPLE, ANALYTIC)
    assert np.trace(least_trace(EXAMPLE, ANALYTIC)) == 0


# --- one gap ---------------------------------------------------------------------------------------------------------


def test_one_gap_is_the_positive_part() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        [gap, *_] = random_gaps(rng)
        values = np.linalg.eigvalsh(np.outer(gap.gap, gap.gap) - gap.covariance)
        assert np.trace(least_trace([gap], 1.0)) == pytest.approx(np.maximum(values, 0).sum(), rel=1e-8, abs=1e-12)


def test_direction_agrees_with_bisection() -> None:
    """The paper's way to find the variance: the least s^2 for which the constraint holds."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        [gap, *_] = random_gaps(rng)
        way = gap.gap / np.linalg.norm(gap.gap)
        low, high = 0.0, 1e12
        for _ in range(200):
            middle = (low + high) / 2
            inverse = np.linalg.inv(gap.covariance + middle * np.outer(way, way))
            low, high = (low, middle) if gap.gap @ inverse @ gap.gap <= 0.09 else (middle, high)
        assert np.trace(_matrix(along_direction([gap], 0.3))) == pytest.approx(high, rel=1e-5, abs=1e-6)


# --- hundreds of random instances ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(4, slow=12))
def test_least_trace_is_never_worse_and_certainly_private(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    for k in range(25):
        gaps, ratio = random_gaps(rng, one_covariance=k % 3 == 0, collinear=k % 4 == 0), 10 ** rng.uniform(-1, 0.5)
        best = least_trace(gaps, ratio)
        assert max(squared_length(gap.gap, gap.covariance, best) for gap in gaps) <= Fraction(ratio) ** 2
        longest = max(float(np.linalg.norm(gap.gap)) for gap in gaps)
        others = [np.eye(len(best)) * (longest / ratio) ** 2]
        others += [
            each
            for each in (along_direction(gaps, ratio), along_eigenvectors(gaps, ratio))
            if not isinstance(each, Refusal)
        ]
        assert np.trace(best) <= min(float(np.trace(each)) for each in others) * (1 + 1e-9)
        assert np.min(np.linalg.eigvalsh(best)) >= -1e-9 * np.trace(best)


def test_least_trace_against_its_dual() -> None:
    """Weak duality: any Y_k, positive semidefinite, of a sum of at most 1 bound the trace from below."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        needed = np.stack([gap.missing(0.4) for gap in random_gaps(rng)])
        top = float(np.linalg.eigvalsh(needed).max())
        if top <= 0:
            continue
        found, size = least_above(list(needed)), needed.shape[1]
        assert float(np.linalg.eigvalsh(found - needed).min()) > 0
        barrier = np.concatenate([needed / top, np.zeros((1, size, size))])
        centre = 2 * np.eye(size)
        for weight in 10.0 ** np.arange(6):
            closer = method._centred(centre, barrier, weight)
            assert closer is not None
            centre = closer
        duals = np.linalg.inv(centre - barrier[:-1])
        whole = float(np.linalg.eigvalsh(duals.sum(axis=0))[-1])
        assert np.trace(found) <= np.sum(needed * duals) / whole * (1 + 1e-3)


# --- what cannot be had ----------------------------------------------------------------------------------------------


def test_refusals_say_how_far_off() -> None:
    eye = np.eye(2)
    refused = along_direction([Gap(np.array([1.0, 0.0]), eye), Gap(np.array([0.6, 0.8]), eye)], 1.0)
    assert isinstance(refused, Refusal)
    assert "0.8" in refused.found
    refused = along_eigenvectors(
        [Gap(np.array([1.0, 0.0]), np.diag([1.0, 2.0])), Gap(np.array([1.0, 0.0]), np.array([[2.0, 1.0], [1.0, 2.0]]))],
        1.0,
    )
    assert isinstance(refused, Refusal)
    assert "of themselves" in refused.found


def test_many_numbers_with_several_gaps_are_refused_with_the_size() -> None:
    rng = np.random.default_rng(5)
    gaps = [Gap(rng.normal(size=30), np.eye(30)) for _ in range(2)]
    with pytest.raises(bp.errors.SizeError, match="30"):
        least_trace(gaps, 0.1)
    assert np.trace(least_trace(gaps[:1], 0.1)) > 0


# --- planted bugs ----------------------------------------------------------------------------------------------------


def _private(gaps: list[Gap], ratio: float) -> bool:
    best = least_trace(gaps, ratio)
    return max(squared_length(gap.gap, gap.covariance, best) for gap in gaps) <= Fraction(ratio) ** 2


@pytest.mark.mutants
def test_mutant_without_the_repair_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The closed forms are computed for the ratio itself, and nothing is checked afterwards."""
    monkeypatch.setattr(added_covariance, "RATIO_MARGIN", 0.0)
    monkeypatch.setattr(added_covariance, "repaired", lambda added, gaps, ratio: added)
    rng = np.random.default_rng(6)
    assert not all(_private(random_gaps(rng)[:1], 0.3) for _ in range(30))


@pytest.mark.mutants
def test_mutant_that_leaves_out_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    real = added_covariance.repaired
    monkeypatch.setattr(added_covariance, "repaired", lambda added, gaps, ratio: real(added, gaps[1:] or gaps, ratio))
    monkeypatch.setattr(
        added_covariance, "_above", lambda needed: least_above(needed[1:] if len(needed) > 1 else needed)
    )
    rng = np.random.default_rng(7)
    assert not all(_private(random_gaps(rng), 0.3) for _ in range(30))


def _matrix(found: np.ndarray | Refusal) -> np.ndarray:
    assert not isinstance(found, Refusal)
    return found
