"""Stored channels: read where the solver ends elsewhere, and refused where any number is not that of the rows."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.mechanisms.optimal.program as program_module
import bnpriv.mechanisms.optimal.program as supports_module
from bnpriv.core.distributions import Atoms
from bnpriv.errors import CertificateError
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from tests.channels import EXAMPLE, Problem, count_of, needed_delta, problems

Record = dict[str, Any]

LAWS = (Atoms(range(5), [0.1, 0.2, 0.3, 0.25, 0.15]), Atoms(range(5), [0.15, 0.3, 0.2, 0.2, 0.15]))
SMALL = Problem([LAWS], 0.2)
MECHANISM = OptimalMechanism(large_delta=True)


def stored(problem: Problem = SMALL, mechanism: OptimalMechanism = MECHANISM) -> Record:
    calibration = mechanism.calibrate(problem.framework, epsilon=problem.epsilon, delta=problem.delta)
    return json.loads(calibration.to_json())


def read(record: Record, framework: bp.DistributionPrivacy = SMALL.framework) -> bp.types.Calibration:
    return bp.types.Calibration.from_json(json.dumps(record), framework)


def another_vertex(monkeypatch: pytest.MonkeyPatch, share: float = 0.01) -> None:
    """Let the solver end elsewhere: at the best channel for costs that are off by a share of themselves."""
    real = program_module.Program._once

    def once(self, columns, rows):
        rng = np.random.default_rng(3)
        moved = self.costs * rng.uniform(1 - share, 1 + share, size=self.costs.shape)
        return real(replace(self, costs=moved), columns, rows)

    monkeypatch.setattr(program_module.Program, "_once", once)


@pytest.mark.parametrize("worst_case", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_a_channel_is_read_where_the_solver_ends_at_another_one(monkeypatch, worst_case, delta):
    problem = Problem([EXAMPLE], 0.5, delta)
    mechanism = OptimalMechanism(worst_case=worst_case, large_delta=True)
    calibration = mechanism.calibrate(problem.framework, epsilon=0.5, delta=delta)
    another_vertex(monkeypatch)
    assert mechanism.calibrate(problem.framework, epsilon=0.5, delta=delta).noise != calibration.noise
    again = read(json.loads(calibration.to_json()), problem.framework)
    assert again.noise == calibration.noise
    assert again.to_json() == calibration.to_json()
    assert again.seal == calibration.seal
    assert not again.changed()


def test_no_solver_is_needed_to_read_a_channel(monkeypatch):
    problem = Problem([EXAMPLE, (count_of(100, (1.0,), (0.3,)), count_of(100, (1.0,), (0.35,)))], 0.5)
    calibration = MECHANISM.calibrate(problem.framework, epsilon=0.5)

    def fails(*args):
        raise AssertionError("asked to solve a program")

    monkeypatch.setattr(supports_module, "solve", fails)
    assert read(json.loads(calibration.to_json()), problem.framework).seal == calibration.seal


def test_what_is_read_is_what_was_stored_whatever_the_numbers_are():
    for problem in problems(8, 30):
        for mechanism in (MECHANISM, OptimalMechanism(error="squared", worst_case=True, large_delta=True)):
            calibration = mechanism.calibrate(problem.framework, epsilon=problem.epsilon, delta=problem.delta)
            again = read(json.loads(calibration.to_json()), problem.framework)
            assert again.seal == calibration.seal


def channel_of(record: Record) -> Record:
    return record["noise"]["channel"]


def facts_of(record: Record) -> Record:
    return record["certificate"]["channel"]


def table_of(record: Record) -> list[list[int]]:
    """Return the numerators as a table."""
    found = channel_of(record)
    rows = [[0] * len(found["outputs"]) for _ in found["inputs"]]
    for row, listed in zip(rows, found["numerators"], strict=True):
        for k, digits in listed:
            row[k] = int(digits)
    return rows


def with_table(record: Record, rows: list[list[int]]) -> None:
    channel_of(record)["numerators"] = [[[k, str(n)] for k, n in enumerate(row) if n] for row in rows]


def swap_rows(record: Record) -> None:
    rows = table_of(record)
    with_table(record, [rows[-1], *rows[1:-1], rows[0]])


def sharpen(record: Record) -> None:
    """Send the second answer to itself, for sure."""
    rows = table_of(record)
    with_table(record, [rows[0], [0, sum(rows[0]), *[0] * (len(rows[0]) - 2)], *rows[2:]])


def one_step(record: Record) -> None:
    """Move the least that there is, from one output to another, where the constraints have some room."""
    rows = table_of(record)
    row = rows[2]
    source = max(range(len(row)), key=row.__getitem__)
    row[source] -= 2**45
    row[source - 1] += 2**45
    with_table(record, rows)


def at_place(record: Record, *place: Any, value: Any) -> None:
    target: Any = record
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value(target[place[-1]]) if callable(value) else value


FORGED = {
    "rows exchanged": swap_rows,
    "a row that tells more": sharpen,
    "a row moved and nothing else": one_step,
    "a row left out": lambda r: channel_of(r)["numerators"].pop(),
    "a row too long": lambda r: channel_of(r)["numerators"][0].append([len(channel_of(r)["outputs"]), "1"]),
    "an output twice": lambda r: channel_of(r)["numerators"][0].append(channel_of(r)["numerators"][0][-1]),
    "a number that is no text": lambda r: at_place(r, "noise", "channel", "numerators", 0, 0, 1, value=int),
    "a denominator": lambda r: at_place(r, "noise", "channel", "denominator", value=lambda d: str(int(d) // 2)),
    "inputs permuted": lambda r: at_place(r, "noise", "channel", "inputs", value=lambda each: each[::-1]),
    "inputs moved by one ulp": lambda r: at_place(
        r, "noise", "channel", "inputs", 1, value=lambda x: math.nextafter(float.fromhex(x), 9).hex()
    ),
    "minus zero": lambda r: at_place(r, "noise", "channel", "outputs", 0, value="-0x0.0p+0"),
    "inputs as words": lambda r: at_place(r, "noise", "channel", "inputs", value="01234"),
    "an output off the answers": lambda r: at_place(r, "noise", "channel", "outputs", 0, value="-0x1p+0"),
    "a prior": lambda r: at_place(r, "noise", "channel", "prior", value=["0x1p+0", *["0x0p+0"] * 4]),
    "no channel": lambda r: r["noise"].pop("channel"),
    "a channel that is a list": lambda r: at_place(r, "noise", "channel", value=[]),
    "no noise": lambda r: at_place(r, "noise", "law", value="NoNoise"),
    "epsilon": lambda r: (at_place(r, "epsilon", value=0.19), at_place(r, "guarantee", "epsilon", value=0.19)),
    "epsilon too large": lambda r: (at_place(r, "epsilon", value=0.3), at_place(r, "guarantee", "epsilon", value=0.3)),
    "delta of the guarantee": lambda r: at_place(r, "guarantee", "delta", value=0.1),
    "the expected error": lambda r: at_place(r, "noise", "expected_error", value=lambda x: x * 0.99),
    "the scale": lambda r: at_place(r, "noise", "scale", value=lambda x: x * 0.99),
    "the error": lambda r: at_place(r, "certificate", "channel", "error", value=lambda x: x * 0.99),
    "a bound that is too large": lambda r: at_place(r, "certificate", "channel", "bound", value=lambda x: x * 1.001),
    "a bound below 0": lambda r: at_place(r, "certificate", "channel", "bound", value=-1.0),
    "a bound that is a text": lambda r: at_place(r, "certificate", "channel", "bound", value="0"),
    "the program's value below the bound": lambda r: at_place(
        r, "certificate", "channel", "value", value=lambda x: x / 2
    ),
    "the program's value above the error": lambda r: at_place(
        r, "certificate", "channel", "value", value=lambda x: x * 2
    ),
    "prices that prove less": lambda r: at_place(r, "certificate", "channel", "prices", "prices", value=[]),
    "prices below 0": lambda r: at_place(r, "certificate", "channel", "prices", "prices", 0, 2, value="-0x1p+0"),
    "infinite prices": lambda r: at_place(r, "certificate", "channel", "prices", "prices", 0, 2, value="inf"),
    "prices too large for sums": lambda r: at_place(
        r, "certificate", "channel", "prices", "prices", 0, 2, value="0x1p+1023"
    ),
    "prices at no output": lambda r: at_place(r, "certificate", "channel", "prices", "prices", 0, 1, value=99),
    "prices counted from the end": lambda r: at_place(r, "certificate", "channel", "prices", "prices", 0, 1, value=-1),
    "prices at a place beyond the answers": lambda r: at_place(
        r, "certificate", "channel", "prices", "outputs", -1, value=99
    ),
    "weights that are too large": lambda r: at_place(r, "certificate", "channel", "prices", "shares", value=["nan"]),
    "no prices": lambda r: facts_of(r).pop("prices"),
    "what an answer means": lambda r: at_place(r, "certificate", "channel", "meanings", 0, "factor", value=1.0),
    "how many answers are told apart": lambda r: at_place(r, "certificate", "channel", "runs", value=4),
    "a note": lambda r: at_place(r, "certificate", "notes", value=lambda notes: notes[:1]),
    "options": lambda r: at_place(r, "mechanism", "options", "error", value="squared"),
    "an option that is none": lambda r: at_place(r, "mechanism", "options", "prior", value="all"),
    "another mechanism": lambda r: r.update(mechanism={"name": "QuantizationMechanism", "options": {}}),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_channel_is_refused(forged):
    record = stored()
    assert read(record)
    FORGED[forged](record)
    with pytest.raises(CertificateError):
        read(record)


def test_another_framework_is_refused():
    first, second = LAWS
    for pairs in ([(second, first)], [LAWS, (first, Atoms(range(5), [0.2] * 5))], [(first, Atoms([9], [1.0]))]):
        with pytest.raises(CertificateError):
            read(stored(), Problem(pairs, 0.2).framework)


def test_rows_that_fail_by_the_least_number_are_refused():
    """The constraints of the stored rows are whole numbers: one unit of the denominator decides."""
    laws = Atoms([0, 1], [0.75, 0.25]), Atoms([0, 1], [0.25, 0.75])
    problem = Problem([laws], 0.5)
    record = stored(problem)
    rows, below = table_of(record), int(channel_of(record)["denominator"])
    assert len(rows) == len(rows[0]) == 2
    low, high = 0, below // 2  # of the chance of another answer, for both answers alike
    while high - low > 1:
        middle = (low + high) // 2
        table = [[below - middle, middle], [middle, below - middle]]
        channel = bp.noise.Channel([0, 1], [0, 1], table, below, [0.5, 0.5])
        low, high = (low, middle) if needed_delta(channel, problem.exact(), 0.5) == 0 else (middle, high)
    for chance in (low, low - 1):
        with_table(record, [[below - chance, chance], [chance, below - chance]])
        with pytest.raises(CertificateError, match="tell more"):
            read(record, problem.framework)


def test_delta_is_a_share_of_the_denominator_that_is_stored():
    """Rows over a small denominator do not look private for being small."""
    record = stored(Problem([LAWS], 0.2, 0.01))
    channel_of(record)["outputs"] = channel_of(record)["inputs"]
    channel_of(record)["denominator"] = "1"
    with_table(record, [[int(k == x) for k in range(5)] for x in range(5)])
    with pytest.raises(CertificateError, match="tell more"):
        read(record)


def test_outputs_that_are_no_answers_are_refused_before_any_figure_is_compared():
    record = stored()
    for wrong in ("0x1.8p+0", "-0x1p+0"):
        record["noise"]["channel"]["outputs"][1 if wrong[0] == "0" else 0] = wrong
        with pytest.raises(CertificateError, match="answers of its framework"):
            read(record)


def test_prices_below_0_are_refused_before_they_prove_anything():
    record = stored()
    record["certificate"]["channel"]["prices"]["prices"][0][2] = "-0x1p+0"
    with pytest.raises(CertificateError, match="come with prices"):
        read(record)


def test_other_rows_that_keep_the_promise_need_figures_of_their_own(monkeypatch):
    """What another solver found is private as well, and is read with its own error, not with that of the best one."""
    best = stored()
    another_vertex(monkeypatch, 0.9)
    other = stored()
    monkeypatch.undo()
    assert table_of(best) != table_of(other)
    found = read(other)
    weights = [Fraction(float(mass)) for mass in found.noise.prior]
    error = sum(
        weight * Fraction(n, found.noise.denominator) * abs(Fraction(x) - Fraction(w))
        for weight, x, row in zip(weights, found.noise.inputs, found.noise.numerators.tolist(), strict=True)
        for w, n in zip(found.noise.outputs, row, strict=True)
    )
    assert math.isclose(found.certificate.channel.error, error, rel_tol=1e-9)
    assert found.certificate.channel.bound <= best["certificate"]["channel"]["error"]
    for one, rows in ((best, other), (other, best)):
        mixed = copy.deepcopy(one)
        channel_of(mixed).update(outputs=channel_of(rows)["outputs"], numerators=channel_of(rows)["numerators"])
        with pytest.raises(CertificateError):
            read(mixed)


def test_answers_that_rounding_does_not_tell_apart_keep_one_row():
    schema = bp.Schema(records=3, columns={"x": bp.Real(0, 1, steps=10)})
    points = [0.1, 0.1 + 1e-16, 0.1 + 0.2, 0.3, 0.7]
    pair = (Atoms(points, [0.3, 0.2, 0.1, 0.2, 0.2]), Atoms(points, [0.1, 0.1, 0.3, 0.4, 0.1]))
    framework = bp.DistributionPrivacy([pair], query=bp.mean("x"), schema=schema, source="invented")
    record = json.loads(OptimalMechanism().calibrate(framework, epsilon=0.3).to_json())
    assert read(record, framework)
    rows = table_of(record)
    inputs = list(map(float.fromhex, channel_of(record)["inputs"]))
    near = next(k for k in range(4) if inputs[k + 1] - inputs[k] < 1e-15)
    rows[near] = [rows[near][0] + 2, *rows[near][1:]]
    source = max(range(1, len(rows[near])), key=rows[near].__getitem__)
    rows[near][source] -= 2
    with_table(record, rows)
    with pytest.raises(CertificateError, match="one row"):
        read(record, framework)


@pytest.mark.parametrize(("name", "value"), [("epsilon", -1.0), ("epsilon", 0.0), ("delta", 1.0), ("delta", -1e-9)])
def test_a_stored_number_out_of_range_is_a_fault_of_the_store(name: str, value: float) -> None:
    with pytest.raises(CertificateError):
        read({**stored(), name: value})
