"""Models as PyMC's own examples write them go through unchanged: to a report, and to a release."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.later import Later, optional

pd = Later("pandas")

pm = optional("pymc")

SCHOOLS = [
    "Choate", "Deerfield", "Phillips Andover", "Phillips Exeter", "Hotchkiss", "Lawrenceville", "St. Paul's",
    "Mt. Hermon",
]  # fmt: skip
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(*, centred: bool) -> Any:
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", mu=0, sigma=5)
        tau = pm.HalfCauchy("tau", beta=5)
        sigma = pm.Data("sigma", ERRORS, dims="school")
        if centred:
            theta = pm.Normal("theta", mu=mu, sigma=tau, dims="school")
        else:
            theta_tilde = pm.Normal("theta_tilde", mu=0, sigma=1, dims="school")
            theta = pm.Deterministic("theta", mu + tau * theta_tilde, dims="school")
        pm.Normal("obs", mu=theta, sigma=sigma, observed=EFFECTS, dims="school")
    return model


def grouped_counts() -> Any:
    trials = np.array([20, 20, 19, 24, 47, 52, 46, 13])
    tumours = np.array([0, 1, 4, 2, 15, 5, 12, 2])
    with pm.Model(coords={"experiment": range(8)}) as model:
        rate = pm.Beta("rate", alpha=2, beta=8)
        spread = pm.Gamma("spread", alpha=3, beta=0.1)
        theta = pm.Beta("theta", alpha=rate * spread, beta=(1 - rate) * spread, dims="experiment")
        n = pm.Data("n", trials, dims="experiment")
        pm.Binomial("tumours", n=n, p=theta, observed=tumours, dims="experiment")
    return model


def varying_intercepts(counties: int = 10, homes: int = 60) -> Any:
    random = np.random.default_rng(0)
    place = np.sort(random.integers(counties, size=homes))
    coords = {"county": [f"county {k}" for k in range(counties)], "obs_id": np.arange(homes)}
    with pm.Model(coords=coords) as model:
        floor_idx = pm.Data("floor_idx", random.integers(2, size=homes), dims="obs_id")
        county_idx = pm.Data("county_idx", place, dims="obs_id")
        mu_a = pm.Normal("mu_a", mu=0.0, sigma=10.0)
        sigma_a = pm.Exponential("sigma_a", 1)
        alpha = pm.Normal("alpha", mu=mu_a, sigma=sigma_a, dims="county")
        beta = pm.Normal("beta", mu=0.0, sigma=10.0)
        sd_y = pm.Exponential("sd_y", 1)
        y_hat = pm.Deterministic("y_hat", alpha[county_idx] + beta * floor_idx, dims="obs_id")
        pm.Normal("y", mu=y_hat, sigma=sd_y, observed=random.normal(1.0, 0.8, size=homes), dims="obs_id")
    return model


CASES = {
    "centred": (lambda: eight_schools(centred=True), "obs", bp.Real(-60, 60), 8, {"mu": bp.intervals((-2.0, 2.0))}),
    "non-centred": (
        lambda: eight_schools(centred=False),
        "obs",
        bp.Real(-60, 60),
        8,
        {"mu": bp.intervals((-2.0, 2.0))},
    ),
    "counts": (
        grouped_counts,
        "tumours",
        bp.Integer(0, 60),
        8,
        {"rate": bp.intervals(((0.05, 0.15), (0.2, 0.3)))},
    ),
    "intercepts": (varying_intercepts, "y", bp.Real(-3, 5), 60, {"mu_a": bp.intervals((0.5, 1.5))}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, str]:
    make, column, kind, records, protect = CASES[request.param]
    schema = bp.Schema(records=records, columns={column: kind})
    network = bp.from_pymc(make()).with_sampling(draws=2000, seed=1)
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="PyMC's examples"), column


def test_every_variable_says_how_it_is_reckoned_with(case) -> None:
    framework, column = case
    report = bp.influence_report(framework)
    values = json.loads(report.to_json())
    told = {row["name"].split("[")[0]: row for row in values["data"]["network"]["reading"]["variables"]}
    assert {row["treatment"] for row in told.values()} <= {"exact", "quadrature", "draws", "refused"}
    assert told[column]["role"] == "column"
    assert all(row["reason"] for row in told.values())
    assert "How the model was read" in report.text


def test_the_report_of_a_query_leads_to_a_release(case) -> None:
    framework, column = case
    query = bp.mean(column)
    report = bp.influence_report(framework, query, 1.0)
    assert report.plan is not None
    kinds = {type(made.mechanism).__name__: made.guarantee.kind for made in report.plan.calibrations}
    assert kinds["ColumnMechanism"] == "exact"
    assert kinds["TightMechanism"] == kinds["WassersteinMechanism"] == "estimate"
    best = report.plan.best
    values = framework.network.simulator([column], 1, seed=5, given={}, records=framework.schema.records)[column][0]
    whole = isinstance(framework.schema[column], bp.Integer)
    table = pd.DataFrame({column: values.astype(int) if whole else np.clip(values, -60, 60)})
    released = bp.release(best, table)
    assert np.isfinite(released.value)
    for text in (released.to_json(), str(best.guarantee.sentence), report.to_html(), report.to_markdown(), str(report)):
        assert "estimate" in text


def test_a_confidence_is_named_wherever_the_guarantee_is() -> None:
    network = bp.from_pymc(eight_schools(centred=True)).with_sampling(draws=100_000, seed=1, confidence=0.95)
    schema = bp.Schema(records=8, columns={"obs": bp.Real(-60, 60)})
    protect = {"mu": bp.intervals((-2.0, 2.0))}
    framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="Rubin 1981")
    made = bp.TightMechanism().calibrate(framework, bp.mean("obs"), epsilon=1.0, delta=0.05)
    assert made.guarantee.kind == "certified"
    assert made.guarantee.confidence == 0.95
    assert "95 %" in made.guarantee.sentence
    for text in (made.to_json(), json.dumps(made.certificate.to_json()), made.explain(), made._repr_html_()):
        assert "0.95" in text or "confidence 95" in text
    released = bp.release(made, pd.DataFrame({"obs": EFFECTS}))
    assert "95 %" in released.to_json() or "0.95" in released.to_json()


def test_too_few_draws_tell_how_many_it_takes() -> None:
    network = bp.from_pymc(eight_schools(centred=True)).with_sampling(draws=1000, confidence=0.95)
    schema = bp.Schema(records=8, columns={"obs": bp.Real(-60, 60)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"mu": bp.intervals((-2.0, 2.0))}, source="x")
    with pytest.raises(bp.BnprivError, match="draws") as error:
        bp.TightMechanism().calibrate(framework, bp.mean("obs"), epsilon=1.0, delta=0.01)
    assert any(character.isdigit() for character in error.value.remedy)


def test_an_improper_prior_on_the_road_is_refused() -> None:
    with pm.Model() as model:
        top = pm.Flat("top")
        a = pm.Normal("a", top, 1)
        b = pm.Normal("b", 0, 1)
        pm.Normal("x", a + pm.math.exp(b), 1, observed=np.zeros(5))
        pm.Normal("y", b, pm.math.exp(b), observed=np.zeros(5))
    schema = bp.Schema(records=5, columns={"x": bp.Real(-5, 5), "y": bp.Real(-5, 5)})
    protect = {"b": bp.intervals((0.0, 0.5))}
    framework = bp.DistributionalAttributePrivacy(bp.from_pymc(model), schema, protect, source="x")
    refusal = bp.MarkovQuiltMechanism().supports(framework, bp.mean("x"), epsilon=1.0)
    assert refusal is not None
    assert "improper" in str(refusal)
    assert bp.MarkovQuiltMechanism().supports(framework, bp.mean("y"), epsilon=1.0) is None
    refusal = bp.TightMechanism().supports(framework, bp.mean("x"), epsilon=1.0)
    assert refusal is not None
    assert "improper" in str(refusal)
    assert bp.TightMechanism().supports(framework, bp.mean("y"), epsilon=1.0) is None
    assert bp.ColumnMechanism().calibrate(framework, bp.mean("x"), epsilon=1.0).scale == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("column", "whose"), [("ill", "MarkovQuiltMechanism would use"), ("smokes", "the noise is based")]
)
def test_the_drawing_names_the_mechanism_whose_quilt_it_shows(column: str, whose: str) -> None:
    with pm.Model() as site:
        income = pm.Bernoulli("income", 0.4)
        stress = pm.Bernoulli("stress", 0.3 + 0.4 * income)
        pm.Bernoulli("ill", 0.1 + 0.2 * income + 0.3 * stress, observed=np.zeros(50))
        pm.Bernoulli("smokes", 0.2 + 0.3 * stress, observed=np.zeros(50))
    schema = bp.Schema(records=50, columns={"ill": bp.Integer(0, 1), "smokes": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(bp.from_pymc(site), schema, "income", source="a textbook")
    report = bp.influence_report(framework, bp.count(bp.col(column) == 1), 1.0)
    assert f"coloured by the quilt that {whose}" in report.to_html()
    assert ("income drives queried columns itself" in report.text) == (column == "ill")
