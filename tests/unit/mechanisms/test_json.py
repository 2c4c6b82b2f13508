"""The JSON of documents is what its page says: every field, its type, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.session import LedgerPage
from bnpriv.networks import Posterior, halves
from bnpriv.tables.private_table.open_columns import open_columns, open_table
from tests.kinds import networks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "report-schema.md"
TALL = bp.count(bp.col("height") > 180)
OPAQUE = frozenset({"calibrations", "nats", "public"})
"""Fields that hold a record of another format or part, or a matrix."""

TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    '"inf"': lambda value: value == "inf",
    "list": lambda value: isinstance(value, list),
    "list of string": lambda value: isinstance(value, list) and all(isinstance(inner, str) for inner in value),
    "object": lambda value: isinstance(value, dict),
}


def documented(heading: str) -> dict[str, str]:
    """Return the fields below a heading of the page, with their types."""
    part = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", part, re.MULTILINE))


def fields(value: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Yield every field of a JSON value with its value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{place}.{name}" if place else name
            yield here, inner
            if here not in OPAQUE:
                yield from fields(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{place}[]")


def fits(value: object, kind: str) -> bool:
    return any(TYPES[part](value) for part in re.split(r", | or ", kind.strip()))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Things of every kind that between them have every field."""
    import opendp.prelude as dp
    import pandas as pd

    dp.enable_features("contrib")
    student, hospital = bp.example("student"), bp.example("hospital")
    patients = bp.simulate(hospital, 200)
    coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["head", "tail"]})
    certain = DiscreteNetwork.from_tables(
        {"u": [1.0, 0.0], "v": [0.5, 0.5, 0.0], "w": [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]},
        states={"u": ["0", "1"], "v": ["a", "b", "c"], "w": ["0", "1"]},
        parents={"w": ["v"]},
    )
    calibration = bp.plan(student, TALL, 0.1).best
    curve = bp.types.PrivacyCurve.of([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))], bp.noise.Laplace(1.0))
    weights = bp.linear({"height": 1.0, "sat": 1.0})
    place = tmp_path_factory.mktemp("ledger") / "ledger.db"
    session = bp.Session(student, bp.example_data("student"), budget=3.0, ledger=place)
    session.release(weights, epsilon=1.0, even_if_useless=True)
    sick, few = bp.example_data("hospital"), bp.Secret('count(disease == "yes")', pairs=bp.apart(at_most=10))
    many = [f'count(ward == "{ward}")' for ward in ("lungs", "surgery", "other")]
    crowded = bp.Session(hospital, sick, budget=0.05, ledger=place.with_name("c.db")).plan([*many, "mean(days)"])
    assert crowded.left_out
    useless = bp.plan(bp.example("four-people"), "count(x2 == 1)", 1.0)
    kept: Any = bp.private_table(hospital, bp.example_data("hospital"), 1.0, hidden=True)
    counted = (
        (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
        >> dp.t.then_count()
        >> dp.m.then_laplace(4.0)
    )
    beside = bp.plan(hospital, "count(days >= 8)", 1.0, public=patients)
    biased = DiscreteNetwork.from_tables(
        {"coin": [[0.5, 0.5], [0.4, 0.6], [0.3, 0.7], [0.6, 0.4]]}, states={"coin": ["head", "tail"]}, level="records"
    )
    learned, held = halves(replace(biased, posterior_draws=Posterior(source="a survey", draws=4, seed=0)))
    tossed = bp.Schema(records=9, columns={"coin": bp.Categorical(["head", "tail"])})
    coins = bp.ValuePrivacy(learned, tossed, "coin", source="a survey")
    planned = bp.plan(coins, 'count(coin == "head")', 1.0, held_out=held)
    near, root, either = [[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5], {name: ["low", "high"] for name in "abc"}
    chains: Any = [{"b": ["a"], "c": ["b"]}, {"b": ["a"], "c": ["a", "b"]}]
    tables = [{"a": root, "b": near, "c": near}, {"a": root, "b": near, "c": [near, near[::-1]]}]
    experts = bp.model_class(
        [DiscreteNetwork.from_tables(t, states=either, parents=p) for t, p in zip(tables, chains, strict=True)]
    )
    return {
        "plan": [
            bp.plan(student, TALL, 1.0),
            bp.plan(student, weights, 1.0, session=session),
            useless,
            beside,
            planned,
        ],
        "session": [session],
        "history": [session.history],
        "ledger": [LedgerPage.of(Ledger.open(place))],
        "price": [session.what_if(weights, 1.0)],
        "budget split": [session.plan([weights, TALL]), crowded],
        "workload": [session.workload([weights, TALL])],
        "external release": [bp.from_differential_privacy(1.0, ["ward"])],
        "external report": [
            bp.from_differential_privacy(0.01, ["ward"]).report(hospital),
            bp.from_differential_privacy(0.01, ["ward"], delta=1e-9).report(hospital, delta=1e-3),
        ],
        "leaks": [bp.leaks(student, TALL), networks().leaks],
        "tradeoff": [bp.tradeoff(student, TALL, [0.1, 1.0])],
        "comparison": [bp.compare(student, student, weights, 1.0)],
        "rehearsal": [bp.rehearse(calibration, 100)],
        "audit": [bp.audit(calibration, runs=100), bp.audit(len, hospital, runs=2)],
        "model check": [
            bp.check_model(coin, pd.DataFrame({"coin": ["head"] * 30 + ["tail", None]})),
            bp.check_model(experts, pd.DataFrame({name: ["low", "high"] * 20 for name in "abc"})),
        ],
        "public comparison": [bp.compare_with_public(hospital, patients, "count(days >= 8)")],
        "misspecified model": [bp.MarkovQuiltMechanism().calibrate(student, TALL, epsilon=1.0).misspecified(1.1)],
        "privacy curve": [curve],
        "privacy loss": [curve.losses[0], bp.types.PrivacyLoss(Atoms([0], [1.0]), Atoms([1], [1.0]))],
        "influence matrix": [bp.types.InfluenceMatrix.of(certain)],
        "open columns": [open_columns(student, 1.0)],
        "open table": [open_table(student, bp.example_data("student"), 1.0)],
        "private table": [
            bp.Session(hospital, sick, budget=1.0, ledger=place.with_name("t.db")).table(1.0, records_may_be_seen=True),
            bp.private_table(few, sick, 1.0, 1e-6, schema=hospital.schema, records_may_be_seen=True).report(
                "mean(days)"
            ),
        ],
        "table plan": [bp.plan_table(hospital, 1.0, queries=["mean(days)"])],
        "statement": [session.statement({"epsilon": "the board"})],
        "hidden table": [kept],
        "hidden answer": [kept.ask('count(smoker == "yes")', 1.0), kept.ask(counted, columns="days")],
    }


KINDS = (
    "plan",
    "statement",
    "session",
    "history",
    "ledger",
    "price",
    "budget split",
    "workload",
    "external release",
    "external report",
    "leaks",
    "tradeoff",
    "comparison",
    "rehearsal",
    "audit",
    "model check",
    "public comparison",
    "misspecified model",
    "privacy curve",
    "privacy loss",
    "influence matrix",
    "open columns",
    "open table",
    "private table",
    "table plan",
    "hidden table",
    "hidden answer",
)


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_what_its_page_says(shown: dict[str, list[Any]], kind: str) -> None:
    whole, data = documented("Every document"), documented(kind)
    seen: set[str] = set()
    for thing in shown[kind]:
        found = json.loads(thing.to_json())
        assert found == json.loads(json.dumps(thing.to_dict()))
        assert found["document"] == kind
        top = {**found, "data": {}}
        assert [(place, value) for place, value in fields(top) if not fits(value, whole[place])] == []
        inner = list(fields(found["data"]))
        assert [(place, value) for place, value in inner if not fits(value, data[place])] == []
        seen |= {place for place, _ in inner}
    assert sorted(data.keys() - seen) == []


def test_every_kind_has_its_part_of_the_page() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(["Every document", "influence report", *KINDS])
