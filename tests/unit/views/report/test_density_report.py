"""The report of a network of densities: in every form, with what it rests on, and quick."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.base import ImportReport, NodeReading
from bnpriv.kinds.density.network import Parameter
from tests.unit.views.report.test_report import documented, fields, fits

FORMS = ("text", "markdown", "html", "notebook")


def normal(x, mean, deviation):
    return -(((x - mean) / deviation) ** 2) / 2 - np.log(deviation) - np.log(2 * np.pi) / 2


def simulate(names, draws: int, *, seed: int, given: Mapping[str, float], records: int):
    random = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    found["rate"] = random.beta(2.0, 3.0, size=draws)
    found["rate"] = np.full(draws, given["rate"]) if "rate" in given else found["rate"]
    found["kind"] = (random.uniform(size=draws) < 0.3 + 0.4 * found["rate"]).astype(float)
    found["level"] = found["rate"] + 0.5 * random.normal(size=draws)
    found["twin"] = found["rate"] + 0.5 * random.normal(size=draws)
    found["blind"] = found["level"] + random.normal(size=draws)
    found["score"] = (found["level"] + found["twin"])[:, None] + random.normal(size=(draws, records))
    return {name: found[name] for name in names}


def network() -> bp.types.DensityNetwork:
    def level(x, rate):
        return normal(x, rate, 0.5)

    parameters = [
        Parameter(name="rate", lower=0.0, upper=1.0, log_density=lambda x: np.log(12 * x) + 2 * np.log1p(-x)),
        Parameter(
            name="kind",
            parents=("rate",),
            lower=0.0,
            upper=1.0,
            states=(0.0, 1.0),
            log_density=lambda k, rate: np.log(np.where(k == 1, 0.3 + 0.4 * rate, 0.7 - 0.4 * rate)),
        ),
        Parameter(name="level", parents=("rate",), lower=-np.inf, upper=np.inf, log_density=level, alike="level"),
        Parameter(name="twin", parents=("rate",), lower=-np.inf, upper=np.inf, log_density=level, alike="level"),
        Parameter(name="blind", parents=("level",), lower=-np.inf, upper=np.inf),
    ]
    reading = ImportReport(
        nodes=(
            NodeReading(name="rate", law="Beta", role="parameter", treatment="quadrature", reason="continuous"),
            NodeReading(name="score", law="Normal", role="column", treatment="draws", reason="driven by level, twin"),
        ),
        columns={"score": ("level", "twin")},
    )
    named = {parameter.name: parameter for parameter in parameters}
    return bp.types.DensityNetwork(parameters=named, model_hash="a test", simulator=simulate, reading=reading)


SECRETS = {"rate": bp.intervals(((0.0, 0.3), (0.5, 0.8)))}


@pytest.fixture(scope="module")
def framework() -> bp.DistributionalAttributePrivacy:
    schema = bp.Schema(records=50, columns={"score": bp.Real(-4, 6)})
    return bp.DistributionalAttributePrivacy(network(), schema, SECRETS, source="a test")


@pytest.fixture(scope="module")
def alone() -> bp.types.InfluenceReport:
    return bp.influence_report(network(), protect=SECRETS)


@pytest.fixture(scope="module")
def answered(framework) -> bp.types.InfluenceReport:
    report = bp.influence_report(framework, bp.mean("score"), 1.0, 0.01)
    assert isinstance(report, bp.types.InfluenceReport)
    return report


def told(report: bp.types.InfluenceReport, form: str) -> str:
    return {
        "text": lambda report: report.text,
        "markdown": lambda r: r.to_markdown(),
        "html": lambda r: r.to_html(),
        "notebook": lambda r: r._repr_html_(),
    }[form](report)


def test_parameters_that_tell_the_same_are_told_once(alone) -> None:
    row = alone.attributes[0]
    assert row.alike["level"] == ("level", "twin")
    assert sorted(name for each in row.columns for name in each.columns) == ["blind", "kind", "level"]
    level = next(each for each in row.columns if "level" in each.columns)
    twin = bp.max_influence(network(), {"twin"}, "rate", SECRETS["rate"])
    assert float(level) == pytest.approx(float(twin), rel=1e-6)
    assert level.delta(0.5) == pytest.approx(twin.delta(0.5), abs=1e-6)


def test_parameters_above_the_protected_one_are_not_taken_for_alike() -> None:
    assert network().alike("blind") == (("rate",), ("kind",), ("level",), ("twin",))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_what_is_an_estimate_and_how_it_was_found(alone, answered, form: str) -> None:
    for report in (alone, answered):
        text = told(report, form)
        assert "estimate" in text
        assert "How the grids were refined" in text
        assert "How the model was read" in text
        assert "mass lost" in text
    assert "and 1 alike" in told(alone, form)


@pytest.mark.parametrize("form", FORMS)
def test_what_has_no_density_is_not_known(alone, form: str) -> None:
    assert "No density is known for blind" in told(alone, form).replace("&#x27;", "'") or "not settled" in told(
        alone, form
    )
    blind = next(each for each in alone.attributes[0].columns if "blind" in each.columns)
    assert float(blind) == np.inf
    assert not blind.settled


def test_the_fate_of_the_query_comes_first(answered) -> None:
    assert answered.headline.startswith("mean of score can be released at epsilon 1") or "mean" in answered.headline
    assert "estimate" in answered.headline
    assert "rests on an estimate" in answered.text


def test_a_query_of_a_column_that_the_secret_drives_is_told() -> None:
    own = network()
    reading = ImportReport(nodes=own.reading.nodes, columns={"score": ("rate", "level")})
    changed = bp.types.DensityNetwork(
        parameters=own.parameters, model_hash="another", simulator=own.simulator, reading=reading
    )
    schema = bp.Schema(records=50, columns={"score": bp.Real(-4, 6)})
    framework = bp.DistributionalAttributePrivacy(changed, schema, SECRETS, source="a test")
    report = bp.influence_report(framework, bp.mean("score"))
    assert "driven by rate directly" in report.headline
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("score"), epsilon=1.0)
    assert calibration.scale == pytest.approx(10.0)
    assert calibration.guarantee.kind == "exact"


def test_json_is_what_its_page_says(alone, answered) -> None:
    schema = documented()
    for report in (alone, answered):
        found = list(fields(json.loads(report.to_json())["data"]))
        assert [(place, value) for place, value in found if not fits(value, schema[place])] == []


def test_pages_are_written(alone, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert alone.to_html(page) == page.read_text(encoding="utf-8")
    assert "given two secrets" in page.read_text(encoding="utf-8")


def test_secrets_must_be_intervals() -> None:
    with pytest.raises(bp.BnprivError, match="intervals"):
        bp.influence_report(network(), protect={"rate": bp.apart(at_most=0.1)})
