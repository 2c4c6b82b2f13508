"""Laws of linear answers where records or parameters are jointly normal (docs/claims/normal_records.md)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.tables.evaluate import evaluate
from tests.later import Later
from tests.normal_tables import Question, question, whole_table

pd, stats = Later("pandas"), Later("scipy.stats")
LEVELS = ("records", "parameters")
BOUNDS = bp.Real(-1000, 1000)


def pair_of(asked: Question):
    (constraint,) = asked.laws.constraints()
    (pair,) = constraint.pairs
    return pair


def bounded(eigenvalues: np.ndarray, size: float) -> bool:
    return bool(np.min(eigenvalues) >= -1e-9 * size)


@pytest.mark.parametrize("level", LEVELS)
def test_laws_are_those_of_the_whole_table(level: str) -> None:
    random, compared = np.random.default_rng(1), 0
    for _ in range(60):
        asked = question(random, level=level)
        table, pair = whole_table(asked), pair_of(asked)
        units = np.abs(asked.weights) @ np.sqrt(np.diag(asked.covariance))
        gap = table.answers @ table.slope * asked.apart
        off = np.abs(pair.second.mean - pair.first.mean - gap)
        assert np.all(off <= 1e-9 * units + pair.rounding)  # rounding pays for what means lose far from 0
        middle = (pair.second.mean + pair.first.mean) / 2
        sizes = np.abs(asked.weights) @ np.abs(asked.mean)
        assert np.all(np.abs(middle - table.answers @ table.mean) <= 1e-7 * units + 1e-13 * sizes)
        true = table.answers @ table.covariance @ table.answers.T / np.outer(units, units)
        found = pair.first.covariance / np.outer(units, units)
        assert bounded(np.linalg.eigvalsh(true - found), 1.0)
        sizes = np.sqrt(np.diag(true).clip(0))
        if np.min(sizes) > 1e-3 and np.linalg.eigvalsh(true / np.outer(sizes, sizes))[0] > 1e-5:
            compared += 1
            assert found == pytest.approx(true, rel=1e-4, abs=1e-9)
    assert compared >= 15


@pytest.mark.parametrize("level", LEVELS)
def test_tables_that_are_moved_into_each_other_have_answers_no_further_apart(level: str) -> None:
    """Clamped or not: row 1 of the contract says that what lies beyond the bounds counts as the bound."""
    random = np.random.default_rng(2)
    for _ in range(8):
        asked = question(random, level=level, wide=random.uniform(0.3, 3))
        table, pair = whole_table(asked), pair_of(asked)
        names, values = asked.framework.network.attributes, random.multivariate_normal(table.mean, table.covariance)
        answers = []
        for value in (-asked.apart / 2, asked.apart / 2):
            rows = (values + table.slope * value).reshape(asked.records, len(names))
            data = pd.DataFrame(rows, columns=list(names))
            answers.append(np.array([float(v) for v in evaluate(asked.query, asked.framework.schema, data).values]))
        apart = np.abs(answers[1] - answers[0])
        assert apart.sum() <= pair.departure.farthest(1) + pair.rounding
        assert np.linalg.norm(apart) <= pair.departure.farthest(2) + pair.rounding


@pytest.mark.parametrize("level", LEVELS)
def test_answers_are_nearly_linear_unless_a_record_is_clamped(level: str) -> None:
    random = np.random.default_rng(3)
    for _ in range(8):
        asked = question(random, level=level)
        table, pair = whole_table(asked), pair_of(asked)
        values = random.multivariate_normal(table.mean, table.covariance)
        data = pd.DataFrame(values.reshape(asked.records, -1), columns=list(asked.framework.network.attributes))
        answer = np.array([float(v) for v in evaluate(asked.query, asked.framework.schema, data).values])
        assert np.abs(answer - table.answers @ values).sum() <= pair.rounding / 2


@pytest.mark.parametrize("level", LEVELS)
def test_clamping_is_no_more_probable_than_said(level: str) -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        asked = question(random, level=level, wide=4.0, numbers=1)
        table, pair = whole_table(asked), pair_of(asked)
        read = np.tile(np.any(asked.weights != 0, axis=0), asked.records)
        deviation = np.sqrt(asked.secret @ asked.covariance @ asked.secret)
        deviation /= np.sqrt(asked.records) if asked.own is None else 1.0
        columns = asked.framework.schema.columns
        low = np.tile([columns[name].lower for name in asked.framework.network.attributes], asked.records)
        high = np.tile([columns[name].upper for name in asked.framework.network.attributes], asked.records)
        for value in (-7 * deviation - asked.apart, 0.0, deviation):
            centre, spread = table.mean + table.slope * value, np.sqrt(np.diag(table.covariance).clip(1e-30))
            each = stats.norm.sf((high - centre) / spread) + stats.norm.cdf((low - centre) / spread)
            assert each[read].max() <= pair.departure.mass * (1 + 1e-6) or pair.departure.mass == 1.0
            assert each[read].sum() <= pair.departure.mass * (1 + 1e-6) or pair.departure.mass == 1.0


def two_columns(**options) -> bp.types.GaussianNetwork:
    return bp.types.GaussianNetwork.linear(
        {"income": 50.0, "sat": 900.0}, {"income": 10.0, "sat": 100.0}, {"sat": {"income": 4.0}}, **options
    )


SCHEMA = bp.Schema(records=100, columns={"income": bp.Real(-100, 200), "sat": bp.Real(-1000, 3000)})


def of(pairs, network=None, *, query="mean(sat)", prop="mean(income)"):
    hidden = {"income": bp.Secret(prop, pairs=pairs)}
    framework = bp.DatasetAttributePrivacy(network or two_columns(level="records"), SCHEMA, hidden, source="invented")
    return laws(framework, query if isinstance(query, bp.types.Query) else bp.parse_query(query))


def gap_of(found) -> float:
    (constraint,) = found.constraints()
    return abs(float(constraint.pairs[0].second.mean[0] - constraint.pairs[0].first.mean[0]))


def test_a_mean_by_hand() -> None:
    """Attribute privacy, section 4.3: slope 4, and the variance of what income does not tell over the records."""
    (constraint,) = of(bp.apart(at_most=2)).constraints()
    (pair,) = constraint.pairs
    assert gap_of(of(bp.apart(at_most=2))) == pytest.approx(8.0)
    assert float(pair.first.covariance[0, 0]) == pytest.approx(100.0**2 / 100)
    assert pair.kind == "certified"


@pytest.mark.parametrize(
    ("pairs", "farthest"),
    [
        (bp.apart(at_most=3), 3),
        (bp.pairs((50, 52)), 2),
        (bp.pairs((50, 52), (40, 47), (49, 50)), 7),
        (bp.pairs(({50, 51}, {54, 60})), 10),
        (bp.intervals(((40, 45), (50, 56))), 16),
        (bp.intervals((50, 52), ((60, 70), (50, 55))), 20),
    ],
)
def test_of_intervals_and_several_pairs_the_farthest_values_count(pairs, farthest: float) -> None:
    assert gap_of(of(pairs)) == pytest.approx(4 * farthest)
    assert gap_of(of(pairs, query="total(sat)")) == pytest.approx(400 * farthest)


def test_the_distance_is_in_the_unit_of_the_property() -> None:
    assert gap_of(of(bp.apart(at_most=200), prop="total(income)")) == pytest.approx(8.0)
    assert gap_of(of(bp.apart(at_most=1), prop="linear(income: 0.5)")) == pytest.approx(8.0)


def test_every_model_has_its_laws() -> None:
    network = bp.types.GaussianNetwork.linear(
        {"income": 50.0, "sat": 900.0},
        {"income": 10.0, "sat": 100.0},
        {"sat": {"income": np.array([4.0, 1.0, -9.0])}},
        level="records",
    )
    found = of(bp.apart(at_most=1), network).constraints()
    assert [c.model for c in found] == [0, 1, 2]
    gaps = [abs(float(c.pairs[0].second.mean[0] - c.pairs[0].first.mean[0])) for c in found]
    assert gaps == pytest.approx([4, 1, 9])


@pytest.mark.parametrize(
    "query", ["count(sat > 900)", "histogram(sat, [0, 900])", "moments(sat)", "proportion(sat > 1)"]
)
def test_answers_that_are_not_linear_are_refused_with_the_reason(query: str) -> None:
    found = of(bp.apart(at_most=1), query=query)
    assert isinstance(found, bp.errors.Refusal)
    assert "linear" in found.required


def test_a_column_that_is_no_node_is_refused() -> None:
    schema = bp.Schema(records=100, columns={**SCHEMA.columns, "age": bp.Real(0, 100)})
    hidden = {"income": bp.Secret("mean(income)", pairs=bp.apart(at_most=1))}
    framework = bp.DatasetAttributePrivacy(two_columns(level="records"), schema, hidden, source="invented")
    found = laws(framework, bp.mean("age"))
    assert isinstance(found, bp.errors.Refusal)
    assert "age" in found.found


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (bp.Secret("count(income > 3)", pairs=bp.apart(at_most=1)), "a mean, a total or a linear"),
        (bp.Secret("mean(income)"), "needs a distance"),
        (bp.Secret("mean(income)", pairs=bp.pairs(("low", "high"))), "are numbers"),
        (bp.Secret("mean(sat)", pairs=bp.apart(at_most=1)), "a property of that column"),
        (bp.Secret("linear(income: 1, age: 2)", pairs=bp.apart(at_most=1)), "a column of a secret"),
    ],
)
def test_secrets_that_no_normal_law_serves_are_refused(secret, said: str) -> None:
    with pytest.raises(bp.errors.SecretError, match=said):
        bp.DatasetAttributePrivacy(two_columns(level="records"), SCHEMA, {"income": secret}, source="invented")


def test_a_network_of_the_other_level_is_refused() -> None:
    with pytest.raises(bp.errors.FrameworkError, match="records"):
        of(bp.apart(at_most=1), two_columns())


def test_an_answer_that_the_secret_determines_has_no_variance() -> None:
    (constraint,) = of(bp.apart(at_most=1), query="linear(income: 3)").constraints()
    assert constraint.pairs[0].first.covariance.tolist() == [[0.0]]
    (constraint,) = of(bp.apart(at_most=1), query=bp.stack(bp.mean("income"), bp.mean("sat"))).constraints()
    assert constraint.pairs[0].first.covariance[0].tolist() == [0.0, 0.0]
    assert constraint.pairs[0].first.covariance[1, 1] == pytest.approx(100.0)


def test_columns_about_normal_parameters_need_a_declared_normal_law() -> None:
    framework = bp.DistributionalAttributePrivacy(
        two_columns(), SCHEMA, {"income": bp.apart(at_most=1)}, source="invented"
    )
    found = laws(framework, bp.mean("sat"))
    assert isinstance(found, bp.errors.Refusal)
    assert "scipy.stats.norm(0, 8)" in found.remedy


def test_linear_networks_of_pgmpy_may_be_of_records() -> None:
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork([("income", "sat")])
    model.add_cpds(LinearGaussianCPD("income", [50], 10), LinearGaussianCPD("sat", [900, 4], 100, evidence=["income"]))
    network = bp.from_pgmpy(model, level="records")
    assert network.level == "records"
    assert gap_of(of(bp.apart(at_most=2), network)) == pytest.approx(8.0)
    assert bp.from_pgmpy(model).level == "parameters"
    assert network.identity() != bp.from_pgmpy(model).identity()


def test_laws_of_means_against_tables_that_are_drawn() -> None:
    """Regress the answers of drawn tables on their property: slope and what is left are those of the law."""
    random, records, draws = np.random.default_rng(5), 4, 20_000
    schema = bp.Schema(records=records, columns={name: bp.Real(-1000, 1000) for name in "ab"})
    matrix = np.array([[4.0, -3.0], [-3.0, 9.0]])
    network = bp.types.GaussianNetwork(["a", "b"], [10.0, 20.0], matrix, level="records")
    hidden = {"a": bp.Secret("total(a)", pairs=bp.apart(at_most=6))}
    framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
    pair = laws(framework, bp.linear({"b": 2, "a": 1})).constraints()[0].pairs[0]
    tables = random.multivariate_normal([10.0, 20.0], matrix, size=(draws, records))
    secret, answer = tables[:, :, 0].sum(axis=1), 2 * tables[:, :, 1].mean(axis=1) + tables[:, :, 0].mean(axis=1)
    slope, base = np.polyfit(secret, answer, 1)
    assert float(pair.second.mean[0] - pair.first.mean[0]) == pytest.approx(6 * slope, rel=0.03)
    assert float(pair.first.covariance[0, 0]) == pytest.approx(np.var(answer - slope * secret - base), rel=0.04)


def test_chosen_ranges_of_a_count_are_the_values_in_them() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "coughs": [[0.9, 0.4], [0.1, 0.6]]},
        states={"ill": [0, 1], "coughs": [0, 1]},
        parents={"coughs": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=10, columns={"ill": bp.Integer(0, 1), "coughs": bp.Integer(0, 1)})

    def scale(prop, pairs) -> float:
        hidden = {"ill": bp.Secret(prop, pairs=pairs)}
        framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
        return bp.WassersteinMechanism().calibrate(framework, "count(coughs > 0)", 1.0).scale

    ranges = bp.intervals(((1, 3), (5, 7)))
    assert scale("count(ill > 0)", ranges) == scale("count(ill > 0)", bp.pairs(({1, 2, 3}, {5, 6, 7})))
    assert scale("proportion(ill > 0)", bp.intervals(((0.1, 0.3), (0.5, 0.7)))) == scale("count(ill > 0)", ranges)
    with pytest.raises(bp.errors.RefusedError, match="positive probability"):
        scale("count(ill > 0)", bp.intervals(((0.2, 0.8), (5, 7))))


FILE = """
notion = "dataset"
source = "a textbook"
[network.attributes.income]
intercept = 50
deviation = 10
[network.attributes.sat]
intercept = 700
deviation = [100, 120]
coefficients = { income = 4 }
[records]
count = 100
[columns.income]
type = "real"
lower = -100
upper = 200
[columns.sat]
type = "real"
lower = -1000
upper = 3000
[protect.income]
property = "mean(income)"
at_most = 2
"""


def test_a_file_declares_normal_records(tmp_path) -> None:
    path = tmp_path / "framework.toml"
    path.write_text(FILE)
    framework = bp.read_framework(path)
    assert isinstance(framework, bp.DatasetAttributePrivacy)
    assert framework.network.level == "records"
    assert framework.models == 2
    assert gap_of_first(framework) == pytest.approx(8.0)
    path.write_text(FILE.replace("at_most = 2", "intervals = [[[40, 45], [50, 56]]]"))
    assert gap_of_first(bp.read_framework(path)) == pytest.approx(64.0)
    path.write_text(FILE.replace("at_most = 2", "intervals = [[40, 45]]\npairs = [[40, 45]]"))
    with pytest.raises(bp.errors.FileError, match="pairs and intervals"):
        bp.read_framework(path)
    section = "[network.attributes.income]"
    path.write_text(FILE.replace(section, f'[network]\nlevel = "parameters"\n{section}'))
    with pytest.raises(bp.BnprivError, match="records"):
        bp.read_framework(path)


def test_a_file_declares_columns_about_normal_parameters(tmp_path) -> None:
    text = FILE.replace('"dataset"', '"distributional"').replace('property = "mean(income)"\n', "")
    path = tmp_path / "framework.toml"
    path.write_text(text + "[laws.sat]\nnormal = [0, 90]\n")
    assert gap_of_first(bp.read_framework(path)) == pytest.approx(8.0)
    path.write_text(text + "[laws.sat]\nnormal = [5, 90]\n")
    with pytest.raises(bp.errors.BnprivError, match="normal with mean 0"):
        bp.read_framework(path)


def gap_of_first(framework) -> float:
    pair = laws(framework, bp.mean("sat")).constraints()[0].pairs[0]
    return abs(float(pair.second.mean[0] - pair.first.mean[0]))


def test_calibrations_of_normal_records_are_stored_and_read(tmp_path) -> None:
    path = tmp_path / "framework.toml"
    path.write_text(FILE)
    framework = bp.read_framework(path)
    for mechanism, delta in ((bp.WassersteinMechanism(), 0.0), (bp.TightMechanism(noise="gaussian"), 1e-4)):
        calibration = mechanism.calibrate(framework, "mean(sat)", epsilon=1.0, delta=delta)
        again = bp.types.Calibration.from_json(calibration.to_json(), framework, bp.mean("sat"))
        assert again.scale == calibration.scale
    other = bp.read_framework(path)
    assert other.fingerprint() == framework.fingerprint()


@pytest.mark.parametrize("slope", [0.1, 0.7, 3.3])
def test_what_doubles_lose_of_a_gap_is_paid_for(slope: float) -> None:
    """Far from 0 the means are doubles wide apart: their difference is off, and counts as rounding of the answer."""
    network = bp.types.GaussianNetwork.linear(
        {"x": 2.0**30 / 3, "y": 2.0**30 / 7}, {"x": 1.0, "y": 1.0}, {"y": {"x": slope}}, level="records"
    )
    bounds = bp.Real(-(2.0**40), 2.0**40)
    schema = bp.Schema(records=50, columns={"x": bp.Real(-(2.0**40), 2.0**40), "y": bounds})
    lost = 0.0
    for apart in (0.3, 1.1, 2.7):
        secret = bp.Secret(bp.mean("x"), pairs=bp.apart(at_most=apart))
        framework = bp.DatasetAttributePrivacy(network, schema, {"x": secret}, source="a fixture")
        found = laws(framework, bp.mean("y"))
        (constraint,) = found.constraints()
        (pair,) = constraint.pairs
        gap = abs(Fraction(float(pair.second.mean[0])) - Fraction(float(pair.first.mean[0])))
        off = abs(gap - Fraction(slope) * Fraction(apart))
        assert off <= Fraction(pair.rounding) - Fraction(found.rounding)
        lost = max(lost, float(off))
    assert lost > 0
