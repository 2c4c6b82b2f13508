"""Outputs beyond all answers, by the checker: against exact distributions of a few records, and of many."""

from __future__ import annotations

import importlib
import json
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.replay import lowered

answers = importlib.import_module("bnpriv.verify.answers")
check = importlib.import_module("bnpriv.verify.check")
Claim, NoisyPair = check.Claim, check.NoisyPair
D = Decimal
SICK, WELL = bp.col("ill") == "yes", bp.col("ill") == "no"
AGES = {"ill": ["no", "perhaps", "yes"], "age": ["0", "1", "2", "5"]}


def table_of(n: int, secret: Any, seed: int = 3) -> Any:
    """Return a framework of records in which ages depend on illness."""
    rng = np.random.default_rng(seed)
    tables = {"ill": rng.dirichlet([2, 2, 2]), "age": rng.dirichlet([1] * 4, size=3).T}
    network = bp.DiscreteNetwork.from_tables(tables, states=AGES, parents={"age": ["ill"]}, level="records")
    columns = {"ill": bp.Categorical(AGES["ill"]), "age": bp.Integer(0, 5)}
    return bp.DatasetAttributePrivacy(network, bp.Schema(records=n, columns=columns), {"ill": secret}, source="a test")


def parameters_of(n: int) -> Any:
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.4, 0.6], "v": [[0.7, 0.2], [0.3, 0.8]]},
        states={"u": ["few", "many"], "v": ["few", "many"]},
        parents={"v": ["u"]},
        level="parameters",
    )
    schema = bp.Schema(records=n, columns={"v": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(
        network, schema, "u", source="a test", laws={"v": {"few": 0.4, "many": 0.6}}
    )


COUNT = bp.Secret(bp.count(SICK), pairs=bp.apart(at_most=2))
SETS = bp.Secret(bp.count(SICK), pairs=bp.pairs(((0, 1), (3, 4))))
MORE = bp.Secret(bp.count(SICK) - bp.count(WELL), pairs=bp.apart(at_most=3))
CELLS = bp.Secret(bp.histogram("ill"), pairs=bp.apart(at_most=2))
TOTAL, BOTH = bp.total("age"), bp.stack(bp.count(bp.col("age") >= 2), bp.mean("age"))
CASES = {
    "a count": lambda n: (table_of(n, COUNT), TOTAL),
    "a count, several numbers": lambda n: (table_of(n, COUNT), BOTH),
    "sets of counts": lambda n: (table_of(n, SETS), TOTAL),
    "a difference": lambda n: (table_of(n, MORE), BOTH),
    "a parameter": lambda n: (parameters_of(n), bp.total("v")),
}


def claim_of(name: str, n: int, scale: float | None = None, **options: float) -> Any:
    framework, query = CASES[name](n)
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=options.get("epsilon", 1.0))
    record = json.loads(calibration.to_json())
    if scale or record["noise"]["law"] == "NoNoise":
        record["noise"] |= {"law": "Laplace", "scale": scale or 1.0, "exact_scale": (scale or 1.0).hex()}
    return Claim(record, record["model"])


def beyond(claim: Any, corner: list[int]) -> Decimal:
    laws = answers.AnswerLaws(claim)
    plain = [(each, answers._compared(laws, each[1], *each[3:])) for each in answers._beyond(laws, [0] * len(corner))]
    return answers._told_beyond(laws, corner, plain)[0]


def far(key: Any, way: int, rates: list[Decimal]) -> Decimal:
    return (way * sum(D(x) * rate for x, rate in zip(key, rates, strict=True))).exp()


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_limit_of_exact_ratios(name: str) -> None:
    """Of the exact distributions, weighed by how far their answers reach to a corner; no output tells more than all."""
    with localcontext(check.ARITHMETIC):
        claim = claim_of(name, 4, 1.25)
        rates = [D(weight.numerator) / D(weight.denominator) / claim.scale for weight in claim.weights]
        for way in (1, -1):
            corner, most, any_output = [way] * len(rates), D(0), D(0)
            for _, *laws in answers.AnswerLaws(claim).families():
                first, second = (sum(p * far(key, way, rates) for key, p in law.items()) for law in laws)
                most = max(most, abs((first / second).ln()))
                any_output = max(any_output, NoisyPair(claim).largest(*laws)[0].ln())
            assert abs(beyond(claim, corner) - most) < D("1e-14")  # a mean is rounded to a double
            assert D("0.01") < most < any_output + D("1e-30")


def test_cells_are_apart_by_all_records_that_move() -> None:
    with localcontext(check.ARITHMETIC):
        one, two = (table_of(50, bp.Secret(CELLS.property, pairs=bp.apart(at_most=k))) for k in (1, 2))
        told = []
        for framework in (one, two):
            record = json.loads(bp.TightMechanism().calibrate(framework, TOTAL, epsilon=1.0).to_json())
            record["noise"] |= {"scale": 2.0, "exact_scale": (2.0).hex()}
            told.append(beyond(Claim(record, record["model"]), [1]))
        assert told[1] == 2 * told[0] > 0


@pytest.mark.parametrize("change", ["scale", "epsilon"])
def test_a_false_claim_of_ten_thousand_records_fails(change: str) -> None:
    calibration = bp.TightMechanism().calibrate(bp.example("hospital"), 'count(inhaler == "yes")', epsilon=1.0)
    assert bp.verify(calibration).status == "holds"
    record = json.loads(lowered(calibration.to_json(), 0.99))
    if change == "epsilon":
        record = json.loads(calibration.to_json())
        record["epsilon"] = record["guarantee"]["epsilon"] = 0.5
    verdict = bp.verify(json.dumps(record))
    assert verdict.status == "fails"
    assert "an output beyond all answers (above) of disease, values that 100 records change" in verdict.text


@pytest.mark.parametrize("name", ["a count", "a count, several numbers", "sets of counts", "a parameter"])
def test_where_distributions_are_too_large_it_refutes_or_says_what_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a claim that the exact comparison bears; far too little noise is always told."""
    monkeypatch.setattr(answers.AnswerLaws, "families", too_large)
    framework, query = CASES[name](4)
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=0.3)
    text = calibration.to_json()
    told = [bp.verify(lowered(text, share)).status for share in (1.0, 0.97, 0.5, 0.1)]
    assert told[0] != "fails"
    assert told[-1] == "fails"


def too_large(*_: object) -> Any:
    raise check.StopError("too large", "more than 0 products of masses")


def test_the_smallest_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound by one record that passes the claim, beyond all answers nothing that does."""
    framework, query = CASES["a count"](4)
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=0.3)
    monkeypatch.setattr(answers.AnswerLaws, "families", too_large)
    monkeypatch.setattr(check, "refuted_beyond", lambda *_: None)
    verdict = bp.verify(lowered(calibration.to_json(), 0.5))
    assert verdict.status == "cannot be shown"
    assert "where 0.300000000 is claimed, by the distribution of one record; of all: more than 0" in verdict.text


@pytest.mark.parametrize("scale", [1e-300, 1e-18, 2.0**-30])
def test_hostile_numbers_end_without_a_false_verdict(scale: float) -> None:
    """Exponentials that would vanish are not taken: nothing is refuted, and nothing raised."""
    with localcontext(check.ARITHMETIC):
        claim = claim_of("a count", 4, scale)
        claim.epsilon = D(10) ** 17
        answers.refuted_beyond(claim, answers.AnswerLaws(claim))


def test_impossible_values_and_the_rounding_of_answers_refute_nothing() -> None:
    """Of values at most 2 apart some are impossible; answers near 2^55 are rounded by more than they differ."""
    columns = {"ill": bp.Categorical(AGES["ill"]), "age": bp.Integer(2**52 - 1, 2**52)}
    states = {"ill": AGES["ill"], "age": [str(2**52 - 1), str(2**52)]}
    tables = {"ill": [0.5, 0.0, 0.5], "age": [[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"age": ["ill"]}, level="records")
    framework = bp.DatasetAttributePrivacy(
        network, bp.Schema(records=9, columns=columns), {"ill": MORE}, source="a test"
    )
    record = json.loads(bp.WassersteinMechanism().calibrate(framework, TOTAL, epsilon=1.0).to_json())
    record["noise"] |= {"law": "Laplace", "scale": 1.0, "exact_scale": (1.0).hex()}
    with localcontext(check.ARITHMETIC):
        claim = Claim(record, record["model"])
        claim.epsilon = D("0.5")
        assert beyond(claim, [1]) > claim.epsilon  # of exact sums, which are not what is released
        answers.refuted_beyond(claim, answers.AnswerLaws(claim))


def test_normal_parameters_of_columns_that_a_program_draws() -> None:
    """No distribution is known: the claim holds where the noise hides all columns, by delta where noise is normal."""
    framework, query = bp.example("admissions"), bp.total("men")
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
    verdict = bp.verify(calibration)
    assert (verdict.status, "'men' is not normal given its parameters" in verdict.text) == ("not covered", True)
    assert bp.verify(lowered(calibration.to_json(), 5000 / calibration.scale)).status == "holds"
    normal = bp.TightMechanism(noise="gaussian").calibrate(framework, query, epsilon=1.0, delta=1e-6)
    near = lowered(normal.to_json(), 5500 / normal.scale)  # 0.9 deviations: delta is 0.1
    assert bp.verify(near).status == "not covered"
    assert bp.verify(lowered(normal.to_json(), 25_000 / normal.scale)).status == "holds"
