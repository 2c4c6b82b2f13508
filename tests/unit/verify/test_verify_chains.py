"""Markov chains as the checker sees them: against all quilts on all paths, files, hostile facts, planted bugs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.io.examples import example_path
from bnpriv.verify.chains import Chain
from tests import replay
from tests.contract.test_chain import brute_force, output_epsilon, paths, random_chain

COUNT = bp.count(bp.col("u") == "1")
STATES = ["0", "1", "2", "3"]


def framework(chain: bp.types.MarkovChain) -> bp.ValuePrivacy:
    schema = bp.Schema(records=chain.steps, columns={"u": bp.Categorical(STATES)})
    return bp.ValuePrivacy(chain, schema, "u", source="invented")


def calibrated(chain: bp.types.MarkovChain, epsilon: float = 1.0, influence: Any = "exact") -> bp.types.Calibration:
    mechanism = bp.mechanisms.MarkovChainMechanism(influence=influence)
    return mechanism.calibrate(framework(chain), COUNT, epsilon=epsilon)


def at_scale(calibration: bp.types.Calibration, scale: float) -> str:
    record = json.loads(calibration.to_json())
    record["noise"].update(scale=scale, exact_scale=scale.hex())
    return json.dumps(record)


def with_chain(calibration: bp.types.Calibration, **facts: object) -> str:
    record = json.loads(calibration.to_json())
    record["model"]["chain"].update(facts)
    return json.dumps(record)


@pytest.mark.parametrize("start", ["given", "stationary"])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_it_holds_from_the_scale_of_the_best_of_all_quilts_on_all_paths(start: str, zeros: float) -> None:
    rng, told = np.random.default_rng(11), 0
    for _ in range(25):
        try:
            chain = random_chain(rng, int(rng.integers(2, 4)), int(rng.integers(1, 7)), start, zeros=zeros)
            epsilon = float(10 ** rng.uniform(-1, 1))
            calibration = calibrated(chain, epsilon)
        except bp.BnprivError:
            continue  # several stationary laws, or no two values
        wanted = brute_force(chain, chain.first(0), epsilon)
        assert bp.verify(at_scale(calibration, wanted * (1 + 1e-9))).status == "holds"
        below = bp.verify(at_scale(calibration, wanted * (1 - 1e-6)))
        assert below.status in ("fails", "cannot be shown"), below
        told += 1
    assert told > 10


def test_any_start_holds_for_no_less_than_every_start_needs() -> None:
    rng = np.random.default_rng(12)
    for _ in range(8):
        chain = random_chain(rng, 3, int(rng.integers(2, 6)), "any")
        calibration = calibrated(chain)
        assert bp.verify(calibration).status == "holds"
        needed = max(brute_force(chain, rng.dirichlet(np.ones(3) * 0.3), 1.0) for _ in range(10))
        assert bp.verify(at_scale(calibration, needed * (1 - 1e-6))).status != "holds"


def test_what_fails_has_two_values_that_show_it() -> None:
    chain = bp.types.MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 6)
    calibration = calibrated(chain)
    joint = paths(chain, chain.first(0))
    for scale in (0.3, 1.0, 3.0, 5.0):
        least = max(output_epsilon(joint, step, scale) for step in (0, 2, 5))
        verdict = bp.verify(at_scale(calibration, scale))
        assert (verdict.status == "fails") == (least > 1), (scale, least, verdict)
        if least > 1:
            assert float(verdict.text.split()[2]) == pytest.approx(least, rel=0.3)
            assert "step" in verdict.text


SLOW = [[0.97, 0.03, 0.0], [0.01, 0.98, 0.01], [0.0, 0.05, 0.95]]
PERIODIC = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
LEFT = [[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.0, 0.3, 0.7]]


@pytest.mark.parametrize("influence", ["exact", "spectral"])
@pytest.mark.parametrize("start", ["stationary", "any", [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
@pytest.mark.parametrize("transition", [SLOW, PERIODIC, LEFT], ids=["slow", "periodic", "left for good"])
def test_long_chains_and_a_hundredth_less(transition: Any, start: Any, influence: str) -> None:
    chain = bp.types.MarkovChain(transition, start, [2000, 700])
    mechanism = bp.mechanisms.MarkovChainMechanism(influence=influence)
    if mechanism.supports(framework(chain), COUNT, epsilon=1.0) is not None:
        assert influence == "spectral"
        return
    calibration = mechanism.calibrate(framework(chain), COUNT, epsilon=1.0)
    assert bp.verify(calibration).status == "holds"
    if influence == "exact":
        assert bp.verify(replay.lowered(calibration.to_json(), 0.99)).status == "cannot be shown"


def test_all_models_count() -> None:
    near, far = [[0.6, 0.4], [0.4, 0.6]], [[0.8, 0.2], [0.2, 0.8]]
    one, other = (calibrated(bp.types.MarkovChain(m, "stationary", 100)) for m in (near, far))
    both = calibrated(bp.types.MarkovChain([near, far], "stationary", 100))
    assert bp.verify(both).status == "holds"
    assert both.scale == max(one.scale, other.scale) == other.scale
    assert bp.verify(at_scale(both, one.scale)).status == "fails"


CHANGES: Mapping[str, tuple[str, str]] = {
    "a transition": ("[0.86, 0.10, 0.035, 0.005]", "[0.85, 0.11, 0.035, 0.005]"),
    "the start": ('"stationary"', '"any"'),
    "a start": ('"stationary"', "[0.25, 0.25, 0.25, 0.25]"),
    "the lengths": ("length = 8640", "length = [4320, 4320]"),
    "the states": ('"standing", "walking", "running"]\ntransition', '"walking", "standing", "running"]\ntransition'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_file_counts(change: str, tmp_path: Any) -> None:
    calibration = bp.plan(bp.example("activity"), bp.read_queries(example_path("activity"))["running"], 1.0).best
    text, path = example_path("activity").read_text(), tmp_path / "framework.toml"
    path.write_text(text)
    assert bp.verify(calibration, path).status == "holds"
    assert CHANGES[change][0] in text
    path.write_text(text.replace(*CHANGES[change]))
    verdict = bp.verify(calibration, path)
    assert verdict.status == "fails"
    assert "Markov chain" in verdict.text


def test_a_chain_of_too_many_numbers_is_read_from_the_file(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("bnpriv.mechanisms.serialize.MOST_STORED_NUMBERS", 8)
    made = framework(bp.types.MarkovChain([[0.6, 0.4], [0.3, 0.7]], "any", [20, 10, 5, 5, 5]))
    calibration = bp.mechanisms.MarkovChainMechanism().calibrate(made, COUNT, epsilon=2.0)
    assert "chain" not in json.loads(calibration.to_json())["model"]
    assert bp.verify(calibration).status == "too large"
    made.to_file(tmp_path / "framework.toml")
    assert bp.verify(calibration, tmp_path / "framework.toml").status == "holds"


def test_a_chain_stored_by_an_earlier_version_is_read() -> None:
    calibration = calibrated(bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 9))
    record = json.loads(calibration.to_json())
    del record["model"]["chain"]
    record["model"]["left_out"] = "not covered: a MarkovChain"
    old = json.dumps(record)
    assert bp.verify(old).status == "not covered"
    assert bp.types.Calibration.from_json(old, calibration.framework, COUNT).seal == calibration.seal


@pytest.mark.parametrize(
    "facts",
    [
        {"transition": [[["0x1p-1"], ["0x1p-1", "0x1p-1"]]]},
        {"transition": []},
        {"transition": [[["nan", "0x1p-1"], ["0x1p-1", "0x1p-1"]]]},
        {"transition": [[["0x1p+0", "0x1p+0"], ["0x1p-1", "0x1p-1"]]]},
        {"transition": [[["-0x1p-1", "0x1.8p+0"], ["0x1p-1", "0x1p-1"]]]},
        {"initial": "some"},
        {"initial": 3},
        {"initial": [["0x1p+0"]]},
        {"length": [8]},
        {"length": [10, -1]},
        {"length": ["9"]},
        {"states": []},
        {"column": "v"},
    ],
    ids=str,
)
def test_hostile_facts_raise_nothing(facts: Any) -> None:
    calibration = calibrated(bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 9))
    assert bp.verify(with_chain(calibration, **facts)).status == "not covered"


@pytest.mark.parametrize("size", [1, 3, None])
def test_what_a_baseline_says_of_records_is_checked(size: int | None) -> None:
    made = framework(bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 9))
    calibration = bp.mechanisms.GroupPrivacyMechanism(size=size).calibrate(made, COUNT, epsilon=0.5)
    assert bp.verify(calibration).status == "holds"
    record = json.loads(calibration.to_json())
    record["epsilon"] *= 0.99
    record["guarantee"]["epsilon"] *= 0.99 if size is None else 1
    told = bp.verify(json.dumps(record))
    assert told.status == "fails"
    assert f"{size or 9} records" in told.text


@pytest.mark.slow
def test_random_chains_hold_and_a_hundredth_less_is_told() -> None:
    told = dict.fromkeys(("holds", "fails", "cannot be shown", "too large"), 0)
    for k in itertools.islice(itertools.count(), 400):
        try:
            asked = replay.chain_case(np.random.default_rng((13, k)))
            made = asked.mechanism.calibrate(asked.framework, asked.query, epsilon=asked.epsilon)
        except bp.BnprivError:
            continue
        assert bp.verify(made).status == "holds", k
        if made.scale > 0 and asked.mechanism == bp.mechanisms.MarkovChainMechanism():
            told[bp.verify(replay.lowered(made.to_json(), 0.99)).status] += 1
    assert told["too large"] == 0
    assert told["fails"] + told["cannot be shown"] > 6 * told["holds"]  # where rounding is paid for step by step


def test_a_state_that_only_a_start_has_is_possible_at_the_first_step_alone() -> None:
    rows = [[Decimal(text) for text in row] for row in (("0.5", "0.5", "0"), ("0.4", "0.6", "0"), ("0.9", "0.1", "0"))]
    seen = Chain(rows, "any", lambda _: None).led_by_any(3)
    assert (seen(2), seen(1)) == ({0, 1, 2}, {0, 1})
