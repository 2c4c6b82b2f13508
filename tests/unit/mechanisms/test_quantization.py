"""Bins of the answer: private by exact fractions, the best of their kind, and never below the least error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.mechanisms.quantization as quantization_module
from bnpriv.core.distributions import Atoms
from bnpriv.core.noise import NoNoise
from bnpriv.errors import RefusedError
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.mechanisms.proved_limit import limit_of
from bnpriv.mechanisms.quantization import QuantizationMechanism
from tests.unit.mechanisms.test_quantization_bins import by_brute_force


def framework_of(*pairs: tuple[Atoms, Atoms]) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy(list(pairs), source="a test")


def random_pairs(rng: np.random.Generator, size: int, count: int) -> list[tuple[Atoms, Atoms]]:
    points = np.cumsum(rng.choice([0.1, 0.3, 1.0, 5.0], size)) - 3
    laws = rng.dirichlet(np.full(size, rng.choice([0.5, 5.0])), (count, 2))
    if rng.random() < 0.3:
        laws[0, 0, int(rng.integers(size))] = 1e-300
        laws[0, 0] /= laws[0, 0].sum()
    return [(Atoms(points, first), Atoms(points, second)) for first, second in laws]


def channel_of(calibration: bp.types.Calibration) -> Channel:
    noise = calibration.noise
    if isinstance(noise, NoNoise):  # every answer is a bin of its own
        (first, _), *_ = calibration.framework.pairs
        rows = np.eye(first.size, dtype=np.int64)
        return Channel(first.support.tolist(), first.support.tolist(), rows, 1, np.full(first.size, 1 / first.size))
    assert isinstance(noise, Channel)
    return noise


def excess(channel: Channel, pairs: list[tuple[Atoms, Atoms]], epsilon: float) -> Fraction:
    """Return by how much, at worst, the mass of an output passes exp(epsilon) times that under the other secret."""
    worst = Fraction(-1)
    for first, second in [way for a, b in pairs for way in ((a, b), (b, a))]:
        f, g = (
            dict(zip(law.support.tolist(), map(Fraction, law.probabilities), strict=True)) for law in (first, second)
        )
        for place in range(len(channel.outputs)):
            rows = list(zip(channel.inputs, channel.numerators[:, place].tolist(), strict=True))
            one, other = (sum((law.get(x, Fraction(0)) * n for x, n in rows), Fraction(0)) for law in (f, g))
            worst = max(worst, one - Fraction(math.exp(epsilon)) * other)
    return worst


def test_bins_are_private_and_the_best_of_all() -> None:
    rng, several = np.random.default_rng(31), 0
    for _ in range(40):
        pairs, epsilon = random_pairs(rng, int(rng.integers(2, 8)), int(rng.integers(1, 4))), float(rng.uniform(0.2, 2))
        calibration = QuantizationMechanism().calibrate(framework_of(*pairs), epsilon=epsilon)
        channel = channel_of(calibration)
        assert excess(channel, pairs, epsilon) <= Fraction(1, 10**15)
        masses = [np.array([law.probabilities for law in side]) for side in zip(*pairs, strict=True)]
        prior = (masses[0].mean(axis=0) + masses[1].mean(axis=0)) / 2
        least = by_brute_force(channel.inputs, prior, *masses, epsilon, "absolute")
        assert calibration.expected_error == pytest.approx(least, rel=1e-9, abs=1e-12)
        limit = limit_of(calibration.framework, calibration.query, epsilon, 0.0)
        assert limit.least is not None
        assert limit.least <= calibration.expected_error * (1 + 1e-9)
        assert bp.verify(calibration).status == "holds"
        several += len(channel.outputs) > 1
    assert several > 10


def test_the_checker_finds_bins_that_are_too_fine(monkeypatch) -> None:
    """A planted fault: room that is larger than epsilon."""
    monkeypatch.setattr(quantization_module, "_lost", lambda table: -0.2)
    rng, found = np.random.default_rng(32), set[str]()
    for _ in range(40):
        framework = framework_of(*random_pairs(rng, 6, 1))
        found.add(bp.verify(QuantizationMechanism().calibrate(framework, epsilon=0.3)).status)
    assert "fails" in found


def test_the_checker_finds_a_pair_that_was_left_out(monkeypatch) -> None:
    real = quantization_module.best_bins
    monkeypatch.setattr(
        quantization_module, "best_bins", lambda atoms, prior, f, g, *rest: real(atoms, prior, f[:1], g[:1], *rest)
    )
    rng, found = np.random.default_rng(33), set[str]()
    for _ in range(20):
        framework = framework_of(*random_pairs(rng, 6, 3))
        found.add(bp.verify(QuantizationMechanism().calibrate(framework, epsilon=0.3)).status)
    assert "fails" in found


@pytest.mark.parametrize("error", ["absolute", "squared", "zero-one"])
def test_rows_are_certain(error) -> None:
    pairs = random_pairs(np.random.default_rng(34), 8, 1)
    channel = channel_of(QuantizationMechanism(error=error).calibrate(framework_of(*pairs), epsilon=1.0))
    assert channel.denominator == 1
    assert set(channel.outputs) <= set(channel.inputs)


def test_secrets_of_a_network_and_of_a_table() -> None:
    for name, text in (("four-people", "count(x2 == 1)"), ("student", "count(height > 180)")):
        framework, query = bp.example(name), bp.parse_query(text)
        if name == "student":
            with pytest.raises(RefusedError, match="all bins are tried for at most"):
                QuantizationMechanism().calibrate(framework, query, epsilon=1.0)
            continue
        calibration = QuantizationMechanism().calibrate(framework, query, epsilon=1.0)
        verdict = bp.verify(calibration)
        assert verdict.status == "holds", str(verdict)
        tight = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
        assert calibration.expected_error < tight.expected_error


def test_what_has_no_bins_is_refused() -> None:
    normal = bp.laws.Normal([0.0], [[1.0]])
    for framework in (
        bp.DistributionPrivacy([(normal, bp.laws.Normal([1.0], [[1.0]]))], source="a test"),
        framework_of((Atoms([[0, 1], [1, 0]], [0.5, 0.5]), Atoms([[0, 1], [1, 0]], [0.4, 0.6]))),
    ):
        with pytest.raises(RefusedError, match="the distributions of the answer must"):
            QuantizationMechanism().calibrate(framework, epsilon=1.0)
