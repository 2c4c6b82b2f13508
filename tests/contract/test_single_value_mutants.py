"""Planted bugs in the sensitivity of one record and in chains with any start, each of which an oracle must find."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.bound import Bound
from bnpriv.core.evidence import structural
from bnpriv.core.queries import sensitivity
from bnpriv.kinds.chain import column
from bnpriv.kinds.chain.column import Factors
from bnpriv.mechanisms import chain
from tests.contract import test_chain_any_start as any_start, test_single_values as single

pytestmark = pytest.mark.mutants


def killed(*tests: Callable[[], None]) -> bool:
    """Return whether one of some tests fails."""
    for test in tests:
        try:
            test()
        except AssertionError:
            return True
    return False


def released() -> bool:
    return killed(
        lambda: single.test_values_of_a_network_are_hidden_in_the_released_doubles(),
        lambda: single.test_values_of_a_chain_are_hidden_in_the_released_doubles("exact"),
        lambda: single.test_a_record_moves_the_released_doubles_by_no_more_than_is_claimed(1),
        lambda: single.test_a_record_moves_the_released_doubles_by_no_more_than_is_claimed(2),
    )


def started() -> bool:
    return killed(
        any_start.test_influences_are_the_largest_over_all_starts,
        lambda: any_start.test_the_output_never_tells_more_whatever_the_start("exact"),
    )


def test_the_sound_code_survives() -> None:
    assert not released()
    assert not started()


def test_the_rounding_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    def divided(query, columns, schema, norm=1):
        found = sensitivity.column_sensitivity(query, columns, schema, norm)
        return Bound(0.0, found.upper / schema.records * (1 + 1e-15), found.kind)

    for module in (structural, chain, single):
        monkeypatch.setattr(module, "record_sensitivity", divided)
    assert released()


def test_the_rounding_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "_rounding_of_answers", lambda *args: Fraction(0))
    assert released()


def test_the_rounding_of_one_output_counts_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sensitivity._rounding_of_answers
    monkeypatch.setattr(
        sensitivity,
        "_rounding_of_answers",
        lambda form, output, *ends: Fraction(0) if output else real(form, output, *ends),
    )
    assert released()


def test_states_are_ruled_out_one_step_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    real = column._reached
    monkeypatch.setattr(column, "_reached", lambda matrix: real(matrix)[1:] or real(matrix))
    assert started()


def test_odds_of_one_step_later(monkeypatch: pytest.MonkeyPatch) -> None:
    real = column._from_any_start

    class Later(Factors):  # type: ignore[misc]
        def left(self, a: int, seen: np.ndarray) -> np.ndarray:
            return super().left(a + 1, seen)

    monkeypatch.setattr(
        column,
        "_from_any_start",
        lambda chain, model, length, factors: real(chain, model, length, Later(factors.matrix)),
    )
    assert started()


def test_what_was_seen_before_counts_the_other_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Factors.left
    monkeypatch.setattr(Factors, "left", lambda self, a, seen: real(self, a, seen).T)
    assert started()


def test_what_rules_out_on_one_side_counts_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            both = left + right
        return np.where(np.isfinite(both), both, -np.inf)

    monkeypatch.setattr(column, "together", lost)
    assert started()
