"""The examples clinic and survey: every promise and number of their pages, their data, and where they are found."""

from __future__ import annotations

import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.base import Query
from bnpriv.io.examples import example_path, examples
from tests.later import Later

duckdb = Later("duckdb")
pd = Later("pandas")

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("clinic", "survey")
EXPERTS = ("tax_office", "labour_office", "welfare_office")
HARDSHIPS = ("cash_spending", "commute", "benefits")


@cache
def framework(name: str) -> bp.DistributionalAttributePrivacy:
    return bp.example(name)


@cache
def queries(name: str) -> dict[str, Query]:
    return bp.read_queries(example_path(name))


@cache
def calibrated(name: str, query: str, *, common: bool = False) -> Calibration:
    mechanism = bp.MarkovQuiltMechanism(common_quilt=common)
    return mechanism.calibrate(framework(name), queries(name)[query], epsilon=1.0)


@cache
def data(name: str) -> pd.DataFrame:
    return duckdb.sql(f"SELECT * FROM read_parquet('{bp.example_data(name)}')").df()


@cache
def page(name: str) -> str:
    """Return the README of an example, its lines joined, so that sentences can be found."""
    text = (ROOT / "models" / name / "README.md").read_text(encoding="utf-8")
    return re.sub(r"(?<![|\n])\n(?=[^\n|])\s*", " ", text)


def says(name: str, *sentences: str) -> None:
    for sentence in sentences:
        assert sentence in page(name), sentence


def shown_scales(calibration: Calibration) -> str:
    """Return the scale of every number of an answer, once if all are the same."""
    found = [number(scale) for scale in calibration.noise.scales] or [number(0)]
    return found[0] if len(set(found)) == 1 else " / ".join(found)


def told(name: str, protected: str, *columns: str) -> bp.types.Influence:
    """Return the influence of columns on a protected attribute, with the pairs that the example protects."""
    chosen = framework(name).secrets[protected]
    return bp.max_influence(
        framework(name).network, columns, protected, bp.pairs(*((pair.first, pair.second) for pair in chosen))
    )


def number(x: float) -> str:
    """Write a scale as the pages do."""
    return "none" if x == 0 else f"{x:,.0f}" if x >= 100 else f"{x:.2f}"


CASES = [(name, query) for name in NAMES for query in bp.read_queries(ROOT / "models" / name / "framework.toml")]


# the models


def test_both_are_examples() -> None:
    assert set(NAMES) <= set(examples())


def test_clinic_has_the_promised_size() -> None:
    clinic = framework("clinic")
    assert clinic.notion == "distributional attribute privacy"
    assert clinic.network.level == "parameters"
    assert len(clinic.network.attributes) == 16
    assert set(clinic.network.attributes) == set(clinic.schema.columns)
    assert clinic.schema.records == 20_000
    assert {str(pair) for pair in clinic.secrets["infection"]} == {
        "low against {high, moderate}",
        "{high, moderate} against low",
        "{low, moderate} against high",
        "high against {low, moderate}",
    }
    assert len(clinic.secrets["opioid_use"]) == 6


def test_survey_has_three_models() -> None:
    survey = framework("survey")
    assert survey.network.models == 3
    assert set(survey.network.attributes) - set(survey.schema.columns) == {"jobs"}
    assert set(survey.schema.columns) < set(survey.network.attributes)
    assert survey.schema.records == 6_000
    different = {name for name, table in survey.network.tables.items() if table.values.shape[0] == 3}
    assert different == set(HARDSHIPS)


@pytest.mark.parametrize(("model", "expert"), list(enumerate(EXPERTS)))
def test_the_models_stand_in_the_order_of_the_files(model: int, expert: str) -> None:
    alone = bp.read_network(example_path("survey").with_name(f"{expert}.bif"))
    theta = framework("survey").network
    assert theta.attributes == alone.attributes
    for name in alone.attributes:
        np.testing.assert_allclose(theta.probabilities(name)[model], alone.probabilities(name)[0], rtol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_draws_all_edges_and_no_others(name: str) -> None:
    text = (ROOT / "models" / name / "README.md").read_text(encoding="utf-8")
    drawn = {
        (line.split()[0], child.strip())
        for line in text.splitlines()
        if "──>" in line
        for child in line.split("──>")[1].split(",")
    }
    assert drawn == set(framework(name).network.graph.edges)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_describes_every_column_with_its_states_and_laws(name: str) -> None:
    declared = tomllib.loads(example_path(name).read_text(encoding="utf-8"))
    rows = {row[0].strip("* "): row for row in table_rows(name) if len(row) == 3 and ": " in row[2]}
    del rows["column"]
    assert set(rows) == set(framework(name).schema.columns)
    for column, (_, holds, drawn) in rows.items():
        states, laws = drawn.split(": ", 1)
        given = declared["laws"][column]
        assert states.split(", ") == list(framework(name).network.states[column]) == list(given)
        kinds = {kind for law in given.values() for kind in law}
        assert len(kinds) == 1
        assert laws == in_words(kinds.pop(), [next(iter(law.values())) for law in given.values()], laws)
        kind = declared["columns"][column]
        if kind["type"] == "categorical":
            assert holds == ", ".join(kind["categories"])
        elif kind["upper"] != 1:
            assert f"{kind['lower']} to {kind['upper']:,}" in holds
        else:
            assert holds.startswith("1: ")


def in_words(kind: str, laws: list, text: str) -> str:
    """Write the laws of a column as the pages do."""
    if kind == "normal":
        means, spreads = (", ".join(f"{law[k]:g}" for law in laws) for k in (0, 1))
        return f"normal with mean {means}, standard deviation {spreads}"
    if kind == "bernoulli":
        one = text.split(" ", 1)[0]  # 1, or the name of the second category
        return f"{one} with probability {', '.join(f'{100 * p:g}' for p in laws)} %"
    return ", ".join(" / ".join(f"{100 * p:g}" for p in law.values()) for law in laws) + " %"


def table_rows(name: str) -> list[list[str]]:
    text = (ROOT / "models" / name / "README.md").read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line[:1] == "|"]


# what the pages say about every query

PROMISED = {
    ("clinic", "high_pressure"): "exact",
    ("clinic", "screening"): "exact",
    ("clinic", "liver_and_weight"): "exact",
    ("clinic", "nursing"): "useful",
    ("clinic", "cost"): "sharp",
    ("clinic", "antivirals"): "useless",
    ("clinic", "overdoses"): "useless",
    ("survey", "housing"): "exact",
    ("survey", "living_standard"): "useful",
    ("survey", "cash"): "useless",
    ("survey", "formal_standard"): "useful",
}


def test_every_query_has_its_promise() -> None:
    assert set(CASES) == set(PROMISED)
    says("clinic", "protected, seven queries")
    says("survey", "protected, four queries")


@pytest.mark.parametrize(("name", "query"), CASES)
def test_the_table_of_queries_holds(name: str, query: str) -> None:
    calibration = calibrated(name, query)
    covering = bp.ColumnMechanism().calibrate(framework(name), queries(name)[query], epsilon=1.0)
    verdict = PROMISED[name, query]
    assert calibration.useful.verdict == verdict
    assert calibration.guarantee.kind == "exact"
    says(name, f"| `{query}` | {shown_scales(calibration)} | ({shown_scales(covering)}) | {verdict} |")


@pytest.mark.parametrize(("name", "query"), CASES)
def test_no_scale_is_larger_with_a_quilt_per_model_and_pair(name: str, query: str) -> None:
    assert calibrated(name, query).scale <= calibrated(name, query, common=True).scale


def test_screenings_tell_next_to_nothing() -> None:
    def most(*columns: str) -> float:
        return max(float(told("clinic", protected, *columns)) for protected in ("opioid_use", "infection"))

    assert f"{most('blood_pressure'):.3f}" == "0.005"
    assert f"{most('blood_pressure', 'hba1c', 'cholesterol'):.3f}" == "0.021"
    says("clinic", "at most a factor exp(0.005) about either secret", "all three counts at once: at most exp(0.021)")


def test_two_columns_tell_more_together() -> None:
    liver, weight = told("clinic", "infection", "liver_enzyme"), told("clinic", "infection", "bmi")
    both = told("clinic", "infection", "liver_enzyme", "bmi")
    assert float(both) > float(liver) + float(weight)
    assert dict(both.assignment) == {"liver_enzyme": "raised", "bmi": "lean"}
    assert float(told("clinic", "opioid_use", "liver_enzyme", "bmi")) < float(both) < 1
    says(
        "clinic",
        f"`liver_enzyme` alone tells exp({float(liver):.3f}) about the infection",
        f"`bmi` alone exp({float(weight):.3f}), but both together exp({float(both):.3f})",
        f"exp({float(both):.3f}) about the infection, just inside the budget",
    )


def test_each_secret_of_the_nursing_query_has_its_own_quilt() -> None:
    opioid, infection = calibrated("clinic", "nursing").certificate.decisions
    assert (opioid.protected, infection.protected) == ("opioid_use", "infection")
    assert opioid.queried_near == {"overdose"}
    assert infection.queried_near == {"tuberculosis"}
    assert float(opioid.influence) == float(told("clinic", "opioid_use", "tuberculosis", "visits"))
    error = calibrated("clinic", "nursing").quantile(0.95)
    says(
        "clinic",
        f"which tell {float(opioid.influence):.3f} nats",
        f"5 / (1 - {float(opioid.influence):.3f}) = {opioid.scale:.2f}",
        f"with {float(infection.influence):.3f} nats",
        f"minutes of tuberculosis: {infection.scale:.2f}.",
        f"the error is below {math.ceil(10 * error) / 10:.1f} minutes, {100 * error / 610:.1f} % of the range",
    )


def test_the_cost_query_reads_a_protected_column() -> None:
    assert "infection" in queries("clinic")["cost"].columns
    decision = calibrated("clinic", "cost").certificate.decisions[0]
    assert decision.protected == "infection"
    assert decision.queried_near == {"infection"}
    says("clinic", f"10 / (1 - {float(decision.influence):.3f}) = {decision.scale:.2f}")


@pytest.mark.parametrize(
    ("column", "state", "secret", "share", "factor"),
    [("overdose", "wave", "opioid_use", "0.1", "20"), ("tuberculosis", "cluster", "infection", "0.05", "6.5")],
)
def test_a_rare_state_alone_carries_the_influence(
    column: str, state: str, secret: str, share: str, factor: str
) -> None:
    network = framework("clinic").network
    rows = network.probabilities(column)[0][network.states[column].index(state)]
    assert 1e-4 <= rows.min() < 1e-3
    assert rows.max() < 1e-2
    influence = told("clinic", secret, column)
    assert dict(influence.assignment) == {column: state}
    assert f"{math.exp(float(influence)):.2g}" == factor
    assert f"{100 * law(column)[state]:.1g}" == share
    # with the rare state as likely under every secret the column tells nothing
    tables = {name: network.probabilities(name)[0] for name in network.attributes}
    tables[column] = np.broadcast_to(tables[column][:, :1], tables[column].shape)
    blind = bp.DiscreteNetwork.from_tables(tables, states=network.states, parents=network.graph.parents)
    assert float(bp.max_influence(blind, {column}, secret)) < 1e-12
    says("clinic", "A wave of overdoses has a probability of 0.1 % altogether, a cluster of tuberculosis 0.05 %.")
    says("clinic", "20 times likelier where opioid use is common", "a cluster 6.5 times likelier")


def law(column: str) -> dict[object, float]:
    """Return the law of a column's parameter in the clinic, by summing over all that lies above it."""
    network = framework("clinic").network
    above = [name for name in network.attributes if name in network.graph.ancestral([column])]
    total: dict[object, float] = dict.fromkeys(network.states[column], 0.0)
    for states in product(*(network.states[name] for name in above)):
        chosen = dict(zip(above, states, strict=True))
        places = {name: network.states[name].index(state) for name, state in chosen.items()}
        total[chosen[column]] += math.prod(
            float(network.probabilities(name)[0][places[name], *(places[up] for up in network.graph.parents[name])])
            for name in above
        )
    return total


def test_useless_answers_of_the_clinic_tell_too_much() -> None:
    says("clinic", f"tells a factor of up to {math.exp(float(told('clinic', 'infection', 'antiviral'))):.1f} about")
    says("clinic", f"a wave tells a factor of {math.exp(float(told('clinic', 'opioid_use', 'overdose'))):.0f} about")


# the survey: three experts


@pytest.mark.parametrize(("model", "expert"), list(enumerate(EXPERTS)))
def test_every_expert_fears_another_column(model: int, expert: str) -> None:
    most = [float(told("survey", "undeclared_work", column).values[model].max()) for column in HARDSHIPS]
    cells = [f"**{x:.2f}**" if x > 1 else f"{x:.2f}" for x in most]
    assert [k for k, x in enumerate(most) if x > 1] == [model]
    says("survey", f"| the {expert.replace('_', ' ')} | {' | '.join(cells)} |")


def test_housing_tells_little_under_any_model() -> None:
    influence = told("survey", "undeclared_work", *queries("survey")["housing"].columns)
    says("survey", f"together tell at most exp({float(influence):.3f}) under any model")


def test_cash_tells_too_much() -> None:
    influence = told("survey", "undeclared_work", "cash_spending")
    assert influence.model == 0
    says("survey", f"cash tells a factor of up to {math.exp(float(influence)):.1f}")


@cache
def scales() -> np.ndarray:
    """Return the least scale of `living_standard` over all near sets, per model and pair in the order of `told`."""
    query, survey = queries("survey")["living_standard"], framework("survey")
    columns = sorted(query.columns)
    best = np.full((3, 6), np.inf)
    for size in range(len(columns) + 1):
        for near in combinations(columns, size):
            far = [name for name in columns if name not in near]
            influence = told("survey", "undeclared_work", *far).values if far else np.zeros((3, 6))
            moved = bp.column_sensitivity(query, near, survey.schema).upper
            with np.errstate(divide="ignore"):
                scale = np.where(influence < 1, moved / (1 - influence), np.inf)
            best = np.minimum(best, scale)
    return best


def test_different_models_decide_for_different_pairs() -> None:
    deciding = set()
    for k, pair in enumerate(told("survey", "undeclared_work", "commute").pairs):
        cells = [number(x) for x in scales()[:, k]]
        if scales()[:, k].max() > 0:
            largest = int(np.argmax(scales()[:, k]))
            deciding.add(largest)
            cells[largest] = f"**{cells[largest]}**"
        says("survey", f"| {pair} | {' | '.join(cells)} |")
    assert deciding == {0, 1, 2}


def test_quilts_per_model_beat_a_common_quilt() -> None:
    own, common = calibrated("survey", "living_standard"), calibrated("survey", "living_standard", common=True)
    assert own.scale == pytest.approx(scales().max(), rel=1e-9)
    assert own.certificate.decisions[0].queried_near == {"commute"}
    assert own.certificate.decisions[0].model == 1
    assert common.certificate.decisions[0].queried_near == set(HARDSHIPS)
    assert common.useful.verdict == "coarse"
    says(
        "survey",
        f"The largest entry is used: {own.scale:.2f}, and the answer is useful",
        f"in 95 % of releases within {own.quantile(0.95):.1f} points",
        f"6 points to hide, scale {common.scale:.2f}, errors up to {common.quantile(0.95):.1f} points, a coarse answer",
    )


def test_all_experts_agree_on_the_secret_itself() -> None:
    network = framework("survey").network
    for name in network.graph.ancestral(["undeclared_work"]):
        assert network.tables[name].values.shape[0] == 1


def test_the_formal_standard_reads_the_protected_column() -> None:
    assert "undeclared_work" in queries("survey")["formal_standard"].columns
    assert calibrated("survey", "formal_standard").certificate.decisions[0].queried_near == {"undeclared_work"}


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "models" / "survey" / "README.md").read_text(encoding="utf-8")
    exec(text.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out.split() == ["3", "1"]


# the data


@pytest.mark.parametrize("name", NAMES)
def test_the_table_fits_the_schema(name: str) -> None:
    schema, table = framework(name).schema, data(name)
    assert list(table.columns) == list(schema.columns)
    assert len(table) == schema.records
    assert not table.isna().any(axis=None)
    for column, kind in schema.columns.items():
        if isinstance(kind, bp.Categorical):
            assert set(table[column]) == set(kind.categories)
        else:
            assert table[column].between(kind.lower, kind.upper).all()
            assert pd.api.types.is_integer_dtype(table[column]) == isinstance(kind, bp.Integer)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_the_table_are_independent(name: str) -> None:
    """Given the parameters they are: of 20,000 or 6,000 rows, correlations are far below six standard errors."""
    table = data(name).select_dtypes("number")
    correlations = table.corr().to_numpy()[~np.eye(table.shape[1], dtype=bool)]
    assert np.abs(correlations).max() < 6 / math.sqrt(len(table))


@pytest.mark.parametrize("name", NAMES)
def test_the_table_is_small(name: str) -> None:
    assert bp.example_data(name).stat().st_size < 400_000


@pytest.mark.parametrize("name", NAMES)
def test_the_table_is_what_its_program_writes(name: str) -> None:
    made = runpy.run_path(str(ROOT / "models" / name / "simulate.py"))["table"]()
    pd.testing.assert_frame_equal(made, data(name), check_dtype=False)


@pytest.mark.parametrize(("name", "query"), CASES)
def test_every_query_is_released(name: str, query: str) -> None:
    calibration = calibrated(name, query)
    released = bp.release(calibration, bp.example_data(name))
    exact = EXACT[query](data(name))
    assert len(released.values) == len(exact)
    for value, expected in zip(released.values, exact, strict=True):
        # beyond 60 scales an error has probability exp(-60); means are read on the grid of the column
        assert abs(value - expected) <= 60 * calibration.scale + 1e-6 * max(1.0, abs(expected))


EXACT = {
    "high_pressure": lambda t: [(t.blood_pressure >= 140).sum()],
    "screening": lambda t: [(t.blood_pressure >= 140).sum(), (t.hba1c >= 6.5).sum(), (t.cholesterol >= 240).sum()],
    "liver_and_weight": lambda t: [(t.liver_enzyme > 50).sum(), t.bmi.mean()],
    "nursing": lambda t: [20 * t.visits.mean() + 5 * t.tuberculosis.mean() + 5 * t.overdose.mean()],
    "cost": lambda t: [60 * t.visits.mean() + 10 * t.infection.mean()],
    "antivirals": lambda t: [t.antiviral.sum()],
    "overdoses": lambda t: [t.overdose.sum()],
    "housing": lambda t: [t.rooms.mean(), t.rent.mean(), t.internet.mean()],
    "living_standard": lambda t: [
        4 * t.rooms.mean()
        + 3 * t.schooling.mean()
        + 10 * t.internet.mean()
        - t.cash_spending.mean() / 1000
        - t.commute.mean() / 90
        - 2 * t.benefits.mean()
    ],
    "cash": lambda t: [t.cash_spending.mean()],
    "formal_standard": lambda t: [
        4 * t.rooms.mean() + 3 * t.schooling.mean() + 10 * t.internet.mean() - 2 * t.undeclared_work.mean()
    ],
}


# where they are found

PROGRAM = """
from pathlib import Path
import bnpriv as bp
from bnpriv.io.examples import example_path
for name in ("clinic", "survey"):
    print(Path(bp.__file__).parent in example_path(name).parents, bp.example(name).network.models)
    print(Path(bp.__file__).parent in bp.example_data(name).parents)
"""
FOUND = ["True", "1", "True", "True", "3", "True"]


def run_in(folder: Path) -> list[str]:
    """Return what PROGRAM prints when bnpriv is imported from `folder`, outside the source tree."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_models_are_found_inside_an_installed_package(tmp_path: Path) -> None:
    """The layout of the wheel: the package, and models/ moved into it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]["models"] == "bnpriv/models"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bnpriv", tmp_path / "bnpriv", ignore=ignored)
    shutil.copytree(ROOT / "models", tmp_path / "bnpriv" / "models", ignore=ignored)
    assert run_in(tmp_path) == FOUND


@pytest.mark.slow
def test_models_are_found_in_the_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    from hatchling.builders.wheel import WheelBuilder

    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns("__pycache__", ".*", "benchmarks", "tests")
    shutil.copytree(ROOT, tree, ignore=ignored)
    (wheel,) = WheelBuilder(str(tree)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    shutil.unpack_archive(wheel, tmp_path / "site", format="zip")
    assert run_in(tmp_path / "site") == FOUND
