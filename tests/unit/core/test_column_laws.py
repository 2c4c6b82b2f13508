"""Laws of columns: what is accepted, what is refused, and that samples and bins follow the declared law."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnpriv.core.column_laws import FiniteLaw, NormalDistribution, NumberLaw, column_law, laws_inside
from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.evidence.records import law_cells, record_law
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.interval_masses import UNKNOWN_ERROR
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.queries.asked import count
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.predicates import Predicate, col
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, DeclarationError, FrameworkError, LawError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.query_text import parse_query
from tests.later import Later

scipy = Later("scipy")

Law = Callable[[], Any]  # made inside the test, so that collecting the tests does not import scipy.stats
DRAWS = 200_000

LAWS = [
    (lambda: scipy.stats.norm(165, 8), Real(120, 220)),
    (lambda: scipy.stats.norm(165, 8), Real(160, 168)),  # clamped on both sides
    (lambda: scipy.stats.norm(1050, 180), Integer(400, 1600)),
    (lambda: scipy.stats.norm(0, 0.01), Real(-1e6, 1e6)),  # far narrower than the bounds
    (lambda: scipy.stats.lognorm(1, scale=3e4), Real(0, 1e6)),
    (lambda: scipy.stats.poisson(3), Integer(0, 5)),
    (lambda: scipy.stats.poisson(3), Real(0.5, 10)),
    (lambda: scipy.stats.poisson(3, loc=-2), Integer(-1, 4)),
    (lambda: scipy.stats.randint(0, 10**6), Integer(0, 10**6)),  # more values than bins
    (lambda: NormalDistribution(3, 2), Integer(0, 5)),
]


def canonical(draws: np.ndarray, column: Real | Integer) -> np.ndarray:
    """Return values as a release counts them."""
    rounded = np.floor(draws + 0.5) if isinstance(column, Integer) else draws
    return np.clip(rounded, column.lower, column.upper)


@pytest.mark.parametrize(("declared", "column"), LAWS)
def test_bins_have_the_probabilities_and_moments_of_the_law(declared: Law, column: Real | Integer) -> None:
    law = column_law(declared(), column)
    assert isinstance(law, NumberLaw)
    cuts = [165.5, 3, 1200, 1e5]
    values, probabilities = law.atoms(cuts)
    assert math.isclose(probabilities.sum(), 1, rel_tol=1e-12)
    assert np.all((values >= column.lower) & (values <= column.upper))
    random = np.random.default_rng(1)
    drawn = canonical(np.asarray(declared().rvs(size=DRAWS, random_state=random), dtype=float), column)
    for cut in cuts:
        for holds in (np.less, np.equal, np.greater):
            seen, told = holds(drawn, cut).mean(), probabilities[holds(values, cut)].sum()
            assert abs(seen - told) <= 5 * math.sqrt(told * (1 - told) / DRAWS) + 1e-6
    spread = drawn.std()
    mean = values @ probabilities
    assert abs(mean - drawn.mean()) <= 5 * spread / math.sqrt(DRAWS) + 1e-6
    assert math.isclose(math.sqrt((values - mean) ** 2 @ probabilities), spread, rel_tol=0.03)


def test_bins_match_exact_tails() -> None:
    values, probabilities = column_law(scipy.stats.norm(165, 8), Real(120, 220)).atoms([170.0, 171.0])
    assert math.isclose(probabilities[values > 170].sum(), scipy.stats.norm.sf(170, 165, 8), rel_tol=1e-9)
    between = probabilities[(values > 170) & (values < 171)].sum()
    assert math.isclose(between, np.diff(scipy.stats.norm.cdf([170, 171], 165, 8))[0], rel_tol=1e-9)


@pytest.mark.parametrize(("declared", "column"), LAWS)
def test_samples_are_canonical_and_follow_the_law(declared: Law, column: Real | Integer) -> None:
    sample = column_law(declared(), column).sample(DRAWS, np.random.default_rng(2))
    assert sample.dtype == (np.int64 if isinstance(column, Integer) else np.float64)
    assert sample.min() >= column.lower
    assert sample.max() <= column.upper
    values, probabilities = column_law(declared(), column).atoms()
    mean = values @ probabilities
    spread = math.sqrt((values - mean) ** 2 @ probabilities)
    assert abs(sample.mean() - mean) <= 5 * spread / math.sqrt(DRAWS) + 1e-6


def test_a_probability_is_that_of_the_second_value() -> None:
    assert column_law(0.25, Integer(0, 1)) == FiniteLaw(values=(0, 1), probabilities=(0.75, 0.25))
    assert column_law(0.25, Categorical(["f", "m"])).probabilities == (0.75, 0.25)
    assert column_law(1, Categorical([False, True])).sample(5, np.random.default_rng(0)).tolist() == [True] * 5


def test_categories_in_the_order_of_the_column() -> None:
    law = column_law({"m": 0.7, "f": 0.3}, Categorical(["f", "m", "x"]))
    assert law == FiniteLaw(values=("f", "m", "x"), probabilities=(0.3, 0.7, 0.0))
    drawn = law.sample(DRAWS, np.random.default_rng(3))
    assert abs((drawn == "m").mean() - 0.7) < 0.006
    assert not (drawn == "x").any()


def test_sums_off_by_rounding_only_are_accepted() -> None:
    law = column_law({"f": 0.1 + 5e-10, "m": 0.9}, Categorical(["f", "m"]))
    assert math.isclose(sum(law.atoms()[1]), 1, rel_tol=1e-15)
    assert math.isclose(sum(np.exp(law.cells((), lambda value: value).logs)), 1, rel_tol=1e-15)


@pytest.mark.parametrize(
    ("declared", "column", "found"),
    [
        (lambda: "normal", Real(0, 1), "a str for a Real column"),
        (lambda: scipy.stats.norm, Real(0, 1), "a norm_gen"),
        (lambda: scipy.stats.norm(0, -1), Real(0, 1), "parameters without a distribution"),
        (lambda: scipy.stats.norm([0, 1], 1), Real(0, 1), "parameters without a distribution"),
        (lambda: scipy.stats.norm(0, 1), Categorical(["f", "m"]), "for a Categorical column"),
        (lambda: NormalDistribution(0, 1), Categorical(["f", "m"]), "for a Categorical column"),
        (lambda: scipy.stats.poisson(3, loc=0.5), Real(0, 1), "0.5"),
        (lambda: 1.5, Integer(0, 1), "1.5"),
        (lambda: math.nan, Integer(0, 1), "nan"),
        (lambda: True, Integer(0, 1), "a bool"),
        (lambda: 0.5, Integer(0, 2), "0.5 for a Integer column"),
        (lambda: 0.5, Real(0, 1), "0.5 for a Real column"),
        (lambda: 0.5, Categorical(["a", "b", "c"]), "0.5 for a Categorical column"),
        (lambda: {"f": 1.0}, Real(0, 1), "a str (text in quotes)"),
        (lambda: {"f": 0.5, "d": 0.5}, Categorical(["f", "m"]), "'d'"),
        (lambda: {True: 1.0}, Categorical([1, 2]), "True"),
        (lambda: {"f": 0.5, "m": 0.5 + 1e-8}, Categorical(["f", "m"]), "a sum of 1.00000001"),
        (lambda: {"f": 1.5, "m": -0.5}, Categorical(["f", "m"]), "-0.5"),
        (lambda: {"f": "1"}, Categorical(["f", "m"]), "a str"),
    ],
)
def test_what_does_not_fit_is_refused(declared: Law, column: Real | Integer | Categorical, found: str) -> None:
    given = declared()
    with pytest.raises(LawError) as refused:
        column_law(given, column)
    assert found in refused.value.found


def test_a_law_is_known_by_what_it_is_not_by_how_it_was_written() -> None:
    column = Real(0, 10)
    assert column_law(scipy.stats.norm(3, 2), column) == column_law(scipy.stats.norm(loc=3, scale=2.0), column)
    assert column_law(scipy.stats.norm(3, 2), column) == column_law(NormalDistribution(3, 2), column)
    assert column_law(scipy.stats.norm(3, 2), column) != column_law(scipy.stats.norm(3, 2.1), column)
    assert column_law(scipy.stats.gamma(2), column) == column_law(scipy.stats.gamma(a=2), column)
    one = scipy.stats.rv_histogram(([1, 2], [0, 1, 2]))()
    other = scipy.stats.rv_histogram(([2, 1], [0, 1, 2]))()
    assert column_law(one, column) != column_law(other, column)


def test_a_disguised_family_is_not_taken_for_the_one_of_that_name() -> None:
    disguised = scipy.stats.rv_discrete(values=([1, 2], [0.5, 0.5]), name="poisson")()
    law = column_law(disguised, Integer(0, 5))
    assert law == FiniteLaw(values=(1, 2), probabilities=(0.5, 0.5))


def framework(laws: object = None, protect: str = "income") -> DistributionalAttributePrivacy:
    network = DiscreteNetwork.from_tables(
        {"income": [0.6, 0.4], "height": [[0.5, 0.4], [0.5, 0.6]]},
        states={"income": ["low", "high"], "height": ["short", "tall"]},
        parents={"height": ["income"]},
    )
    schema = Schema(
        records=100, columns={"height": Real(120, 220), "shoe": Integer(30, 50), "smoker": Categorical(["no", "yes"])}
    )
    return DistributionalAttributePrivacy(
        network,
        schema,
        protect,
        source="invented",
        independent=["shoe"],
        laws=laws,  # type: ignore[arg-type]
    )


def height(**more: object) -> dict[str, object]:
    return {"tall": scipy.stats.norm(180, 8), "short": scipy.stats.norm(165, 8), **more}


def test_a_framework_holds_laws_in_the_order_of_states() -> None:
    found = framework({"height": height(), "shoe": scipy.stats.norm(42, 2)}).column_laws
    assert [dict(law.parameters)["loc"] for law in found["height"]] == [165, 180]  # type: ignore[union-attr]
    assert len(found["shoe"]) == 1


def test_laws_are_part_of_the_fingerprint() -> None:
    without = framework().fingerprint()
    assert framework({}).fingerprint() == without
    with_laws = framework({"height": height()}).fingerprint()
    assert with_laws != without
    again = {"short": NormalDistribution(165, 8), "tall": scipy.stats.norm(loc=180, scale=8)}
    assert framework({"height": again}).fingerprint() == with_laws
    moved = height(tall=scipy.stats.norm(181, 8))
    assert framework({"height": moved}).fingerprint() != with_laws


@pytest.mark.parametrize(
    ("laws", "found"),
    [
        (lambda: {"hight": height()}, "'hight'"),
        (lambda: {"smoker": 0.5}, "'smoker'"),  # a column, but neither a node nor independent
        (lambda: {"height": {"tall": scipy.stats.norm(180, 8)}}, "none for short"),
        (lambda: {"height": height(huge=scipy.stats.norm(200, 8))}, "one for huge"),
        (lambda: {"height": scipy.stats.norm(180, 8)}, "a rv_continuous_frozen"),
        (lambda: {"shoe": {"short": scipy.stats.norm(42, 2)}}, "a str (text in quotes)"),
        (lambda: "height", "a str"),
    ],
)
def test_laws_that_do_not_fit_the_framework_are_refused(laws: Law, found: str) -> None:
    given = laws()
    with pytest.raises((FrameworkError, LawError)) as refused:
        framework(given)
    assert found in refused.value.found


def test_a_refusal_names_column_and_state() -> None:
    with pytest.raises(DeclarationError, match="'height' given tall"):
        framework({"height": height(tall=0.5)})


# --- framework files --------------------------------------------------------------------------------------------------

FILE = """
notion = "distributional"
source = "invented"
[network]
file = "n.bif"
level = "parameters"
[records]
count = 100
[columns.height]
type = "real"
lower = 120
upper = 220
[columns.smoker]
type = "categorical"
categories = [true, false]
[columns.shoe]
type = "integer"
lower = 30
upper = 50
independent = true
[protect.income]
"""

NETWORK = """
network n { }
variable income { type discrete [ 2 ] { low, high }; }
variable height { type discrete [ 2 ] { short, tall }; }
variable smoker { type discrete [ 2 ] { 0, 1 }; }
probability ( income ) { table 0.6, 0.4; }
probability ( smoker ) { table 0.6, 0.4; }
probability ( height | income ) { (low) 0.5, 0.5; (high) 0.4, 0.6; }
"""

FILE_LAWS = """
[laws.height.short]
normal = [165, 8]
[laws.height.tall]
normal = [180, 8.5]
[laws.smoker.0]
categorical = { true = 0.2, false = 0.8 }
[laws.smoker.1]
bernoulli = 0.5
[laws.shoe]
normal = [42, 2]
"""


def read(folder: Path, laws: str) -> DistributionalAttributePrivacy:
    (folder / "n.bif").write_text(NETWORK, encoding="utf-8")
    (folder / "f.toml").write_text(FILE + laws, encoding="utf-8")
    found = read_framework(folder / "f.toml")
    assert isinstance(found, DistributionalAttributePrivacy)
    return found


def test_a_framework_file_declares_laws(tmp_path: Path) -> None:
    found = read(tmp_path, FILE_LAWS).column_laws
    height = Real(120, 220)
    assert found["height"][0] == column_law(scipy.stats.norm(165, 8), height)
    assert found["height"][1] == column_law(scipy.stats.norm(180, 8.5), height)
    assert found["smoker"][0] == FiniteLaw(values=(True, False), probabilities=(0.2, 0.8))
    assert found["smoker"][1].probabilities == (0.5, 0.5)  # type: ignore[union-attr]
    assert found["shoe"] == (column_law(scipy.stats.norm(42, 2), Integer(30, 50)),)
    assert read(tmp_path, "").column_laws == {}
    assert read(tmp_path, FILE_LAWS).fingerprint() != read(tmp_path, "").fingerprint()


@pytest.mark.parametrize(
    ("laws", "says"),
    [
        ("[laws.hight.short]\nnormal = [1, 2]", "[laws]: the keys must be among height, smoker, shoe"),
        ("[laws.height.short]\nnormal = [165, 8]", "found none for tall"),
        ("[laws.height]\nnormal = [165, 8]", "a section [laws.height.normal] is needed"),
        ("[laws.shoe]\nnormal = 42", "[laws.shoe]: normal must be a mean and a standard deviation"),
        ("[laws.shoe]\nnormal = [42, 0]", "[laws.shoe]: the standard deviation must be above 0"),
        ("[laws.shoe]\nnormal = ['a', 1]", "[laws.shoe]: the mean must be a number"),
        ("[laws.shoe]\nnorm = [42, 2]", "Did you mean 'normal'?"),
        ("[laws.shoe]\nnormal = [42, 2]\nbernoulli = 0.5", "a distribution is given by one of"),
        ("[laws.shoe]", "a distribution is given by one of"),
        ("[laws.shoe]\nbernoulli = 0.5", "the distribution of the independent column 'shoe'"),
        ("[laws.smoker.0]\ncategorical = 0.5", "[laws.smoker.0]: categorical must be a table"),
        ("[laws.smoker.0]\nbernoulli = 'x'\n[laws.smoker.1]\nbernoulli = 0.1", "found a text for a Categorical"),
        ("[laws.smoker.0]\ncategorical.maybe = 1\n[laws.smoker.1]\nbernoulli = 0.1", "'maybe'"),
        ("[laws]\nheight = 3", "a section [laws.height] is needed"),
    ],
)
def test_laws_in_a_file_that_do_not_fit_are_refused(tmp_path: Path, laws: str, says: str) -> None:
    with pytest.raises(BnprivError) as refused:
        read(tmp_path, laws)
    assert says in str(refused.value)
    assert "f.toml" in str(refused.value)


@pytest.mark.parametrize("declared", [lambda: NormalDistribution(170, 10), lambda: scipy.stats.norm(170, 10)])
def test_far_tails_keep_their_digits_at_both_ends(declared: Law) -> None:
    law = column_law(declared(), Real(0, 400))
    for cut, wanted in ((300.0, scipy.stats.norm.sf(13)), (40.0, scipy.stats.norm.cdf(-13))):
        values, masses = law.atoms([cut])
        far = values > cut if cut > 170 else values < cut
        assert float(masses[far].sum()) == pytest.approx(wanted, rel=1e-9)


WIDE = Real(-4, 4)
MIXED = Categorical(["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("column", "declared", "predicate", "chance"),
    [
        (
            WIDE,
            lambda: [scipy.stats.norm(0, 1), scipy.stats.norm(1, 2)],
            (col("x") < -1) | (col("x") > 2),
            [0.181405, 0.467193],
        ),
        (WIDE, lambda: [scipy.stats.uniform(-4, 8)], ~((col("x") >= -3) & (col("x") < 1)), [0.5]),
        (
            Integer(0, 9),
            lambda: [scipy.stats.binom(9, 0.5)],
            (col("x") <= 1) | (col("x") == 5) | (col("x") > 7),
            [146 / 512],
        ),
        (MIXED, lambda: [{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}, {"b": 1}], col("x") == "b", [0.2, 1.0]),
        (MIXED, lambda: [{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}], col("x").isin(["a", "d"]), [0.5]),
    ],
)
def test_what_a_query_does_not_tell_apart_adds_up_to_its_probability(
    column: Real | Integer | Categorical, declared: Law, predicate: Predicate, chance: list[float]
) -> None:
    form = normal_form(count(predicate), Schema(records=10, columns={"x": column}))
    cells = law_cells(form, "x", [column_law(law, column) for law in declared()])
    assert np.exp(cells.logs).sum(axis=1) == pytest.approx(np.ones(len(chance)), rel=1e-12)
    one = record_law(form, {"x": cells.given(0)}, LogTable(axes=("x",), values=np.zeros((1, 1))))
    assert one.columns[0].tolist() == [0, 1]
    counted = [
        math.exp(record_law(form, {"x": cells.given(k)}, LogTable(axes=("x",), values=np.zeros((1, 1)))).log_mass([1]))
        for k in range(len(chance))
    ]
    assert counted == pytest.approx(chance, rel=3e-6)


def test_the_error_of_a_law_goes_into_that_of_its_cells() -> None:
    """A family whose accuracy is unknown: a rare cell is known badly, and says so."""
    law = column_law(scipy.stats.skewnorm(2), WIDE)
    form = normal_form(count(col("x") > 3.5), Schema(records=10, columns={"x": WIDE}))
    rare = float(scipy.stats.skewnorm(2).sf(3.5))
    assert law_cells(form, "x", [law, column_law(scipy.stats.norm(), WIDE)]).error >= UNKNOWN_ERROR / rare


@pytest.mark.parametrize("mechanism", [TightMechanism(), WassersteinMechanism()], ids=str)
@pytest.mark.parametrize(("law", "kind"), [(("skewnorm", 2, 165, 9), "estimate"), (("norm", 165, 9), "certified")])
def test_a_guarantee_says_that_it_rests_on_a_family_that_was_not_tried(
    mechanism: Mechanism, law: tuple[Any, ...], kind: str
) -> None:
    found = framework({"height": {"tall": scipy.stats.norm(180, 8), "short": getattr(scipy.stats, law[0])(*law[1:])}})
    calibration = mechanism.calibrate(found, count(col("height") > 180), epsilon=1.0)
    assert calibration.guarantee.kind == calibration.certificate.kind == kind
    assert ("an estimate, not on a proof" in calibration.guarantee.sentence) == (kind == "estimate")


COMPARE = {">": operator.gt, ">=": operator.ge, "==": operator.eq, "<": operator.lt}


def test_a_bin_may_list_some_numbers_and_spread_the_others() -> None:
    column = Binned((0, 2, 4), within={"[0, 2)": {0: 0.75, "uniform": 0.25}, "[2, 4]": "uniform"})
    mixed, even = laws_inside(column)
    schema = Schema(records=9, columns={"x": column})
    masses = {
        "count(x > 0)": 0.25,
        "count(x >= 1)": 0.125,
        "count(x == 0)": 0.75,
        "count(x < 0.5)": 0.75 + 0.0625,
        "count(x < 3)": 1.0,
    }
    for query, mass in masses.items():
        form = normal_form(parse_query(query), schema)
        cells = law_cells(form, "x", (mixed,))
        condition = form.terms[0].predicate.comparisons()[0]  # pyright: ignore
        held = [COMPARE[condition.operator](value, condition.value) for value in cells.values]
        assert np.exp(cells.logs[0])[held].sum() == pytest.approx(mass, rel=1e-12), query
    drawn = mixed.sample(4000, np.random.default_rng(0))
    assert np.mean(drawn == 0) == pytest.approx(0.75, abs=0.03)
    assert 0 <= drawn.min() <= drawn.max() < 2
    # a number that is not listed has no mass of its own
    with pytest.raises(LawError, match="must not tell a single number apart"):
        law_cells(normal_form(parse_query("count(x == 1)"), schema), "x", (mixed, even))
    whole = Binned((0, 100, 200), within={"[0, 100)": {0: 0.75, "whole numbers": 0.25}, "[100, 200]": "whole numbers"})
    assert whole.whole
    assert laws_inside(whole)[0].atoms()[1].sum() == pytest.approx(1)
    for wrong in ({0: 0.75, "even": 0.25}, {0: 0.75, "uniform": 0.2}, {3: 0.75, "uniform": 0.25}):
        with pytest.raises(DeclarationError):
            Binned((0, 2, 4), within={"[0, 2)": wrong, "[2, 4]": "uniform"})
