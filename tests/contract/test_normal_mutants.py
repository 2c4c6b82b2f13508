"""Tests of the tests: planted bugs in the laws of normal tables, each of which conditioning whole tables must find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.mechanisms.law_decision as departures_module
import bnpriv.core.mechanisms.law_mechanisms as tight_module
import bnpriv.core.mechanisms.law_mechanisms as wasserstein_module
import bnpriv.kinds.gaussian.columns as normal_module
import bnpriv.kinds.gaussian.columns as translation_module
from tests.contract.test_normal_mechanisms import MECHANISMS, clamped_holds, of_one_record, whole_holds
from tests.normal_tables import question

pytestmark = pytest.mark.mutants


def whole_killed(*, level: str = "records", number: int = 40) -> bool:
    random = np.random.default_rng(31)
    asked = [question(random, level=level, numbers=1, wide=30.0) for _ in range(number)]
    return any(not whole_holds(each, mechanism, 0.8, delta) for each in asked for mechanism, delta in MECHANISMS)


def clamped_killed(number: int = 60) -> bool:
    random = np.random.default_rng(32)
    asked = [of_one_record(random) for _ in range(number)]
    return any(not clamped_holds(each, mechanism, 0.8, delta) for each in asked for mechanism, delta in MECHANISMS)


def test_the_sound_laws_survive() -> None:
    assert not whole_killed(number=15)
    assert not whole_killed(level="parameters", number=15)
    assert not clamped_killed(15)


def test_the_number_of_records_is_forgotten_in_the_covariance(monkeypatch) -> None:
    monkeypatch.setattr(normal_module, "_of_means", lambda law, records: law)
    assert whole_killed()


def test_the_sign_of_the_schur_complement(monkeypatch) -> None:
    def added(scaled: np.ndarray, lengths: np.ndarray, error: float) -> np.ndarray:
        rows = scaled[1:]
        return (rows @ rows.T + np.outer(rows @ scaled[0], rows @ scaled[0])) * np.outer(lengths, lengths)

    monkeypatch.setattr(translation_module, "_given", added)
    assert whole_killed()


def test_nothing_is_taken_off_the_covariance_for_the_secret(monkeypatch) -> None:
    def joint(scaled: np.ndarray, lengths: np.ndarray, error: float) -> np.ndarray:
        return scaled[1:] @ scaled[1:].T * np.outer(lengths, lengths)

    monkeypatch.setattr(translation_module, "_given", joint)
    assert whole_killed()


def test_what_clamped_records_tell_is_not_paid_for(monkeypatch) -> None:
    """A density of clamped answers has atoms at the bounds; nothing is done where they are probable."""
    for module in (tight_module, wasserstein_module, departures_module):
        monkeypatch.setattr(module, "clamped_of", lambda pair, epsilon: 0.0)

    def near(random: np.random.Generator) -> Any:
        asked = of_one_record(random)
        columns = {**asked.framework.schema.columns, "b": bp.Real(-0.3, 0.3, steps=2**30)}
        schema = bp.Schema(records=1, columns=columns)
        framework = bp.DatasetAttributePrivacy(
            asked.framework.network, schema, asked.framework.protect, source="invented"
        )
        return replace(asked, framework=framework)

    random = np.random.default_rng(33)
    asked = [near(random) for _ in range(60)]
    gaussian = bp.TightMechanism(noise="gaussian", large_delta=True), 0.01
    laplace = bp.TightMechanism(large_delta=True), 0.01
    assert any(not clamped_holds(each, kind, 0.2, delta) for each in asked for kind, delta in (gaussian, laplace))


def test_the_gap_counts_in_one_direction_only(monkeypatch) -> None:
    real = tight_module._gap
    monkeypatch.setattr(tight_module, "_gap", lambda pair: np.maximum(real(pair), 0.0))
    assert whole_killed()


def test_only_the_first_model_counts(monkeypatch) -> None:
    real = normal_module.NormalLaws.constraints
    monkeypatch.setattr(
        normal_module.NormalLaws, "constraints", lambda self: tuple(c for c in real(self) if c.model == 0)
    )
    network = bp.types.GaussianNetwork.linear(
        {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": np.array([0.1, 2.0])}}, level="records"
    )
    schema = bp.Schema(records=50, columns={name: bp.Real(-100, 100) for name in "ab"})
    hidden = {"a": bp.Secret("mean(a)", pairs=bp.apart(at_most=0.1))}
    framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
    assert bp.WassersteinMechanism().calibrate(framework, "mean(b)", 1.0).scale < 0.2


def test_the_spread_of_records_about_their_parameter_counts_n_times(monkeypatch) -> None:
    real = normal_module.NormalLaws._own
    monkeypatch.setattr(
        normal_module.NormalLaws, "_own", property(lambda self: real.fget(self) * self.form.schema.records)
    )
    assert whole_killed(level="parameters")
