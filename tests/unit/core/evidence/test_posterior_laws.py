"""Laws of answers below draws of a posterior, against closed forms of conjugate posteriors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import betainc, betaln, gammainc, gammaln, ndtr

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import ImportReport, Posterior
from bnpriv.errors import BnprivError, NetworkError, SecretError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.kinds.draws.parameter_draws import ParameterDraws, shuffled_rows

RECORDS = 50
TIGHT = bp.TightMechanism(large_delta=True)
Table = Callable[[np.random.Generator, np.ndarray, tuple[int, int]], np.ndarray]


@dataclass(frozen=True)
class Conjugate:
    """A posterior of one parameter, the law of a record given it, and the law of the answer given an interval of it."""

    values: Callable[[np.random.Generator, int], np.ndarray]
    records: Table
    column: object
    query: object
    secrets: tuple[tuple[float, float], tuple[float, float]]
    law: Callable[[float, float], Atoms]


def beta_binomial() -> Conjugate:
    a, b, k = 12, 18, np.arange(RECORDS + 1)

    def law(low: float, high: float) -> Atoms:
        choose = gammaln(RECORDS + 1) - gammaln(k + 1) - gammaln(RECORDS - k + 1)
        whole = np.exp(choose + betaln(a + k, b + RECORDS - k) - betaln(a, b))
        inside = betainc(a + k, b + RECORDS - k, high) - betainc(a + k, b + RECORDS - k, low)
        return Atoms(k.astype(float), whole * inside / (betainc(a, b, high) - betainc(a, b, low)))

    return Conjugate(
        values=lambda random, count: random.beta(a, b, count),
        records=lambda random, theta, shape: (random.random(shape) < theta[:, None]).astype(float),
        column=bp.Integer(0, 1),
        query=bp.total("x"),
        secrets=((0.25, 0.35), (0.45, 0.55)),
        law=law,
    )


def gamma_poisson() -> Conjugate:
    a, b, k = 30.0, 10.0, np.arange(600)

    def law(low: float, high: float) -> Atoms:
        rate = b + RECORDS
        logs = gammaln(a + k) - gammaln(k + 1) - gammaln(a) + a * np.log(b / rate) + k * np.log(RECORDS / rate)
        inside = gammainc(a + k, rate * high) - gammainc(a + k, rate * low)
        masses = np.exp(logs) * inside
        kept = masses > 1e-250
        return Atoms(k[kept].astype(float), masses[kept] / masses[kept].sum())

    return Conjugate(
        values=lambda random, count: random.gamma(a, 1 / b, count),
        records=lambda random, theta, shape: random.poisson(theta[:, None], shape).astype(float),
        column=bp.Integer(0, 60),
        query=bp.total("x"),
        secrets=((2.0, 2.8), (3.2, 4.0)),
        law=law,
    )


def normal_normal() -> Conjugate:
    mean, spread, own = 1.0, 0.8, 3.0

    def law(low: float, high: float) -> Atoms:
        answers, variance = np.linspace(-4, 6, 2001), own**2 / RECORDS
        shrunk = 1 / (1 / spread**2 + 1 / variance)
        centre = shrunk * (mean / spread**2 + answers / variance)
        density = np.exp(-0.5 * (answers - mean) ** 2 / (spread**2 + variance))
        masses = density * (ndtr((high - centre) / np.sqrt(shrunk)) - ndtr((low - centre) / np.sqrt(shrunk)))
        kept = masses > 1e-200
        return Atoms(answers[kept], masses[kept] / masses[kept].sum())

    return Conjugate(
        values=lambda random, count: random.normal(mean, spread, count),
        records=lambda random, theta, shape: theta[:, None] + own * random.standard_normal(shape),
        column=bp.Real(-100, 100),
        query=bp.mean("x"),
        secrets=((0.0, 0.9), (1.1, 2.0)),
        law=law,
    )


CONJUGATE = {"beta": beta_binomial, "gamma": gamma_poisson, "normal": normal_normal}


@dataclass(frozen=True)
class Simulator:
    """Tables given the parameter, which is always given."""

    records: Table

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
    ) -> dict[str, np.ndarray]:
        theta = np.broadcast_to(np.asarray(given["theta"], dtype=float), draws)
        random = np.random.default_rng(seed)
        return {name: theta if name == "theta" else self.records(random, theta, (draws, records)) for name in names}


def network(case: Conjugate, values: np.ndarray, *, independent: bool = True, chains: int = 1) -> DensityNetwork:
    source = Posterior(source="a public survey", draws=len(values), independent=independent, belief=True)
    return DensityNetwork(
        parameters={"theta": Parameter(name="theta", lower=-np.inf, upper=np.inf)},
        model_hash="conjugate",
        simulator=Simulator(case.records),
        reading=ImportReport(columns={"x": ("theta",)}),
        drawn=ParameterDraws(values={"theta": values}, reading="belief", chains=chains, posterior=source),
    )


def framework(case: Conjugate, known: DensityNetwork, *secrets: tuple[object, object]) -> object:
    schema = bp.Schema(records=RECORDS, columns={"x": case.column})
    protect = {"theta": bp.intervals(*(secrets or (case.secrets,)))}
    return bp.DistributionalAttributePrivacy(known, schema, protect, source="a public survey")


def exact_scale(case: Conjugate, epsilon: float, delta: float) -> float:
    pair = tuple(case.law(*side) for side in case.secrets)
    return TIGHT.calibrate(bp.DistributionPrivacy([pair], source="closed form"), epsilon=epsilon, delta=delta).scale


@pytest.mark.parametrize("name", CONJUGATE)
def test_a_belief_needs_the_noise_of_the_closed_form(name: str) -> None:
    case = CONJUGATE[name]()
    values = case.values(np.random.default_rng(5), 400_000)
    known = network(case, values).with_sampling(draws=100_000, seed=2, cells=1000)
    found = TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=1e-3)
    assert found.guarantee.kind == "estimate"
    assert found.scale == pytest.approx(exact_scale(case, 1.0, 1e-3), rel=0.01)


@pytest.mark.parametrize("name", CONJUGATE)
def test_with_a_confidence_the_noise_is_on_the_safe_side_of_the_closed_form(name: str) -> None:
    case = CONJUGATE[name]()
    values = case.values(np.random.default_rng(6), 600_000)
    known = network(case, values).with_sampling(draws=100_000, seed=3, cells=1000, confidence=0.95)
    found = TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=0.019)
    exact = exact_scale(case, 1.0, 0.019)
    assert found.guarantee.kind == "certified"
    assert exact <= found.scale < 1.07 * exact


def test_draws_outside_the_secret_do_not_count() -> None:
    """Planted: with the whole posterior in place of the secret the two laws would be alike."""
    case = beta_binomial()
    known = network(case, case.values(np.random.default_rng(7), 20_000)).with_sampling(draws=5000)
    evidence = laws(framework(case, known), case.query)
    assert isinstance(evidence, SampledLaws)
    (constraint,) = evidence.constraints()
    (pair,) = constraint.pairs
    for law, side in ((pair.first, case.secrets[0]), (pair.second, case.secrets[1])):
        assert law.mean[0] == pytest.approx(case.law(*side).mean[0], abs=0.5)
    assert pair.sampled.effective == min(
        np.count_nonzero((known.drawn.values["theta"] >= low) & (known.drawn.values["theta"] <= high))
        for low, high in case.secrets
    )


def chains_of(case: Conjugate, chains: int, steps: int, stay: int) -> np.ndarray:
    """Return draws that each stand still for some steps."""
    drawn = case.values(np.random.default_rng(8), chains * steps // stay)
    return np.repeat(drawn, stay)


def test_draws_that_stand_still_are_worth_less_and_may_be_too_few() -> None:
    case = beta_binomial()
    once = network(case, chains_of(case, 4, 2000, 1), independent=False, chains=4)
    stuck = network(case, chains_of(case, 4, 2000, 40), independent=False, chains=4)
    side = case.secrets[1]
    assert once.drawn.effective("theta", *side, ["theta"]) > 10 * stuck.drawn.effective("theta", *side, ["theta"])
    assert TIGHT.calibrate(framework(case, once), case.query, epsilon=1.0, delta=1e-3).scale > 0
    with pytest.raises(BnprivError, match=r"worth 100 independent ones.*Take about"):
        TIGHT.calibrate(framework(case, stuck), case.query, epsilon=1.0, delta=1e-3)


def test_chains_carry_no_confidence() -> None:
    case = beta_binomial()
    values = case.values(np.random.default_rng(9), 50_000)
    known = network(case, values, independent=False, chains=4).with_sampling(draws=1000, confidence=0.9)
    with pytest.raises(BnprivError, match="a confidence needs independent draws"):
        TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=0.3)


def test_with_a_confidence_every_draw_is_used_once() -> None:
    case = beta_binomial()
    values = case.values(np.random.default_rng(9), 2_000)
    known = network(case, values).with_sampling(draws=1000, confidence=0.9)
    with pytest.raises(BnprivError, match="every draw of the posterior is used once"):
        TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=0.3)


@pytest.mark.parametrize("secret", [(0.3, 0.4), ((2.0, 3.0), (4.0, 5.0)), ((0.0, 1e-300), (0.3, 0.4))])
def test_secrets_that_no_draw_is_in_are_refused(secret: tuple[object, object]) -> None:
    case = beta_binomial()
    known = network(case, case.values(np.random.default_rng(9), 5_000))
    with pytest.raises(BnprivError, match=r"single value|in a secret must be worth"):
        TIGHT.calibrate(framework(case, known, secret), case.query, epsilon=1.0, delta=1e-3)


def test_a_distance_is_refused_with_intervals_that_work_as_they_stand() -> None:
    case = normal_normal()
    known = network(case, case.values(np.random.default_rng(9), 20_000)).with_sampling(draws=5000)
    known = replace(known, parameters={"theta": replace(known.parameters["theta"], without_atoms=True)})
    schema = bp.Schema(records=RECORDS, columns={"x": case.column})
    with pytest.raises(SecretError, match=r"no two of them have one value.*intervals next to each other") as refused:
        bp.DistributionalAttributePrivacy(known, schema, {"theta": bp.apart(at_most=0.5)}, source="a survey")
    declared = re.search(r"protect=\{'theta': bnpriv\.(intervals\(.*\))\}", str(refused.value)).group(1)
    assert declared.startswith("intervals(((0, 0.5), (0.5, 1))")
    pairs = eval(declared, {"intervals": bp.intervals})
    private = bp.DistributionalAttributePrivacy(known, schema, {"theta": pairs}, source="a survey")
    assert 0 < TIGHT.calibrate(private, case.query, epsilon=1.0, delta=1e-3).scale < 200
    with pytest.raises(SecretError, match="or a larger distance"):
        bp.DistributionalAttributePrivacy(known, schema, {"theta": bp.apart(at_most=1e-4)}, source="a survey")


def test_columns_tell_without_bound_and_the_column_mechanism_works() -> None:
    case = beta_binomial()
    known = network(case, case.values(np.random.default_rng(9), 5_000))
    assert bp.ColumnMechanism().calibrate(framework(case, known), case.query, epsilon=1.0).scale >= RECORDS
    told = bp.plan(framework(case, known), case.query, 1.0, 1e-3)
    notes = " ".join(told.best.certificate.notes)
    assert "independent ones" in notes
    assert "5,000 draws of a posterior" in notes
    assert told.best.scale < 0.9 * RECORDS


def test_a_framework_knows_its_draws() -> None:
    case = beta_binomial()
    values = case.values(np.random.default_rng(9), 5_000)
    first = network(case, values)
    other = network(case, values[::-1].copy())
    assert framework(case, first).fingerprint() != framework(case, other).fingerprint()
    assert framework(case, first).fingerprint() == framework(case, network(case, values)).fingerprint()
    models = replace(first, drawn=replace(first.drawn, reading="models"))
    assert framework(case, models).fingerprint() != framework(case, first).fingerprint()


@pytest.mark.parametrize(
    "values", [{}, {"theta": []}, {"theta": [np.nan]}, {"theta": [1.0, np.inf]}, {"theta": [1.0], "phi": [1.0, 2.0]}]
)
def test_draws_that_do_not_belong_together_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(NetworkError, match="finite numbers, as many of each"):
        ParameterDraws(values=values, reading="belief", chains=1, posterior=Posterior(source="s", draws=1))


def test_draws_of_something_unknown_are_refused() -> None:
    case = beta_binomial()
    known = network(case, np.array([0.3, 0.4]))
    with pytest.raises(NetworkError, match="an attribute must be"):
        replace(known, drawn=replace(known.drawn, values={"phi": np.array([1.0, 2.0])}))


def test_all_draws_come_before_any_comes_again() -> None:
    found = shuffled_rows(np.arange(7), 30, np.random.default_rng(0))
    assert set(np.bincount(found, minlength=7)) <= {4, 5}


def test_given_draws_of_one_model_the_rest_is_drawn_forward() -> None:
    """The law given a secret of a top parameter, under each draw of the spread below it."""
    spreads = np.array([0.5, 4.0])

    def simulate(
        names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
    ) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        top = given["top"] if "top" in given else random.normal(0, 3, draws)
        top = np.broadcast_to(np.asarray(top, dtype=float), draws)
        spread = np.broadcast_to(np.asarray(given["spread"], dtype=float), draws)
        centre = top + spread * random.standard_normal(draws)
        assert "centre" not in given
        found = {"top": top, "spread": spread, "centre": centre, "x": np.repeat(centre[:, None], records, axis=1)}
        return {name: found[name] for name in names}

    wide = {"lower": -np.inf, "upper": np.inf}
    known = DensityNetwork(
        parameters={
            "top": Parameter(name="top", **wide),
            "spread": Parameter(name="spread", **wide),
            "centre": Parameter(name="centre", parents=("top", "spread"), **wide),
        },
        model_hash="two levels",
        simulator=simulate,
        reading=ImportReport(columns={"x": ("centre",)}),
        drawn=ParameterDraws(
            values={"top": np.zeros(2), "spread": spreads, "centre": np.zeros(2)},
            reading="models",
            chains=1,
            posterior=Posterior(source="a public survey", draws=2, independent=False),
        ),
    ).with_sampling(draws=20_000)
    schema = bp.Schema(records=4, columns={"x": bp.Real(-50, 50)})
    protect = {"top": bp.intervals((-1, 1), ((-2, -1), (1, 2)))}
    private = bp.DistributionalAttributePrivacy(known, schema, protect, source="a public survey")
    evidence = laws(private, bp.mean("x"))
    constraints = evidence.constraints()
    assert [constraint.model for constraint in constraints] == [0, 1]
    for constraint, spread in zip(constraints, spreads, strict=True):
        point, side = constraint.pairs
        assert point.first.mean[0] == pytest.approx(-1, abs=6 * spread / np.sqrt(20_000))
        variance = float(point.first.probabilities @ (point.first.support - point.first.mean[0]) ** 2)
        assert variance == pytest.approx(spread**2, rel=0.05)
        assert side.first.mean[0] + 6 * spread / np.sqrt(20_000) > -2
        assert side.first.mean[0] - 6 * spread / np.sqrt(20_000) < -1
    found = TIGHT.calibrate(private, bp.mean("x"), epsilon=1.0, delta=1e-3)
    assert found.scale == max(decision.scale for decision in found.certificate.decisions)
    assert "Half of the draws need noise" in " ".join(found.certificate.notes)


def tied(
    names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
) -> dict[str, np.ndarray]:
    """Return tables about q, and others about p + q, where p has a prior law and is drawn unless it is given."""
    random = np.random.default_rng(seed)
    p = np.broadcast_to(np.asarray(given.get("p", random.standard_normal(draws)), dtype=float), draws)
    q = np.broadcast_to(np.asarray(given["q"], dtype=float), draws)
    noise = 0.5 * random.standard_normal((draws, records))
    found = {"p": p, "q": q, "x": q[:, None] + noise, "both": (p + q)[:, None] + noise}
    return {name: found[name] for name in names}


def test_neither_reading_implies_the_other() -> None:
    """The data tell p + q alone, so that p and q, which are independent before, tell of each other after."""
    random = np.random.default_rng(0)
    q = random.normal(0, 1, 20_000)
    values = {"p": -q + random.normal(0, 0.1, 20_000), "q": q}
    wide = {"lower": -np.inf, "upper": np.inf}
    scales: dict[tuple[str, str], float] = {}
    for reading, rows in (("belief", slice(None)), ("models", slice(0, 5))):
        drawn = ParameterDraws(
            values={name: each[rows] for name, each in values.items()},
            reading=reading,
            chains=1,
            posterior=Posterior(source="a survey of p + q", draws=len(q[rows]), belief=reading == "belief"),
        )
        known = DensityNetwork(
            parameters={name: Parameter(name=name, **wide) for name in ("p", "q")},
            model_hash="tied",
            simulator=tied,
            reading=ImportReport(columns={"x": ("q",), "both": ("p", "q")}),
            drawn=drawn,
        ).with_sampling(draws=4000)
        schema = bp.Schema(records=4, columns={"x": bp.Real(-50, 50), "both": bp.Real(-50, 50)})
        protect = {"p": bp.intervals(((-1, -0.2), (0.2, 1)))}
        private = bp.DistributionalAttributePrivacy(known, schema, protect, source="a survey")
        for column in ("x", "both"):
            scales[reading, column] = TIGHT.calibrate(private, bp.mean(column), epsilon=1.0, delta=0.01).scale
    assert scales["models", "x"] < 0.1 < 0.7 < scales["belief", "x"]
    assert scales["belief", "both"] < 0.1 < 0.7 < scales["models", "both"]


def test_independent_draws_of_a_continuous_parameter_that_come_again_are_refused() -> None:
    """With a confidence each counts once: a chain that stands still would pass for as many draws as it has steps."""
    case = beta_binomial()
    stuck = np.repeat(case.values(np.random.default_rng(9), 200), 50)
    once, again = network(case, np.unique(stuck)), network(case, stuck)
    smooth = {"theta": replace(once.parameters["theta"], without_atoms=True)}
    assert replace(once, parameters=smooth).drawn.draws == 200
    with pytest.raises(NetworkError, match="200 different ones among 10,000"):
        replace(again, parameters=smooth)
    chain = replace(again.drawn, posterior=replace(again.drawn.posterior, independent=False))
    assert replace(again, parameters=smooth, drawn=chain).drawn.draws == 10_000
    with pytest.raises(NetworkError, match="200 different ones"):
        replace(again, parameters=smooth, drawn=replace(again.drawn, reading="models"))


def test_chains_that_never_moved_in_what_drives_a_column_are_worth_one_draw_each() -> None:
    case = beta_binomial()
    moving = case.values(np.random.default_rng(9), 4000)
    known = network(case, moving, independent=False, chains=4)
    parameters = {"theta": replace(known.parameters["theta"], without_atoms=True)}
    parameters["spread"] = replace(parameters["theta"], name="spread")
    values = {"theta": moving, "spread": np.full(4000, 1.7)}
    reading = ImportReport(columns={"x": ("theta", "spread")})
    known = replace(known, parameters=parameters, reading=reading, drawn=replace(known.drawn, values=values))
    with pytest.raises(BnprivError, match="draws worth 4 of 4,000"):
        TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=1e-3)


def test_chains_that_find_a_spread_slowly_are_worth_little() -> None:
    """An effect about 0 whose spread, which has no draws here, stays for 100 steps: its mean is found quickly."""
    case, random = beta_binomial(), np.random.default_rng(0)
    spreads = np.repeat(np.exp(random.normal(0, 1.5, 160)), 100)
    values = {"theta": case.values(random, 16_000), "effect": spreads * random.standard_normal(16_000)}
    known = network(case, values["theta"], independent=False, chains=4)
    parameters = {name: replace(known.parameters["theta"], name=name) for name in values}
    reading = ImportReport(columns={"x": ("theta", "effect")})
    known = replace(known, parameters=parameters, reading=reading, drawn=replace(known.drawn, values=values))
    assert known.drawn.share("theta") > 0.9
    assert known.drawn.share("effect") < 2 * 160 / 16_000
    with pytest.raises(BnprivError, match="must be worth 100 independent ones"):
        TIGHT.calibrate(framework(case, known), case.query, epsilon=1.0, delta=1e-3)
