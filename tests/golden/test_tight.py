"""Theory section 6 and 6a: published and hand-checked scales of tight calibration, against Wasserstein's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.laws import mixture

TIGHT, WASSERSTEIN = bp.TightMechanism(), bp.WassersteinMechanism()


def example() -> bp.DistributionPrivacy:
    """A count over 100 records, three parameter states, two laws of the states: alike as they are at epsilon 1."""
    counts = [bp.laws.Atoms.binomial(100, p) for p in (0.3, 0.4, 0.5)]
    pair = (mixture([0.5, 0.3, 0.2], counts), mixture([0.2, 0.3, 0.5], counts))
    return bp.DistributionPrivacy([pair], source="theory, section 6")


@pytest.mark.parametrize(
    ("epsilon", "tight", "wasserstein"), [(0.1, 59.8, 90.0), (0.5, 10.672, 18.0), (0.8, 4.7, 11.25), (1.0, 0.0, 0.0)]
)
def test_section_6(epsilon: float, tight: float, wasserstein: float) -> None:
    digits = 3 if epsilon == 0.5 else 1
    assert round(TIGHT.calibrate(example(), epsilon=epsilon).scale, digits) == tight
    assert WASSERSTEIN.calibrate(example(), epsilon=epsilon).scale == pytest.approx(wasserstein, rel=1e-9)


def distributional() -> bp.DistributionalAttributePrivacy:
    """The same example from a network: the state of `rate` given `secret`, and a share of ones for each state."""
    network = bp.DiscreteNetwork.from_tables(
        {"secret": [0.5, 0.5], "rate": [[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]},
        states={"secret": ["a", "b"], "rate": ["low", "middle", "high"]},
        parents={"rate": ["secret"]},
    )
    schema = bp.Schema(records=100, columns={"rate": bp.Integer(0, 1)})
    laws = {"rate": {"low": 0.3, "middle": 0.4, "high": 0.5}}
    return bp.DistributionalAttributePrivacy(network, schema, "secret", source="theory, section 6", laws=laws)


def test_section_6_from_a_network() -> None:
    query = bp.count(bp.col("rate") == 1)
    assert round(TIGHT.calibrate(distributional(), query, epsilon=0.5).scale, 3) == 10.672
    assert WASSERSTEIN.calibrate(distributional(), query, epsilon=0.5).scale == pytest.approx(18.0, rel=1e-9)
    assert TIGHT.calibrate(distributional(), query, epsilon=1).scale == 0


def dataset(records: int, query_one: float = 0.55, query_zero: float = 0.35) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "cough": [[1 - query_zero, 1 - query_one], [query_zero, query_one]]},
        states={"ill": ["0", "1"], "cough": ["0", "1"]},
        parents={"cough": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={"ill": bp.Integer(0, 1), "cough": bp.Integer(0, 1)})
    hidden = bp.Secret(bp.count(bp.col("ill") == 1), pairs=bp.apart(at_most=3))
    return bp.DatasetAttributePrivacy(network, schema, {"ill": hidden}, source="theory, section 6a")


def closed_form(p1: float, p0: float, k: int, scale: float) -> float:
    """Return the exact loss of a count of zeros and ones when k records change."""
    return k * max(
        abs(math.log((1 - p1 + p1 * math.exp(t)) / (1 - p0 + p0 * math.exp(t)))) for t in (1 / scale, -1 / scale)
    )


@pytest.mark.parametrize(
    ("epsilon", "tight", "wasserstein"), [(0.1, 6.037, 10.0), (0.5, 1.184, 2.0), (1.0, 0.499, 1.0)]
)
@pytest.mark.parametrize("records", [1000, 10**6])
def test_section_6a(epsilon: float, tight: float, wasserstein: float, records: int) -> None:
    query = bp.count(bp.col("cough") == 1)
    scale = TIGHT.calibrate(dataset(records), query, epsilon=epsilon).scale
    assert math.ceil(scale * 1000) / 1000 == tight
    assert closed_form(0.55, 0.35, 3, scale) == pytest.approx(epsilon, rel=1e-12)
    assert closed_form(0.55, 0.35, 3, scale) <= epsilon
    # mass moves by 3 for three records one by one, and by 1 between their sums
    assert WASSERSTEIN.calibrate(dataset(records), query, epsilon=epsilon).scale == pytest.approx(wasserstein, rel=1e-9)


FLU = ((0.2, 0.225, 0.5, 0.075, 0.0), (0.0, 0.075, 0.5, 0.225, 0.2))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_flu_clique(epsilon: float) -> None:
    """Song, Wang, Chaudhuri: mass moves by 2; tight calibration reaches epsilon, with less noise."""
    framework = bp.DistributionPrivacy([tuple(bp.laws.Atoms(range(5), p) for p in FLU)], source="SWC, flu clique")
    far = WASSERSTEIN.calibrate(framework, epsilon=epsilon)
    assert far.certificate.sensitivity.upper == 2
    assert far.scale == pytest.approx(2 / epsilon, rel=1e-9)
    scale = TIGHT.calibrate(framework, epsilon=epsilon).scale
    assert 0 < scale < far.scale
    kernel = np.exp(-np.abs(np.subtract.outer(range(5), range(5))) / scale)
    first, second = (kernel @ np.array(p) for p in FLU)
    assert np.max(np.abs(np.log(first / second))) == pytest.approx(epsilon, rel=1e-10)
    assert np.max(np.abs(np.log(first / second))) <= epsilon * (1 + 1e-14)
