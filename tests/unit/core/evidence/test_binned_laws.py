"""Laws of answers where nodes have bins as states and queries see numbers: every small table is enumerated."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.column_laws import FiniteLaw, MixedLaw, UniformLaw, column_law
from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.evidence.laws import laws, network_record_law
from bnpriv.core.evidence.records import law_cells
from bnpriv.core.queries.base import normal_form
from bnpriv.core.schema import Schema
from bnpriv.errors import FrameworkError, LawError, Refusal
from bnpriv.lab.simulate import rehearse
from bnpriv.mechanisms.serialize import query_facts
from bnpriv.verify.columns import column_values
from bnpriv.verify.forms import Form
from tests.later import Later

stats = Later("scipy.stats")

SOURCE = "a test"
LABELS = ["young", "old"]
INSIDE = {"young": {0: 0.25, 1: 0.75}, "old": {2: 0.5, 3: 0.0, 4: 0.5}}
WITHINS = {
    "declared": (INSIDE, {"young": {0: 0.25, 1: 0.75}, "old": {2: 0.5, 4: 0.5}}),
    "whole numbers": ("whole numbers", {"young": {0: 0.5, 1: 0.5}, "old": dict.fromkeys((2, 3, 4), Fraction(1, 3))}),
}


def network(level: str = "records") -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables(
        {"age": [0.375, 0.625], "ill": [[0.75, 0.5], [0.25, 0.5]]},
        states={"age": LABELS, "ill": ["no", "yes"]},
        parents={"ill": ["age"]},
        level=level,
    )


def schema(within: object, records: int = 3) -> Schema:
    age = Binned([0, 2, 4], labels=LABELS, within=within)
    return Schema(records=records, columns={"age": age, "ill": Categorical(["no", "yes"])})


def record_masses(inside: dict[str, dict[int, Fraction]]) -> dict[tuple[int, str], Fraction]:
    """P(age, ill) of one record."""
    bins = {"young": Fraction(3, 8), "old": Fraction(5, 8)}
    ill = {"young": {"no": Fraction(3, 4), "yes": Fraction(1, 4)}, "old": {"no": Fraction(1, 2), "yes": Fraction(1, 2)}}
    return {
        (age, state): bins[label] * Fraction(mass) * ill[label][state]
        for label, masses in inside.items()
        for age, mass in masses.items()
        for state in ("no", "yes")
    }


QUERIES = {
    "count(age >= 3)": lambda rows: sum(age >= 3 for age, _ in rows),
    "total(age)": lambda rows: sum(age for age, _ in rows),
    "count(ill == 'yes')": lambda rows: sum(ill == "yes" for _, ill in rows),
    "count(ill == 'yes' & age < 1)": lambda rows: sum(ill == "yes" and age < 1 for age, ill in rows),
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("within", WITHINS)
def test_laws_are_those_of_all_small_tables(within, cut, query):
    """Secrets count numbers, and the cut falls inside the first bin, between the bins, and inside the second one."""
    declared, inside = WITHINS[within]
    hidden = bp.Secret(bp.count(bp.col("age") >= cut), pairs=bp.pairs((0, 2)))
    framework = bp.DatasetAttributePrivacy(network(), schema(declared), {"age": hidden}, source=SOURCE)
    ((pair,),) = (constraint.pairs for constraint in laws(framework, bp.parse_query(query)).constraints())
    assert pair.kind == "exact"
    sides = {0: defaultdict(Fraction), 2: defaultdict(Fraction)}
    masses = record_masses(inside)
    for rows in product(masses, repeat=3):
        secret = sum(age >= cut for age, _ in rows)
        if secret in sides:
            sides[secret][float(QUERIES[query](rows))] += math.prod(masses[row] for row in rows)
    for secret, law in ((0, pair.first), (2, pair.second)):
        total = sum(sides[secret].values())
        found = dict(zip(law.points[:, 0].tolist(), law.probabilities.tolist(), strict=True))
        expected = {value: float(mass / total) for value, mass in sides[secret].items() if mass}
        assert found.keys() == expected.keys()
        assert all(abs(found[value] - expected[value]) <= 1e-13 for value in expected)


def test_a_density_has_exact_masses_where_a_cut_falls_inside_a_bin():
    """A bin of width .1 is cut at a third of it, as doubles; the oracle is a ratio of lengths."""
    edges = [-0.1, 0.0, 0.1, 0.30000000000000004]
    cut = 0.1 / 3
    age = Binned(edges, steps=9)
    known = Schema(records=2, columns={"age": age})
    form = normal_form(bp.stack(bp.count(bp.col("age") >= cut), bp.total("age")), known)
    law = column_law({age.labels[0]: 0.25, age.labels[1]: 0.5, age.labels[2]: 0.25}, age)
    assert isinstance(law, MixedLaw)
    cells = law_cells(form, "age", [law])
    masses = np.exp(cells.logs[0])
    above = sum(mass for value, mass in zip(cells.values, masses, strict=True) if value >= cut)
    expected = Fraction(1, 4) + Fraction(1, 2) * (Fraction(0.1) - Fraction(cut)) / Fraction(0.1)
    assert abs(above - float(expected)) <= 1e-15
    assert abs(sum(masses) - 1) <= 1e-14
    # every grid step has the mass of what is rounded to it, found here by bisection-free counting of many doubles
    points = np.concatenate([np.linspace(low, high, 90_001)[:-1] for low, high in pairwise(edges)])
    weights = np.repeat([0.25, 0.5, 0.25], 90_000) / 90_000
    steps = np.floor((points - age.lower) * age.rate + 0.5)
    by_step = np.bincount([age.step(float(value)) for value in cells.values], weights=masses, minlength=10)
    assert np.allclose(by_step, np.bincount(steps.astype(int), weights=weights, minlength=10), atol=3e-5)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 2.0**100), (-(2.0**100), 5e-324), (1.0, math.nextafter(1, 2))])
def test_masses_below_all_doubles_have_logs(lower, upper):
    cut = 5e-324 if lower == 0 else 0.0 if lower < 0 else lower
    found = UniformLaw(lower=lower, upper=upper, whole=False).cells([cut], lambda value: value < max(cut, 5e-324))
    assert np.isfinite(found.logs).all()
    assert abs(np.logaddexp.reduce(found.logs)) <= 1e-12


def test_long_bins_of_whole_numbers_are_counted_not_listed():
    gain = Binned([0, 1, 10**9], within={"[0, 1)": {0: 1}, "[1, 1000000000]": "whole numbers"})
    law = column_law({"[0, 1)": 0.75, "[1, 1000000000]": 0.25}, gain)
    form = normal_form(bp.count(bp.col("gain") > 10**6), Schema(records=1, columns={"gain": gain}))
    cells = law_cells(form, "gain", [law])
    above = math.fsum(math.exp(log) for value, log in zip(cells.values, cells.logs[0], strict=True) if value > 10**6)
    assert abs(above - 0.25 * (10**9 - 10**6) / 10**9) <= 1e-15
    summed = bp.DistributionPrivacy(
        [(one_column(0.5), one_column(0.25))],
        bp.total("gain"),
        Schema(records=1, columns={"gain": gain}),
        source=SOURCE,
    )
    found = laws(summed, bp.total("gain"))
    assert isinstance(found, Refusal)
    assert "the sum of 'gain' needs a grid of at most 1,000 steps" in found.required


def one_column(p: float) -> bp.DiscreteNetwork:
    states = {"gain": ["[0, 1)", "[1, 1000000000]"]}
    return bp.DiscreteNetwork.from_tables({"gain": [1 - p, p]}, states=states, parents={}, level="records")


@pytest.mark.parametrize("law", ["bins", "numbers"])
def test_records_of_parameters_have_laws_by_bins_or_by_numbers(law):
    """Given a parameter the bins have probabilities, and numbers lie in them as declared: again all small tables."""
    given = {
        "bins": ({"young": 0.5, "old": 0.5}, {"young": 0.25, "old": 0.75}),
        "numbers": ({0: 0.125, 1: 0.375, 2: 0.25, 4: 0.25}, {0: 0.0625, 1: 0.1875, 2: 0.375, 4: 0.375}),
    }[law]
    parameters = bp.DiscreteNetwork.from_tables(
        {"age": [0.5, 0.5]}, states={"age": ["here", "there"]}, parents={}, level="parameters"
    )
    declared = {"age": dict(zip(("here", "there"), given, strict=True))}
    alone = Schema(records=2, columns={"age": schema(INSIDE)["age"]})
    framework = bp.DistributionalAttributePrivacy(parameters, alone, "age", source=SOURCE, laws=declared)
    ((pair,),) = (constraint.pairs for constraint in laws(framework, bp.total("age")).constraints())
    for side, weights in ((pair.first, (4, 4)), (pair.second, (2, 6))):
        one = {0: weights[0] / 32, 1: 3 * weights[0] / 32, 2: weights[1] / 16, 4: weights[1] / 16}
        expected: dict[float, float] = defaultdict(float)
        for first, second in product(one, repeat=2):
            expected[float(first + second)] += one[first] * one[second]
        found = dict(zip(side.points[:, 0].tolist(), side.probabilities.tolist(), strict=True))
        assert found == pytest.approx(expected, abs=1e-14)
    told = [text for text in laws(framework, bp.total("age")).assumptions if "Inside its bin" in text]
    assert bool(told) == (law == "bins")


def test_the_states_of_a_node_are_the_labels_of_the_bins():
    ages = Categorical(["no", "yes"])
    hidden = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"))}
    wrong = Schema(records=3, columns={"age": Binned([0, 2, 4], labels=["young", "olt"]), "ill": ages})
    with pytest.raises(FrameworkError, match=r"found the state 'old'"):
        bp.DatasetAttributePrivacy(network(), wrong, hidden, source=SOURCE)
    with pytest.raises(FrameworkError, match="the states of 'age' must be the labels of its bins"):
        bp.ValuePrivacy(network(), wrong, "ill", source=SOURCE)
    more = Schema(records=3, columns={"age": Binned([0, 1, 2, 4], labels=[*LABELS, "aged"]), "ill": ages})
    with pytest.raises(FrameworkError, match="found no state 'aged'"):
        bp.DatasetAttributePrivacy(network(), more, hidden, source=SOURCE)
    day = bp.types.MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 3, states=LABELS)
    alone = Schema(records=3, columns={"age": schema("uniform")["age"]})
    with pytest.raises(FrameworkError, match="not bins of them"):
        bp.ValuePrivacy(day, alone, "age", source=SOURCE)


def test_guarantees_say_where_they_lean_on_what_lies_inside_bins():
    hidden = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=1))}
    framework = bp.DatasetAttributePrivacy(network(), schema("whole numbers"), hidden, source=SOURCE)
    told = "Inside its bin a number of age lies evenly on whole numbers, whatever the other columns hold."
    assert told in laws(framework, bp.count(bp.col("age") > 2)).assumptions
    assert told not in laws(framework, bp.count(bp.col("ill") == "yes")).assumptions
    public = Binned.from_public([0, 2, 4], [0, 1, 2, 3], labels=LABELS)
    seen = Schema(records=3, columns={**framework.schema.columns, "age": public})
    counted = bp.DatasetAttributePrivacy(network(), seen, hidden, source=SOURCE)
    assert any("as in a public table" in text for text in laws(counted, bp.total("age")).assumptions)
    assert framework.fingerprint() != counted.fingerprint()
    # structural evidence does not lean on how numbers lie, only on what they are independent of
    for within in ("uniform", "whole numbers"):
        values = bp.ValuePrivacy(network(), schema(within), "ill", source=SOURCE)
        calibration = bp.MarkovQuiltMechanism().calibrate(values, bp.count(bp.col("age") > 2), epsilon=1.0)
        said = calibration.certificate.assumptions
        assert "Given its bin, a number of age says nothing more about any other column." in said
        assert not any("Inside its bin" in text for text in said)


def test_influences_of_numbers_are_at_most_those_of_their_bins():
    """Theorem 1 of docs/claims/bins.md on many laws: the oracle knows the joint law of numbers, not of bins."""
    random = np.random.default_rng(20261123)
    for _ in range(200):
        bins, numbers, states = 3, 7, 2
        given_secret = random.dirichlet(np.full(bins, 0.5), size=states)
        kernel = np.zeros((bins, numbers))
        for k, members in enumerate(np.array_split(random.permutation(numbers), bins)):
            kernel[k, members] = random.dirichlet(np.ones(len(members)))
        seen = given_secret @ kernel
        coarse = np.max(np.abs(np.log(given_secret[0]) - np.log(given_secret[1])))
        used = (seen > 0).all(axis=0)
        fine = np.max(np.abs(np.log(seen[0, used]) - np.log(seen[1, used])))
        assert fine <= coarse + 1e-9


# --- made-up tables


def test_made_up_tables_hold_numbers_inside_bins():
    hidden = {"age": bp.Secret(bp.count(bp.col("age") >= 1), pairs=bp.pairs((1000, 1500)))}
    for within, allowed in ((INSIDE, {0, 1, 2, 4}), ("whole numbers", {0, 1, 2, 3, 4})):
        framework = bp.DatasetAttributePrivacy(network(), schema(within, 4000), hidden, source=SOURCE)
        table = bp.simulate(framework, seed=1)
        assert set(table["age"]) == allowed
        assert set(table["ill"]) == {"no", "yes"}
        assert abs(np.mean(table["age"] < 2) - 0.375) < 0.04
        exact = bp.simulate(framework, secret={"age": 1500}, seed=1)
        assert sum(exact["age"] >= 1) == 1500
    framework = bp.DatasetAttributePrivacy(network(), schema("uniform", 4000), hidden, source=SOURCE)
    drawn = bp.simulate(framework, seed=1)["age"]
    assert drawn.min() >= 0
    assert drawn.max() < 4
    assert len(set(drawn)) > 3000
    assert abs(np.mean(drawn[drawn < 2]) - 1) < 0.1


def test_rehearsals_and_values_have_numbers_in_bins_too():
    values = bp.ValuePrivacy(network(), schema("whole numbers", 50), "ill", source=SOURCE)
    assert set(bp.simulate(values, seed=2)["age"]) <= {0, 1, 2, 3, 4}
    calibration = bp.MarkovQuiltMechanism().calibrate(values, bp.count(bp.col("age") >= 3), epsilon=1.0)
    assert rehearse(calibration, draws=50, seed=1)


# --- laws value by value


@pytest.mark.parametrize(
    ("declared", "column", "values"),
    [
        ({0: 0.25, 40: 0.75}, Integer(0, 99), (0, 40)),
        ({40: 0.75, 0: 0.25}, Integer(0, 99), (0, 40)),
        ({0.5: 0.25, 1: 0.75}, Real(0, 1), (0.5, 1)),
        ({3: 1}, Binned([0, 2, 4], within="whole numbers"), (3,)),
    ],
)
def test_numbers_have_probabilities_one_by_one(declared, column, values):
    law = column_law(declared, column)
    assert isinstance(law, FiniteLaw)
    assert law.values == values
    assert set(law.sample(200, np.random.default_rng(0)).tolist()) == set(values)


@pytest.mark.parametrize(
    ("declared", "column", "required"),
    [
        ({0.5: 1}, Integer(0, 9), "must name whole numbers between the bounds 0 and 9; found 0.5"),
        ({10: 1}, Integer(0, 9), "between the bounds 0 and 9; found 10"),
        ({math.nan: 1}, Integer(0, 9), "must be finite"),
        ({1: math.nan}, Integer(0, 9), "must be finite"),
        ({1: 0.5, 2: 0.4}, Integer(0, 9), "sum to one"),
        ({"[0, 2)": 1, 1: 0}, Binned([0, 2, 4]), "must name only"),
        ({"[0, 2]": 1}, Binned([0, 2, 4]), "must name only"),
        ({True: 1}, Integer(0, 9), "must be a number"),
    ],
)
def test_laws_that_name_no_value_are_refused(declared, column, required):
    with pytest.raises(LawError, match=required):
        column_law(declared, column)


DISCRETE = {
    "poisson": lambda: stats.poisson(3),
    "binom": lambda: stats.binom(9, 0.3),
    "nbinom": lambda: stats.nbinom(3, 0.4),
    "randint": lambda: stats.randint(2, 7),
    "hypergeom": lambda: stats.hypergeom(12, 5, 6),
    "geom": lambda: stats.geom(0.4),
    "shifted": lambda: stats.poisson(2, loc=-3),
    "values": lambda: stats.rv_discrete(values=([1, 4, 30], [0.2, 0.3, 0.5])),
    "frozen values": lambda: stats.rv_discrete(values=([1, 4, 30], [0.2, 0.3, 0.5]))(loc=1),
}


@pytest.mark.parametrize("family", DISCRETE)
@pytest.mark.parametrize("column", [Integer(-1, 8), Binned([-1, 2, 8], within="whole numbers")])
def test_discrete_families_of_scipy_are_laws_of_whole_numbers(family, column):
    """Whatever lies outside counts as the nearest bound, as in a table."""
    distribution = DISCRETE[family]()
    found = network_like(column, column_law(distribution, column))
    expected = np.zeros(10)
    for value in range(-20, 200):
        expected[min(max(value, -1), 8) + 1] += distribution.pmf(value)
    assert np.allclose(found, expected, atol=1e-9)


def network_like(column: object, law: object) -> np.ndarray:
    """The probabilities of all values of a column, by the cells of a total."""
    form = normal_form(bp.total("x"), Schema(records=1, columns={"x": column}))
    cells = law_cells(form, "x", [law])
    found = np.zeros(column.steps + 1)
    for value, log in zip(cells.values, cells.logs[0], strict=True):
        found[column.step(float(value))] += math.exp(log)
    return found


# --- the independent checker


@pytest.mark.parametrize("within", [INSIDE, "whole numbers", "uniform"])
def test_the_checker_replays_bins(within):
    hidden = {"age": bp.Secret(bp.count(bp.col("age") >= 3), pairs=bp.apart(at_most=1))}
    framework = bp.DatasetAttributePrivacy(network(), schema(within), hidden, source=SOURCE)
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("ill") == "yes"), epsilon=1.0)
    verdict = bp.verify(calibration.to_json())
    assert verdict.status == "holds", verdict.text
    less = json.loads(calibration.to_json())
    less["guarantee"]["epsilon"] /= 4
    assert bp.verify(json.dumps(less)).status != "holds"


def test_the_law_of_a_record_without_declared_laws_comes_from_the_bins():
    known = schema("whole numbers")
    law = network_record_law(network(), known, bp.count(bp.col("age") >= 3))
    assert np.exp(law.log_mass([1])) == pytest.approx(0.625 * 2 / 3, abs=1e-15)


def test_the_log_of_a_mass_below_all_doubles_is_right():
    """The least double's share of 2^100 is 2^-1174, which no double is."""
    found = UniformLaw(lower=0.0, upper=2.0**100, whole=False).cells([5e-324], lambda value: value < 5e-324)
    tiny = min(found.logs)
    assert abs(tiny + 1174 * math.log(2)) <= found.error <= 1e-11


def test_laws_follow_the_states_in_their_order():
    known = schema(INSIDE)
    turned = bp.DiscreteNetwork.from_tables(
        {"age": [0.625, 0.375]}, states={"age": LABELS[::-1]}, parents={}, level="records"
    )
    law = network_record_law(turned, known, bp.count(bp.col("age") >= 2))
    assert np.exp(law.log_mass([1])) == pytest.approx(0.625, abs=1e-15)


def test_the_checker_counts_long_bins_of_whole_numbers():
    gain = Binned([0, 10, 10**6], labels=["none", "some"], within="whole numbers")
    states = {"gain": ["none", "some"], "ill": ["no", "yes"]}
    tables = {"gain": [0.5, 0.5], "ill": [[0.75, 0.5], [0.25, 0.5]]}
    two = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"ill": ["gain"]}, level="records")
    columns = {"gain": gain, "ill": Categorical(["no", "yes"])}
    form = Form(query_facts(bp.count(bp.col("gain") >= 5 * 10**5), Schema(records=3, columns=columns)), FACTS)
    masses = dict(column_values(form, "gain", {"uniform": [10, 10**6]}))
    assert float(sum(mass for value, mass in masses.items() if value >= 5 * 10**5)) == pytest.approx(
        (5 * 10**5 + 1) / (10**6 - 9), abs=1e-15
    )
    assert float(sum(masses.values())) == pytest.approx(1, abs=1e-15)
    hidden = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=1))}
    framework = bp.DatasetAttributePrivacy(two, Schema(records=3, columns=columns), hidden, source=SOURCE)
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("gain") >= 5 * 10**5), epsilon=1.0)
    verdict = bp.verify(calibration.to_json())
    assert verdict.status == "holds", verdict.text


FACTS = {"gain": {"type": "integer", "lower": 0, "upper": 10**6, "steps": 10**6}}
