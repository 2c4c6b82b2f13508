"""Model classes drawn from the posterior of a public table: conjugacy, what lies beyond, and what is said of it."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.base import fingerprint
from bnpriv.core.influence.base import draw_points
from bnpriv.core.networks.base import Posterior
from bnpriv.io.learning import log_gamma_draws, parameters_by_group
from bnpriv.tables.public import fingerprint_of
from bnpriv.text import by_times
from tests.later import Later

pd = Later("pandas")
pl = Later("polars")

GRAPH = {"ill": [], "smokes": ["ill"]}


@functools.cache
def census() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "ill": ["no"] * 60 + ["yes"] * 40,
            "smokes": ["no"] * 45 + ["yes"] * 15 + ["no"] * 10 + ["yes"] * 30,
        }
    )


def learned(draws: int = 1000, **options: Any) -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.posterior(
        GRAPH, census(), public="a made-up census", draws=draws, **{"seed": 7, "prior": "uniform", **options}
    )


@pytest.mark.parametrize(
    ("options", "alpha"),
    [
        ({"prior": "uniform"}, 1.0),
        ({"prior": "jeffreys"}, 0.5),
        ({"prior": "bdeu", "equivalent_sample_size": 20}, 5.0),
    ],
)
def test_draws_have_the_moments_of_the_dirichlet_posterior(options: dict[str, Any], alpha: float) -> None:
    drawn = learned(40_000, **options).probabilities("smokes")
    counts = np.array([[45.0, 10.0], [15.0, 30.0]])  # smokes, ill
    weights = counts + alpha
    mean = weights / weights.sum(axis=0)
    variance = mean * (1 - mean) / (weights.sum(axis=0) + 1)
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=5 * float(np.sqrt(variance.max() / 40_000)))
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.05)
    assert drawn.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_tables_and_columns_are_drawn_independently() -> None:
    network = learned(40_000)
    smokes, ill = network.probabilities("smokes")[:, 1], network.probabilities("ill")[:, 1]
    between = np.corrcoef(np.column_stack([smokes, ill]).T)
    assert np.abs(between[~np.eye(3, dtype=bool)]).max() < 0.03


@pytest.mark.parametrize("shape", [0.02, 0.7, 12.0])
def test_gamma_draws_by_logs_follow_the_gamma_law(shape: float) -> None:
    from scipy import stats

    logs = log_gamma_draws(np.array([shape]), 20_000, np.random.default_rng(3))[:, 0]
    assert np.isfinite(logs).all()
    assert stats.kstest(np.exp(logs[logs > -600]), stats.gamma(shape).cdf).pvalue > 1e-3


def test_no_draw_is_a_false_zero() -> None:
    empty = {"ill": ["no"] * 10, "smokes": ["no"] * 10}
    states = {"ill": ["no", "yes"], "smokes": ["no", "yes"]}
    network = bp.DiscreteNetwork.posterior(
        GRAPH, pd.DataFrame(empty), public="x", states=states, equivalent_sample_size=0.01, draws=500, seed=1
    )
    assert all(np.isfinite(table.values).all() for table in network.tables.values())
    assert min(float(table.values.min()) for table in network.tables.values()) < -745  # the exponential would be 0
    assert math.isfinite(float(bp.max_influence(network, {"smokes"}, "ill")))


def test_influences_of_draws_are_those_of_their_tables() -> None:
    network = learned(50)
    influence = bp.max_influence(network, {"smokes"}, "ill")
    for model in range(50):
        table = network.probabilities("smokes")[model]
        ratio = np.abs(np.log(table[:, 0] / table[:, 1])).max()
        assert float(influence.values[model].max()) == pytest.approx(ratio, abs=1e-9)
        assert float(influence.values[model].max()) >= ratio - 1e-12


def test_the_same_seed_draws_the_same_models() -> None:
    assert np.array_equal(learned().probabilities("ill"), learned().probabilities("ill"))
    other = learned(seed=8)
    assert not np.array_equal(learned().probabilities("ill"), other.probabilities("ill"))
    drawn = learned(seed=None).posterior_draws
    assert drawn is not None
    assert drawn.seed is not None
    assert np.array_equal(learned(seed=drawn.seed).probabilities("ill"), learned(seed=drawn.seed).probabilities("ill"))


@pytest.mark.parametrize("law", ["continuous", "steps"])
def test_what_lies_beyond_is_covered_with_the_stated_confidence(law: str) -> None:
    """The share above the maximum of N draws, in closed form: uniform, and uniform rounded up to tenths."""
    generator, draws, confidence = np.random.default_rng(5), 50, 0.8
    most = generator.random((4000, draws)).max(axis=1)
    if law == "steps":
        most = np.ceil(most * 10) / 10
    limit = Posterior(source="x", draws=draws).beyond(confidence)
    kept = float(np.mean(1 - most <= limit))
    assert kept >= confidence - 0.02
    if law == "continuous":  # and the statement is nearly tight
        assert float(np.mean(1 - most <= limit / 1.3)) < confidence - 0.02


def test_beyond_is_log_of_one_over_beta_by_the_number_of_draws() -> None:
    thousand = Posterior(source="x", draws=1000)
    assert thousand.beyond() == pytest.approx(math.log(20) / 1000, rel=1e-12)
    assert thousand.beyond() >= math.log(20) / 1000
    assert thousand.beyond() >= 1 - 0.05 ** (1 / 1000)
    assert thousand.beyond(among=6) == pytest.approx(math.log(120) / 1000, rel=1e-12)
    assert Posterior(source="x", draws=1).beyond() == 1.0
    assert "at most 0.3 % of the posterior" in thousand.sentence
    with pytest.raises(bp.errors.ParameterError):
        thousand.beyond(1.0)
    chain = Posterior(source="x", draws=1000, independent=False)
    assert "depend on each other" in chain.sentence
    with pytest.raises(bp.errors.ParameterError):
        chain.beyond()


def test_points_over_draws() -> None:
    values = np.linspace(0.01, 1, 100)[:, np.newaxis] * np.array([[1.0, 0.5]])
    assert draw_points(values) == pytest.approx((0.5, 0.95, 1.0))
    assert draw_points(np.array([[-np.inf], [0.3]])) == (0.0, 0.3, 0.3)


def plain() -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": [0, 1]})


@pytest.fixture(scope="module")
def schools() -> bp.DiscreteNetwork:
    generator = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    for school in range(60):
        rich = generator.random() < 0.5
        for _ in range(20):
            fund = "yes" if generator.random() < (0.2 if rich else 0.7) else "no"
            rows.append({"school": school, "lunch": fund, "grade": float(generator.normal(7 if rich else 5, 1))})
    table = pl.DataFrame(rows)
    return parameters_by_group(
        table,
        by="school",
        states={"lunch": [0, 0.45, 1], "grade": [0, 6, 10]},
        share_of={"lunch": "yes"},
        parents={"grade": ["lunch"]},
        public="made-up schools",
        prior="uniform",
        seed=3,
    )


def test_parameters_by_group_counts_groups(schools: bp.DiscreteNetwork) -> None:
    assert (schools.level, schools.models) == ("parameters", 1000)
    assert schools.states["lunch"] == ("0 to 0.45", "0.45 to 1")
    # 60 groups, not 1,200 records: the spread of the draws is that of a beta law of 62
    share = schools.probabilities("lunch")[:, 0]
    mean = float(share.mean())
    assert float(share.var()) == pytest.approx(mean * (1 - mean) / 63, rel=0.15)
    grades = schools.probabilities("grade").mean(axis=0)
    assert grades[1, 0] > 0.8 > 0.2 > grades[1, 1]


def test_bins_hold_their_lower_end_and_the_last_one_both() -> None:
    table = {"town": [1, 2, 3, 4], "rate": [0.0, 0.5, 1.0, 0.49]}
    network = parameters_by_group(
        pd.DataFrame(table), "town", {"rate": [0, 0.5, 1]}, public="x", prior="uniform", draws=40_000, seed=1
    )
    assert network.probabilities("rate").mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.01)  # two groups in each
    with pytest.raises(bp.errors.DataError, match="1 groups outside"):
        parameters_by_group(pd.DataFrame(table), "town", {"rate": [0, 0.5, 0.9]}, public="x")


def test_guarantee_certificate_and_json_say_that_the_models_are_draws(schools: bp.DiscreteNetwork) -> None:
    schema = bp.Schema(records=500, columns={"grade": bp.Real(0, 10), "lunch": bp.Categorical(["no", "yes"])})
    framework = bp.DistributionalAttributePrivacy(schools, schema, "lunch", source="public records of schools")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("grade"), epsilon=8.0)
    sentence = calibration.guarantee.sentence
    assert "any of the 1,000 models drawn from a posterior (public data: made-up schools)" in sentence
    said = "With confidence 95 % at most 0.37 % of the posterior lies above what is worst among the 1,000 draws"
    assert said in sentence
    assert calibration.guarantee.kind == "exact"
    notes = calibration.certificate.notes
    decided = calibration.certificate.decisions[0]
    assert any(f"Draw {getattr(decided, 'model', None)} decides the noise, for lunch." in note for note in notes)
    told = bp.max_influence(schools, {"grade"}, "lunch")
    half, most, every = draw_points(told.values)
    assert half < most < every == float(told)
    assert any(f"95 % {by_times(most)}" in note and "half of the draws" in note for note in notes)
    stored = calibration.to_json()
    for text in (
        stored,
        calibration.text,
        calibration.to_html().replace("&nbsp;", " "),
        bp.release(calibration, table()).to_json(),
    ):
        assert said in text
    assert "one of the 1000 declared models" not in calibration.to_html()
    assert "nothing is known about models that were not drawn" in calibration.misspecified(1.1).text
    assert bp.types.Calibration.from_json(stored, framework).certificate.notes == notes


def table() -> pd.DataFrame:
    return pd.DataFrame({"grade": [5.0] * 500, "lunch": ["yes"] * 500})


def test_the_report_says_it_in_every_form(schools: bp.DiscreteNetwork) -> None:
    report = bp.influence_report(schools, protect="lunch")
    said = "With confidence 95 % at most 0.3 % of the posterior"
    points = draw_points(bp.max_influence(schools, {"grade"}, "lunch").values)
    for text in (
        report.text,
        report.to_html().replace("&nbsp;", " "),
        report.to_markdown().replace("\\", ""),
        report.to_json(),
    ):
        assert said in text
    for text in (report.text, report.to_html().replace("&nbsp;", " "), report.to_markdown().replace("\\", "")):
        assert f"95 % {by_times(points[1])}" in text
    facts = json.loads(report.to_json())["data"]
    assert (facts["network"]["drawn"]["draws"], facts["network"]["drawn"]["seed"]) == (1000, 3)
    assert facts["protected"][0]["draws"] == {"at_50": points[0], "at_95": points[1], "at_100": points[2]}
    other = json.loads(bp.influence_report(plain_two(), protect="a").to_json())["data"]
    assert other["network"]["drawn"] is None
    assert other["protected"][0]["draws"] is None


def plain_two() -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.3, 0.4], [0.7, 0.6]]}, states={"a": [0, 1], "b": [0, 1]}, parents={"b": ["a"]}
    )


def test_engines_files_and_graphs_agree(tmp_path: Path) -> None:
    census().to_csv(tmp_path / "c.csv", index=False)
    census().to_parquet(tmp_path / "c.parquet")
    expected = learned().probabilities("smokes")
    for table in (
        pl.from_pandas(census()),
        pl.from_pandas(census()).lazy(),
        tmp_path / "c.csv",
        tmp_path / "c.parquet",
    ):
        network = bp.DiscreteNetwork.posterior(GRAPH, table, public="x", prior="uniform", seed=7)
        assert np.array_equal(network.probabilities("smokes"), expected)
        assert network.posterior_draws is not None
        assert network.posterior_draws.table == getattr(learned().posterior_draws, "table", None)
    again = bp.DiscreteNetwork.posterior(learned(), census(), public="x", prior="uniform", seed=7)
    assert np.array_equal(again.probabilities("smokes"), expected)
    short = bp.DiscreteNetwork.posterior({"smokes": ["ill"]}, census(), public="x", prior="uniform", seed=7)
    assert set(short.attributes) == {"ill", "smokes"}


def test_what_does_not_fit_is_refused() -> None:
    odd = census().assign(ill=["maybe", *census()["ill"][1:]])
    states = {"ill": ["no", "yes"]}
    with pytest.raises(bp.errors.DataError, match="1 records with others") as caught:
        bp.DiscreteNetwork.posterior(GRAPH, odd, public="x", states=states)
    assert "'maybe'" in str(caught.value)  # the table is public
    spelt = census().assign(ill=[" no.", *census()["ill"][1:]])
    with pytest.raises(bp.errors.DataError, match="is 'no' but for the blanks around it and a final"):
        bp.DiscreteNetwork.posterior(GRAPH, spelt, public="x", states=states)
    with pytest.raises(bp.errors.DataError, match="missing values"):
        bp.DiscreteNetwork.posterior(GRAPH, census().assign(ill=[None, *census()["ill"][1:]]), public="x")
    with pytest.raises(bp.errors.DataError, match="none of that name"):
        bp.DiscreteNetwork.posterior({"age": ["ill"]}, census(), public="x")
    with pytest.raises(bp.errors.NetworkError, match="public"):
        bp.DiscreteNetwork.posterior(GRAPH, census(), public=" ")
    with pytest.raises(bp.errors.NetworkError, match="prior"):
        learned(prior="flat")
    with pytest.raises(bp.errors.SizeError):
        learned(2**26)
    with pytest.raises(bp.errors.DataError, match="must be a table"):
        bp.DiscreteNetwork.posterior(GRAPH, 3, public="x")
    with pytest.raises(bp.errors.FileError):
        bp.DiscreteNetwork.posterior(GRAPH, "nowhere.csv", public="x")


def test_a_fingerprint_knows_the_records_in_any_order_and_the_columns_in_this_one() -> None:
    columns: dict[str, list[Any]] = {"a": [1, 2, 3], "b": ["x", "y", "x"]}
    turned: dict[str, list[Any]] = {"b": ["x", "x", "y"], "a": [3.0, 1.0, 2.0]}
    crossed: dict[str, list[Any]] = {"a": [2, 1, 3], "b": ["x", "y", "x"]}
    one = fingerprint_of(columns)
    assert one.rows == fingerprint_of(turned).rows != fingerprint_of(crossed).rows
    assert one.columns["b"] == fingerprint_of(crossed).columns["b"] != fingerprint_of(turned).columns["b"]
    swapped = fingerprint_of({"a": ["x", "y", "x"], "b": [1, 2, 3]})
    assert one.rows != swapped.rows


def test_draws_count_in_the_fingerprint_of_a_framework() -> None:
    first, second = learned(20), learned(20, same_table_is_public=True)
    assert fingerprint("f", [first]) != fingerprint("f", [second])
    assert fingerprint("f", [first]) == fingerprint("f", [learned(20)])
    assert bp.model_class([first]).posterior_draws is not None
    with pytest.raises(bp.errors.NetworkError, match="a model class of their own"):
        bp.model_class([first, second])


def test_a_plot_of_the_draws() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    drawing = bp.max_influence(learned(), {"smokes"}, "ill").plot_draws()
    assert sum(patch.get_height() for patch in drawing.patches) == 1000
    assert [text.get_text() for text in drawing.texts] == ["50 %", "95 %", "100 %"]


@pytest.mark.parametrize(("apart", "told"), [(1, 3), (2, 20)], ids=["one pair", "some pairs"])
def test_of_many_decisions_the_first_are_told(apart: int, told: int) -> None:
    network = learned(30)
    yes_or_no = bp.Categorical(["no", "yes"])
    schema = bp.Schema(records=4, columns={"ill": yes_or_no, "smokes": yes_or_no})
    hidden = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=apart))}
    framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="a census")
    query = bp.count(bp.col("smokes") == "yes")
    calibration = bp.WassersteinMechanism().calibrate(framework, query, epsilon=1.0)
    certificate = calibration.certificate
    assert len(certificate.decisions) == 30
    assert len(certificate.reasons) == told + 1
    assert certificate.reasons[:told] == tuple(decision.text for decision in certificate.decisions[:told])
    assert f"{30 - told} more decisions" in calibration.text
    assert "With confidence 95 % at most 13 % of the posterior" in calibration.text


# the table that the models were learned from


def released(network: bp.DiscreteNetwork, data: Any, records: int = 100) -> bp.types.Release:
    columns = {name: bp.Categorical(["no", "yes"]) for name in ("ill", "smokes")}
    framework = bp.ValuePrivacy(network, bp.Schema(records=records, columns=columns), "ill", source="a census")
    query = bp.count(bp.col("smokes") == "yes")
    return bp.release(bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=5.0), data)


def test_the_learned_table_is_refused_in_any_engine_and_order(tmp_path: Path) -> None:
    network = learned(20)
    census().to_csv(tmp_path / "c.csv", index=False)
    census().to_parquet(tmp_path / "c.parquet")
    same: list[Any] = [
        census(),
        census().assign(age=3),
        census().sample(frac=1, random_state=1),
        census()[["smokes"]],  # the query needs no more
        census().astype("category"),
        pl.from_pandas(census()).lazy(),
        tmp_path / "c.csv",
        tmp_path / "c.parquet",
    ]
    for data in same:
        with pytest.raises(bp.errors.DataError, match="learned from"):
            released(network, data)


def test_other_tables_are_released() -> None:
    network = learned(20)
    changed = census().copy()
    changed.loc[0, "ill"] = "yes"
    crossed = census().assign(smokes=list(census()["smokes"][::-1]))
    for data in (changed, crossed):
        assert released(network, data).guarantee.models == 20
    longer = pd.concat([census(), census()[:1]])
    assert released(network, longer, records=101).guarantee.models == 20
    assert released(learned(20, same_table_is_public=True), census()).guarantee.models == 20


def test_numbers_are_recognized_whatever_their_type() -> None:
    table = pd.DataFrame({"ill": [0, 1] * 20, "pill": [True, False, False, True] * 10})
    network = bp.DiscreteNetwork.posterior({"pill": ["ill"]}, table, public="x", prior="uniform", draws=5, seed=1)
    columns = {"ill": bp.Integer(0, 1), "pill": bp.Integer(0, 1)}
    framework = bp.ValuePrivacy(network, bp.Schema(records=40, columns=columns), "ill", source="a census")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("pill"), epsilon=9.0)
    with pytest.raises(bp.errors.DataError, match="learned from"):
        bp.release(calibration, table.astype(float))


def test_whole_numbers_that_are_written_as_floats_are_states_of_whole_numbers() -> None:
    """A CSV file has 0.0 and 1.0 where a column of whole numbers once had missing values."""
    table = census()
    votes = table.assign(ill=(table["ill"] == "yes").astype(float))
    network = bp.DiscreteNetwork.posterior(GRAPH, votes, public="x", draws=2, seed=1)
    assert [str(state) for state in network.states["ill"]] == ["0", "1"]
    schema = bp.Schema(
        records=50, columns={"ill": bp.Categorical([0, 1]), "smokes": bp.Categorical(list(network.states["smokes"]))}
    )
    secret = bp.Secret(bp.count(bp.col("ill") == 1), pairs=bp.apart(at_most=1))
    for states in ([0, 1], [0.0, 1.0], ["0.0", "1.0"]):
        tables = {"ill": [0.6, 0.4], "smokes": [[0.8, 0.5], [0.2, 0.5]]}
        named = {"ill": states, "smokes": list(network.states["smokes"])}
        given = bp.DiscreteNetwork.from_tables(tables, states=named, parents={"smokes": ["ill"]}, level="records")
        framework = bp.DatasetAttributePrivacy(given, schema, {"ill": secret}, source="a test")
        assert bp.TightMechanism().calibrate(framework, bp.count(bp.col("ill") == 1), epsilon=1.0).scale > 0
