"""A larger epsilon or delta never costs error, and delta is claimed only where it is needed: all mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import bnpriv as bp
from bnpriv import mechanisms
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.errors import RefusedError, SizeError
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

RELAXED = mechanisms.AttributeGaussianMechanism(relaxation=0.02, large_delta=True)
"""Its laws take a second each; smaller epsilons that leave more of delta are tried a factor of two apart."""

Question = tuple[Any, Any]


def declared(*pairs: tuple[Any, Any]) -> Question:
    return bp.DistributionPrivacy(list(pairs), source="a textbook"), None


def of_kind(kind: Callable[[], kinds.Kind]) -> Question:
    made = kind()
    return made.framework, made.query


def small_table() -> Question:
    schema = bp.Schema(records=8, columns=kinds.HEALTH.columns)
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=2))
    return bp.DatasetAttributePrivacy(kinds.patients(), schema, {"ill": secret}, source="invented"), kinds.COUGHS


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
    "a property of a table": small_table,
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


def falls(found: list[Any], same: float = SAME) -> None:
    errors = [each.ranked_error for each in found]
    for before, after in pairwise(errors):
        assert after <= before * (1 + same), errors


def test_every_mechanism_is_here() -> None:
    listed = map(mechanisms.__dict__.get, mechanisms.__all__)
    known = {each for each in listed if isinstance(each, type) and issubclass(each, Mechanism)}
    assert {type(each) for each in MECHANISMS} == known - {Mechanism}


def check_delta(mechanism: Mechanism, name: str, epsilon: float) -> None:
    found = [calibrated(mechanism, name, epsilon, delta) for delta in DELTAS]
    served = [each for each in found if each is not None]
    falls(served)
    for each in served:
        assert each.guarantee.delta <= each.delta
        if found[0] is not None and each.expected_error == found[0].expected_error:
            assert each.guarantee.delta == 0


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_delta_never_costs_error(mechanism: Mechanism, name: str) -> None:
    check_delta(mechanism, name, 1.0)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_epsilon_never_costs_error(mechanism: Mechanism, name: str) -> None:
    for delta in (0.0, 1e-9):
        found = [calibrated(mechanism, name, epsilon, delta) for epsilon in EPSILONS[1::2]]
        falls([each for each in found if each is not None])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("mechanism", [*MECHANISMS, RELAXED], ids=str)
def test_neither_costs_error_on_a_finer_grid(mechanism: Mechanism, name: str) -> None:
    check_delta(mechanism, name, 0.1)
    for delta in (0.0, 1e-9, 1e-3):
        found = [calibrated(mechanism, name, epsilon, delta) for epsilon in EPSILONS]
        falls([each for each in found if each is not None], 1e-2 if mechanism is RELAXED else SAME)


@pytest.mark.parametrize("name", ["a property of a table", "laws that overlap"])
def test_no_plan_errs_more_for_a_larger_delta(name: str) -> None:
    """A delta of one over the number of records or more is refused: plans took the best of what takes no delta."""
    framework, query = question(name)
    found = [bp.plan(framework, query, epsilon=0.3, delta=delta).best for delta in (0.0, 1e-3, 0.05, 0.5)]
    falls(found)
    assert all(each.guarantee.delta < 1 / framework.schema.records for each in found)


def test_a_plan_says_where_it_took_less_delta() -> None:
    framework, query = question("a property of a table")
    least = "were calibrated for"
    assert least not in bp.plan(framework, query, epsilon=0.3, delta=1e-3).text
    assert f"as 0.5 is, {least}" in bp.plan(framework, query, epsilon=0.3, delta=0.5).text.replace("\n", " ")
