"""Made-up tables and rehearsals: exact conditional laws, exact sums, and no guesser above what the guarantee allows."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.column_laws import NormalDistribution
from bnpriv.core.evidence.structural import influences
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.base import normal_form
from bnpriv.errors import FrameworkError, MissingExtraError, ParameterError, QueryError, RefusedError, SecretError
from bnpriv.lab.attacks.likelihood_ratio import groups, normal_laplace, record_law
from bnpriv.lab.sampling.records import draw_parameters
from bnpriv.lab.simulate import Rehearsal, rehearse, simulate
from bnpriv.tables.evaluate import evaluate
from tests import oracles
from tests.later import Later
from tests.seeds import seeds

pd = Later("pandas")
scipy = Later("scipy")

SAT = {"weak": NormalDistribution(950, 180), "strong": NormalDistribution(1150, 180)}
GENDER = {"even": 0.5, "boys": 0.8}
COLUMNS = {
    "height": bp.Real(120, 220),
    "sat": bp.Integer(400, 1600),
    "gender": bp.Categorical(["f", "m"]),
    "siblings": bp.Integer(0, 8),
}


def height() -> dict[str, Any]:
    return {"short": scipy.stats.norm(165, 8), "tall": scipy.stats.norm(178, 8)}


def all_laws() -> dict[str, Any]:
    return {"height": height(), "sat": SAT, "gender": GENDER, "siblings": scipy.stats.poisson(1.2)}


def network() -> DiscreteNetwork:
    """Return income -> sat, (income, gender) -> height, with two models."""
    return DiscreteNetwork.from_tables(
        {
            "income": [[0.6, 0.4], [0.3, 0.7]],
            "gender": [0.7, 0.3],
            "sat": [[0.7, 0.3], [0.3, 0.7]],
            "height": [[[0.8, 0.3], [0.6, 0.2]], [[0.2, 0.7], [0.4, 0.8]]],
        },
        states={
            "income": ["low", "high"],
            "gender": ["even", "boys"],
            "sat": ["weak", "strong"],
            "height": ["short", "tall"],
        },
        parents={"sat": ["income"], "height": ["income", "gender"]},
    )


def framework(
    records: int = 1000, laws: dict[str, Any] | str | None = "all", **changes: Any
) -> bp.DistributionalAttributePrivacy:
    laws = all_laws() if laws == "all" else laws
    arguments: dict[str, Any] = {"protect": "income", "independent": ["siblings"], "source": "invented", "laws": laws}
    schema = bp.Schema(records=records, columns=COLUMNS)
    return DistributionalAttributePrivacy(network(), schema, **(arguments | changes))


# --- parameters -------------------------------------------------------------------------------------------------------


class ImpossibleError(Exception):
    """A state of probability zero was chosen."""


class Scripted:
    """Takes the states that a script says, and multiplies their probabilities: a law is read off, not estimated."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.chance, self.place = script, 1.0, 0

    def choice(self, states: int, p: np.ndarray) -> int:
        assert len(p) == states
        chosen = self.script[self.place]
        self.chance, self.place = self.chance * p[chosen], self.place + 1
        if self.chance == 0:
            raise ImpossibleError
        return chosen


def drawn_law(model_network: DiscreteNetwork, **condition: Any) -> np.ndarray:
    """Return the law of what `draw_parameters` draws, with one axis per attribute."""
    law = np.zeros([len(model_network.states[name]) for name in model_network.attributes])
    for script in np.ndindex(law.shape):
        scripted: Any = Scripted(script)
        try:
            drawn = draw_parameters(model_network, scripted, **condition)
        except ImpossibleError:
            continue
        assert [model_network.states[name].index(state) for name, state in drawn.items()] == list(script)
        law[script] = scripted.chance
    return law


@pytest.mark.parametrize(
    ("secret", "model"),
    [
        (None, 0),
        (None, 1),
        ({"height": "tall"}, 0),  # below its parents: they must be drawn given it
        ({"sat": "strong", "height": "short"}, 1),
        ({"gender": "boys", "height": "tall"}, 0),  # explaining away
        ({"income": ("low", "high"), "sat": frozenset({"weak"})}, 0),
    ],
)
def test_parameters_follow_the_exact_law_given_a_secret(secret: dict[str, Any] | None, model: int) -> None:
    model_network = network()
    exact = oracles.joint(model_network, model)
    for name, known in (secret or {}).items():
        allowed = (known,) if isinstance(known, str) else known
        inside = np.array([state in allowed for state in model_network.states[name]])
        shape = [-1 if name == other else 1 for other in model_network.attributes]
        exact = exact * inside.reshape(shape)
    exact = exact / exact.sum()
    assert np.allclose(drawn_law(model_network, secret=secret, model=model), exact, rtol=1e-12, atol=0)


def test_draws_follow_the_law_that_was_read_off() -> None:
    random = np.random.default_rng(5)
    drawn = [draw_parameters(network(), random, secret={"height": "tall"})["income"] for _ in range(1000)]
    exact = oracles.conditional(network(), oracles.joint(network(), 0), ("income",), "height", {"tall"})
    assert exact is not None
    assert abs(drawn.count("low") / 1000 - exact[0]) < 0.06


def test_parameters_of_random_networks_follow_the_exact_law() -> None:
    random = np.random.default_rng(11)
    for _ in range(8):
        model_network = oracles.random_network(random, 4)
        exact = oracles.joint(model_network, 0)
        name = str(random.choice(model_network.attributes))
        place = model_network.attributes.index(name)
        masses = exact.sum(axis=tuple(k for k in range(exact.ndim) if k != place))
        state = int(np.argmin(np.where(masses > 0, masses, np.inf)))  # the rarest possible one
        exact = exact * (np.arange(len(masses)) == state).reshape([-1 if k == place else 1 for k in range(exact.ndim)])
        exact = exact / exact.sum()
        seen = drawn_law(model_network, secret={name: model_network.states[name][state]})
        assert np.allclose(seen, exact, rtol=1e-9, atol=1e-15)


def test_an_impossible_secret_is_refused() -> None:
    certain = DiscreteNetwork.from_tables(
        {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.0, 1.0]]}, states={"a": [0, 1], "b": [0, 1]}, parents={"b": ["a"]}
    )
    with pytest.raises(SecretError, match="probability zero"):
        draw_parameters(certain, np.random.default_rng(0), secret={"b": 1})


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_has_the_declared_columns_and_is_the_same_for_the_same_seed() -> None:
    table = simulate(framework())
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 1000
    assert not table.isna().to_numpy().any()
    assert set(table["gender"]) <= {"f", "m"}
    assert table["height"].between(120, 220).all()
    assert table["sat"].between(400, 1600).all()
    assert (table["sat"] % 1 == 0).all()
    pd.testing.assert_frame_equal(table, simulate(framework()))
    assert not table.equals(simulate(framework(), seed=1))
    assert len(simulate(framework(), 7)) == 7


def test_columns_follow_the_law_of_the_secret() -> None:
    secret = {"height": "tall", "sat": "weak", "gender": "boys"}
    table = simulate(framework(), 40_000, secret=secret)
    assert abs(table["height"].mean() - 178) < 5 * 8 / 200
    assert abs(table["height"].std() - 8) < 0.15
    assert abs(table["sat"].mean() - column_mean("sat", 0)) < 5 * 180 / 200
    assert abs((table["gender"] == "m").mean() - 0.8) < 0.01
    assert abs(table["siblings"].mean() - 1.2) < 0.03
    assert abs(np.corrcoef(table["height"], table["sat"])[0, 1]) < 0.025  # independent given the parameters


def column_mean(name: str, state: int) -> float:
    values, probabilities = framework().column_laws[name][state].atoms()
    return float(values @ probabilities)


def test_a_table_can_be_released() -> None:
    query = bp.stack(bp.mean("height"), bp.count(bp.col("gender") == "m"), bp.histogram("sat", [400, 1000, 1600]))
    assert len(evaluate(query, framework().schema, simulate(framework())).values) == 4


@pytest.mark.parametrize(
    ("column", "key"),
    [
        ("height", "laws={\"height\": {'short': scipy.stats.norm(mean, sd)"),
        ("gender", "[laws.gender.even] categorical"),
        ("siblings", "[laws.siblings] normal"),
    ],
)
def test_a_column_without_a_law_is_refused_with_the_key_to_add(column: str, key: str) -> None:
    bare = framework(laws={name: law for name, law in all_laws().items() if name != column})
    with pytest.raises(FrameworkError) as refused:
        simulate(bare)
    assert key in refused.value.remedy
    assert refused.value.found == f"none for {column}"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"records": 0}, ParameterError),
        ({"seed": -1}, ParameterError),
        ({"model": 2}, ParameterError),
        ({"secret": {"income": "rich"}}, SecretError),
        ({"secret": {"incone": "high"}}, SecretError),
        ({"secret": {"income": ()}}, SecretError),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        simulate(framework(), **arguments)


# --- the law of the sums ----------------------------------------------------------------------------------------------

QUERIES = [
    "count(height > 170)",
    "count(height > 170 & (sat >= 1000 | gender == 'm'))".replace("'", '"'),
    "histogram(height, [150, 160, 170, 180])",
    "mean(height)",
    "moments(height, sat)",
    "covariance(height, sat)",
    "stack(covariance(siblings, height), variance(siblings), count(height > 170))",
    "stack(covariance(siblings, sat), covariance(sat, height))",
    'stack(total(siblings), count(siblings >= 2), count(gender == "m"))',
    "stack(total(sat), count(sat > 1100), count(height < 160))",
    "stack(moments(siblings), count(siblings > 1 & height > 170))",
]


@pytest.mark.parametrize("text", QUERIES)
def test_sums_have_the_moments_that_simulated_records_have(text: str) -> None:
    model = framework()
    form = normal_form(bp.parse_query(text), model.schema)
    laws = {name: chosen[0] for name, chosen in model.column_laws.items()}
    random = np.random.default_rng(8)
    draws = 40_000
    table = pd.DataFrame({name: law.sample(draws, random) for name, law in laws.items()})
    one = bp.Schema(records=1, columns=COLUMNS)
    parts = groups(form)
    assert sorted(place for _, places in parts for place in places) == list(range(len(form.terms)))
    for group in parts:
        law = record_law(form, group, laws)
        terms = [form.terms[place] for place in group[1]]
        seen = np.stack([term_values(term, table, one) for term in terms])
        scale = np.sqrt(np.diag(law.covariance)) + 1e-12
        assert np.all(np.abs(seen.mean(axis=1) - law.mean) <= 5 * scale / math.sqrt(draws) + 1e-9)
        correlation = law.covariance / np.outer(scale, scale)
        assert np.allclose(np.cov(seen).reshape(correlation.shape) / np.outer(scale, scale), correlation, atol=0.04)
        sums = law.sums(50, 20_000, random)
        error = 5 * math.sqrt(50 / 20_000) * scale
        assert np.all(np.abs(sums.mean(axis=0) - 50 * law.mean) <= error + 1e-9)
        spread = np.cov(sums.T).reshape(correlation.shape) / np.outer(scale, scale) / 50
        assert np.allclose(spread, correlation, atol=0.06)


def term_values(term: Any, table: pd.DataFrame, schema: bp.Schema) -> np.ndarray:
    """Evaluate a term record by record, in pandas."""
    if hasattr(term, "powers"):
        steps = [[schema[name].step(float(x)) for x in table[name]] for name in term.powers]
        return np.prod([np.array(s, float) ** k for s, k in zip(steps, term.powers.values(), strict=True)], axis=0)
    return table.eval(str(term.predicate)).to_numpy(dtype=float)


def test_counts_are_exact_and_sums_of_few_values_too() -> None:
    model = framework()
    form = normal_form(bp.parse_query("stack(total(siblings), count(height > 170), total(sat))"), model.schema)
    laws = {name: chosen[0] for name, chosen in model.column_laws.items()}
    found = {group[0]: record_law(form, group, laws) for group in groups(form)}
    assert found["siblings",].cells is not None
    assert found["height",].cells is not None
    assert found["sat",].cells is None  # too many values: drawn from a normal law
    counts = found["height",].sums(6, 60_000, np.random.default_rng(4))[:, 0]
    p = scipy.stats.norm.sf(170, 165, 8)
    for k in range(7):
        told = scipy.stats.binom.pmf(k, 6, p)
        assert abs((counts == k).mean() - told) <= 5 * math.sqrt(told * (1 - told) / 60_000)


def test_the_normal_laplace_density_is_a_density() -> None:
    x = np.linspace(-60, 60, 200_001)
    for spread, scale in [(1.0, 2.0), (3.0, 0.01), (0.0, 1.0), (0.05, 2.0), (2.0, 1e-9)]:
        density = np.exp(normal_laplace(x.reshape(-1, 1), np.array([spread]), scale))[:, 0]
        assert math.isclose(density.sum() * (x[1] - x[0]), 1, rel_tol=2e-3)
        variance = (x**2 * density).sum() * (x[1] - x[0])
        assert math.isclose(variance, spread**2 + 2 * scale**2, rel_tol=5e-3)


# --- rehearsals -------------------------------------------------------------------------------------------------------


def calibrated(text: str, epsilon: float, records: int = 10_000, **changes: Any) -> Calibration:
    return bp.MarkovQuiltMechanism().calibrate(framework(records, **changes), bp.parse_query(text), epsilon=epsilon)


def test_without_noise_the_guesser_does_what_the_total_variation_says() -> None:
    """With many records the answer shows the state of sat, so that the best guess is that of the state."""
    found = rehearse(calibrated("count(sat >= 1200)", 1.0), 4000)
    assert found.calibration.scale == 0
    assert abs(found.correct - (1 + 0.4) / 2) < found.margin
    assert found.correct < found.bound
    assert found.errors.max() == 0
    assert found.caveats == ()


def test_with_noise_the_guesser_does_what_the_exact_laws_say() -> None:
    """Noise for the height alone, whose means are far apart: compare with a numerical integral."""
    calibration = calibrated("count(sat >= 1200)", 0.5, records=100)
    found = rehearse(calibration, 20_000)
    law = [scipy.stats.binom(100, scipy.stats.norm.sf(1199.5, mean, 180)) for mean in (950, 1150)]
    x = np.linspace(-4000, 4000, 80_001)
    kernel = np.zeros((2, len(x)))
    for k, one in enumerate(law):
        for count in range(101):
            kernel[k] += one.pmf(count) * np.exp(-np.abs(x - count) / calibration.scale) / (2 * calibration.scale)
    low, high = 0.7 * kernel[0] + 0.3 * kernel[1], 0.3 * kernel[0] + 0.7 * kernel[1]
    best = 0.5 + 0.25 * np.abs(low - high).sum() * (x[1] - x[0])
    assert abs(found.correct - best) < found.margin
    assert found.correct <= found.bound + found.margin
    assert abs(np.quantile(found.errors, 0.95) / calibration.quantile(0.95) - 1) < 0.05


def test_the_mutant_with_too_little_noise_is_caught() -> None:
    """The protected column itself is queried; with a hundredth of the noise the guesser beats the guarantee."""
    laws = {"height": height(), "income": {"low": 0.2, "high": 0.8}}
    schema = bp.Schema(records=10_000, columns={"income": bp.Integer(0, 1), "height": bp.Real(120, 220)})
    read = DistributionalAttributePrivacy(network(), schema, "income", source="invented", laws=laws)
    honest = bp.MarkovQuiltMechanism().calibrate(read, bp.parse_query("count(income == 1)"), epsilon=0.5)
    assert rehearse(honest).correct <= rehearse(honest).bound + rehearse(honest).margin
    mutant = replace(honest, noise=bp.noise.Laplace(honest.scale / 100))
    assert rehearse(mutant).correct > rehearse(mutant).bound + rehearse(mutant).margin


@pytest.mark.parametrize("most", [3_000, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", seeds(1, slow=5))
def test_no_guesser_beats_the_guarantee_on_random_frameworks(seed: int, most: int) -> None:
    random = np.random.default_rng(100 + seed)
    for _ in range(8):
        case = oracles.random_case(random)
        old = case.framework
        laws = {
            name: {state: float(ones) for state, ones in zip(old.network.states[name], rows[:, 1], strict=True)}
            for name, rows in case.emission.items()
        }
        schema = bp.Schema(records=int(random.choice([1, 30, most])), columns=old.schema.columns)
        model = DistributionalAttributePrivacy(old.network, schema, old.protect, source="a draw", laws=laws)
        if isinstance(influences(model), bp.errors.Refusal):
            continue  # no pair of secrets is possible
        for calibration in bp.plan(model, case.query, case.epsilon, delta=1e-6).calibrations:
            found = rehearse(calibration, 1500, seed=seed)
            assert found.correct <= found.bound + 4.5 / 1.96 * found.margin
            assert found.correct >= 0.5 - 4.5 / 1.96 * found.margin


def test_the_deciding_pair_is_rehearsed() -> None:
    calibration = calibrated("count(height > 170)", 0.05)
    found = rehearse(calibration, 10)
    decision = calibration.certificate.decisions[0]
    assert (found.protected, found.pair, found.model) == (decision.protected, decision.pair, decision.model)


def test_a_mechanism_without_decisions_takes_the_pair_that_the_columns_tell_most_about() -> None:
    column = bp.ColumnMechanism().calibrate(framework(), bp.parse_query("count(sat > 1000)"), epsilon=1.0)
    found = rehearse(column, 10)
    assert found.protected == "income"
    read = framework(protect=["height", "sat"])
    assert rehearse(bp.ColumnMechanism().calibrate(read, column.query, epsilon=1.0), 10).protected == "sat"


def test_values_have_a_row_per_draw_and_a_column_per_number() -> None:
    found = rehearse(calibrated('stack(mean(height), count(gender == "m"))', 0.3), 25)
    assert {key: value.shape for key, value in found.values.items()} == {"low": (25, 2), "high": (25, 2)}
    table = found.to_pandas()
    assert table.shape == (50, 3)
    assert table["secret"].tolist() == [str(name) for name in found.values for _ in range(25)]
    assert np.array_equal(table.iloc[:25, 1:].to_numpy(), found.first)


def test_the_summary_names_pair_guess_bound_and_what_is_approximate() -> None:
    text = rehearse(calibrated("mean(height)", 0.3), 200).text
    for words in (
        "income",
        "against",
        "names the right secret in",
        "the guarantee allows",
        "normal distributions",
        "No data",
    ):
        assert words in text
    assert "normal distributions" not in rehearse(calibrated("count(height > 170)", 0.3), 200).text


def test_the_same_seed_gives_the_same_rehearsal() -> None:
    calibration = calibrated("count(height > 170)", 0.3)
    assert np.array_equal(rehearse(calibration, 50).first, rehearse(calibration, 50).first)
    assert not np.array_equal(rehearse(calibration, 50).first, rehearse(calibration, 50, seed=1).first)


def test_a_million_records_take_no_longer_than_few() -> None:
    calibration = calibrated('stack(moments(height, sat), count(gender == "m" & height > 170))', 0.3, records=10**6)
    start = time.process_time()
    rehearse(calibration)
    assert time.process_time() - start < 3


def test_gaussian_noise_with_delta() -> None:
    mechanism = bp.ColumnMechanism(noise="gaussian")
    found = rehearse(mechanism.calibrate(framework(), bp.parse_query("count(sat > 1000)"), epsilon=1.0, delta=1e-6))
    assert math.isclose(found.bound, (math.e + 1e-6) / (1 + math.e))
    assert found.correct <= found.bound + found.margin


def test_refusals() -> None:
    with pytest.raises(FrameworkError, match=r"laws.height.short"):
        rehearse(calibrated("count(height > 170)", 0.3, laws=None))
    own = bp.custom(lambda table: table["height"].max(), columns=["height"], sensitivity=100)
    with pytest.raises(QueryError):
        rehearse(bp.ColumnMechanism().calibrate(framework(), own, epsilon=1.0))
    with pytest.raises(ParameterError):
        rehearse(calibrated("count(height > 170)", 0.3), 0)
    strange = replace(calibrated("count(height > 170)", 0.3), noise=object())  # type: ignore[arg-type]
    with pytest.raises(RefusedError):
        rehearse(strange)


def test_a_law_for_the_queried_columns_is_enough() -> None:
    rehearse(calibrated("count(height > 170)", 0.3, laws={"height": height()}), 10)


def test_an_independent_column_can_be_rehearsed() -> None:
    found = rehearse(calibrated("total(siblings)", 0.3), 300)
    assert abs(found.correct - 0.5) <= found.margin


# --- shown ------------------------------------------------------------------------------------------------------------


def shown() -> Rehearsal:
    return rehearse(calibrated("count(height > 170)", 0.05), 50)


def test_html_is_escaped() -> None:
    nasty = "<script>alert(1)</script>"
    model = DiscreteNetwork.from_tables(
        {"income": [0.5, 0.5], nasty: [[0.6, 0.4], [0.4, 0.6]]},
        states={"income": ["a", "<b>"], nasty: [0, 1]},
        parents={nasty: ["income"]},
        level="parameters",
    )
    schema = bp.Schema(records=100, columns={nasty: bp.Integer(0, 1)})
    law = {nasty: {0: 0.2, 1: 0.8}}
    made = DistributionalAttributePrivacy(model, schema, "income", source="x", laws=law)
    found = rehearse(bp.MarkovQuiltMechanism().calibrate(made, bp.count(bp.col(nasty) == 1), epsilon=1.0), 10)
    html = found._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_plot_has_one_histogram_per_secret() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    drawn = shown().plot()
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["income = low", "income = high"]
    assert sum(patch.get_height() for patch in drawn.patches) == 100
    pyplot.close("all")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[plot\]"):
        shown().plot()


def test_queries_cover_every_kind_of_term() -> None:
    kinds = set()
    for text in QUERIES:
        form = normal_form(bp.parse_query(text), framework().schema)
        kinds |= {type(term).__name__ + str(getattr(term, "exponent", "")) for term in form.terms}
    assert kinds == {"Indicator", "Steps1", "Steps2", "StepProduct"}
