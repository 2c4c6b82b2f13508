"""What a plan says where everything is protected and the answer is useless: what a weaker promise would gain."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest

import bnpriv as bp
from bnpriv.errors import UselessAnswerWarning
from bnpriv.views.report.advice import closer_secrets
from tests.later import Later

pd = Later("pandas")


def framework(pairs: object = None, records: int = 100) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "pills": [[0.9, 0.2], [0.1, 0.8]]},
        states={"ill": ["no", "yes"], "pills": ["no", "yes"]},
        parents={"pills": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns=dict.fromkeys(("ill", "pills"), bp.Categorical(["no", "yes"])))
    hidden = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=pairs)
    return bp.DatasetAttributePrivacy(network, schema, {"ill": hidden}, source="a test")


QUERY = "count(pills == 'yes')"


@pytest.fixture(scope="module")
def useless() -> bp.types.Plan:
    return bp.plan(framework(), QUERY, epsilon=1.0)


def test_a_useless_plan_says_what_closer_secrets_would_give(useless: bp.types.Plan) -> None:
    """Every number that is said is that of a calibration whose framework has these secrets."""
    plan = useless
    assert plan.best.useful.verdict == "useless"
    assert plan.closer is not None
    steps = plan.closer.steps
    assert [dict(step.distances) for step in steps] == [{"ill": 10.0}, {"ill": 1.0}]
    for step in steps:
        apart = step.distances["ill"]
        own = bp.TightMechanism().calibrate(framework(bp.apart(at_most=apart)), QUERY, epsilon=1.0)
        assert step.calibration.scale == own.scale
        assert f"at most {apart:g} apart" in step.sentence
    text = plan.text
    assert "If less were protected" in text
    assert text.index("If less were protected") < text.index("The mechanisms compared")
    assert "a weaker promise" in text
    assert "pairs=bp.apart(at_most=10), in a file at_most = 10 under [protect.ill]" in text
    told = [each["apart"] for each in json.loads(plan.to_json())["data"]["closer_secrets"]]
    assert told == [[{"attribute": "ill", "at_most": far}] for far in (10.0, 1.0)]


def test_every_protected_column_is_named_with_its_distance() -> None:
    one = framework()
    both = replace(one, protect={**one.protect, "pills": bp.Secret(bp.count(bp.col("pills") == "yes"))})
    found = closer_secrets(bp.plan(both, QUERY, epsilon=1.0).calibrations)
    assert found is not None
    said = found.sentences[-1]
    for name, far in found.steps[0].distances.items():
        assert f"at_most = {far:g} under [protect.{name}]" in said
    assert set(found.steps[0].distances) == {"ill", "pills"}


def test_what_is_known_with_a_confidence_alone_promises_nothing(useless: bp.types.Plan) -> None:
    assert closer_secrets(useless.calibrations) is not None
    best = useless.best
    for unsure in (
        replace(best, guarantee=replace(best.guarantee, kind="estimate")),
        replace(best, certificate=replace(best.certificate, confidence=0.95)),
    ):
        assert closer_secrets([unsure, *useless.calibrations[1:]]) is None


def test_it_is_never_applied_by_itself(useless: bp.types.Plan) -> None:
    plan = useless
    assert plan.closer is not None
    assert all(each.framework.fingerprint() == framework().fingerprint() for each in plan)
    assert all(each.guarantee.secrets[0].distance is None for each in plan)


def test_nothing_is_said_where_the_answer_is_of_use_or_pairs_were_chosen() -> None:
    near = bp.plan(framework(bp.apart(at_most=1)), QUERY, epsilon=1.0)
    assert near.best.useful
    assert near.closer is None
    chosen = bp.plan(framework(bp.pairs((0, 100))), QUERY, epsilon=1.0)
    assert chosen.best.useful.verdict == "useless"
    assert chosen.closer is None
    assert "closer_secrets" not in chosen.document.data


def test_a_distance_of_one_is_the_least_for_a_count() -> None:
    found = closer_secrets(bp.plan(framework(records=8), QUERY, epsilon=0.5).calibrations)
    assert found is not None
    assert [dict(step.distances) for step in found.steps] == [{"ill": 1.0}]
    one = bp.plan(framework(bp.apart(at_most=1), records=8), QUERY, epsilon=0.5)
    assert closer_secrets(one.calibrations) is None


def test_names_that_need_quotes_in_a_file_have_them() -> None:
    other = framework()
    columns = {f"{name} (x)": column for name, column in other.schema.columns.items()}
    network = bp.DiscreteNetwork.from_tables(
        {"ill (x)": [0.7, 0.3], "pills (x)": [[0.9, 0.2], [0.1, 0.8]]},
        states={name: ["no", "yes"] for name in columns},
        parents={"pills (x)": ["ill (x)"]},
        level="records",
    )
    hidden = bp.Secret(bp.count(bp.col("ill (x)") == "yes"))
    changed = replace(
        other, network=network, schema=bp.Schema(records=100, columns=columns), protect={"ill (x)": hidden}
    )
    plan = bp.plan(changed, "count(`pills (x)` == 'yes')", epsilon=1.0)
    assert plan.closer is not None
    assert 'under [protect."ill (x)"]' in plan.closer.sentences[-1]


def test_a_report_says_it_first() -> None:
    report = bp.influence_report(framework(), query=QUERY, epsilon=1.0)
    text = report.text
    assert any("at most 10 apart" in str(each) for each in report.advice)
    assert text.index("What to try next") < text.index("What is protected")


def test_a_useless_number_is_not_taken_in_silence(useless: bp.types.Plan) -> None:
    table = pd.DataFrame({"ill": ["no"] * 100, "pills": ["yes"] * 100})
    poor = bp.release(useless.best, table)
    with pytest.warns(UselessAnswerWarning, match="^The answer is useless: 95 % of releases err by at most") as told:
        assert isinstance(poor.value, float)
    assert told[0].filename == __file__
    good = bp.release(bp.plan(framework(bp.apart(at_most=1)), QUERY, epsilon=1.0).best, table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(good.value, float)
