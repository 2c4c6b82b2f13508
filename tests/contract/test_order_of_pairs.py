"""The order of pairs, and of the two laws of a pair, does not matter: the worst of them counts wherever it stands."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.errors import RefusedError
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from tests.contract.test_units_of_answers import EVERY, Pair

SPREAD = np.array([[4.0, 1.0], [1.0, 2.0]])
NUMBER: list[Pair] = [(Normal(0.0, 1.0), Normal(gap, 1.0)) for gap in (1.0, 9.0, 2.0)]
NUMBERS: list[Pair] = [(Normal([0, 0], SPREAD), Normal([gap, 2 * gap], SPREAD)) for gap in (1.0, 9.0, 2.0)]
SPREADS: list[Pair] = [(Normal(0.0, v), Normal(5.0, v)) for v in (9.0, 1.0, 4.0)]
ATOMS: list[Pair] = [(Atoms([0, 1], [0.5, 0.5]), Atoms([gap, gap + 1.0], [0.5, 0.5])) for gap in (1, 9, 2)]


def covariance(mechanism: bp.types.Mechanism, pairs: list[Pair]) -> np.ndarray | None:
    """Return the covariance of the noise that a mechanism finds; None if it does not serve such laws."""
    try:
        framework = bp.DistributionPrivacy(pairs, source="a test")
        return mechanism.calibrate(framework, epsilon=1.0, delta=1e-3).noise.covariance
    except RefusedError:
        return None


@pytest.mark.parametrize("pairs", [NUMBER, NUMBERS, SPREADS, ATOMS], ids=["gaps", "vectors", "spreads", "atoms"])
@pytest.mark.parametrize("mechanism", EVERY, ids=str)
def test_the_worst_of_several_pairs_counts_wherever_it_stands(mechanism: bp.types.Mechanism, pairs: list[Pair]) -> None:
    usual = covariance(mechanism, pairs)
    if usual is None:
        return
    size = float(usual.trace())
    for order in itertools.permutations(range(3)):
        turned = [pairs[k] if k % 2 else (pairs[k][1], pairs[k][0]) for k in order]
        assert covariance(mechanism, turned) == pytest.approx(usual, rel=1e-5, abs=1e-6 * size)
    if isinstance(mechanism, OptimalMechanism):
        return  # its error is averaged over other laws where there are fewer pairs
    alone = [covariance(mechanism, [pair]) for pair in pairs]
    for each in alone:
        assert each is not None
        assert float(each.trace()) <= size * (1 + 1e-5)
