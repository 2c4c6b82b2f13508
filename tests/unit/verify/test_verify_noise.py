"""The checker on channels: rows replayed on the laws of the answer, and faults planted in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.verify.check import Verdict
from tests import replay

Record = dict[str, Any]


def listed(rows: list[list[int]]) -> list[list[list[int | str]]]:
    """Return rows as they are stored: the outputs that may occur, with their numerators."""
    return [[[k, str(n)] for k, n in enumerate(row) if n] for row in rows]


def record(first: list[float], second: list[float], epsilon: float, rows: list[list[int]], **facts: Any) -> Record:
    """Return a calibration of a channel on the answers 0, 1, 2, ... with these laws, as it is stored."""
    points = list(range(len(first)))
    framework = bp.DistributionPrivacy([(Atoms(points, first), Atoms(points, second))], source="a test")
    stored = json.loads(bp.TightMechanism().calibrate(framework, epsilon=epsilon).to_json())
    stored["mechanism"] = {"name": "OptimalMechanism", "options": {}}
    channel = {
        "kind": "channel",
        "inputs": [float(x).hex() for x in points],
        "outputs": [float(x).hex() for x in range(len(rows[0]))],
        "numerators": listed(rows),
        "denominator": str(sum(rows[0])),
    }
    stored["noise"] = {**stored["noise"], "law": "Channel", "channel": {**channel, **facts}}
    return stored


def changed(change: Callable[[Record], object]) -> Verdict:
    """Return the verdict on a channel that holds, after a change."""
    stored = record([0.25, 0.5, 0.25], [0.5, 0.25, 0.25], 0.6, ROWS)
    change(stored)
    return bp.verify(json.dumps(stored))


ROWS = [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
"""Outputs have masses 5, 6, 5 and 6, 5, 5 sixteenths: epsilon is log(6 / 5) = .1823."""


def test_the_rows_decide_epsilon() -> None:
    verdict = changed(lambda stored: None)
    assert verdict.status == "holds"
    low, high = verdict.text.split("[")[1].split("]")[0].split(", ")
    assert float(low) <= np.log(6 / 5) <= float(high)
    assert float(high) - float(low) < 1e-15


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["noise"]["channel"].update(numerators=listed([[4, 0, 0], [0, 4, 0], [0, 0, 4]])),
        lambda s: s["noise"]["channel"].update(numerators=listed([[2, 1, 2], [1, 2, 1], [1, 1, 2]])),
        lambda s: s["noise"]["channel"].update(numerators=listed([[2, 3, -1], [1, 2, 1], [1, 1, 2]])),
        lambda s: s["noise"]["channel"].update(denominator="5"),
        lambda s: (s["guarantee"].update(epsilon=0.18), s.update(epsilon=0.18)),
    ],
    ids=["rows too sharp", "a row above 1", "a number below 0", "another denominator", "epsilon too small"],
)
def test_a_fault_in_the_rows_is_found(change: Callable[[Record], object]) -> None:
    assert changed(change).status == "fails"


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["noise"]["channel"].update(numerators=listed(ROWS[:2])),
        lambda s: s["noise"]["channel"]["numerators"][0][0].__setitem__(1, "2.0"),
        lambda s: s["noise"]["channel"]["numerators"][0][0].__setitem__(1, 2.5),
        lambda s: s["noise"]["channel"].update(denominator=4.5),
        lambda s: s["noise"]["channel"]["numerators"][0][0].__setitem__(0, False),
        lambda s: s["noise"]["channel"]["numerators"][0].append([0, "0"]),
        lambda s: s["noise"]["channel"]["numerators"][0].append([3, "0"]),
        lambda s: s["noise"]["channel"]["numerators"][0][0].__setitem__(0, -3),
        lambda s: s["noise"]["channel"].update(inputs=["0x0p+0", "0x0p+0", "0x1p+1"]),
        lambda s: s["noise"]["channel"].update(outputs=["nan", "0x0p+0", "0x1p+1"]),
        lambda s: s["noise"].pop("channel"),
        lambda s: s["mechanism"].update(name="TightMechanism"),
        lambda s: s["noise"].update(dimension=2),
    ],
    ids=[
        *(
            "a row left out",
            "a fraction",
            "a number",
            "a denominator that is a number",
            "a boolean",
            "an output twice",
            "no output",
            "from the end",
            "inputs twice",
        ),
        *("no number", "no rows", "another mechanism", "two numbers"),
    ],
)
def test_what_is_no_channel_is_not_covered(change: Callable[[Record], object]) -> None:
    assert changed(change).status == "not covered"


def test_every_row_is_read_to_the_last() -> None:
    """The last row is short of the denominator, or has a number below 0, and nothing else is wrong."""
    for row, status in (([1, 1, 1], "fails"), ([1, 4, -1], "fails"), ([1, 1, 2], "holds")):
        rows = listed([*ROWS[:-1], row])
        assert changed(lambda s, rows=rows: s["noise"]["channel"].update(numerators=rows)).status == status


def test_a_number_below_0_is_no_probability() -> None:
    """Both laws meet it alike, so that no ratio shows it."""
    stored = record([0.5, 0.5], [0.5, 0.5], 0.5, [[5, -1], [5, -1]])
    assert bp.verify(json.dumps(stored)).status == "fails"
    assert "no distribution" in bp.verify(json.dumps(stored)).text


def test_every_pair_is_compared() -> None:
    """The first pair is alike, the second one is told apart."""
    laws = Atoms(range(2), [0.5, 0.5]), Atoms(range(2), [0.9, 0.1])
    pairs = [(laws[0], Atoms(range(2), [0.4, 0.6])), (laws[0], laws[1])]
    for given in (pairs, pairs[::-1]):
        framework = bp.DistributionPrivacy(given, source="a test")
        stored = json.loads(bp.TightMechanism().calibrate(framework, epsilon=0.5).to_json())
        rows = record([0.5, 0.5], [0.4, 0.6], 0.5, [[1, 0], [0, 1]])
        stored["mechanism"], stored["noise"] = rows["mechanism"], rows["noise"]
        assert bp.verify(json.dumps(stored)).status == "fails"


def test_a_value_in_the_middle_takes_the_lower_row() -> None:
    """The answer 1 is as near to 0 as to 2: its row decides whether the claim holds, whatever the order of the rows."""
    laws = [0.1, 0.4, 0.5], [0.5, 0.0, 0.5]
    held = record(*laws, 0.01, [[1, 0], [0, 1]], inputs=[(0.0).hex(), (2.0).hex()])
    assert bp.verify(json.dumps(held)).status == "holds"


def test_values_off_the_inputs_take_the_nearest_row_and_the_lower_of_two() -> None:
    """An input is missing: its answers take the row of a neighbour, and that decides whether the claim holds."""
    laws = [0.1, 0.4, 0.5], [0.5, 0.4, 0.1]
    rows = [[1, 0], [0, 1]]
    low = record(*laws, 0.59, rows, inputs=[(0.0).hex(), (2.0).hex()])  # 1 goes to 0: .5 and .5 against .9 and .1
    assert bp.verify(json.dumps(low)).status == "fails"
    far = record(*laws, 0.59, rows, inputs=[(-7.0).hex(), (9.0).hex()])  # 1 is in the middle, 2 beyond it
    assert bp.verify(json.dumps(far)).status == "fails"
    one = record(*laws, 0.59, rows, inputs=[(2.0).hex(), (3.0).hex()])
    assert bp.verify(json.dumps(one)).status == "holds"


def test_a_zero_on_one_side_is_found_however_rare() -> None:
    """Row 8: an output of mass 1e-300 under one secret, and none under the other."""
    stored = record([1.0, 1e-300, 0.0], [1.0, 0.0, 1e-300], 5.0, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert bp.verify(json.dumps(stored)).status == "fails"
    stored["noise"]["channel"]["numerators"] = listed([[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert bp.verify(json.dumps(stored)).status == "holds"
    stored["noise"]["channel"]["numerators"] = listed([[10**30, 0, 0], [0, 10**30, 0], [0, 10**30 - 1, 1]])
    stored["noise"]["channel"]["denominator"] = str(10**30)
    assert bp.verify(json.dumps(stored)).status == "fails"


def test_delta_is_the_excess_of_all_outputs() -> None:
    stored = record([0.5, 0.25, 0.25], [0.0, 0.5, 0.5], 0.7, [[4, 0, 0], [0, 4, 0], [0, 0, 4]])
    assert bp.verify(json.dumps(stored)).status == "fails"
    for delta, status in ((0.5, "holds"), (0.49, "fails")):
        stored["guarantee"]["delta"] = delta
        assert bp.verify(json.dumps(stored)).status == status


def test_excesses_of_several_outputs_add_up() -> None:
    """Two outputs pass by a quarter each."""
    stored = record([0.25, 0.25, 0.5], [0.0, 0.0, 1.0], 0.7, [[4, 0, 0], [0, 4, 0], [0, 0, 4]])
    for delta, status in ((0.501, "holds"), (0.499, "fails"), (0.251, "fails")):
        stored["guarantee"]["delta"] = delta
        assert bp.verify(json.dumps(stored)).status == status


def test_random_rows_get_the_epsilon_of_fractions() -> None:
    """Whatever the rows, the verdict is that of plain fractions."""
    rng, seen = np.random.default_rng(7), set[str]()
    for _ in range(60):
        size, outputs = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        laws = [[int(k) for k in rng.integers(1, 9, size)] for _ in range(2)]
        laws = [[k * 2 ** (7 - sum(law).bit_length()) for k in law] for law in laws]
        laws = [[*law[:-1], law[-1] + 128 - sum(law)] for law in laws]
        rows = [[int(k) for k in rng.multinomial(32, rng.dirichlet(np.full(outputs, 3.0)))] for _ in range(size)]
        masses = [[sum(law[k] * rows[k][j] for k in range(size)) for j in range(outputs)] for law in laws]
        epsilon = float(rng.choice([0.1, 0.3, 1.0]))
        bound = Fraction(np.exp(epsilon))
        holds = all(a <= bound * b and b <= bound * a for a, b in zip(*masses, strict=True))
        first, second = ([k / 128 for k in law] for law in laws)
        status = bp.verify(json.dumps(record(first, second, epsilon, rows))).status
        assert status == ("holds" if holds else "fails")
        seen.add(status)
    assert seen == {"holds", "fails"}


@pytest.mark.parametrize(
    "mechanism", [bp.mechanisms.QuantizationMechanism(), bp.mechanisms.OptimalMechanism(large_delta=True)]
)
@pytest.mark.unhurried
def test_random_channels_hold(mechanism: bp.types.Mechanism) -> None:
    """Hostile numbers: neighbouring doubles, masses of 1e-300, secrets of probability zero, several models."""
    found, told, _ = replay.replay(80, 15, mechanism)
    assert found["holds"] == 15, told
