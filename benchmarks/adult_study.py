"""The census income study: the files, the laws of the answer, and the noise of every mechanism."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import bnpriv as bp
from benchmarks import adult_attacks as attacks
from bnpriv.bound import FloatArray
from bnpriv.core.distributions import Normal
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.noise import Gaussian, NoNoise
from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.tables.public import inferred_schema

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("BNPRIV_ADULT", ROOT.parent / "shared" / "data" / "adult"))
FILES = ("adult.data", "adult.test")
NO_DATA = f"the census income files {' and '.join(FILES)} are neither in BNPRIV_ADULT nor in ../shared/data/adult"

COLUMNS = (
    *("age", "workclass", "weight", "education", "years", "marital", "occupation", "relationship", "race", "sex"),
    *("gain", "loss", "hours", "country", "income"),
)
QUERY = "stack(mean(age), mean(years), count(marital == 'Never-married'), count(sex == 'Female'), mean(hours))"
PROPERTIES = {"income": bp.col("income") == ">50K", "work class": bp.col("workclass") == "Private"}
RECORDS, DELTA = 100, 1e-3
EPSILONS = (0.2, 1.0, 5.0)
Key = tuple[float, float]
"""Epsilon and delta."""

M = bp.mechanisms
TEXTBOOK: Mapping[str, Any] = {"constant": "textbook", "beyond_proof": True}
EQUAL: Mapping[str, Any] = {"weights": (1.0,) * 5}
PUBLISHED: Mapping[str, Mechanism] = {
    "ExpM (L)": M.ExpectedValueMechanism(**EQUAL),
    "ExpM (G)": M.ExpectedValueMechanism(noise="gaussian", **TEXTBOOK, **EQUAL),
    "EigM (G)": M.EigenvectorMechanism(**TEXTBOOK),
    "DauM (G)": M.DirectionalUncertaintyMechanism(**TEXTBOOK),
}
HERE: Mapping[str, Mechanism] = {
    "ExpM (G), analytic": M.ExpectedValueMechanism(noise="gaussian", **EQUAL),
    "AttributeGaussian, analytic": M.AttributeGaussianMechanism(**EQUAL),
    "EigM (G), analytic": M.EigenvectorMechanism(),
    "DirM (G), analytic": M.DirectionalMechanism(noise="gaussian"),
    "DauM (G), analytic": M.DirectionalUncertaintyMechanism(),
    "Optimal, textbook": M.OptimalGaussianMechanism(**TEXTBOOK),
    "Optimal, analytic": M.OptimalGaussianMechanism(),
}


def available() -> bool:
    """Return whether the files are there."""
    return all((FOLDER / file).is_file() for file in FILES)


@cache
def census() -> Any:
    """Return the complete records as a data frame."""
    import pandas as pd

    read = [pd.read_csv(FOLDER / file, names=COLUMNS, skipinitialspace=True, na_values="?") for file in FILES]
    records = pd.concat(read, ignore_index=True).dropna()
    return records.assign(income=records["income"].str.rstrip("."))


@cache
def schema() -> bp.Schema:
    """Return the bounds of the columns."""
    return inferred_schema(census(), sorted(bp.parse_query(QUERY).columns | {"income", "workclass"}), RECORDS)


@cache
def laws(about: str, gap: float = 0.1, *, common: bool = True) -> tuple[Normal, Normal]:
    """Return the laws of the answer for two shares of a property that are `gap` apart, around one half."""
    first, second = bp.laws.laws_by_property(
        census(),
        QUERY,
        PROPERTIES[about],
        (0.5 - gap / 2, 0.5 + gap / 2),
        RECORDS,
        schema=schema(),
        covariance="mean" if common else "own",
    )
    return first, second


@cache
def answers() -> attacks.Answers:
    """Return exact answers to tables with either share of incomes."""
    return attacks.drawn(census(), QUERY, PROPERTIES["income"], RECORDS, schema())


def calibrated(
    mechanism: Mechanism, epsilon: float, delta: float = DELTA, *, about: str = "income", gap: float = 0.1
) -> Calibration:
    """Calibrate a mechanism for the two laws with the mean of their covariances."""
    framework = bp.DistributionPrivacy([laws(about, gap)], source="1994 census")
    return mechanism.calibrate(framework, epsilon=epsilon, delta=delta)


def covariance(mechanism: Mechanism, epsilon: float, delta: float = DELTA) -> FloatArray:
    """Return the covariance of Gaussian noise for incomes, shape (5, 5)."""
    noise = calibrated(mechanism, epsilon, delta).noise
    assert isinstance(noise, (Gaussian, CorrelatedGaussian, NoNoise)), type(noise)
    return noise.covariance


@cache
def sensitivity() -> float:
    """Return how far one record moves the answer, in the 2-norm."""
    query = bp.parse_query(QUERY)
    return bp.column_sensitivity(query, set(query.columns), schema(), norm=2).upper / RECORDS


def independent_error(moved: float, epsilon: float, delta: float = DELTA) -> float:
    """Return the mean 2-norm of five independent normal numbers, as published: textbook constant, any epsilon."""
    scale = math.sqrt(2 * math.log(1.25 / delta)) * moved / epsilon
    return scale * math.sqrt(2) * math.gamma(3) / math.gamma(2.5)


def released(mechanism: Mechanism, epsilon: float) -> Calibration:
    """Calibrate a mechanism for the answer itself, not for its laws alone: steps are then hidden too."""
    query = bp.parse_query(QUERY)
    framework = bp.DistributionPrivacy([laws("income")], query=query, schema=schema(), source="1994 census")
    return mechanism.calibrate(framework, epsilon=epsilon, delta=DELTA)


def group_error(epsilon: float) -> float:
    """Return the mean 2-norm error of group privacy, with the analytic constant."""
    return released(M.GroupPrivacyMechanism(noise="gaussian", **EQUAL), epsilon).expected_error


def spent(gap: FloatArray, spread: FloatArray, epsilon: float) -> float:
    """Return the least delta for two normal laws with one covariance."""
    from scipy.special import ndtr

    mu = math.sqrt(float(gap @ np.linalg.solve(spread, gap)))
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def with_steps(noise: FloatArray) -> FloatArray:
    """Return the covariance of noise with independent noise of a step on every part."""
    return noise + np.diag(attacks.STEPS**2)


def likelier_along() -> float:
    """Return how often the likelier law is the right one under Laplace noise along the gap, at epsilon 1.

    What lies along the gap, in the units of the covariance, has all there is to know: it is one number.
    """
    first, second = laws("income")
    gap = first.mean - second.mean
    length = float(np.linalg.norm(gap))
    variance = length**2 / float(gap @ np.linalg.solve(first.covariance, gap))
    framework = bp.DistributionPrivacy([(Normal(0.0, variance), Normal(length, variance))], source="1994 census")
    return likelihood_ratio_attack(M.ExpectedValueMechanism().calibrate(framework, epsilon=1.0)).accuracy


def mean_norm(noise: FloatArray) -> float:
    """Return the mean 2-norm of noise, exactly."""
    return CorrelatedGaussian(noise).error().upper


def likelier_of(both: Sequence[Normal], added: FloatArray) -> float:
    """Return how often the likelier of two normal laws with one covariance is the right one, with noise."""
    from scipy.special import ndtr

    gap = both[0].mean - both[1].mean
    return float(ndtr(math.sqrt(gap @ np.linalg.solve(both[0].covariance + added, gap)) / 2))
