"""Tests of the tests: planted bugs in the channel with the least error, each of which fractions must find."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import bnpriv.core.evidence.constraints as constraints_module
import bnpriv.mechanisms.optimal.channel as channel_module
import bnpriv.mechanisms.optimal.mechanism as optimal_module
import bnpriv.mechanisms.optimal.program as laws_module
import bnpriv.mechanisms.optimal.program as repair_module
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from bnpriv.mechanisms.optimal.program import LawTable
from tests.channels import EXAMPLE, Problem, count_of, holds, needed_delta, problems

pytestmark = pytest.mark.mutants

MECHANISM = OptimalMechanism(large_delta=True)
OTHER = (count_of(100, (1.0,), (0.2,)), count_of(100, (1.0,), (0.3,)))


def killed(number: int = 40) -> bool:
    """Return whether fractions find a promise that does not hold."""
    fixed = [Problem([EXAMPLE], 0.5), Problem([EXAMPLE, OTHER], 0.5), Problem([EXAMPLE], 0.5, 1e-3)]
    return any(not holds(problem, MECHANISM) for problem in (*fixed, *problems(23, number)))


def test_the_sound_mechanism_survives() -> None:
    assert not killed()


def test_constraints_for_one_direction_only(monkeypatch) -> None:
    real = LawTable.of.__func__

    def one_way(cls, pairs):
        table = real(cls, pairs)
        object.__setattr__(table, "ways", table.ways[::2])
        return table

    monkeypatch.setattr(laws_module.LawTable, "of", classmethod(one_way))
    assert killed()


def test_one_theta_left_out(monkeypatch) -> None:
    real = optimal_module.pairs_of
    monkeypatch.setattr(optimal_module, "pairs_of", lambda evidence: real(evidence)[:1])
    assert killed()


def test_the_solution_is_not_repaired(monkeypatch) -> None:
    """The rows of the solver, rounded to the denominator, and no check."""
    monkeypatch.setattr(repair_module.Constraints, "hold", lambda *args: True)
    monkeypatch.setattr(repair_module, "_mixed", lambda constraints, rows, home, margin: rows)
    assert killed()


def test_the_check_is_left_out_and_delta_ignored(monkeypatch) -> None:
    real = repair_module.Constraints._allowed

    def generous(self, passed, denominator):
        object.__setattr__(self, "delta", 2 * self.delta + 1e-6)
        return real(self, passed, denominator)

    monkeypatch.setattr(repair_module.Constraints, "_allowed", generous)
    monkeypatch.setattr(repair_module, "_mixed", lambda constraints, rows, home, margin: rows)
    assert killed()


def test_masses_below_the_range_of_doubles_are_lost(monkeypatch) -> None:
    """What is released as it is then shows a rare value that one secret rules out, or nearly."""
    real = constraints_module.log_ratio

    def lost(first, second):
        if not np.array_equal(first.points, second.points):
            return real(first, second)
        kept = (first.logs > -690) & (second.logs > -690)
        return float(np.max(np.abs(first.logs - second.logs)[kept]))

    monkeypatch.setattr(constraints_module, "log_ratio", lost)
    assert killed(120)


class Every:
    """Gives every whole number below the limit in turn."""

    def __init__(self) -> None:
        self.next = -1

    def below(self, limit: int) -> int:
        self.next += 1
        return self.next % limit


def exactly_drawn(channel: Channel) -> bool:
    """Return whether the random numbers below the denominator give each output as often as its numerator says."""
    sampler = Every()
    for x, row in zip(channel.inputs, channel.numerators.tolist(), strict=True):
        drawn = Counter(channel.sample([x], sampler)[0] for _ in range(channel.denominator))
        if [drawn[w] for w in channel.outputs] != row:
            return False
    return True


def test_sampling_with_doubles(monkeypatch) -> None:
    """A uniform double has 53 bits: it never meets what is rarer, and rounds the ends of the others."""
    channel = Channel([0, 1], [0, 1, 2], [[1, 5, 1], [3, 2, 2]], 7, [0.5, 0.5])
    assert exactly_drawn(channel)

    def by_double(self, value, sampler):
        drawn = round(sampler.below(self.denominator) / self.denominator, 1) + 1e-12
        ends = np.cumsum(self.numerators[self.place(value[0])] / self.denominator)
        return (self.outputs[min(int(np.searchsorted(ends, drawn, side="right")), len(self.outputs) - 1)],)

    monkeypatch.setattr(channel_module.Channel, "sample", by_double)
    assert not exactly_drawn(channel)


def test_an_oracle_that_takes_one_direction_would_not_see_it() -> None:
    """The two directions of the example are different constraints."""
    channel = MECHANISM.calibrate(Problem([EXAMPLE], 0.5).framework, epsilon=0.5).noise
    first, second = Problem([EXAMPLE], 0.5).exact()[0]
    assert needed_delta(channel, [(first, second)], 0.4) > 0
    assert needed_delta(channel, [(second, first)], 0.4) > 0
