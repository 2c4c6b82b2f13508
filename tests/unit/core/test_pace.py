"""A long time is told before anything is drawn, and shown on a terminal only."""

from __future__ import annotations

import io
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv import progress as pace
from bnpriv.errors import LongDrawingWarning
from bnpriv.kinds.draws import answers as forward
from bnpriv.kinds.draws.answers import DrawTime, draw_time, paced
from bnpriv.progress import watched
from tests.later import optional

pm = optional("pymc")


def test_the_time_of_many_is_told_from_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])

    def draw(tables: int) -> None:
        clock[0] += 0.5 * tables

    assert draw_time(draw, 1000) == DrawTime(tables=1000, seconds=500.0)
    assert draw_time(draw, 3) == DrawTime(tables=3, seconds=1.5)


def test_what_a_few_cost_once_is_not_taken_for_what_each_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])

    def draw(tables: int) -> None:
        clock[0] += 0.02 + 1e-5 * tables

    assert draw_time(draw, 500_000).seconds < 20  # 5 s in truth; 32 tables alone foretell 317 s


def test_a_machine_that_stood_still_is_not_taken_for_a_slow_model(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stops = [0.0], [0.0, 0.3, 0.0, 0.2]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])

    def draw(tables: int) -> None:
        clock[0] += 0.02 + 1e-5 * tables + (stops.pop(0) if stops else 0.0)

    assert draw_time(draw, 500_000).seconds < 20


def test_short_times_are_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with paced(DrawTime(tables=10, seconds=1.0)) as advance:
            advance(10)


@pytest.mark.parametrize("terminal", [False, True])
def test_long_times_are_told_first_and_shown_on_a_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(pace, "SHOWN_AFTER", 0.0)

    def drawn() -> None:
        with paced(DrawTime(tables=5, seconds=120)) as step:
            step(5)
            end = monotonic() + 20 * terminal
            while "drawing tables" not in sys.stderr.getvalue() and monotonic() < end:  # type: ignore[attr-defined]
                sleep(0.01)

    with pytest.warns(LongDrawingWarning, match="about 2.0 min") as told:
        drawn()
    warning: Any = told[0].message
    assert warning.seconds == 120
    assert ("drawing tables" in sys.stderr.getvalue()) == terminal  # type: ignore[attr-defined]


def test_drawing_for_a_plan_tells_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned() -> float:
        with pm.Model() as model:
            pm.Normal("y", pm.HalfNormal("mu", 1), 1, observed=np.zeros(20))
        schema = bp.Schema(records=20, columns={"y": bp.Real(-3, 3)})
        secrets = {"mu": bp.intervals(((0, 0.5), (1, 2)))}
        framework = bp.DistributionalAttributePrivacy(bp.from_pymc(model), schema, secrets, source="made up")
        return float(bp.WassersteinMechanism().calibrate(framework, bp.mean("y"), epsilon=1.0, delta=0.04).scale)

    before = planned()
    monkeypatch.setattr(pace, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(forward, "LEAST_TIMED_NUMBERS", 1)
    with pytest.warns(LongDrawingWarning, match="tables take about"):
        assert planned() == before


def test_the_time_of_what_is_left_is_told_once_and_points_at_the_line_that_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])

    def advance(seconds: float, letters: str = "abcd") -> None:
        for _ in watched(letters, "what is told by {}", "more column"):
            clock[0] += seconds

    with pytest.warns(LongDrawingWarning, match="^To work out what is told by 3 more columns takes about 45 s") as told:
        advance(15)
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(LongDrawingWarning, match="^To work out what is told by 1 more column takes about 15 s$"):
        advance(15, "ab")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        advance(1)


def test_row_45_a_report_watches_every_column_and_every_quilt(monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.views.report import analysis

    names = [f"x{k:02}" for k in range(30)]
    network = bp.DiscreteNetwork.from_tables(
        {name: [[0.6, 0.3], [0.4, 0.7]] if k else [0.5, 0.5] for k, name in enumerate(names)},
        states={name: ["low", "high"] for name in names},
        parents={below: [above] for above, below in pairwise(names)},
    )
    seen: Counter[str] = Counter()

    def told(items: Sequence[object], what: str, each: str) -> Iterator[object]:
        seen[each] += len(items)
        return watched(items, what, each)

    monkeypatch.setattr(analysis, "watched", told)
    report = bp.influence_report(network, protect="x00")
    assert len(report.attributes[0].columns) == 29
    assert seen == {"more column": 29, "more quilt": 28}


def test_costs_that_grow_are_told_while_most_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a grid the first columns are cheap and the last dear: the mean so far foretells too little to be told."""
    clock, told_at = [0.0], list[float]()
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(pace.warnings, "warn", lambda *_, **__: told_at.append(clock[0]))
    for place in watched(range(500), "what is told by {}", "more column"):
        clock[0] += 20 * 3 * place**2 / 500**3  # 20 s in all
    assert len(told_at) == 1
    assert told_at[0] < 5


def test_one_slow_column_among_quick_ones_is_not_taken_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pace.time, "perf_counter", lambda: clock[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in watched(range(500), "what is told by {}", "more column"):
            clock[0] += 0.07 if place == 40 else 1e-4
