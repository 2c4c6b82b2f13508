"""Tests of the tests: planted bugs in the privacy loss, each of which an oracle must find."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv.loss.loss as loss_module
import bnpriv.loss.views as views_module
from bnpriv.core.noise import Gaussian, Laplace
from bnpriv.errors import ParameterError
from bnpriv.lab import conversions
from bnpriv.loss import moments as gaussian_moments
from bnpriv.loss.loss import PrivacyCurve, PrivacyLoss
from bnpriv.loss.views import LossCells
from tests.unit.loss import test_loss, test_views

pytestmark = pytest.mark.mutants


def with_gaussian_noise() -> None:
    test_loss.test_means_with_noise_against_integration(Gaussian, test_loss.gaussian_density, 14.0)


def with_laplace_noise() -> None:
    test_loss.test_means_with_noise_against_integration(Laplace, test_loss.laplace_density, 60.0)


def test_masses_that_are_not_parted(monkeypatch) -> None:
    monkeypatch.setattr(LossCells, "outer", property(lambda self: self.inner))
    monkeypatch.setattr(LossCells, "parted", property(lambda self: self.inner))
    for oracle in (with_gaussian_noise, with_laplace_noise):
        with pytest.raises(AssertionError):
            oracle()


def test_masses_that_are_not_merged(monkeypatch) -> None:
    monkeypatch.setattr(
        LossCells, "inner", property(lambda self: (self.first, self.second) if self.points else self.outer)
    )
    with pytest.raises(AssertionError):
        with_laplace_noise()


def test_one_direction_only(monkeypatch) -> None:
    monkeypatch.setattr(
        PrivacyCurve, "of", staticmethod(lambda pairs, noise: PrivacyCurve([PrivacyLoss(*pairs[0], noise)]))
    )
    with pytest.raises(AssertionError):
        test_loss.test_dp_accounting_agrees_for_atoms()


def test_approximate_taken_for_probabilistic(monkeypatch) -> None:
    """The error in the order of the two notions: delta at epsilon is not how often the loss exceeds epsilon."""

    def exceeds(first, second, epsilon):
        above = views_module.losses(first, second) > np.asarray(epsilon)[..., None]
        return np.sum(np.where(above, np.exp(first), 0.0), axis=-1)

    monkeypatch.setattr(views_module, "hockey_stick", exceeds)
    for oracle in (lambda: test_views.test_delta_and_epsilon_are_over_all_events(False), with_laplace_noise):
        with pytest.raises(AssertionError):
            oracle()


def test_tails_left_out(monkeypatch) -> None:
    monkeypatch.setattr(gaussian_moments, "TAIL_REACH", 1.0)
    monkeypatch.setattr(gaussian_moments._Integral, "_outside", lambda self, ends: [])
    with pytest.raises(AssertionError):
        test_loss.test_two_normal_laws_in_closed_form(3.0)


def test_a_channel_whose_rows_are_taken_in_order(monkeypatch) -> None:
    monkeypatch.setattr(test_loss.Channel, "place", lambda self, value: min(int(value), len(self.inputs) - 1))
    with pytest.raises(AssertionError):
        test_loss.test_channel_in_fractions()


def test_orders_tried_at_few_powers_only(monkeypatch) -> None:
    monkeypatch.setattr(
        gaussian_moments, "least_rho", lambda low, high, *rest: (0.0, float(high(np.array([1.0]))[0]) / 2)
    )
    with pytest.raises(AssertionError):
        test_loss.test_concentrated_views_over_a_grid_of_orders()


def test_a_conversion_without_its_root(monkeypatch) -> None:
    monkeypatch.setattr(conversions, "epsilon_of_zero_concentrated", lambda xi, rho, delta, **rest: xi + rho)
    with pytest.raises(AssertionError):
        test_loss.test_zero_concentrated_converts()


def test_powers_between_minus_one_and_zero_taken_for_convex(monkeypatch) -> None:
    monkeypatch.setattr(LossCells, "moments", lambda self, powers, up: self._convex(powers, up=up))
    with pytest.raises((AssertionError, ParameterError)):
        with_laplace_noise()


def test_more_set_aside_than_was_allowed(monkeypatch) -> None:
    real = loss_module.share_of
    monkeypatch.setattr(loss_module, "share_of", lambda value: min(1.0, 1.2 * real(value)))
    with pytest.raises(AssertionError):
        test_loss.test_relaxed_over_all_events()


def test_the_sound_ones_survive() -> None:
    with_gaussian_noise()
    with_laplace_noise()
    test_loss.test_relaxed_over_all_events()
