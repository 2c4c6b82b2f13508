"""The examples schools, counties and admissions, whose networks are PyMC models: every number of their pages."""

from __future__ import annotations

import math
import os
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

import bnpriv as bp
from bnpriv.io.examples import example_module, example_path, examples
from tests.later import Later, optional

duckdb = Later("duckdb")
pd = Later("pandas")
stats = Later("scipy.stats")

pm = optional("pymc")

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("admissions", "counties", "schools")
TABLES = {"admissions": "departments", "counties": "homes", "schools": "effects"}


@cache
def framework(name: str) -> bp.DistributionalAttributePrivacy:
    return bp.example(name)


@cache
def module(name: str) -> Any:
    return example_module(name)


def queries(name: str) -> dict[str, bp.types.Query]:
    return bp.read_queries(example_path(name))


def over(name: str, network: Any, protect: Any = None) -> bp.DistributionalAttributePrivacy:
    """Return the framework of an example over another network, or with something else protected."""
    shipped = framework(name)
    return bp.DistributionalAttributePrivacy(network, shipped.schema, protect or shipped.protect, source="x")


def tight(subject: Any, query: Any, **how: Any) -> Any:
    return bp.TightMechanism().calibrate(subject, query, epsilon=1.0, **how)


@cache
def learned(reading: str) -> bp.DistributionalAttributePrivacy:
    schools = module("schools")
    post = schools.posterior()
    return over("schools", bp.from_pymc(schools.model(), posterior=post, reading=reading, independent=True))


@cache
def page(name: str) -> str:
    """Return the README of an example, its lines joined, so that sentences can be found."""
    text = (ROOT / "models" / name / "README.md").read_text(encoding="utf-8")
    return re.sub(r"(?<![|\n])\n(?=[^\n|])\s*", " ", text)


def says(name: str, *sentences: str) -> None:
    for sentence in sentences:
        assert sentence in page(name), sentence


def number(x: float) -> str:
    """Write a scale as the pages do."""
    return "none" if x == 0 else f"{x:,.0f}" if x >= 100 else f"{x:.2f}"


# where they are found


def test_they_are_examples() -> None:
    assert set(NAMES) < set(examples())


@pytest.mark.parametrize("name", NAMES)
def test_the_file_names_its_module_and_does_not_run_it(name: str) -> None:
    path = example_path(name)
    with pytest.raises(bp.errors.FileError, match="no file makes bnpriv run Python code") as refused:
        bp.read_framework(path)
    assert f"{name}_pymc.py" in str(refused.value)
    assert "from_pymc" in refused.value.remedy
    passed = bp.read_framework(path, network=bp.from_pymc(module(name).model()))
    assert passed.protect == framework(name).protect
    assert passed.network.attributes == framework(name).network.attributes


def test_a_module_beside_a_foreign_file_is_never_run(tmp_path: Path) -> None:
    shutil.copy(example_path("schools"), tmp_path / "framework.toml")
    (tmp_path / "schools_pymc.py").write_text("raise SystemExit('run')", encoding="utf-8")
    with pytest.raises(bp.errors.FileError, match="no file makes bnpriv run Python code"):
        bp.read_framework(tmp_path / "framework.toml")


def test_the_shell_says_what_to_do() -> None:
    asked = [sys.executable, "-m", "bnpriv", "report", str(example_path("schools"))]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 2
    assert "from_pymc" in done.stderr


def test_a_network_is_passed_only_where_one_is_missing() -> None:
    network = bp.example("student").network
    for name in ("student", "activity"):
        with pytest.raises(bp.errors.FileError, match="only for a file that names a PyMC module"):
            bp.read_framework(example_path(name), network=network)


def test_an_example_without_pymc_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(bp.errors.MissingExtraError, match="bnpriv\\[pymc\\]"):
        bp.example("schools")
    assert queries("schools")


def test_an_example_without_a_module() -> None:
    with pytest.raises(bp.errors.FileError, match="must have a PyMC module"):
        example_module("activity")


# their tables


@pytest.mark.parametrize("name", NAMES)
def test_the_table_is_the_simulated_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = bp.example_data(name)
    assert stored.stem == TABLES[name]
    table = duckdb.sql(f"SELECT * FROM read_parquet('{stored}')").df()
    monkeypatch.syspath_prepend(str(stored.parent))
    again = runpy.run_path(str(stored.with_name("simulate.py")))["simulate"]()
    monkeypatch.delitem(sys.modules, f"{name}_pymc", raising=False)
    pd.testing.assert_frame_equal(table, again, check_dtype=False)
    assert len(table) == framework(name).schema.records
    says(name, f"| [{stored.name}]({stored.name}) |")


@pytest.mark.parametrize("name", NAMES)
def test_the_table_can_be_released(name: str) -> None:
    query = next(iter(queries(name).values()))
    released = bp.release(tight(framework(name), query), str(bp.example_data(name)))
    assert "estimate" in released.to_json()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_describes_every_variable(name: str) -> None:
    told = {node.name.split("[")[0] for node in framework(name).network.reading.nodes}
    text = (ROOT / "models" / name / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert told <= {line.split("|")[1].strip(" *`") for line in lines}


@pytest.mark.parametrize("name", NAMES)
def test_pages_begin_with_the_answer(name: str) -> None:
    query = next(iter(queries(name).values()))
    # where nothing is to be integrated on grids the page of the report is as fast as that of the plan
    made = bp.influence_report if name == "admissions" else bp.plan
    shown = made(framework(name), query, 1.0)
    page = shown.to_html()
    places = [page.index(told) for told in ("What is protected", "What it can change", "The mechanisms compared")]
    assert places == sorted(places)
    assert page.index("From whom") < places[-1]
    assert ("How the model was read" in page) == (name == "admissions")
    assert "estimate" in str(shown)


# schools

PRIOR_NEEDS = {"gains": (0, 1.56), "large": (20, 0.0)}
BELIEF_NEEDS = {"gains": (0, 1.28), "large": (20, 0.79)}


@pytest.mark.parametrize("query", ["mean_effect", "gains", "large"])
def test_three_observers_of_the_schools(query: str) -> None:
    asked = queries("schools")[query]
    scales = [tight(each, asked).scale for each in (framework("schools"), learned("belief"), learned("models"))]
    column = bp.ColumnMechanism().calibrate(framework("schools"), asked, epsilon=1.0).scale
    cells = [*map(number, scales), f"{column:.0f}"]
    says("schools", f"| `{query}` | {' | '.join(cells)} |")
    assert tight(framework("schools"), asked).guarantee.kind == "estimate"


def test_a_report_names_the_reading_of_the_posterior() -> None:
    asked = queries("schools")["mean_effect"]
    belief = bp.influence_report(learned("belief"), asked, 1.0).to_html()
    assert "the distribution of 4,000 draws from a posterior" in belief
    assert "models drawn" not in belief
    assert "coloured by" not in belief  # all parameters depend on each other: 45 edges, which nobody can read
    models = bp.influence_report(learned("models"), asked, 1.0).to_html()
    assert "25 models drawn from a posterior" in models
    assert "coloured by" in models


def test_delta_and_confidence_of_the_schools() -> None:
    asked = queries("schools")["mean_effect"]
    made = tight(learned("belief"), asked, delta=0.05)
    error = made.quantile(0.95)
    says(
        "schools",
        f"under the belief is {made.scale:.2f}",
        f"{error:.1f} points, {100 * error / 120:.1f} % of the range",
    )
    prior = tight(framework("schools"), asked, delta=0.05).scale
    network = framework("schools").network.with_sampling(draws=20_000, seed=1, confidence=0.95)
    sure = tight(over("schools", network), asked, delta=0.05)
    assert sure.guarantee.kind == "certified"
    says("schools", f"the scale of `mean_effect` is {sure.scale:.2f} instead of {prior:.2f}")


def test_models_of_the_schools_need_much_the_same() -> None:
    made = tight(learned("models"), queries("schools")["mean_effect"])
    (note,) = (note for note in made.certificate.notes if note.startswith("Half of the draws"))
    half, _, every = (float(x) for x in re.findall(r"\d+\.\d+", note))
    says("schools", f"half of the draws need at most {half:.2f} for `mean_effect`, all at most {every:.2f}")
    assert learned("models").network.models == 25


def test_written_either_way_the_schools_need_the_same_noise() -> None:
    asked = queries("schools")["mean_effect"]
    other = over("schools", bp.from_pymc(module("schools").model(centred=False)))
    assert tight(other, asked).scale == pytest.approx(tight(framework("schools"), asked).scale, rel=0.05)


def test_a_release_from_the_first_round_is_refused() -> None:
    made = tight(learned("belief"), queries("schools")["mean_effect"])
    with pytest.raises(bp.errors.DataError, match="learned from"):
        bp.release(made, pd.DataFrame({"effect": module("schools").EFFECTS}))


def test_the_posterior_of_the_schools_is_the_one_by_quadrature() -> None:
    schools = module("schools")
    mu, tau = np.linspace(-25, 35, 400), 5 * np.tan(np.pi / 2 * (np.arange(2_000) + 0.5) / 2_000)
    deviation = np.sqrt(schools.ERRORS**2 + tau[:, None, None] ** 2)
    density = stats.norm(mu[None, :, None], deviation).logpdf(schools.EFFECTS).sum(axis=-1) + stats.norm(0, 5).logpdf(
        mu
    )
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    post = schools.posterior(20_000).posterior
    drawn_mu, drawn_tau = post["mu"].values[0], post["tau"].values[0]
    # four standard errors of 20,000 independent draws
    assert drawn_mu.mean() == pytest.approx((weight * mu).sum(), abs=4 * drawn_mu.std() / math.sqrt(20_000))
    assert (drawn_mu < 0).mean() == pytest.approx(weight[:, mu < 0].sum(), abs=0.012)
    for limit in (1.0, 3.0, 8.0):
        assert (drawn_tau < limit).mean() == pytest.approx(weight[tau < limit].sum(), abs=0.015)
    given = mu * weight.sum(axis=0)
    low, high = (given[side].sum() / weight[:, side].sum() for side in (mu < 0, mu > 0))
    says("schools", f"harm means a `mu` of {low:.1f} on average, where the prior had -{5 * math.sqrt(2 / math.pi):.1f}")
    says("schools", f"good means {high:.1f} instead of {5 * math.sqrt(2 / math.pi):.1f}")


def law_of_a_count(probabilities: np.ndarray) -> np.ndarray:
    """Return the mean law of the number of schools that count, whose probabilities stand in the rows."""
    law = np.zeros((len(probabilities), 9))
    law[:, 0] = 1
    for own in probabilities.T[:, :, None]:
        moved = law * (1 - own)
        moved[:, 1:] += law[:, :-1] * own
        law = moved
    return law.mean(axis=0)


def needed(first: np.ndarray, second: np.ndarray) -> float:
    """Return the least scale of Laplace noise that keeps two laws on 0 to 8 within a factor e at every output."""
    outputs = np.arange(-1, 9.005, 0.01)

    def apart(scale: float) -> float:
        kernel = -np.abs(outputs[:, None] - np.arange(9)) / scale
        return float(np.abs(np.subtract(*(logsumexp(kernel + np.log(law), axis=1) for law in (first, second)))).max())

    return 0.0 if np.abs(np.log(first / second)).max() <= 1 else brentq(lambda scale: apart(scale) - 1, 0.3, 20)


@pytest.mark.parametrize("query", ["gains", "large"])
def test_by_hand_under_the_prior(query: str) -> None:
    limit, promised = PRIOR_NEEDS[query]
    spread = np.sqrt(
        (5 * np.tan(np.pi / 2 * (np.arange(500) + 0.5) / 500))[:, None] ** 2 + module("schools").ERRORS ** 2
    )
    positive = stats.halfnorm(scale=5).ppf((np.arange(200) + 0.5) / 200)
    laws = [
        law_of_a_count(stats.norm.sf((limit - sign * positive[:, None, None]) / spread).reshape(-1, 8))
        for sign in (-1, 1)
    ]
    truth = needed(*laws)
    assert truth == pytest.approx(promised, abs=0.02)
    assert tight(framework("schools"), queries("schools")[query]).scale >= 0.97 * truth
    if query == "large":
        says("schools", f"more than a factor of {math.exp(np.abs(np.log(laws[0] / laws[1])).max()):.1f}")


@pytest.mark.parametrize("query", ["gains", "large"])
def test_by_hand_under_the_belief(query: str) -> None:
    limit, promised = BELIEF_NEEDS[query]
    post = module("schools").posterior(100_000, seed=9).posterior
    counts = stats.norm.sf((limit - post["theta"].values[0]) / module("schools").ERRORS)
    harm = post["mu"].values[0] < 0
    truth = needed(law_of_a_count(counts[harm]), law_of_a_count(counts[~harm]))
    assert truth == pytest.approx(promised, abs=0.03)
    assert tight(learned("belief"), queries("schools")[query]).scale == pytest.approx(truth, rel=0.05)


def test_the_page_says_what_was_worked_out_by_hand() -> None:
    says("schools", "`gains` needs 1.56 in truth, and `large` none", "Under the belief they need 1.28 and 0.79.")


# counties


@pytest.mark.parametrize(("query", "verdict"), [("fans", "exact"), ("mean_radon", "useful"), ("high_radon", "coarse")])
def test_the_table_of_the_counties(query: str, verdict: str) -> None:
    asked = queries("counties")[query]
    best = bp.plan(framework("counties"), asked, 1.0).best
    column = bp.ColumnMechanism().calibrate(framework("counties"), asked, epsilon=1.0).scale
    assert best.useful.verdict == verdict
    assert best.guarantee.kind == ("exact" if query == "fans" else "estimate")
    says("counties", f"| `{query}` | {number(best.scale)} | ({number(column)}) | {verdict} |")


def test_fans_are_behind_the_intercepts() -> None:
    made = bp.MarkovQuiltMechanism().calibrate(framework("counties"), queries("counties")["fans"], epsilon=1.0)
    assert made.scale == 0
    assert made.guarantee.kind == "exact"
    (decision,) = made.certificate.decisions
    assert not any(name.startswith("b[") for name in decision.quilt.remote)


@pytest.mark.parametrize(
    ("parameter", "words"), [("mu_a", "need {} and `fans` {}"), ("a[Oak]", "intervals, {} and {}")]
)
def test_other_parameters_of_the_counties(parameter: str, words: str) -> None:
    other = over("counties", framework("counties").network, {parameter: bp.intervals(((0.7, 1.3), (1.3, 1.9)))})
    scales = [tight(other, queries("counties")[query]).scale for query in ("mean_radon", "fans")]
    says("counties", words.format(*(f"{scale:.2f}" for scale in scales)))


def test_a_slope_of_minus_0_6_is_55_percent() -> None:
    says("counties", f"exp(-0.6) is {100 * math.exp(-0.6):.0f} %")


# admissions


@pytest.mark.parametrize(
    ("query", "verdict"),
    [("admitted", "sharp"), ("all_women", "useful"), ("difference", "useful"), ("all_men", "useful")],
)
def test_the_table_of_the_admissions(query: str, verdict: str) -> None:
    asked = queries("admissions")[query]
    made = tight(framework("admissions"), asked)
    column = bp.ColumnMechanism().calibrate(framework("admissions"), asked, epsilon=1.0).scale
    assert (made.useful.verdict, made.guarantee.kind) == (verdict, "estimate")
    says("admissions", f"| `{query}` | {number(made.scale)} | ({number(column)}) | {verdict} |")
    if query == "admitted":
        says("admissions", f"it is {6 * made.scale:.0f} people of noise")


def test_certified_admissions() -> None:
    network = framework("admissions").network.with_sampling(draws=20_000, seed=1, confidence=0.95)
    made = bp.plan(over("admissions", network), queries("admissions")["all_women"], epsilon=1.0, delta=0.05).best
    assert (type(made.mechanism), made.guarantee.kind) == (bp.TightMechanism, "certified")
    says("admissions", f"`all_women` needs Laplace noise of scale {made.scale:.2f} only")


def test_the_paradox_of_1973() -> None:
    admissions = module("admissions")
    men = admissions.MEN_ADMITTED.sum() / admissions.MEN_APPLIED.sum()
    women = admissions.WOMEN_ADMITTED.sum() / admissions.WOMEN_APPLIED.sum()
    says("admissions", f"they admitted {100 * men:.1f} % of the men and {100 * women:.1f} % of the women")


def test_the_noise_of_admitted_is_enough_in_draws_made_apart() -> None:
    """The mean over six departments, drawn without PyMC: no output changes the odds by much more than a factor e."""
    admissions, random = module("admissions"), np.random.default_rng(5)
    gap = np.abs(random.normal(0, 0.5, 200_000))
    rate = random.normal(0, 1.5, (6, gap.size))
    laws = []
    for sign in (-1, 1):
        total = np.zeros(gap.size)
        for side, applied in ((1, admissions.MEN_APPLIED), (-1, admissions.WOMEN_APPLIED)):
            chance = 1 / (1 + np.exp(-rate - side * sign * gap / 2))
            total += random.binomial(applied[:, None], chance).sum(axis=0)
        laws.append(total / 6)
    scale = tight(framework("admissions"), queries("admissions")["admitted"]).scale
    outputs = np.linspace(20, 700, 60)
    density = [np.exp(-np.abs(outputs[:, None] - law[:50_000]) / scale).mean(axis=1) for law in laws]
    assert np.abs(np.log(density[0] / density[1])).max() < 1.03
