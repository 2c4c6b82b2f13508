"""Channels: rows as whole numbers, a row for every double, exact draws."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.noise import SecureSampler
from bnpriv.errors import ParameterError
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.mechanisms.optimal.channel import Channel

SMALL = Channel([0, 1, 4], [0, 3], [[5, 0], [2, 3], [0, 5]], 5, [0.5, 0.25, 0.25])


class Counting:
    """Gives every whole number below the limit in turn."""

    def __init__(self) -> None:
        self.next, self.limits = 0, set[int]()

    def below(self, limit: int) -> int:
        self.limits.add(limit)
        self.next = (self.next + 1) % limit
        return self.next


def test_over_all_random_numbers_each_row_comes_out_exactly():
    for x, row in zip(SMALL.inputs, SMALL.numerators.tolist(), strict=True):
        sampler = Counting()
        drawn = Counter(SMALL.sample([x], sampler)[0] for _ in range(5))
        assert [drawn[w] for w in SMALL.outputs] == row
        assert sampler.limits == {5}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (-math.inf, 0),
        (-1e308, 0),
        (-0.0, 0),
        (0.5, 0),
        (math.nextafter(0.5, 1), 1),
        (2.5, 1),
        (math.nextafter(2.5, 3), 2),
        (5e-324, 0),
        (1e308, 2),
        (math.inf, 2),
    ],
)
def test_every_double_takes_the_row_of_the_nearest_input_and_of_the_lower_of_two(value, place):
    assert SMALL.place(value) == place
    assert SMALL.sample([value], SecureSampler())[0] in SMALL.outputs


def test_the_nearest_input_is_found_without_rounding():
    low, high = 1e16, 1e16 + 6
    channel = Channel([low, high], [low], [[1], [1]], 1, [0.5, 0.5])
    for value in np.arange(low, high + 2, 2).tolist():
        nearer = abs(Fraction(value) - Fraction(high)) < abs(Fraction(value) - Fraction(low))
        assert channel.place(value) == int(nearer)
    far = Channel([-1.7e308, 1.7e308], [0], [[1], [1]], 1, [0.5, 0.5])
    assert [far.place(x) for x in (-1.0, 0.0, 1.0)] == [0, 0, 1]


def test_errors_are_averaged_over_the_prior():
    assert math.isclose(SMALL.error().upper, 0.25 * (2 / 5 * 1 + 3 / 5 * 2) + 0.25 * 1, rel_tol=1e-12)
    assert SMALL.error().lower <= SMALL.error(1).upper == SMALL.scales[0]
    assert math.isclose(SMALL.covariance[0, 0], 0.25 * (2 / 5 + 3 / 5 * 4) + 0.25, rel_tol=1e-12)
    # no error: .5; error 1: .25 * 2/5 + .25; error 2: the rest
    assert [SMALL.quantile(p) for p in (0.3, 0.499, 0.501, 0.849, 0.851, 0.999)] == [0, 0, 1, 1, 2, 2]


def test_the_mean_error_is_enclosed():
    """In fractions, for rows and priors whose sums round."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        inputs, outputs = np.unique(rng.normal(size=7) * 10.0 ** rng.integers(-8, 8)), np.unique(rng.normal(size=5))
        rows = rng.multinomial(2**40 + 1, rng.dirichlet(np.full(len(outputs), 0.5)), size=len(inputs))
        prior = rng.dirichlet(np.full(len(inputs), 0.5))
        channel = Channel(inputs, outputs, rows, 2**40 + 1, prior)
        exact = sum(
            Fraction(mass) * Fraction(int(n), 2**40 + 1) * abs(Fraction(x) - Fraction(w))
            for mass, x, row in zip(prior.tolist(), inputs.tolist(), rows, strict=True)
            for w, n in zip(outputs.tolist(), row, strict=True)
        )
        error = channel.error()
        assert Fraction(error.lower) <= exact <= Fraction(error.upper)
        assert error.upper <= error.lower * (1 + 1e-12)


@pytest.mark.parametrize("level", [0.5, 0.6, 0.9, 0.99])
def test_intervals_hold_every_input_with_their_level(level):
    rng = np.random.default_rng(1)
    for _ in range(20):
        inputs, outputs = (np.unique(rng.integers(0, 40, size=9)).astype(float) for _ in range(2))
        rows = rng.multinomial(1000, rng.dirichlet(np.full(len(outputs), 0.3)), size=len(inputs))
        channel = Channel(inputs, outputs, rows, 1000, np.full(len(inputs), 1 / len(inputs)))
        held = [channel.interval(w, level) for w in outputs]
        for x, row in zip(inputs, rows, strict=True):
            assert sum(n for n, (low, high) in zip(row, held, strict=True) if low <= x <= high) >= level * 1000


def test_json_keeps_every_bit():
    rng = np.random.default_rng(2)
    below = 2**62
    rows = [[int(n) for n in rng.integers(0, 2**60, size=2)] for _ in range(3)]
    rows = [[*row, below - sum(row)] for row in rows]
    channel = Channel([0.1, 0.3, 1e300], [0.1, 0.1 + 0.2, 7], rows, below, [0.25, 0.5, 0.25])
    written = json.loads(json.dumps(channel.to_json(), allow_nan=False))
    assert written["kind"] == "channel"
    assert Channel.from_json(written) == channel
    assert Channel.from_json(written).numerators.tolist() == rows
    assert SMALL.to_json()["numerators"] == [[[0, "5"]], [[0, "2"], [1, "3"]], [[1, "5"]]]


GOOD = SMALL.to_json()
BROKEN = [
    {**GOOD, "denominator": "6"},
    {**GOOD, "denominator": "many"},
    {**GOOD, "denominator": str(2**63)},
    {**GOOD, "numerators": [[[0, "5"]], [[0, "2"], [1, "3"]], [[2, "5"]]]},
    {**GOOD, "numerators": [[[0, "5"]], [[0, "2"], [1, "3"]], [[-1, "5"]]]},
    {**GOOD, "numerators": [[[0, "-5"], [1, "10"]], [[0, "2"], [1, "3"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, str(2**64 + 5)]], [[0, "2"], [1, "3"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, "5"]]]},
    {**GOOD, "numerators": [[[0, "5"], [0, "5"]], [[0, "2"], [1, "3"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, "5"]], [[1, "3"], [0, "2"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, 5]], [[0, "2"], [1, "3"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, " 5"]], [[0, "2"], [1, "3"]], [[1, "5"]]]},
    {**GOOD, "numerators": [[[0, "5"]], [[0, "2"], [1, "3"]], [[1, "5"]], []]},
    {**GOOD, "denominator": 5},
    {**GOOD, "inputs": ["0x0p+0", "nan", "inf"]},
    {**GOOD, "outputs": GOOD["outputs"][::-1]},
    {**GOOD, "prior": ["0x1p+0"] * 3},
    {**GOOD, "prior": None},
    {},
]


@pytest.mark.parametrize("broken", range(len(BROKEN)))
def test_what_is_no_channel_is_refused(broken):
    with pytest.raises(ParameterError):
        Channel.from_json(BROKEN[broken])


@pytest.mark.parametrize("rows", [[[1.0], [1.0]], [[True], [True]], [[1], [2]], [[1, 0]], [["1"], ["1"]]])
def test_rows_are_whole_numbers_with_one_sum(rows):
    with pytest.raises(ParameterError):
        Channel([0, 1], [0], rows, 1, [0.5, 0.5])


def test_numerators_are_at_least_0():
    with pytest.raises(ParameterError):
        Channel([0, 1], [0, 1], [[2, -1], [0, 1]], 1, [0.5, 0.5])


def test_the_denominator_is_at_most_2_to_the_62():
    assert Channel([0], [0], [[2**62]], 2**62, [1.0]).denominator == 2**62
    with pytest.raises(ParameterError):
        Channel([0], [0], [[2**62 + 1]], 2**62 + 1, [1.0])


def test_minus_zero_is_zero():
    channel = Channel([-0.0, 1], [-0.0], [[1], [1]], 1, [0.5, 0.5])
    assert math.copysign(1, channel.sample([1.0], SecureSampler())[0]) == 1
    assert channel.to_json()["inputs"][0] == channel.to_json()["outputs"][0] == "0x0.0p+0"


def test_whole_numbers_below_a_limit():
    assert {SecureSampler().below(3) for _ in range(200)} == {0, 1, 2}
    assert SecureSampler().below(1) == 0
    assert 0 <= SecureSampler().below(2**62) < 2**62
    assert 0 <= NumpySampler(np.random.default_rng(0)).below(2**62) < 2**62
    for bad in (0, -1, 1.0, True, None):
        with pytest.raises(ParameterError):
            SecureSampler().below(bad)


def test_every_probability_of_a_channel_is_a_number_of_its_own():
    assert SMALL.free_numbers == 6
