"""Model checks: the level holds, contradictions are found and named, and every engine gives the same answer."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import count
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Secret, apart
from bnpriv.errors import DataError, FileError, MissingExtraError, ParameterError
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.lab.check_model import check_model, edges_shown, fit, g_test
from tests import oracles
from tests.later import Later

pd = Later("pandas")
pl = Later("polars")
scipy = Later("scipy")


def network(rain: Any = (0.8, 0.2), wet: Any = ((0.9, 0.2), (0.1, 0.8))) -> DiscreteNetwork:
    return DiscreteNetwork.from_tables(
        {"rain": rain, "wet": wet, "grass": [[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]]},
        states={"rain": ["no", "yes"], "wet": ["dry", "wet"], "grass": ["brown", "green", "lush"]},
        parents={"wet": ["rain"], "grass": ["wet"]},
        level="records",
    )


def table(model: DiscreteNetwork, rows: int, seed: int = 0, which: int = 0) -> pd.DataFrame:
    """Draw records by the oracle's joint law."""
    law = oracles.joint(model, which)
    cells = np.random.default_rng(seed).choice(law.size, rows, p=law.ravel())
    places = np.unravel_index(cells, law.shape)
    return pd.DataFrame(
        {name: np.array(model.states[name])[place] for name, place in zip(model.attributes, places, strict=True)}
    )


# --- one row ----------------------------------------------------------------------------------------------------------


def enumerated(counts: list[int], law: list[float]) -> float:
    """Return the exact multinomial p-value by plain enumeration."""
    n, seen = sum(counts), scipy.stats.multinomial.pmf(counts, sum(counts), law)
    outcomes = (o for o in itertools.product(range(n + 1), repeat=len(law)) if sum(o) == n)
    chances = [scipy.stats.multinomial.pmf(o, n, law) for o in outcomes]
    return float(sum(chance for chance in chances if chance <= seen * (1 + 1e-9)))


@pytest.mark.parametrize(
    ("counts", "law"),
    [
        ([3, 1, 4], [0.2, 0.3, 0.5]),
        ([0, 0, 6], [0.4, 0.4, 0.2]),
        ([2, 2, 2, 1], [0.25] * 4),
        ([7, 0], [0.5, 0.5]),
        ([1, 4], [0.9, 0.1]),
    ],
)
def test_small_counts_are_tested_exactly(counts: list[int], law: list[float]) -> None:
    p_value, test = fit(np.array(counts), np.array(law))
    assert test == "exact"
    assert math.isclose(p_value, enumerated(counts, law), rel_tol=1e-9)


def test_many_observations_by_chi_square() -> None:
    law = np.array([0.2, 0.3, 0.5])
    counts = np.array([2100, 2950, 4950])
    p_value, test = fit(counts, law)
    assert test == "chi-square"
    pearson = scipy.stats.chisquare(counts, counts.sum() * law).pvalue
    ratio = scipy.stats.power_divergence(counts, counts.sum() * law, lambda_="log-likelihood").pvalue
    assert math.isclose(p_value, max(pearson, ratio), rel_tol=1e-9)


def test_a_seen_impossible_state_gives_zero_and_an_unseen_one_nothing() -> None:
    assert fit(np.array([5, 1]), np.array([1.0, 0.0])) == (0.0, "impossible")
    assert fit(np.array([6, 0]), np.array([1.0, 0.0])) == (1.0, "certain")
    assert fit(np.array([3, 4, 0]), np.array([0.5, 0.5, 0.0])) == fit(np.array([3, 4]), np.array([0.5, 0.5]))


LAWS = [
    (12, [0.5, 0.3, 0.2]),  # exact
    (2000, [0.5, 0.3, 0.2]),  # chi-square
    (400, [0.9, 0.08, 0.015, 0.004, 0.001]),  # split: rare states
    (60, [1 / 40] * 40),  # split: every state is rare
    (3000, [0.998, 0.001, 0.0005, 0.0005]),
]


@pytest.mark.parametrize(("n", "law"), LAWS)
def test_a_row_holds_its_level(n: int, law: list[float]) -> None:
    random = np.random.default_rng(n)
    draws = 200 if len(law) > 10 else 800
    p_values = np.array([fit(counts, np.array(law))[0] for counts in random.multinomial(n, law, size=draws)])
    for level in (0.2, 0.05, 0.005):
        assert float(np.mean(p_values <= level)) <= level + 3 * math.sqrt(level / draws)


@pytest.mark.parametrize(("n", "law"), LAWS)
def test_a_row_has_power(n: int, law: list[float]) -> None:
    """The last state twice or more as likely as the model says, with enough data to see it."""
    truth = np.array(law)
    truth[-1] = min(0.6, truth[-1] * 3 + 0.2)
    truth /= truth.sum()
    random = np.random.default_rng(n)
    p_values = [fit(counts, np.array(law))[0] for counts in random.multinomial(n * 3, truth, size=20)]
    assert np.mean(np.array(p_values) <= 0.05) > 0.6


def test_far_out_the_p_value_is_not_too_small() -> None:
    """18 where 5 are expected: Pearson alone would say 5e-8, a hundred times too little."""
    n, law = 5000, np.array([0.001, 0.5, 0.499])
    counts = np.array([18, 2491, 2491])
    truth = scipy.stats.binom.sf(17, n, 0.001)
    assert fit(counts, law)[1] == "chi-square"
    assert fit(counts, law)[0] > truth / 3


# --- the whole model --------------------------------------------------------------------------------------------------


def test_the_level_holds_over_all_rows() -> None:
    level, draws = 0.1, 120
    wrong = sum(
        not check_model(network(), table(network(), 150, seed), level_of_significance=level).surviving
        for seed in range(draws)
    )
    assert wrong <= draws * level + 3 * math.sqrt(draws * level)
    assert wrong > 0  # a test that never rejects holds every level


def test_a_wrong_row_is_found_and_comes_first() -> None:
    truth = network(wet=((0.9, 0.5), (0.1, 0.5)))
    found = check_model(network(), table(truth, 2000))
    first = found.rows[0]
    assert first.row == "wet given rain = yes"
    assert found.contradicted(0) == (first,)
    assert first.adjusted < 1e-6
    assert first.observed == pytest.approx(0.5, abs=0.08)
    assert first.expected in (pytest.approx(0.2), pytest.approx(0.8))
    assert found.surviving == ()
    assert "contradict 1 of 5 tested rows" in found.text
    rows = found.to_pandas()
    assert rows["contradicted"].tolist() == [True, False, False, False, False]
    assert found.text.index("wet given rain = yes") < found.text.index("wet given rain = no")


def test_a_true_model_is_not_contradicted() -> None:
    found = check_model(network(), table(network(), 5000))
    assert found.surviving == (0,)
    assert "contradict none of 5 tested rows" in found.text
    assert len(found.rows) == 5


def test_holm_multiplies_by_the_number_of_rows_left() -> None:
    found = check_model(network(), table(network(), 500))
    ordered = sorted(found.rows, key=lambda row: row.p_value)
    wanted, largest = [], 0.0
    for place, row in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - place) * row.p_value))
        wanted.append(largest)
    assert [row.adjusted for row in ordered] == wanted


def test_an_impossible_state_is_named() -> None:
    strict = network(wet=((1.0, 0.2), (0.0, 0.8)))
    found = check_model(strict, table(network(), 300))
    assert found.rows[0].p_value == 0
    assert found.rows[0].impossible == ("wet",)
    assert found.rows[0].finding == "seen, though impossible in the model: wet"
    assert "impossible in the model: wet" in found.text
    assert found.log_likelihoods == (-math.inf,)


def theta(*rains: tuple[float, float], wet: Any = None) -> DiscreteNetwork:
    return network(rain=[list(rain) for rain in rains], **({} if wet is None else {"wet": wet}))


def test_a_class_stands_while_one_model_does() -> None:
    models = theta((0.5, 0.5), (0.8, 0.2))
    found = check_model(models, table(models, 2000, which=1))
    assert found.surviving == (1,)
    assert found.best_model == 1
    assert found.always_contradicted == ()
    assert "1 of 2 models stand: 1" in found.text
    assert len(found.rows) == 10
    assert found.log_likelihoods[1] > found.log_likelihoods[0]


def test_a_class_is_contradicted_when_every_model_is() -> None:
    """One model is wrong about rain, the other about wet: every row is explained by one of them, no model by all."""
    models = theta((0.5, 0.5), (0.8, 0.2), wet=[[[0.9, 0.2], [0.1, 0.8]], [[0.5, 0.2], [0.5, 0.8]]])
    found = check_model(models, table(network(), 3000))
    assert found.surviving == ()
    assert found.always_contradicted == ()
    assert "All 2 models are contradicted" in found.text
    both = theta((0.5, 0.5), (0.6, 0.4))
    assert check_model(both, table(network(), 3000)).always_contradicted == ("rain",)


def test_among_equals_the_likeliest_model_is_best() -> None:
    models = theta((0.79, 0.21), (0.80, 0.20), (0.77, 0.23))
    found = check_model(models, table(network(), 3000))
    assert len(found.surviving) > 1
    assert found.best_model == int(np.argmax(found.log_likelihoods))


# --- the table --------------------------------------------------------------------------------------------------------


def test_missing_and_unknown_states_are_left_out_and_counted() -> None:
    data = table(network(), 200)
    data.loc[:9, "wet"] = None
    data.loc[10:14, "rain"] = "snow"
    found = check_model(network(), data)
    assert dict(found.left_out) == {"rain": 5, "wet": 15, "grass": 10}
    assert found.observations == 200
    assert sum(row.observations for row in found.rows if row.attribute == "wet") == 185
    assert "Left out for a missing or unknown state, of 200: rain 5, wet 15, grass 10." in found.text


def test_attributes_without_a_column_are_not_tested() -> None:
    found = check_model(network(), table(network(), 200)[["rain", "grass"]].assign(other=1))
    assert {row.attribute for row in found.rows} == {"rain"}
    assert found.untested == ("wet", "grass")
    assert "Not tested, for lack of data in the states of the network: wet, grass." in found.text


def test_no_observation_of_a_parent_configuration_means_no_row() -> None:
    data = table(network(), 300)
    found = check_model(network(), data[data["rain"] == "no"])
    assert [row.row for row in found.rows if row.attribute == "wet"] == ["wet given rain = no"]


def test_an_empty_table_tests_nothing() -> None:
    found = check_model(network(), table(network(), 5).iloc[:0])
    assert found.rows == ()
    assert found.text.startswith("The data test no row of the network.")
    assert found.surviving == (0,)


def same(a: Any, b: Any) -> bool:
    return [(r.row, r.p_value) for r in a.rows] == [(r.row, r.p_value) for r in b.rows] and a.left_out == b.left_out


def test_every_engine_gives_the_same() -> None:
    data = table(network(), 400)
    data.loc[:9, "wet"] = None
    expected = check_model(network(), data)
    own = pl.DataFrame({name: [None if value != value else value for value in data[name]] for name in data})
    for other in (own, own.lazy(), own.to_arrow(), data.astype("category"), data.astype("string")):
        assert same(check_model(network(), other), expected)


@pytest.mark.parametrize("states", [[0, 1], ["0", "1"], [False, True], [0.0, 1.0]])
@pytest.mark.parametrize("values", [[0, 1, 1, 0, 1], [0.0, 1.0, 1.0, np.nan, 1.0], [False, True, True, False, True]])
def test_numbers_and_texts_of_states_meet(states: list[Any], values: list[Any]) -> None:
    coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": states})
    found = check_model(coin, pd.DataFrame({"coin": values}))
    if isinstance(states[0], str) and isinstance(values[0], bool):
        assert found.left_out["coin"] == 5  # "0" and false are different words
    else:
        assert found.left_out["coin"] == sum(value != value for value in values)
        assert found.rows[0].observations == 5 - found.left_out["coin"]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (lambda: 3, DataError),
        (lambda: "file.csv", FileError),
        (lambda: pd.DataFrame({"snow": [1]}), DataError),
        (lambda: pd.DataFrame([[1, 2]], columns=["rain", "rain"]), DataError),
    ],
)
def test_what_is_no_table_is_refused(data: Callable[[], object], error: type[Exception]) -> None:
    given = data()
    with pytest.raises(error):
        check_model(network(), given)


@pytest.mark.parametrize("level", [0, 1, -0.1, math.nan, "0.1"])
def test_a_level_out_of_range_is_refused(level: Any) -> None:
    with pytest.raises(ParameterError):
        check_model(network(), table(network(), 10), level_of_significance=level)


# --- shown ------------------------------------------------------------------------------------------------------------


def test_names_do_no_harm() -> None:
    nasty = "<script>alert(1)</script>"
    model = DiscreteNetwork.from_tables({nasty: [0.5, 0.5]}, states={nasty: ["\x1b[31m", "$x"]})
    found = check_model(model, pd.DataFrame({nasty: ["\x1b[31m"] * 30}))
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert "\x1b" not in found.text


def test_a_plot_marks_contradicted_rows() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    found = check_model(network(), table(network(wet=((0.9, 0.5), (0.1, 0.5))), 2000))
    drawn = found.plot()
    assert drawn.get_yticklabels()[-1].get_text() == "wet given rain = yes"
    offsets = drawn.collections[0].get_offsets()
    assert offsets[-1][0] <= 1e-6
    assert sum(x <= 0.01 for x, _ in offsets) == 1
    pyplot.close("all")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[plot\]"):
        check_model(network(), table(network(), 10)).plot()


def test_a_million_rows_take_a_moment() -> None:
    import time

    data = table(network(), 1_000_000)
    start = time.process_time()
    check_model(network(), data)
    assert time.process_time() - start < 10  # one second, and four on a slow machine


# --- what a public table shows of each edge ---------------------------------------------------------------------------


def shown(counts: dict[tuple[str, str], int]) -> tuple[tuple[float, float], tuple[str, str, str]]:
    """What records with so many pairs of states of rain and wet show of the edge between them."""
    states = {"rain": ["no", "yes", "never"], "wet": ["dry", "wet"]}
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    held = PublicRecords({"rain": np.array([r for r, _ in pairs]), "wet": np.array([w for _, w in pairs])})
    schema = Schema(records=9, columns={name: Categorical(known) for name, known in states.items()})
    model = DiscreteNetwork.from_tables(
        {"rain": [0.4, 0.4, 0.2], "wet": [[0.5] * 3] * 2}, states=states, parents={"wet": ["rain"]}, level="records"
    )
    hidden = {"rain": Secret(count(col("rain") == "yes"), pairs=apart(at_most=1))}
    given = DatasetAttributePrivacy(model, schema, hidden, source="a test", public_records=held)
    assert edges_shown(replace(given, public_records=None))["rain", "wet"].in_words == ("", "", "")
    found = edges_shown(given)
    assert list(found) == [("rain", "wet")]
    strength, chance = found["rain", "wet"].strength, found["rain", "wet"].chance
    assert strength is not None
    assert chance is not None
    return (strength, chance), found["rain", "wet"].in_words


@pytest.mark.parametrize(("n", "shape"), [(300, (5, 5, 16)), (1000, (20, 20)), (5000, (10, 10, 16)), (5000, (3, 3))])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_what_is_independent_is_seldom_shown_where_counts_are_few(n: int, shape: tuple[int, ...], share: float) -> None:
    random, draws, law = np.random.default_rng(n), 300, np.ones(1)
    for states in shape:
        law = np.multiply.outer(law, share ** np.arange(states))
    tables = random.multinomial(n, (law / law.sum()).ravel(), size=draws).reshape(draws, *shape)
    p_values = np.array([g_test(counts)[1] for counts in tables])
    assert float(np.mean(p_values <= 0.01)) <= 0.01 + 3 * math.sqrt(0.01 / draws)


def test_what_a_public_table_shows_of_an_edge() -> None:
    counts = {("no", "dry"): 300, ("no", "wet"): 100, ("yes", "dry"): 50, ("yes", "wet"): 150}
    (strength, chance), said = shown(counts)
    assert said == ("shown", "4.16 times", "under 1 in a trillion")
    share = 350 / 600
    dry, wet = (50 + share) / 201, (150 + 1 - share) / 201
    assert strength == pytest.approx(wet / dry * share / (1 - share))
    ratio, pearson = (scipy.stats.chi2_contingency([[300, 100], [50, 150]], False, by)[0] for by in (0, 1))
    assert chance == pytest.approx(scipy.stats.chi2.sf(min(ratio, pearson * 599 / 600), 1))
    # what is independent, and a state that no record has, show nothing
    numbers, said = shown({(rain, wet): 90 for rain in ("no", "yes") for wet in ("dry", "wet")})
    assert numbers == pytest.approx((1, 1))
    assert said == ("not shown", "1 times", "1")
