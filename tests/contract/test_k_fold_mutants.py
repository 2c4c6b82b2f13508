"""Tests of the tests: planted bugs in the rule for k records together, found by listed tables or by integrals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.mechanisms.k_fold as composition_module
import bnpriv.core.mechanisms.k_fold as k_fold_module
import bnpriv.core.mechanisms.law_mechanisms as tight_module
import bnpriv.core.privacy_curves as laplace_module
from bnpriv.core.evidence.constraints import RecordPair
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.mechanisms.k_fold import Coupled, LossMasses, bounded_scale, composed_delta, sums_of_records
from tests.contract.test_k_fold import (
    CLOSE,
    EVEN,
    ODD,
    TIGHT,
    WASSERSTEIN,
    answer_law,
    bits,
    framework_of,
    line_excess,
    only_records,
    record_of,
)

pytestmark = pytest.mark.mutants

__all__ = ["only_records"]

COUNT = bp.count(bp.col("a") == 1)
ALL = pytest.mark.parametrize("mechanism", [*TIGHT, *WASSERSTEIN], ids=str)


def told(
    one: dict[int, float],
    zero: dict[int, float],
    k: int,
    scale: float,
    noise: str,
    *,
    epsilon: float,
    shift: float = 0.0,
) -> float:
    """Return the largest delta of secrets up to k apart, k of all k records; answers may be a shift further apart."""
    worst = 0.0
    for a, b in itertools.combinations(range(k + 1), 2):
        high = {(x + shift,): p for (x,), p in answer_law(one, zero, b, k).items()}
        low = answer_law(one, zero, a, k)
        worst = max(worst, *(line_excess(*way, scale, epsilon, noise) for way in ((high, low), (low, high))))
    return worst


def holds(mechanism: bp.types.Mechanism, *, epsilon: float = 0.2, delta: float = 0.1) -> bool:
    """Return whether noise does for laws that differ less in sums, for rare values, and for ones in one direction."""
    sides = [(EVEN, ODD), bits(0.0, 0.3), bits(0.3, 0.0), bits(0.35, 0.55), bits(0.9, 0.97), bits(0.0, 1.0)]
    for zero, one in sides:
        framework = framework_of({"a": (zero, one)}, 3, bp.apart(at_most=3))
        scale = mechanism.calibrate(framework, bp.total("a"), epsilon=epsilon, delta=delta).scale
        if told(one, zero, 3, scale, mechanism.noise, epsilon=epsilon) > delta * CLOSE + 5e-6:
            return False
    return True


@ALL
def test_the_sound_rule_survives(only_records, mechanism: bp.types.Mechanism) -> None:
    assert holds(mechanism)


@pytest.mark.parametrize("mechanism", TIGHT, ids=str)
def test_the_largest_distance_only(only_records, monkeypatch, mechanism: bp.types.Mechanism) -> None:
    """An even number of records, so that the largest distance is one at which little is told."""

    def longest(record: RecordPair, rounding: float):
        return (sums_of_records(record, rounding) or ())[:1]

    monkeypatch.setattr(tight_module, "sums_of_records", longest)
    epsilon, delta = 0.2, 0.1
    framework = framework_of({"a": (EVEN, ODD)}, 2, bp.apart(at_most=2))
    scale = mechanism.calibrate(framework, bp.total("a"), epsilon=epsilon, delta=delta).scale
    assert told(ODD, EVEN, 2, scale, mechanism.noise, epsilon=epsilon) > delta * CLOSE + 5e-6


@ALL
def test_one_record_too_few(only_records, monkeypatch, mechanism: bp.types.Mechanism) -> None:
    real = RecordPair.sums
    monkeypatch.setattr(RecordPair, "sums", lambda self, records: real(self, max(1, records - 1)))
    assert not holds(mechanism, delta=0.01)


@pytest.mark.parametrize("mechanism", TIGHT, ids=str)
def test_one_direction_only(only_records, monkeypatch, mechanism: bp.types.Mechanism) -> None:
    real = laplace_module._gaussian_excess
    monkeypatch.setattr(
        laplace_module, "_gaussian_excess", lambda atoms, masses, scale: real(atoms, masses[:, :1], scale)
    )

    def forward(self: laplace_module.LaplacePair, scale: float, epsilon: float) -> float:
        masses = np.exp(self.first) - math.exp(epsilon) * np.exp(self.second)
        return float(laplace_module._excess(self.atoms, masses, scale))

    monkeypatch.setattr(laplace_module.LaplacePair, "delta", forward)
    # a bound that holds in both directions must not hide it
    monkeypatch.setattr(tight_module._TightSearch, "_enough", lambda *args: math.inf)
    assert not holds(mechanism)


# --- bounds for many records ----------------------------------------------------------------------------------------


def bounds_hold() -> bool:
    """Return whether both bounds are at least what is told, and whether mass moves as far as is said."""
    cases = [(bits(0.35, 0.55), 6), (bits(0.0, 0.3), 3), (({0: 0.5, 20: 0.5}, {0: 0.5, 21: 0.5}), 1)]
    for (zero, one), k in cases:
        record = record_of(framework_of({"a": (zero, one)}, 100, bp.apart(at_most=k)), bp.total("a"))
        coupled = Coupled.of(record, 2)
        for scale, epsilon in ((0.5 * k, 0.1), (2.0 * k, 0.3)):
            exact = told(one, zero, k, scale, "gaussian", epsilon=epsilon)
            if min(curve(epsilon, 1e-9)(scale) for curve in (coupled.coupled_curve, coupled.composed_curve)) < exact:
                return False
        if coupled.moved(1e-3) < Coupled.of(record, 2).apart * _least_moved(coupled.records, zero, one, 1e-3):
            return False
    return True


def _least_moved(k: int, zero: dict[int, float], one: dict[int, float], delta: float) -> int:
    part = sum(max(0.0, p - zero.get(value, 0.0)) for value, p in one.items())
    chance = [math.comb(k, m) * part**m * (1 - part) ** (k - m) for m in range(k + 1)]
    return next(m for m in range(k + 1) if sum(chance[m + 1 :]) <= delta)


def test_the_sound_bounds_survive() -> None:
    assert bounds_hold()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: replace(c, part=c.part / 2),
        lambda c: replace(c, records=max(1, c.records - 1)),
        lambda c: replace(c, reach=c.reach / 2),
        lambda c: replace(c, apart=c.apart / 2),
    ],
    ids=["half of what differs", "one record too few", "half of the gap", "half of the distance"],
)
def test_changed_records(monkeypatch, change) -> None:
    real = Coupled.of
    kept: dict[str, Coupled] = {}

    def careless(record: RecordPair, norm: int) -> Coupled:
        kept["sound"] = real(record, norm)
        return change(kept["sound"])

    monkeypatch.setattr(Coupled, "of", careless)
    assert not bounds_hold()


def normal_losses_hold() -> bool:
    return all(
        composed_delta(1.0, mu / math.sqrt(records), records, epsilon, 1e-6) >= gaussian_delta(mu, epsilon)
        for records in (1, 3, 64, 1000)
        for mu, epsilon in ((0.1, 0.1), (0.5, 1.0))
    )


def test_masses_of_cells_at_their_lower_ends(monkeypatch) -> None:
    assert normal_losses_hold()
    monkeypatch.setattr(composition_module, "_parted", lambda cell, excess, width: np.zeros_like(cell))
    assert not normal_losses_hold()


def test_coarser_grids_that_round_down(monkeypatch) -> None:
    def careless(self: LossMasses) -> LossMasses:
        padded = np.concatenate([np.zeros(self.start % 2), self.masses, np.zeros(2)])
        masses = padded[0 : len(padded) - 1 : 2] + padded[1::2][: len(padded[0 : len(padded) - 1 : 2])]
        return replace(self, masses=masses, start=(self.start - self.start % 2) // 2, step=2 * self.step)

    monkeypatch.setattr(LossMasses, "coarser", careless)
    assert not normal_losses_hold()


def test_an_upper_tail_that_is_dropped(monkeypatch) -> None:
    real = LossMasses.trimmed
    monkeypatch.setattr(LossMasses, "trimmed", lambda self, most: replace(real(self, 1e-4), infinite=0.0))
    assert not normal_losses_hold()


# --- rounding -------------------------------------------------------------------------------------------------------


def rounding_is_paid(k: int = 3, rounding: float = 0.8, epsilon: float = 0.3, delta: float = 0.05) -> bool:
    """Return whether noise does for answers that rounding moves apart, by the bounds and by the sums."""
    zero, one = bits(0.35, 0.55)
    record = record_of(framework_of({"a": (zero, one)}, k, bp.apart(at_most=k)), COUNT)
    search = tight_module._TightSearch(noise="gaussian", epsilon=epsilon, delta=delta, rounding=rounding)
    pairs = k_fold_module.sums_of_records(record, rounding)
    assert pairs is not None
    scales = [bounded_scale(record, epsilon, delta, rounding)]
    scales += [search._by_laws(_constraint(record), pairs, "")[0].scale]
    return all(
        told(one, zero, k, scale, "gaussian", epsilon=epsilon, shift=rounding) <= delta * CLOSE for scale in scales
    )


def _constraint(record: RecordPair):
    from bnpriv.core.evidence.constraints import Constraint
    from bnpriv.errors import Refusal

    refusal = Refusal(required="nothing", found="nothing", remedy="Nothing.")
    return Constraint(protected="s", model=0, record=record, pairs=refusal)


def test_rounding_is_paid() -> None:
    assert rounding_is_paid()


def test_rounding_of_sums_is_not_paid(monkeypatch) -> None:
    real = sums_of_records
    monkeypatch.setattr(k_fold_module, "sums_of_records", lambda record, rounding: real(record, 0.0))
    assert not rounding_is_paid()


def test_rounding_of_bounds_is_not_paid(monkeypatch) -> None:
    real, distance = k_fold_module.gaussian_scale, k_fold_module.distance_scale
    monkeypatch.setattr(k_fold_module, "gaussian_scale", lambda *args: real(*args[:-1], 0.0))
    monkeypatch.setattr(
        k_fold_module, "distance_scale", lambda far, slack, _, *budget: distance(far, slack, 0.0, *budget)
    )
    assert not rounding_is_paid()
