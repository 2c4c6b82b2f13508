"""Reports and their parts say what is meant: numbers agree, nothing is said twice, no name of the inside shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.base import ImportReport, NodeReading
from bnpriv.io.examples import example_path
from bnpriv.render.document import Block, Paragraph, Section
from bnpriv.render.figures import cut_text
from bnpriv.text import number_text, upper_chance, upper_text
from bnpriv.views.calibration import arithmetic_text
from bnpriv.views.cards import belief_fact
from bnpriv.views.report.sections import MOST_VARIABLES, reading_section
from tests import kinds
from tests.meta.test_words import faults

NAMES = tuple(kinds.KINDS)
BUILT = {name: build() for name, build in kinds.KINDS.items()}


def texts(name: str) -> str:
    """Return the report and the plan of a kind of model as text."""
    return f"{BUILT[name].report}\n{BUILT[name].plan}"


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_meets_no_riddle(name: str) -> None:
    said = texts(name) + bp.influence_report(BUILT[name].framework).text
    for riddle in (
        "(model 0)", "model 0)", "pair 0", "the curve of one record", "mu is", "but for rare answers", "exp(6",
        "infinite times", "odds times infinite", " 1 times", "not settled:", "estimate: It was",
    ):  # fmt: skip
        assert riddle not in said
    assert not faults(said)
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
    found = re.search(r"odds about \w+ by up to [0-9.]+ times \(([0-9.]+) nats\)", str(told.document.headline))
    shown = [float(each) for each in re.findall(r"at most [0-9.]+ times \(([0-9.]+) nats\)", texts(name))]
    assert found is not None
    assert float(found[1]) >= float(told)
    assert all(each >= float(told) * (1 - 1e-12) for each in shown)


@pytest.mark.parametrize("name", ["clinic", "student", "survey"])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
def test_the_arithmetic_of_a_scale_comes_out(name: str, delta: float) -> None:
    framework = bp.example(name)
    for query in bp.read_queries(example_path(name)).values():
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
    found = re.search(r"^income +∞( \*)? +∞( \*)?$", BUILT[name].report.text, re.MULTILINE)
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
    assert "reached at" not in BUILT["gaussian"].report.text
    assert "reached at" in BUILT["records"].report.text


def test_a_tradeoff_says_never_once() -> None:
    said = BUILT["gaussian"].tradeoff.text
    assert said.count("Even at epsilon") == 1


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_written_as_people_write_them_and_answers_are_sentences(name: str) -> None:
    said = texts(name) + bp.influence_report(BUILT[name].framework).text
    assert not re.search(r"\de[-+]?\d", said)
    assert not re.search(r"(?<!\.)\.;", said)
    for riddle in ("infinite nats", "the two declared ones", "excess", "change inf"):
        assert riddle not in said
    for row in (*BUILT[name].report.document.facts, *BUILT[name].plan.best.document.facts):
        for line in row.lines:
            if isinstance(line, str) and row.question != "Source of the model":
                assert line[0].isupper(), line
                assert line.endswith("."), line
    for paragraph in paragraphs(BUILT[name].report.document.sections):
        assert not paragraph.startswith(("what ", "the ")), paragraph


def paragraphs(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the paragraphs of a document that hold no names apart."""
    for block in blocks:
        if isinstance(block, Section):
            yield from paragraphs(block.blocks)
        elif isinstance(block, Paragraph) and isinstance(block.text, str):
            yield block.text


def test_a_small_probability_is_said_as_one_in_so_many_and_never_too_small() -> None:
    scales = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
    random = np.random.default_rng(5)
    for chance in (*10.0 ** random.uniform(-12, -3, 300), 1e-3, 9.99999e-4, 1e-6, 2.5e-4, 1e-9):
        said = upper_chance(float(chance))
        if said.startswith("1 in "):
            number, *word = said.removeprefix("1 in ").replace(",", "").split()
            share = 1 / (float(number) * (scales[word[0]] if word else 1))
        else:
            share = float(said)
        assert chance * (1 - 1e-9) <= share <= chance * 1.02
    assert upper_chance(1e-300) == "under 1 in a trillion"
    assert (upper_chance(0.0), upper_chance(1.0), upper_chance(1e-6)) == ("0", "1", "1 in 1 million")


def test_what_was_asked_is_spelled_out() -> None:
    guarantee = bp.plan(BUILT["gaussian"].framework, BUILT["gaussian"].query, 1.0, 1e-6).best.guarantee
    assert guarantee.document.headline == "Guarantee of epsilon 1, delta 0.000001 for income"
    assert "2.72 p + 0.000001 under the other" in guarantee.sentence
    assert belief_fact(guarantee).lines == (
        "Even odds between the two secrets of a pair become at most 5.44 to 1, that is 84.5 % for one of them, except "
        "with probability at most 1 in 500,000.",
    )


def test_which_models_an_observer_may_hold_is_assumed_once() -> None:
    report = BUILT["interval"].report
    assert sum("within the declared intervals" in line for line in report.assumptions) == 1
    assert any("within the declared intervals" in line for line in BUILT["interval"].plan.best.certificate.assumptions)


def test_a_long_table_of_variables_is_cut_and_the_rest_counted() -> None:
    nodes = tuple(
        NodeReading(name=f"x{k}", law="Normal", role="parameter", treatment="quadrature", reason="declared")
        for k in range(MOST_VARIABLES + 3)
    )
    network = replace(BUILT["density"].framework.network, reading=ImportReport(nodes=nodes))
    section = reading_section(bp.influence_report(network, protect={"income": bp.pairs((0, 1))}))
    assert section is not None
    (table,) = section.blocks
    assert (len(table.rows), table.more) == (MOST_VARIABLES, "3 more variables.")
