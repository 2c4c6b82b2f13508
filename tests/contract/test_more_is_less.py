"""A larger epsilon or delta never costs error, and delta is claimed only where it is needed: all mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import bnpriv as bp
from bnpriv import mechanisms
from bnpriv.errors import RefusedError, SizeError
from bnpriv.laws import Atoms, Normal
from bnpriv.mechanisms import Mechanism
from tests import kinds

DELTAS = (0.0, 1e-300, 1e-15, 1e-9, 1e-3, 0.05, 0.5)
EPSILONS = (0.05, 0.3, 1.0, 3.0, 8.0, 20.0, 35.0)

SAME = 1e-4
"""Relative precision of scales that are sought on curves with Gaussian noise, and of covariances."""

MECHANISMS: tuple[Mechanism, ...] = (
    mechanisms.TightMechanism(large_delta=True),
    mechanisms.TightMechanism(noise="gaussian", large_delta=True),
    mechanisms.TightMechanism(noise="discrete_laplace", large_delta=True),
    mechanisms.WassersteinMechanism(large_delta=True),
    mechanisms.WassersteinMechanism(noise="gaussian", large_delta=True),
    mechanisms.OptimalMechanism(large_delta=True),
    mechanisms.QuantizationMechanism(),
    mechanisms.MarkovQuiltMechanism(large_delta=True),
    mechanisms.MarkovQuiltMechanism(noise="gaussian", large_delta=True),
    mechanisms.MarkovChainMechanism(),
    mechanisms.AttributeGaussianMechanism(large_delta=True),
    mechanisms.AttributeGaussianMechanism(relaxation=0.02, large_delta=True),
    mechanisms.ExpectedValueMechanism(large_delta=True),
    mechanisms.ExpectedValueMechanism(noise="gaussian", large_delta=True),
    mechanisms.DirectionalMechanism(large_delta=True),
    mechanisms.DirectionalMechanism(noise="gaussian", large_delta=True),
    mechanisms.DirectionalMechanism(nearly=True, large_delta=True),
    mechanisms.DirectionalUncertaintyMechanism(large_delta=True),
    mechanisms.OptimalGaussianMechanism(large_delta=True),
    mechanisms.EigenvectorMechanism(large_delta=True),
    mechanisms.ColumnMechanism(),
    mechanisms.ColumnMechanism(noise="gaussian", large_delta=True),
    mechanisms.RecordPrivacyMechanism(),
    mechanisms.RecordPrivacyMechanism(noise="gaussian", large_delta=True),
    mechanisms.GroupPrivacyMechanism(size=3),
)

Question = tuple[Any, Any]


def declared(*pairs: tuple[Any, Any]) -> Question:
    return bp.DistributionPrivacy(list(pairs), source="a textbook"), None


def of_kind(kind: Callable[[], kinds.Kind]) -> Question:
    made = kind()
    return made.framework, made.query


COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]

QUESTIONS: dict[str, Callable[[], Question]] = {
    "laws that overlap": lambda: declared((Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))),
    "laws of which one ends before": lambda: declared((Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1], [0.5, 0.5]))),
    "two pairs": lambda: declared(
        (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6])),
        (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.3, 0.6, 0.1])),
    ),
    "a law that is moved": lambda: declared((Atoms([0.5, 1], [0.25, 0.75]), Atoms([2.5, 3], [0.25, 0.75]))),
    "one law twice": lambda: declared((Atoms([40.0], [1.0]), Atoms([40.0], [1.0]))),
    "points": lambda: declared((Atoms([0], [1.0]), Atoms([3], [1.0]))),
    "normal laws": lambda: declared((Normal([0.0, 0.0], COVARIANCE), Normal([1.0, 0.5], COVARIANCE))),
    "one normal law twice": lambda: declared((Normal([1.0, 2.0], COVARIANCE), Normal([1.0, 2.0], COVARIANCE))),
    "a property of a table": lambda: of_kind(kinds.dataset),
    "a property of normal records": lambda: of_kind(kinds.normal),
    "parameters": lambda: of_kind(kinds.discrete),
    "a chain": lambda: of_kind(kinds.chain),
}


@cache
def question(name: str) -> Question:
    return QUESTIONS[name]()


def calibrated(mechanism: Mechanism, name: str, epsilon: float, delta: float) -> Any:
    framework, query = question(name)
    try:
        return mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
    except (RefusedError, SizeError):
        return None


def falls(found: list[Any]) -> None:
    errors = [each.ranked_error for each in found]
    for before, after in pairwise(errors):
        assert after <= before * (1 + SAME), errors


def test_every_mechanism_is_here() -> None:
    assert {type(each) for each in MECHANISMS} == {
        each
        for each in map(mechanisms.__dict__.get, mechanisms.__all__)
        if isinstance(each, type) and issubclass(each, Mechanism)
    } - {Mechanism}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_delta_never_costs_error(mechanism: Mechanism, name: str) -> None:
    for epsilon in (0.1, 1.0):
        found = [calibrated(mechanism, name, epsilon, delta) for delta in DELTAS]
        served = [each for each in found if each is not None]
        falls(served)
        for each in served:
            pure = found[0]
            assert each.guarantee.delta <= each.delta or each.guarantee.epsilon > epsilon
            if pure is not None and each.expected_error == pure.expected_error:
                assert each.guarantee.delta == 0


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_epsilon_never_costs_error(mechanism: Mechanism, name: str) -> None:
    for delta in (0.0, 1e-9, 1e-3):
        found = [calibrated(mechanism, name, epsilon, delta) for epsilon in EPSILONS]
        falls([each for each in found if each is not None])
