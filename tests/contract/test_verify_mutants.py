"""Tests of the checker: planted bugs in the mechanisms, each of which it must find in random calibrations."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.mechanisms.base as search_module
import bnpriv.core.mechanisms.column as column_module
import bnpriv.core.mechanisms.law_mechanisms as tight_module
import bnpriv.core.mechanisms.law_mechanisms as wasserstein_module
import bnpriv.core.mechanisms.quilt as quilt_module
import bnpriv.core.privacy_curves as laplace_module
import bnpriv.core.secrets as secrets_module
import bnpriv.kinds.chain.column as chain_search_module
import bnpriv.kinds.chain.column as column_of_chain_module
import bnpriv.kinds.chain.column as steps_module
import bnpriv.mechanisms.baselines as baselines_module
import bnpriv.mechanisms.chain as chain_module
import bnpriv.mechanisms.gaussian.mechanisms as covariance_module
import bnpriv.mechanisms.optimal.mechanism as optimal_module
import bnpriv.mechanisms.optimal.program as repair_module
import bnpriv.mechanisms.optimal.program as supports_module
import bnpriv.mechanisms.optimal.program as table_module
import bnpriv.mechanisms.quantization as bins_module
import bnpriv.mechanisms.quantization as quantization_module
from bnpriv.bound import Bound
from bnpriv.mechanisms.optimal.program import LawTable
from tests import replay

pytestmark = pytest.mark.mutants

TRIED = 400
UNTRUE = ("fails", "cannot be shown")
"""Verdicts that no calibration of a sound mechanism gets."""


def channel_killed(mechanism: bp.types.Mechanism, *, tried: int = TRIED) -> bool:
    """Return whether the checker finds a channel that does not hold."""
    for k in range(tried):
        calibration = replay.calibrated(20261124, k, instead=mechanism)
        if calibration is not None and bp.verify(calibration).status in UNTRUE:
            return True
    return False


def killed(name: str, *, tried: int = TRIED) -> bool:
    """Return whether the checker finds a calibration of a mechanism that does not hold."""
    for k in range(tried):
        try:
            asked = replay.asked_by(20261123, k)
        except bp.BnprivError:
            continue
        if type(asked.mechanism).__name__ == name:
            calibration = replay.calibrated(20261123, k)
            if calibration is not None and bp.verify(calibration).status in UNTRUE:
                return True
    return False


NAMES = ["MarkovQuiltMechanism", "ColumnMechanism", "TightMechanism", "WassersteinMechanism"]


def test_tight_scale_ten_percent_low(monkeypatch) -> None:
    real = search_module.least_scale
    monkeypatch.setattr(tight_module, "least_scale", lambda *args: 0.9 * real(*args))
    assert killed("TightMechanism")


def test_normal_noise_of_columns_ten_percent_low(monkeypatch) -> None:
    real = column_module.gaussian_mu
    monkeypatch.setattr(column_module, "gaussian_mu", lambda *args: 1.1 * real(*args))
    assert killed("ColumnMechanism")


def test_the_gap_of_normal_laws_a_tenth_short(monkeypatch) -> None:
    real = covariance_module._gaps
    short = lambda pairs: [replace(each, gap=0.9 * each.gap) for each in real(pairs)]  # noqa: E731
    monkeypatch.setattr(covariance_module, "_gaps", short)
    assert channel_killed(bp.mechanisms.OptimalGaussianMechanism(large_delta=True))


def test_quilt_scale_ten_percent_low(monkeypatch) -> None:
    real = quilt_module.scales
    monkeypatch.setattr(quilt_module, "scales", lambda *args: 0.9 * real(*args))
    assert killed("MarkovQuiltMechanism")


def test_quilt_scale_ten_percent_low_with_delta(monkeypatch) -> None:
    real = quilt_module.approximate_scales
    monkeypatch.setattr(quilt_module, "approximate_scales", lambda *args: 0.9 * real(*args))
    assert killed("MarkovQuiltMechanism")


def test_wasserstein_scale_ten_percent_low(monkeypatch) -> None:
    real = wasserstein_module._DistanceSearch._scale
    monkeypatch.setattr(
        wasserstein_module._DistanceSearch, "_scale", lambda *args, **options: 0.9 * real(*args, **options)
    )
    assert killed("WassersteinMechanism", tried=1500)


def test_column_scale_ten_percent_low(monkeypatch) -> None:
    real = column_module.column_sensitivity
    monkeypatch.setattr(column_module, "column_sensitivity", lambda *args: Bound(0.0, 0.9 * real(*args).upper))
    assert killed("ColumnMechanism")


def test_one_direction_only(monkeypatch) -> None:
    def forward(self: laplace_module.LaplacePair, scale: float) -> float:
        p, q = self.first, self.second
        if scale > 0:
            p, q = (laplace_module._smoothed(self.atoms, logs, scale)[0] for logs in (p, q))
        with np.errstate(invalid="ignore"):
            gaps = np.where(np.isneginf(p), -np.inf, p - q)
        return float(max(0.0, np.max(gaps)))

    monkeypatch.setattr(laplace_module.LaplacePair, "epsilon", forward)
    assert killed("TightMechanism")


def test_chosen_pairs_in_one_order(monkeypatch) -> None:
    monkeypatch.setattr(secrets_module.SecretPairs, "ordered", lambda self, attribute, states: self.chosen)
    assert killed("MarkovQuiltMechanism", tried=1500)


def test_delta_of_the_first_decision() -> None:
    """Two protected attributes: the one with more noise needs no delta, the other one does."""
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5], "v": [0.5, 0.5], "x": [[[1.0, 0.9], [1.0, 0.9]], [[0.0, 0.1], [0.0, 0.1]]]},
        states={name: ["0", "1"] for name in "uvx"},
        parents={"x": ["u", "v"]},
        level="parameters",
    )
    schema = bp.Schema(records=2, columns={name: bp.Integer(0, 1) for name in "uvx"})
    framework = bp.DistributionalAttributePrivacy(network, schema, ["u", "v"], source="a test")
    mechanism = bp.MarkovQuiltMechanism(large_delta=True)
    calibration = mechanism.calibrate(framework, bp.linear({"u": 1.0, "x": 1.0}), epsilon=1.0, delta=0.2)
    assert calibration.guarantee.delta == 0.2
    assert bp.verify(calibration).status == "holds"
    record = json.loads(calibration.to_json())
    record["guarantee"]["delta"] = 0.0
    assert bp.verify(json.dumps(record)).status == "fails"


def test_delta_given_to_discrete_noise(monkeypatch) -> None:
    """Scales of continuous noise with delta do not serve discrete noise, which is promised to be pure."""
    real = tight_module._TightSearch

    def careless(*, delta: float, noise: str, **options):
        return real(delta=0.3 if noise == "discrete_laplace" else delta, noise=noise, **options)

    monkeypatch.setattr(tight_module, "_TightSearch", careless)
    assert killed("TightMechanism")


@pytest.mark.parametrize("name", NAMES)
def test_the_sound_mechanisms_survive(name: str) -> None:
    assert not killed(name, tried=100)


def test_bins_that_may_tell_a_tenth_more(monkeypatch) -> None:
    real = quantization_module.best_bins
    monkeypatch.setattr(
        quantization_module, "best_bins", lambda a, p, f, g, epsilon, *rest: real(a, p, f, g, 1.1 * epsilon, *rest)
    )
    assert channel_killed(bp.mechanisms.QuantizationMechanism())


def test_bins_alike_in_one_direction(monkeypatch) -> None:
    def forward(first, second, epsilon: float):
        one, other = np.logaddexp.accumulate(first, axis=1), np.logaddexp.accumulate(second, axis=1)
        with np.errstate(invalid="ignore"):
            return np.all(np.where(one == other, 0.0, one - other) <= epsilon, axis=0)

    monkeypatch.setattr(bins_module, "_alike", forward)
    assert channel_killed(bp.mechanisms.QuantizationMechanism())


def test_bins_alike_under_one_model(monkeypatch) -> None:
    real = table_module._pairs
    monkeypatch.setattr(table_module, "_pairs", lambda evidence: list(real(evidence))[:1])
    assert channel_killed(bp.mechanisms.QuantizationMechanism())


OPTIMAL = bp.mechanisms.OptimalMechanism(large_delta=True)


def test_optimal_rows_that_were_not_repaired(monkeypatch) -> None:
    """A solver meets constraints to some 1e-9 of all mass: outputs of tiny mass then tell far too much."""

    def unrepaired(constraints, rows, home):
        total = rows.sum(axis=1, keepdims=True)
        shares = np.divide(rows, total, out=np.full_like(rows, 1 / rows.shape[1]), where=total > 0)
        return repair_module._whole(shares, home), np.arange(rows.shape[1])

    monkeypatch.setattr(supports_module, "repaired", unrepaired)
    assert channel_killed(OPTIMAL)


def test_optimal_rows_alike_in_one_direction(monkeypatch) -> None:
    real = LawTable.of

    def forward(pairs):
        table = real(pairs)
        return replace(table, ways=table.ways[::2])

    monkeypatch.setattr(LawTable, "of", forward)
    assert channel_killed(OPTIMAL)


def test_optimal_rows_alike_under_one_model(monkeypatch) -> None:
    real = optimal_module.pairs_of
    monkeypatch.setattr(optimal_module, "pairs_of", lambda evidence: real(evidence)[:1])
    assert channel_killed(OPTIMAL)


def test_optimal_rows_that_may_tell_a_tenth_more(monkeypatch) -> None:
    real = OPTIMAL._decide
    monkeypatch.setattr(type(OPTIMAL), "_decide", lambda self, f, q, epsilon, delta: real(f, q, 1.1 * epsilon, delta))
    assert channel_killed(OPTIMAL)


@pytest.mark.parametrize("mechanism", [OPTIMAL, bp.mechanisms.QuantizationMechanism()])
def test_sound_channels_survive(mechanism: bp.types.Mechanism) -> None:
    assert not channel_killed(mechanism, tried=100)


def chain_told(*, tried: int = TRIED) -> bool:
    """Return whether the checker finds a calibration of a chain that does not hold."""
    for k in range(tried):
        calibration = replay.calibrated(20261125, len(replay.MAKERS) * k + replay.MAKERS.index(replay.chain_case))
        if calibration is not None and bp.verify(calibration).status in UNTRUE:
            return True
    return False


def test_chain_scale_a_hundredth_low(monkeypatch) -> None:
    real = chain_module.chain_scale
    monkeypatch.setattr(chain_module, "chain_scale", lambda *a: (q := real(*a)) and replace(q, score=0.99 * q.score))
    assert chain_told()


def test_chain_odds_of_a_step_left_out(monkeypatch) -> None:
    real = steps_module._odds
    monkeypatch.setattr(steps_module, "_odds", lambda *a: np.minimum(real(*a), 0.0))
    assert chain_told()


def test_chain_values_before_left_out(monkeypatch) -> None:
    real = chain_search_module.ExactInfluence.left
    monkeypatch.setattr(chain_search_module.ExactInfluence, "left", lambda *a: np.minimum(real(*a), 0.0))
    assert chain_told()


def test_chain_one_near_value_too_few(monkeypatch) -> None:
    real = chain_search_module._StepSearch._score
    monkeypatch.setattr(
        chain_search_module._StepSearch, "_score", lambda self, near, told: real(self, max(1, near - 1), told)
    )
    assert chain_told()


def test_chain_spectrum_squared(monkeypatch) -> None:
    real = column_of_chain_module._second
    monkeypatch.setattr(column_of_chain_module, "_second", lambda *a: real(*a) ** 4)
    assert chain_told()


def test_baseline_one_record_less(monkeypatch) -> None:
    real = baselines_module.group_sensitivity
    monkeypatch.setattr(
        baselines_module, "group_sensitivity", lambda q, s, size, norm: real(q, s, max(1, size // 2), norm)
    )
    assert chain_told()
