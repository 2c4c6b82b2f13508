"""Reports and their parts say what is meant: numbers agree, nothing is said twice, no name of the inside shows."""

from __future__ import annotations

import re

import pytest

import bnpriv as bp
from bnpriv.frameworks.guarantee import belief_fact
from bnpriv.mechanisms.verdict import arithmetic_text
from bnpriv.render.bars import cut_text
from bnpriv.render.text import number_text, upper_text
from tests import kinds

NAMES = tuple(kinds.KINDS)
BUILT = {name: build() for name, build in kinds.KINDS.items()}


def texts(name: str) -> str:
    """Return the report and the plan of a kind of model as text."""
    return f"{BUILT[name].report}\n{BUILT[name].plan}"


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_meets_no_riddle(name: str) -> None:
    said = texts(name) + str(bp.influence_report(BUILT[name].framework))
    for riddle in (
        "(model 0)", "model 0)", "pair 0", "the curve of one record", "mu is", "but for rare answers", "exp(6",
        "factor infinite", "odds times infinite", "not settled:", "estimate: It was",
    ):  # fmt: skip
        assert riddle not in said
    assert not re.search(r"(?<![\d.,])1 nats", said)
    assert not re.search(r"scale [0-9.,]+\. [a-z][^.]*scale", said)


def test_several_models_are_told_apart_and_a_single_one_is_not() -> None:
    tables = {"ill": [[0.9, 0.1], [0.8, 0.2]], "coughs": [[[0.9, 0.4], [0.1, 0.6]], [[0.8, 0.4], [0.2, 0.6]]]}
    members = [
        bp.DiscreteNetwork.from_tables(
            {name: table[k] for name, table in tables.items()},
            states={name: ["no", "yes"] for name in tables},
            parents={"coughs": ["ill"]},
            level="records",
        )
        for k in range(2)
    ]
    schema = bp.Schema(records=30, columns={name: bp.Categorical(["no", "yes"]) for name in tables})
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=5))
    for network, says in ((members[0], False), (bp.model_class(members), True)):
        framework = bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a test")
        reasons = bp.TightMechanism().calibrate(framework, kinds.COUGHS, 1.0).certificate.reasons
        assert all(("model " in reason) is says for reason in reasons)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.693147, "0.6932"), (0.81093, "0.811"), (1000.01, "1,001"), (1000.0, "1,000"), (299.5732, "299.6"), (0.0, "0")],
)
def test_what_is_reached_at_most_is_rounded_up(value: float, said: str) -> None:
    assert upper_text(value) == said


@pytest.mark.parametrize("value", [10.0**k * m for k in range(-5, 14) for m in (1.0, 1.00004, 3.33333, 9.99996)])
def test_no_bound_is_said_smaller_than_it_is(value: float) -> None:
    assert float(upper_text(value).replace(",", "")) >= value * (1 - 1e-12)


@pytest.mark.parametrize("name", ["records", "discrete", "interval"])
def test_columns_tell_at_most_what_is_said(name: str) -> None:
    told = BUILT[name].influence
    found = re.search(r"tells? ([0-9.]+) nats", str(told.document.headline))
    shown = [float(each) for each in re.findall(r"at most ([0-9.]+) nats", texts(name))]
    assert found is not None
    assert float(found[1]) >= float(told)
    assert all(each >= float(told) * (1 - 1e-12) for each in shown)


@pytest.mark.parametrize("name", ["clinic", "student", "survey"])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
def test_the_arithmetic_of_a_scale_comes_out(name: str, delta: float) -> None:
    framework = bp.example(name)
    for query in bp.read_queries(bp.adapters.examples.example_path(name)).values():
        calibration = bp.MarkovQuiltMechanism(large_delta=True).calibrate(framework, query, 1.0, delta)
        for decision in calibration.certificate.decisions:
            said = arithmetic_text(decision, 1.0).replace(",", "")
            found = re.fullmatch(r"(\S+) / \(?([0-9.e-]+)(?: - ([0-9.e-]+)\))? = (\S+)", said)
            assert (found is None) is (decision.scale == 0)
            if found is not None:
                moved, whole, told, scale = found.groups()
                shown = number_text(decision.sensitivity.upper / (float(whole) - float(told or 0))).replace(",", "")
                assert shown == scale or float(moved) != decision.sensitivity.upper


def test_noise_is_measured_against_the_range_in_one_way() -> None:
    """The page said 300 % beside 6 times."""
    page = BUILT["density"].page.replace("&nbsp;", " ")
    assert "times as long" not in page
    assert cut_text(1600.0, 4793.0) == ", cut off in the drawing: 300 % of the range to either side"


@pytest.mark.parametrize("name", ["gaussian", "density"])
def test_a_star_marks_only_what_delta_does_not_allow(name: str) -> None:
    found = re.search(r"^income +∞( \*)? +∞( \*)?$", str(BUILT[name].report), re.MULTILINE)
    assert found is not None
    stars = dict(zip(("school", "sat"), found.groups(), strict=True))
    evidence = BUILT[name].evidence
    for column, star in stars.items():
        delta = evidence.influence(frozenset({column}), "income").delta(1.0)
        assert (star is None) is (delta <= BUILT[name].delta)


def test_rare_answers_come_with_their_probability() -> None:
    guarantee = BUILT["gaussian"].calibration.guarantee
    assert guarantee.delta == 0.005
    assert "except with probability at most 0.01." in str(belief_fact(guarantee).lines[0])


def test_reached_at_heads_no_empty_column() -> None:
    assert "reached at" not in str(BUILT["gaussian"].report)
    assert "reached at" in str(BUILT["records"].report)


def test_a_tradeoff_says_never_once() -> None:
    said = str(BUILT["gaussian"].tradeoff)
    assert said.count("Even at epsilon") == 1
