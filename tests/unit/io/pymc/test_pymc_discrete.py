"""Discrete parameters of PyMC models: drawn, left out of the draws, or summed out; one rule says what is fixed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import NetworkError, SecretError
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")

YEARS, DRAWS = np.arange(6), 20_000
GRID = (np.arange(4000) + 0.5) / 4000
Law = np.ndarray
Side = tuple[float, float]


def draws(**values: np.ndarray) -> Any:
    """Return draws of one chain."""
    return xarray.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_{k}" for k in range(each.ndim - 1))), each[np.newaxis])
            for name, each in values.items()
        }
    )


def law_of(network: Any, records: int, protect: dict[str, object], column: str = "x") -> dict[int, tuple[Law, Law]]:
    """Return for every model the probabilities of the totals of a column of 0 and 1, given either secret."""
    schema = bp.Schema(records=records, columns={column: bp.Integer(0, 1)})
    private = bp.DistributionalAttributePrivacy(network, schema, protect, source="a public survey")
    found: dict[int, tuple[Law, Law]] = {}
    for constraint in laws(private, bp.total(column)).constraints():
        (pair,) = constraint.pairs
        sides = []
        for law in (pair.first, pair.second):
            whole = np.zeros(records + 1)
            whole[law.support.astype(int)] = law.probabilities
            sides.append(whole)
        found[constraint.model] = (sides[0], sides[1])
    return found


def close(found: Law, exact: Law, count: int = DRAWS) -> None:
    assert float(np.abs(found - exact).sum()) / 2 < 4 * np.sqrt(len(exact) / count) / 2


def counted(chances: np.ndarray) -> Law:
    """Return the law of how many of independent events happen."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


# -- a switch point


def switching() -> Any:
    with pm.Model() as model:
        switch = pm.DiscreteUniform("switch", 0, 5)
        early, late = pm.Beta("early", 2, 2), pm.Beta("late", 2, 3)
        pm.Bernoulli("x", pm.math.switch(switch >= YEARS, early, late), observed=np.zeros(6))
    return model


def switched(switch: float, early: float, late: float) -> Law:
    return counted(np.where(switch >= YEARS, early, late))


def prior_of(a: float, b: float, low: float = 0.0, high: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a Beta law within an interval, and their weights."""
    points = low + (high - low) * GRID[::20]
    weights = points ** (a - 1) * (1 - points) ** (b - 1)
    return points, weights / weights.sum()


def mean_law(function: Callable[[float], Law], points: np.ndarray, weights: np.ndarray) -> Law:
    return sum((w * function(float(p)) for p, w in zip(points, weights, strict=True)), np.zeros(7))


SECRETS: dict[str, tuple[Side, Side]] = {"early": ((0.2, 0.5), (0.5, 0.9)), "switch": ((0, 2), (3, 5))}


def posterior_draws(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "switch": random.binomial(5, 0.6, count).astype(np.int64),
        "early": random.beta(6, 3, count),
        "late": random.beta(2, 7, count),
    }


@pytest.mark.parametrize("protect", SECRETS)
def test_every_draw_of_a_switch_point_is_a_model_with_it_fixed_unless_it_is_protected(protect: str) -> None:
    known = posterior_draws(3)
    network = bp.from_pymc(switching(), posterior=draws(**known)).with_sampling(draws=DRAWS)
    found = law_of(network, 6, {protect: bp.intervals(SECRETS[protect])})
    assert len(found) == 3
    for k, sides in found.items():
        switch, early, late = (float(known[name][k]) for name in ("switch", "early", "late"))
        for side, law in zip(SECRETS[protect], sides, strict=True):
            if protect == "early":
                points, weights = prior_of(2, 2, *side)
                close(law, mean_law(lambda e, s=switch, b=late: switched(s, e, b), points, weights))
            else:
                close(law, np.mean([switched(s, early, late) for s in np.arange(side[0], side[1] + 1)], axis=0))


@pytest.mark.parametrize("protect", SECRETS)
def test_draws_of_a_switch_point_count_in_a_belief(protect: str) -> None:
    known = posterior_draws(2000)
    network = bp.from_pymc(switching(), posterior=draws(**known), reading="belief", independent=True)
    ((found),) = law_of(network.with_sampling(draws=DRAWS), 6, {protect: bp.intervals(SECRETS[protect])}).values()
    for (low, high), law in zip(SECRETS[protect], found, strict=True):
        inside = np.flatnonzero((known[protect] >= low) & (known[protect] <= high))
        each = [switched(*(float(known[name][k]) for name in ("switch", "early", "late"))) for k in inside]
        close(law, np.mean(each, axis=0))


@pytest.mark.parametrize("protect", SECRETS)
def test_a_switch_point_has_its_law_under_the_prior(protect: str) -> None:
    network = bp.from_pymc(switching()).with_sampling(draws=DRAWS)
    ((found),) = law_of(network, 6, {protect: bp.intervals(SECRETS[protect])}).values()
    early, e_weights = prior_of(2, 2)
    late, l_weights = prior_of(2, 3)
    for side, law in zip(SECRETS[protect], found, strict=True):
        first = prior_of(2, 2, *side) if protect == "early" else (early, e_weights)
        places = range(6) if protect == "early" else range(int(side[0]), int(side[1]) + 1)
        exact = np.zeros(7)
        for s in places:
            # given the switch point the records before it and those after it are independent
            ahead = sum((w * counted(np.full(s + 1, e)) for e, w in zip(*first, strict=True)), np.zeros(s + 2))
            after = sum((w * counted(np.full(5 - s, b)) for b, w in zip(late, l_weights, strict=True)), np.zeros(6 - s))
            exact += np.convolve(ahead, after) / len(places)
        close(law, exact)


def test_all_readings_take_the_same_secrets_and_other_parameters_need_no_naming() -> None:
    known = draws(**posterior_draws(2000))
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})
    for protect, sides in SECRETS.items():
        seen = set()
        for given in ({}, {"posterior": known, "reading": "belief"}, {"posterior": known}):
            network = bp.from_pymc(switching(), **given)
            private = bp.DistributionalAttributePrivacy(
                network, schema, {protect: bp.intervals(sides)}, source="a public survey"
            )
            seen.add(tuple(map(str, private.secrets[protect])))
        assert len(seen) == 1


def test_what_fix_names_is_refused_as_a_secret_with_the_way_out() -> None:
    network = bp.from_pymc(switching(), posterior=draws(**posterior_draws(5)), fix=["early", "late"])
    assert (network.attributes, network.models) == (("switch",), 5)
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})
    with pytest.raises(SecretError, match=r"fixed to draws of a posterior; found 'early'.*without fix="):
        bp.DistributionalAttributePrivacy(network, schema, {"early": bp.intervals(((0, 0.4), (0.5, 1)))}, source="made")


def test_columns_below_a_discrete_parameter_that_differ_are_drawn() -> None:
    """An exact network of parameters, and laws of columns that no table holds; states and intervals mean the same."""
    with pm.Model() as model:
        switch = pm.DiscreteUniform("switch", 0, 5)
        pm.Bernoulli("x", pm.math.switch(switch >= YEARS, 0.8, 0.3), observed=np.zeros(6))
    network = bp.from_pymc(model)
    assert isinstance(network, bp.DiscreteNetwork)
    network = network.with_sampling(draws=DRAWS)
    by_states = bp.pairs((frozenset(range(3)), frozenset(range(3, 6))))
    for secret in (bp.intervals(((0, 2), (3, 5))), by_states):
        ((found),) = law_of(network, 6, {"switch": secret}).values()
        for places, law in zip((range(3), range(3, 6)), found, strict=True):
            close(law, np.mean([switched(s, 0.8, 0.3) for s in places], axis=0))
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})
    private = bp.DistributionalAttributePrivacy(network, schema, {"switch": by_states}, source="made up")
    calibration = bp.TightMechanism(large_delta=True).calibrate(private, bp.total("x"), epsilon=1.0, delta=0.01)
    assert 0 < calibration.scale < 6
    assert bp.rehearse(calibration, draws=20).text
    fixed = bp.from_pymc(switching(), posterior=draws(**posterior_draws(3)), fix=["early", "late"])
    known = posterior_draws(3)
    for k, sides in law_of(fixed.with_sampling(draws=DRAWS), 6, {"switch": by_states}).items():
        for places, law in zip((range(3), range(3, 6)), sides, strict=True):
            close(law, np.mean([switched(s, known["early"][k], known["late"][k]) for s in places], axis=0))


def test_made_up_columns_follow_the_states_by_their_names() -> None:
    names = [f"year {k}" for k in range(5, -1, -1)]
    with pm.Model(coords={"switch_states": names}) as model:
        switch = pm.DiscreteUniform("switch", 0, 5)
        pm.Bernoulli("x", pm.math.switch(switch >= YEARS, 1.0, 0.0), observed=np.zeros(6))
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})
    private = bp.DistributionalAttributePrivacy(bp.from_pymc(model), schema, "switch", source="made up")
    for k, name in enumerate(names):
        assert bp.simulate(private, secret={"switch": name}, seed=k)["x"].tolist() == [1] * (k + 1) + [0] * (5 - k)
    ((pair), *_) = laws(private, bp.total("x")).constraints()[0].pairs
    assert (str(pair.pair), pair.first.support.tolist(), pair.second.support.tolist()) == (
        "year 5 against year 4",
        [1],
        [2],
    )


def test_intervals_of_a_parameter_with_states_hold_some() -> None:
    network = bp.DiscreteNetwork.from_tables({"n": [0.2, 0.3, 0.5]}, states={"n": [0, 1, 2]})
    schema = bp.Schema(records=6, columns={"x": bp.Integer(0, 1)})

    def secrets(given: object, over: Any = network) -> list[str]:
        private = bp.DistributionalAttributePrivacy(over, schema, {"n": given}, source="made up")
        return [str(pair) for pair in private.secrets["n"]]

    assert secrets(bp.intervals(((-1, 1), (2, 9)))) == ["{0, 1} against 2", "2 against {0, 1}"]
    with pytest.raises(SecretError, match="an interval must hold a state of 'n'"):
        secrets(bp.intervals(((0.2, 0.8), (1, 2))))
    with pytest.raises(SecretError, match="1 in both"):
        secrets(bp.intervals(((0, 1), (1, 2))))
    named = bp.DiscreteNetwork.from_tables({"n": [0.5, 0.5]}, states={"n": ["few", "many"]})
    with pytest.raises(SecretError, match="must be pairs of its states"):
        secrets(bp.intervals(((0, 1), (2, 3))), named)


# -- a mixture, by a category of each record


def mixed(records: int) -> Any:
    with pm.Model() as model:
        w = pm.Beta("w", 2, 2)
        q = pm.Beta("q", [2, 6], [6, 2], shape=2)
        z = pm.Bernoulli("z", w, shape=records)
        pm.Bernoulli("x", q[z], observed=np.zeros(records))
    return model


W_SECRETS: tuple[Side, Side] = ((0.1, 0.4), (0.6, 0.9))


@pytest.mark.parametrize("with_categories", [True, False])
def test_a_mixture_by_categories_under_each_draw(with_categories: bool) -> None:
    """The weights are protected: categories lie between them and the column, whether they have draws or not."""
    random = np.random.default_rng(4)
    known: dict[str, np.ndarray] = {"w": random.beta(3, 5, 3), "q": random.beta([[2, 6]], [[6, 2]], (3, 2))}
    if with_categories:
        known["z"] = random.integers(0, 2, (3, 4))
    network = bp.from_pymc(mixed(4), posterior=draws(**known)).with_sampling(draws=DRAWS)
    for k, sides in law_of(network, 4, {"w": bp.intervals(W_SECRETS)}).items():
        low, high = known["q"][k]
        for side, law in zip(W_SECRETS, sides, strict=True):
            points, weights = prior_of(2, 2, *side)
            chances = (1 - points) * low + points * high
            exact = sum((v * counted(np.full(4, c)) for c, v in zip(chances, weights, strict=True)), np.zeros(5))
            close(law, exact)


@pytest.mark.parametrize("with_categories", [True, False])
def test_a_mixture_by_categories_in_a_belief(with_categories: bool) -> None:
    """Drawn categories are those of the records that are released; without draws the records are of other people."""
    random = np.random.default_rng(5)
    known: dict[str, np.ndarray] = {"w": random.beta(3, 3, 1500), "q": random.beta([[2, 6]], [[6, 2]], (1500, 2))}
    if with_categories:
        known["z"] = (random.random((1500, 4)) < known["w"][:, np.newaxis]).astype(np.int64)
    network = bp.from_pymc(mixed(4), posterior=draws(**known), reading="belief", independent=True)
    ((found),) = law_of(network.with_sampling(draws=DRAWS), 4, {"w": bp.intervals(W_SECRETS)}).values()
    for (low, high), law in zip(W_SECRETS, found, strict=True):
        inside = np.flatnonzero((known["w"] >= low) & (known["w"] <= high))
        exact = np.zeros(5)
        for k in inside:
            q, w = known["q"][k], known["w"][k]
            chances = q[known["z"][k]] if with_categories else np.full(4, (1 - w) * q[0] + w * q[1])
            exact += counted(chances) / len(inside)
        close(law, exact)


# -- what is fixed elsewhere keeps its law once it is protected


def test_a_network_of_records_has_parameters_to_protect_too() -> None:
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        r = pm.Beta("r", 3, 3)
        pm.Bernoulli("x", p * r, observed=np.zeros(5))
    random = np.random.default_rng(6)
    known = {"p": random.beta(3, 3, 3), "r": random.beta(3, 3, 3)}
    network = bp.from_pymc(model, posterior=draws(**known)).with_sampling(draws=DRAWS)
    assert (network.level, network.models) == ("records", 3)
    for k, sides in law_of(network, 5, {"p": bp.intervals(((0.1, 0.4), (0.6, 0.9)))}).items():
        for side, law in zip(((0.1, 0.4), (0.6, 0.9)), sides, strict=True):
            points, weights = prior_of(2, 2, *side)
            exact = sum(
                (v * counted(np.full(5, c * known["r"][k])) for c, v in zip(points, weights, strict=True)), np.zeros(6)
            )
            close(law, exact)


def test_linear_and_discrete_networks_have_what_they_fix_to_protect() -> None:
    random = np.random.default_rng(7)
    with pm.Model() as schools:
        mu = pm.Normal("mu", 0, 5)
        theta = pm.Normal("theta", mu, pm.HalfNormal("tau", 5), shape=3)
        pm.Normal("y", theta, 1.0, observed=np.zeros(3))
    known = draws(mu=random.normal(size=4), tau=random.uniform(1, 2, 4))
    network = bp.from_pymc(schools, posterior=known)
    schema = bp.Schema(records=3, columns={"y": bp.Real(-100, 100)})
    assert isinstance(network, bp.types.GaussianNetwork)
    sides = bp.intervals(((0, 2), (4, 6)))
    lower = bp.DistributionalAttributePrivacy(network, schema, {"theta[0]": sides}, source="made up")
    upper = bp.DistributionalAttributePrivacy(network, schema, {"mu": sides}, source="made up")
    assert lower.network is network
    assert (upper.network.kind_text, upper.models) == ("a network of densities", 4)
    for constraint in laws(upper, bp.mean("y")).constraints():
        (pair,) = constraint.pairs
        assert pair.first.mean[0] == pytest.approx(1.0, abs=0.3)
        assert pair.second.mean[0] == pytest.approx(4.8, abs=0.4)
    with pm.Model() as bare:
        p = pm.Beta("p", 2, 2)
        pm.Bernoulli("ill", p)
    network = bp.from_pymc(bare, posterior=draws(p=random.uniform(size=4)))
    assert isinstance(network, bp.DiscreteNetwork)
    columns = bp.Schema(records=3, columns={"ill": bp.Integer(0, 1)})
    private = bp.DistributionalAttributePrivacy(network, columns, {"p": sides}, source="made up")
    assert private.network.attributes == ("p", "ill")


# -- variables that pymc_extras sums out


class Restored:
    """Stands for pymc_extras where it is not installed: it undoes what was summed out."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole

    def unmarginalize(self, model: Any) -> Any:
        return self.whole


class MarginalRV:
    """Stands for the operation of that name."""


class SumOfRecords(MarginalRV):
    """One of its kinds."""


class Summed:
    """A model out of which the categories were summed."""

    def __init__(self, whole: Any) -> None:
        owner = type("Owner", (), {"op": SumOfRecords()})()
        kept = [rv for rv in whole.basic_RVs if rv.name not in ("z", "x")]
        self.basic_RVs = [*kept, type("Variable", (), {"owner": owner, "name": "x"})()]


def test_what_was_summed_out_is_read_with_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.io.pymc import read as summed_out

    whole = mixed(4)
    model = Summed(whole)
    monkeypatch.setattr(summed_out, "import_module", lambda name: Restored(whole))
    random = np.random.default_rng(8)
    known = {"w": random.beta(3, 3, 400), "q": random.beta(2, 2, (400, 2))}
    assert bp.from_pymc(model).attributes == bp.from_pymc(whole).attributes
    assert bp.from_pymc(model, posterior=draws(**known)).attributes == bp.from_pymc(whole).attributes
    with pytest.raises(NetworkError, match=r"none of z.*recover_marginals.*before pymc_extras.marginalize"):
        bp.from_pymc(model, posterior=draws(**known), reading="belief")
    known["z"] = random.integers(0, 2, (400, 4))
    assert "z[3]" in bp.from_pymc(model, posterior=draws(**known), reading="belief").drawn.parameters
    monkeypatch.setattr(summed_out, "import_module", lambda name: object())
    with pytest.raises(NetworkError, match=r"before pymc_extras\.marginalize"):
        bp.from_pymc(model)


def test_a_model_of_pymc_extras_itself() -> None:
    extras = pytest.importorskip("pymc_extras")
    whole = mixed(4)
    summed = bp.from_pymc(extras.marginalize(whole, ["z"]))
    drawn = [
        network.simulate(["w", "x"], DRAWS, seed=0, given={}, records=4) for network in (summed, bp.from_pymc(whole))
    ]
    for w, x in product(range(3), repeat=2):
        first, second = (float(np.mean(each["w"] ** w * each["x"].sum(axis=1) ** x)) for each in drawn)
        assert first == pytest.approx(second, rel=0.05)
