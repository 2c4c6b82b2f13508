"""The page for a data-protection officer: it promises no more than the release did, and makes up nobody's word."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.mechanisms.baselines import RecordPrivacyMechanism
from bnpriv.release import release_many
from bnpriv.text import shown_number
from bnpriv.views.release import Statement, example_pair
from tests.kinds import KINDS, SOURCE

HOSTILE = "<script>alert(1)</script>\n# *x* | [a](javascript:x) \x1b[2J \u202e" + "long" * 40
ILL = 'count(ill == "yes")'


def clinic(at_most: float = 20, records: int = 1000, query: str = ILL, **names: str) -> Any:
    """A framework that hides how many are ill; `names` put others for its columns."""
    ill, smokes = names.get("ill", "ill"), names.get("smokes", "smokes")
    network = bp.DiscreteNetwork.from_tables(
        {ill: [0.9, 0.1], smokes: [[0.8, 0.4], [0.2, 0.6]]},
        states={ill: ["no", "yes"], smokes: ["no", "yes"]},
        parents={smokes: [ill]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={name: bp.Categorical(["no", "yes"]) for name in (ill, smokes)})
    hidden = bp.parse_query(query) if ill == "ill" else bp.count(bp.col(ill) == "yes")
    secret = bp.Secret(hidden, pairs=bp.apart(at_most=at_most))
    return bp.DatasetAttributePrivacy(network, schema, {ill: secret}, source="a textbook (2nd edition)")


def released(framework: Any, query: Any = 'count(smokes == "yes")', **given: Any) -> Any:
    import pandas as pd

    names = list(framework.schema.columns)
    data = pd.DataFrame(dict.fromkeys(names, ["no", "yes"] * (framework.schema.records // 2)))
    best = bp.plan(framework, query, **{"epsilon": 1.0, **given}).best
    return bp.release(best, data)


def page(framework: Any, guarantee: Guarantee) -> Statement:
    return Statement(
        lines=("a number",),
        it="this",
        schema=framework.schema,
        guarantee=guarantee,
        said={},
        checked=(),
        framework=framework,
    )


def promise(framework: Any, epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        secrets=framework.protected_secrets,
        models=1,
        source=framework.source,
        kind="exact",
    )


def test_the_example_is_the_guarantee_for_a_pair_that_is_protected() -> None:
    chance = random.Random(20261102)
    for _ in range(60):
        distance, records = chance.randint(1, 400), chance.randint(2, 40) * 100
        epsilon = math.exp(chance.uniform(math.log(0.01), math.log(20)))
        delta = chance.choice([0.0, 10 ** chance.uniform(-9, -2)])
        framework = clinic(distance, records)
        told = page(framework, promise(framework, epsilon, delta)).to_dict()["data"]
        assert isinstance(told, dict)
        found = re.search(
            r"is ([\d,]+) rather than ([\d,]+) .* for at most ([\d,.]+) to 1, that is at most ([\d.]+) %",
            told["example"],
        )
        assert found, told["example"]
        first, second, odds, percent = (float(each.replace(",", "")) for each in found.groups())
        factor = math.exp(epsilon) * (2 if delta else 1)
        assert factor * (1 - 1e-9) <= odds <= 1.02 * factor
        assert factor / (1 + factor) * 100 - 1e-9 <= percent <= factor / (1 + factor) * 100 * 1.02
        assert 0 < second - first <= distance
        assert 0 <= first < second <= records
        assert ("except with probability" in told["example"]) == bool(delta)


def test_epsilon_and_delta_are_rounded_up() -> None:
    rows = page(clinic(), promise(clinic(), 0.12345678, 1.2341e-6)).to_dict()["data"]["decisions"]
    said = {row["name"]: row["value"] for row in rows}
    assert (said["epsilon"], said["delta"]) == ("0.123457", "0.00000124")


@pytest.mark.parametrize("needs_model", [True, False])
def test_the_page_says_what_is_open(needs_model: bool) -> None:
    made = replace(page(clinic(), promise(clinic(), 1.0)), needs_model=needs_model)
    text = made.text.partition("What is not protected")[2].partition("Who decided what")[0]
    assert "What the table as a whole holds in other columns: smokes." in text
    assert ("believes another model" in text) == needs_model
    assert ("The model:" in made.text) == needs_model


def test_every_factor_on_the_page_is_that_of_epsilon_and_delta_together() -> None:
    made = page(clinic(), promise(clinic(), 1.0, 1e-6))
    assert "rise by at most 5.44 times (1.694 nats), except with probability at most 1 in 500,000" in made.text
    assert made.to_dict()["data"]["odds"] == "5.44"
    assert "2.72" not in made.text + str(made) + made.explain()


@pytest.mark.parametrize("delta", [0.495, 0.9])
def test_where_delta_says_nothing_of_odds_no_odds_are_promised(delta: float) -> None:
    text = page(clinic(), promise(clinic(), 1.0, delta)).text
    assert "odds are not bounded" in text
    assert "to 1" not in text
    assert "times" not in text.replace("sometimes", "")
    assert "not on a proof" in page(clinic(), replace(promise(clinic(), 1.0, delta), kind="estimate")).text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("estimate", "not on a proof"),
        ("certified", "with confidence 95 % over draws from the model. That is for an epsilon"),
    ],
)
def test_what_is_not_proved_is_said_beside_the_limit(kind: Any, said: str) -> None:
    told = replace(promise(clinic(), 1.0), kind=kind, confidence=0.95 if kind == "certified" else None)
    text = page(clinic(), told).text
    assert said in text.partition("What is not protected")[0]
    assert len(str(page(clinic(), told)).splitlines()) <= 8


def test_answers_that_were_released_together_have_no_guarantee_together() -> None:
    framework = clinic()
    best = bp.plan(framework, 'count(smokes == "yes")', 1.0).best
    first, _ = release_many([best, best], table(framework), separate_guarantees=True)
    assert "for the answers together none is stated" in first.statement().text


def test_shares_and_means_have_values_of_their_own_unit() -> None:
    framework = clinic(0.02, query='proportion(ill == "yes")')
    assert example_pair(framework.protected_secrets[0], framework) == ("0.1", "0.12")
    assert example_pair(framework.protected_secrets[0], None) == ("one value", "another that is 0.02 away")


@pytest.mark.parametrize(("records", "at_most", "pair"), [(3, 1, ("1", "2")), (5, 1, ("1", "2")), (7, 7, ("0", "7"))])
def test_an_example_of_counts_has_whole_numbers(records: int, at_most: int, pair: tuple[str, str]) -> None:
    framework = clinic(at_most, records)
    assert example_pair(framework.protected_secrets[0], framework) == pair


@pytest.mark.parametrize(("low", "distance"), [(1e12, 0.3), (123456789012.0, 0.6), (-1.0, 1e-14)])
def test_an_example_never_rounds_two_values_together_or_further_apart(low: float, distance: float) -> None:
    secret = replace(clinic().protected_secrets[0], attribute="x", distance=distance)
    schema = bp.Schema(records=10, columns={"x": bp.Real(low, low + 2)})
    framework: Any = SimpleNamespace(chosen_secrets={"x": SimpleNamespace(property=bp.mean("x"))}, schema=schema)
    assert example_pair(secret, framework)[0] == "one value"


@pytest.mark.parametrize("said", ["default: x", " default: x", "Default: x", "DEFAULT"])
def test_a_default_is_one_however_it_is_written(said: str) -> None:
    made = replace(page(clinic(), promise(clinic(), 1.0)), said={"apart": said})
    rows = {row["name"]: row for row in made.to_dict()["data"]["decisions"]}
    assert rows["apart"]["status"] == "default"
    assert "decided:" not in rows["apart"]["decided"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_page_that_promises_no_belief_but_the_one_that_is_bounded(kind: str) -> None:
    made = KINDS[kind]()
    guarantee = promise(made.framework, 0.7, 1e-9)
    text = page(made.framework, guarantee).text
    assert f"Source of the model: {SOURCE}" not in text
    assert text.count(SOURCE) == 1
    belief = re.search(r"A belief of 10 % in one value of .* becomes at most [\d.]+ %, except with probability", text)
    assert bool(belief) == ("A belief of 10 %" in text) == bool(guarantee.with_belief)
    assert ("may move further" in text) == any(not each.bounds_belief for each in guarantee.secrets)
    first, second = example_pair(guarantee.secrets[0], made.framework)
    assert first != second
    assert f"is {first} rather than {second}" in text


def test_a_release_says_what_was_published_and_how_it_is_checked_again() -> None:
    made = released(clinic())
    text = made.statement().text
    (low, high), label = made.interval(), made.labels[0]
    assert label in text
    assert "the number of records with smokes = yes" in text
    assert "with 95 % probability" in text
    assert low < made.values[0] < high
    for said in ("2.72 times (1 nat)", "Single records", "bnpriv verify", "Singling out", "not compared for this page"):
        assert said in text
    for said in ("in no ledger", "release.json is what --json or .to_json() writes", "what is protected"):
        assert said in text
    assert text.count("a textbook") == 1


@pytest.mark.parametrize(
    ("at_most", "records", "query", "pair"),
    [
        (1, 5, ILL, ("1", "2")),
        (2000, 200, ILL, ("0", "200")),
        (2, 200, 'proportion(ill == "yes")', ("0", "1")),
    ],
)
def test_the_values_of_the_example_can_be(at_most: float, records: int, query: str, pair: tuple[str, str]) -> None:
    framework = clinic(at_most, records, query)
    assert example_pair(framework.protected_secrets[0], framework) == pair


def test_what_other_tools_released_is_not_vouched_for(tmp_path: Path) -> None:
    framework = clinic()
    with bp.Session(framework, table(framework), budget=3.0, ledger=tmp_path / "ledger.db") as session:
        session.record_external(bp.from_differential_privacy(0.01, columns=["smokes"], name="a synthesizer"))
        text = session.statement().text
    assert "answers to 1 question," in text
    assert "nothing: other tools released some of it" in text
    assert "what those tools promise is not checked here" in text
    assert "no records" not in text


def test_an_exact_answer_is_called_exact() -> None:
    network = bp.example("student")
    best = bp.plan(network, bp.count(bp.col("height") > 180), epsilon=1.0).best
    text = bp.release(best, bp.example_data("student")).statement().text
    assert "count(height > 180): 1,120, the exact answer" in text
    assert "95 %" not in text


def test_noise_that_needs_no_model_names_none() -> None:
    framework = clinic()
    best = bp.ColumnMechanism().calibrate(framework, bp.parse_query('count(smokes == "yes")'), epsilon=1.0)
    text = bp.types.Calibration.release(best, table(framework)).statement().text
    assert "another model" not in text
    assert "named below" not in text


def table(framework: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict.fromkeys(framework.schema.columns, ["no", "yes"] * (framework.schema.records // 2)))


def test_decided_default_and_neither_are_told_apart() -> None:
    made = released(clinic())
    page = made.statement(
        {"epsilon": "the board on 2026-11-02", "apart": "default: 2 % of the records", "delta": "default"}
    )
    rows = {row["name"]: (row["status"], row["decided"]) for row in page.to_dict()["data"]["decisions"]}
    assert rows["epsilon"] == ("decided", "decided: the board on 2026-11-02")
    assert rows["apart"] == ("default", "a default that nobody decided (2 % of the records)")
    assert rows["delta"] == ("default", "a default that nobody decided")
    assert rows["protected"] == ("not stated", "given; no reason is stated")


def test_a_file_without_decisions_says_so_and_one_with_them_is_read_and_written(tmp_path: Path) -> None:
    framework = clinic()
    *_, file = framework.to_file(tmp_path / "framework.toml")
    assert "decisions" not in file.read_text(encoding="utf-8")
    read = bp.read_framework(file)
    assert read.decisions == {}
    text = released(read).statement().text
    assert text.count("given with the framework; no reason is stated") == 4
    file.write_text(
        file.read_text(encoding="utf-8") + '\n[decisions]\napart = "the board: as the law asks"\n', encoding="utf-8"
    )
    again = bp.read_framework(file)
    assert again.fingerprint() == read.fingerprint() == framework.fingerprint()
    assert "decided: the board: as the law asks" in released(again).statement().text
    assert "decided: the clerk" in released(again).statement({"apart": "the clerk"}).text
    *_, kept = again.to_file(tmp_path / "kept.toml")
    assert bp.read_framework(kept).decisions == {"apart": "the board: as the law asks"}


def test_what_start_left_at_a_default_is_told(tmp_path: Path) -> None:
    import pandas as pd

    survey = pd.DataFrame({"smokes": ["no", "yes"] * 300, "ill": ["no"] * 330 + ["yes"] * 270})
    ours = survey.iloc[:3]
    rows = bp.start(ours, records=1800, protect="ill", learn=survey, draws=2).decisions
    assert rows is not None
    assert rows["apart"] == "default for ill: 18, of 1,800 records"
    assert rows["protected"].startswith("default for ill: ")
    chosen = bp.Secret(ILL, pairs=bp.apart(at_most=30))
    assert bp.start(ours, records=1800, protect={"ill": chosen}, learn=survey, draws=2).decisions == {}


@pytest.mark.parametrize(
    "decided",
    [
        {"epsilom": "x"},
        {"epsilon": ""},
        {"epsilon": 3},
        "the board",
        {"epsilon": "a" * 201},
        [("epsilon", "x")],
        {3: "x"},
    ],
)
def test_a_decision_that_is_none_is_refused(decided: Any) -> None:
    made = released(clinic())
    with pytest.raises(ParameterError):
        made.statement(decided)


def test_a_public_table_is_compared_where_one_is_given() -> None:
    import pandas as pd

    framework = clinic()
    likely = bp.simulate(framework, 400, seed=1)
    made = released(framework)
    assert "400 public records do not contradict the model" in made.statement(public=likely).text
    unlikely = pd.DataFrame({"ill": ["yes", "no"] * 300, "smokes": ["no", "yes"] * 300})
    assert "600 public records contradict the model" in made.statement(public=unlikely).text
    assert "could not be compared" in made.statement(public="nowhere.csv").text


def test_no_name_is_markup_and_none_begins_a_line() -> None:
    framework = clinic(ill=HOSTILE, smokes="b" + HOSTILE)
    made = released(framework, bp.count(bp.col("b" + HOSTILE) == "yes"))
    page = made.statement({"epsilon": HOSTILE[:200]})
    assert "<script>alert" not in page.to_html()
    assert "\x1b" not in page.text + page.to_markdown() + page.to_html()
    assert "<script>" not in page.to_markdown()
    assert not any(line.startswith("# *x*") for line in page.text.splitlines())


def test_a_session_has_one_page_for_all_that_was_released(tmp_path: Path) -> None:
    framework = clinic()
    with bp.Session(framework, table(framework), budget=3.0, ledger=tmp_path / "our ledger.db") as session:
        with pytest.raises(BnprivError):
            session.statement()
        released = [
            session.release(query, epsilon=0.5, mechanism=bp.ColumnMechanism(), even_if_useless=True)
            for query in ('count(smokes == "yes")', 'proportion(smokes == "yes")')
        ]
        assert session.answers == {number: made.values for number, made in enumerate(released, start=1)}
        told = session.statement({"epsilon": "the board"})
        text = told.text
        assert "answers to 2 questions" in text
        scale, value = released[0].calibration.scale, released[0].values[0]
        assert f'1. count(smokes == "yes"): {shown_number(value, 6 * scale)}, noise of scale ' in text
        assert "only the numbers above are published" in text
        assert session.head in text
        assert "bnpriv ledger verify 'our ledger.db'" in text
        assert told.to_dict()["data"]["guarantee"]["epsilon"] == pytest.approx(session.spent)
        assert "decided: the board" in text
        assert "within a budget of epsilon 3; no reason is stated" in told.to_markdown()


def test_several_numbers_are_between_their_ends_all_at_once() -> None:
    framework = clinic()
    asked = bp.stack(*(bp.count(bp.col("smokes") == each) for each in ("no", "yes")))
    released = bp.release(bp.ColumnMechanism().calibrate(framework, asked, epsilon=5.0), table(framework))
    assert "all exact answers at once lie between these ends with 95 % probability" in released.statement().text


def test_a_session_with_a_private_table_has_no_number_for_it(tmp_path: Path) -> None:
    framework = clinic(5, 4000)
    with bp.Session(framework, table(framework), budget=bp.types.Budget(1, 1e-6), ledger=tmp_path / "l.db") as session:
        session.table(1.0, 1e-6, "trim", records_may_be_seen=True)
        assert session.answers == {}
        assert "answers to 1 question" in session.statement().text


def test_a_private_table_hands_on_real_records_and_says_so() -> None:
    framework = clinic(5, 4000)
    made = bp.private_table(framework, table(framework), 1.0, 1e-6, "trim", records_may_be_seen=True)
    text = made.statement(framework=framework).text
    assert "nothing: real records are handed on" in text
    assert "single persons are not protected" in text
    assert "no records" not in text
    assert "any distribution" not in text.partition("Who decided what")[2]
    assert "given; no reason is stated" in made.statement().text


def test_a_baseline_that_rests_on_the_model_names_it() -> None:
    framework = clinic()
    made = RecordPrivacyMechanism().calibrate(framework, bp.parse_query('count(smokes == "yes")'), epsilon=1.0)
    text = made.release(table(framework)).statement().text
    assert "The model: the declared model; a textbook (2nd edition)" in text
    assert "What somebody concludes who believes another model" in text
    assert "worked out, not asked for; no reason is stated" in text  # asked for was an epsilon for single records
