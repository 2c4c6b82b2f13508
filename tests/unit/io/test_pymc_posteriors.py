"""PyMC models with draws of a posterior: as the observer's law, and as models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import BnprivError
from bnpriv.kinds.density.network import DensityNetwork
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")

SCHOOLS = 4


def schools(*, centred: bool) -> Any:
    with pm.Model(coords={"school": [*"abcd"]}) as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        if centred:
            theta = pm.Normal("theta", mu, tau, dims="school")
        else:
            eta = pm.Normal("eta", 0, 1, dims="school")
            theta = pm.Deterministic("theta", mu + tau * eta, dims="school")
        pm.Normal("obs", theta, 2.0, observed=np.zeros(SCHOOLS), dims="school")
    return model


def school_draws(count: int = 2000, chains: int = 4) -> Any:
    """Return independent draws of a made-up posterior in which parameters depend on each other."""
    random = np.random.default_rng(0)
    shape = (chains, count // chains)
    mu = random.normal(4, 3, shape)
    tau = np.exp(0.2 * mu - 1 + 0.3 * random.standard_normal(shape))  # larger where mu is
    eta = random.standard_normal((*shape, SCHOOLS))
    theta = mu[..., None] + tau[..., None] * eta
    dims = ("chain", "draw", "school")
    return xarray.Dataset(
        {"mu": (dims[:2], mu), "tau": (dims[:2], tau), "eta": (dims, eta), "theta": (dims, theta)},
    )


def framework(network: DensityNetwork, protect: dict[str, object], records: int = SCHOOLS, **column: object) -> Any:
    (name, bounds), *_ = (column or {"obs": bp.Real(-40, 40)}).items()
    schema = bp.Schema(records=records, columns={name: bounds})
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="public schools")


@pytest.mark.parametrize("centred", [True, False])
def test_a_belief_holds_everything_that_has_draws(centred: bool) -> None:
    drawn = school_draws() if not centred else school_draws().drop_vars("eta")
    network = bp.from_pymc(schools(centred=centred), posterior=drawn, reading="belief")
    assert isinstance(network, DensityNetwork)
    assert {"mu", "tau", "theta[a]", "theta[d]"} <= set(network.attributes)
    assert network.models == 1
    assert not network.posterior_draws.independent
    # in a posterior all depend on each other
    assert network.graph.frontier("mu", {"tau", "theta[a]"}) == ("tau", "theta[a]")


@pytest.mark.parametrize("name", ["mu", "tau", "theta[b]"])
def test_the_law_of_an_answer_is_that_below_the_draws_in_the_secret(name: str) -> None:
    drawn = school_draws(8000)
    network = bp.from_pymc(schools(centred=False), posterior=drawn, reading="belief").with_sampling(draws=40_000)
    known = {key: drawn[key].values.reshape(8000, -1) for key in ("mu", "tau", "theta")}
    values = known["theta"][:, 1] if name == "theta[b]" else known[name][:, 0]
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    secret = bp.intervals(((low, middle - 1e-9), (middle + 1e-9, high)))
    (constraint,) = laws(framework(network, {name: secret}), bp.mean("obs")).constraints()
    (pair,) = constraint.pairs
    for law, (a, b) in ((pair.first, (low, middle)), (pair.second, (middle, high))):
        inside = known["theta"][(values >= a) & (values <= b)].mean(axis=1)
        assert law.mean[0] == pytest.approx(inside.mean(), abs=0.05)
        spread = float(law.probabilities @ (law.support - law.mean[0]) ** 2)
        assert spread == pytest.approx(inside.var() + 4 / SCHOOLS, rel=0.05)


def test_models_fix_what_is_neither_protected_nor_between() -> None:
    model = schools(centred=True)
    network = bp.from_pymc(model, posterior=school_draws().drop_vars("eta"))
    assert network.models == 25
    assert network.drawn.fixed(network.between("mu", frozenset({"obs"}))) == {"tau"}
    assert network.drawn.fixed(network.between("theta[a]", frozenset({"obs"}))) == {
        "mu",
        "tau",
        "theta[b]",
        "theta[c]",
        "theta[d]",
    }
    few = bp.from_pymc(model, posterior=school_draws().drop_vars("eta"), thin=400).with_sampling(draws=20_000)
    spreads = few.drawn.values["tau"]
    assert few.models == len(spreads) == 8
    evidence = laws(framework(few, {"mu": bp.intervals((1.0, 5.0))}), bp.mean("obs"))
    for constraint, tau in zip(evidence.constraints(), spreads, strict=True):
        (pair,) = constraint.pairs
        variance = (tau**2 + 4) / SCHOOLS
        assert pair.first.mean[0] == pytest.approx(1.0, abs=6 * np.sqrt(variance / 20_000))
        spread = float(pair.second.probabilities @ (pair.second.support - pair.second.mean[0]) ** 2)
        assert spread == pytest.approx(variance, rel=0.06)


def test_a_deterministic_is_protected_as_models_too() -> None:
    models = bp.from_pymc(schools(centred=False), posterior=school_draws())
    private = framework(models, {"theta[a]": bp.intervals(((0, 3), (5, 8)))})
    assert private.network.parameters["theta[a]"].varies_with == ("eta[a]",)


def test_plans_pages_and_rehearsals_work_on_both_readings() -> None:
    model, drawn = schools(centred=False), school_draws()
    for options in ({"reading": "belief"}, {"reading": "models", "thin": 500}):
        network = bp.from_pymc(model, posterior=drawn, **options).with_sampling(draws=2000)
        private = framework(network, {"mu": bp.intervals(((0, 3), (5, 8)))})
        plan = bp.plan(private, bp.mean("obs"), 1.0, 1e-2)
        assert plan.best.scale < 40
        assert plan.best.guarantee.kind == "estimate"
        assert "posterior" in plan.text
        assert type(plan.best).from_json(plan.best.to_json(), private).scale == plan.best.scale
        assert "posterior" in bp.influence_report(private, bp.mean("obs"), epsilon=1.0).text
        assert bp.rehearse(plan.best, draws=50).text
        made = bp.simulate(private, seed=1)
        assert len(made["obs"]) == SCHOOLS


def test_an_improper_prior_needs_no_law_where_it_has_draws() -> None:
    with pm.Model() as model:
        a, b = pm.Flat("a"), pm.Normal("b", 0, 1)
        pm.Normal("x", a + b, 1.0, observed=np.zeros(5))
    random = np.random.default_rng(1)
    drawn = xarray.Dataset({name: (("chain", "draw"), random.normal(size=(2, 500))) for name in "ab"})
    secret = bp.intervals(((-1.5, -0.1), (0.1, 1.5)))
    for reading in ("belief", "models"):
        network = bp.from_pymc(model, posterior=drawn, reading=reading, thin=50 if reading == "models" else 1)
        private = framework(network, {"b": secret}, 5, x=bp.Real(-20, 20))
        if reading == "models":
            private = framework(network.with_sampling(draws=1000), {"b": secret}, 5, x=bp.Real(-20, 20))
        assert 0 < bp.TightMechanism().calibrate(private, bp.mean("x"), epsilon=1.0, delta=1e-2).scale < 10
    models = bp.from_pymc(model, posterior=drawn, thin=50)
    with pytest.raises(BnprivError, match="improper"):
        bp.TightMechanism().calibrate(
            framework(models, {"a": secret}, 5, x=bp.Real(-20, 20)), bp.mean("x"), epsilon=1.0, delta=1e-2
        )


def test_vectors_that_are_drawn_as_a_whole_are_fixed_as_a_whole() -> None:
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        s = pm.HalfNormal("s", 1.0)
        pm.Normal("x", 10 * w[0], s, observed=np.zeros(5))
    random = np.random.default_rng(1)
    drawn = xarray.Dataset(
        {
            "w": (("chain", "draw", "k"), random.dirichlet([2, 2, 2], (2, 1000))),
            "s": (("chain", "draw"), random.uniform(0.5, 1.5, (2, 1000))),
        }
    )
    secret = {"w[0]": bp.intervals(((0.0, 0.3), (0.4, 1.0)))}
    belief = bp.from_pymc(model, posterior=drawn, reading="belief")
    models = bp.from_pymc(model, posterior=drawn, thin=500).with_sampling(draws=4000)
    assert models.drawn.fixed({"w[1]"}) == {"s"}
    found = [
        TIGHT.calibrate(framework(network, secret, 5, x=bp.Real(-20, 20)), bp.mean("x"), epsilon=1.0, delta=1e-2).scale
        for network in (belief, models)
    ]
    assert all(1 < scale < 10 for scale in found)


TIGHT = bp.TightMechanism()


def test_the_table_that_the_draws_rest_on_is_refused_in_a_belief_too() -> None:
    class Holder:
        posterior = school_draws()
        observed_data = xarray.Dataset({"obs": (("school",), np.arange(4.0))})

    pandas = pytest.importorskip("pandas")
    network = bp.from_pymc(schools(centred=False), posterior=Holder(), reading="belief")
    private = framework(network, {"mu": bp.intervals(((0, 3), (5, 8)))})
    calibration = bp.ColumnMechanism().calibrate(private, bp.mean("obs"), epsilon=1.0)
    with pytest.raises(BnprivError, match="must not be the one that the models were learned from"):
        bp.release(calibration, pandas.DataFrame({"obs": np.arange(4.0)}))


def test_a_linear_model_with_a_column_of_counts_has_laws_given_each_draw() -> None:
    with pm.Model() as model:
        level, effect = pm.Normal("level", 0, 1), pm.Normal("effect", 0, 1)
        pm.Poisson("calls", pm.math.exp(level + effect * np.array([0.0, 0.0, 1.0, 1.0])), observed=np.zeros(4))
    random = np.random.default_rng(2)
    drawn = xarray.Dataset({"level": (("chain", "draw"), random.normal(1.0, 0.1, (2, 5)))})
    network = bp.from_pymc(model, posterior=drawn)
    assert isinstance(network, bp.types.GaussianNetwork)
    assert network.forward.models == 10
    private = framework(network, {"effect": bp.intervals((0.0, 0.5))}, 4, calls=bp.Integer(0, 60))
    found = laws(private, bp.mean("calls")).constraints()
    assert len(found) == 10
    for constraint, level in zip(found, drawn["level"].values.reshape(-1), strict=True):
        (pair,) = constraint.pairs
        assert pair.first.mean[0] == pytest.approx(np.exp(level), rel=0.05)
        assert pair.second.mean[0] == pytest.approx(np.exp(level) * (1 + np.exp(0.5)) / 2, rel=0.05)
    assert bp.TightMechanism(large_delta=True).calibrate(private, bp.mean("calls"), epsilon=1.0, delta=1e-2).scale < 20


def test_draws_of_a_wider_law_count_by_their_weights() -> None:
    """Draws twice as wide, weighted: the law of the answer is that of draws of the posterior itself."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        pm.Poisson("calls", pm.math.exp(mu), observed=np.zeros(10))
    mu = np.random.default_rng(4).normal(1.0, 0.4, (4, 10_000))
    dims = ("chain", "draw")
    wide = xarray.Dataset(
        {"mu": (dims, mu), "logs": (dims, -((mu - 1) ** 2) / (2 * 0.2**2) + (mu - 1) ** 2 / (2 * 0.4**2))}
    )
    plain = xarray.Dataset({"mu": (dims, 1 + (mu - 1) / 2)})
    secret = {"mu": bp.intervals(((1.0, 1.2), (1.5, 1.7)))}
    found = []
    for known, options in ((wide, {"log_weights": "logs"}), (plain, {})):
        network = bp.from_pymc(model, posterior=known, reading="belief", **options).with_sampling(draws=20_000)
        (constraint,) = laws(framework(network, secret, 10, calls=bp.Integer(0, 80)), bp.mean("calls")).constraints()
        found.append([float(law.mean[0]) for pair in constraint.pairs for law in (pair.first, pair.second)])
    assert found[0] == pytest.approx(found[1], abs=0.03)
    for options, match in (
        ({"log_weights": "logs"}, "weights go with a belief"),
        ({"reading": "belief", "log_weights": "weight"}, "log_weights must be one of"),
    ):
        with pytest.raises(BnprivError, match=match):
            bp.from_pymc(model, posterior=wide, **options)


WIDE = {"theta[a]": bp.intervals(((-15, 0), (5, 25)))}


def test_draws_of_a_function_go_with_those_of_what_it_is_computed_from() -> None:
    """Without eta new effects would be drawn, which have nothing to do with theta: noise several times too small."""
    drawn = school_draws()
    whole = bp.from_pymc(schools(centred=False), posterior=drawn, reading="belief")
    assert TIGHT.calibrate(framework(whole, WIDE), bp.mean("obs"), epsilon=1.0, delta=1e-2).scale > 1
    with pytest.raises(BnprivError, match=r"computed from must have draws too; found none for eta above 'theta'"):
        bp.from_pymc(schools(centred=False), posterior=drawn.drop_vars("eta"), reading="belief")
    some = bp.from_pymc(schools(centred=False), posterior=drawn.drop_vars(["eta", "theta"]), reading="belief")
    assert "theta[a]" not in some.attributes


@pytest.mark.parametrize("missing", [False, True])
def test_functions_of_a_column_are_no_secrets(missing: bool) -> None:
    """Their draws are about the table that the posterior was made from, not about the one to be released."""
    found = np.ma.masked_invalid([0.0, np.nan, 1.0, 2.0]) if missing else np.zeros(4)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        y = pm.Normal("y", mu, 1.0, observed=found)
        pm.Deterministic("highest", mu + y.max())
        pm.Deterministic("twice", 2 * mu)
    random = np.random.default_rng(1)
    names = {"mu", "highest", "twice"}
    drawn = xarray.Dataset({name: (("chain", "draw"), random.normal(size=(2, 500))) for name in names})
    network = bp.from_pymc(model, posterior=drawn, reading="belief")
    assert set(network.attributes) == {"mu", "twice"}


def labelled(*order: str, dims: tuple[str, str] = ("group", "school")) -> Any:
    values = np.random.default_rng(1).normal(size=(2, 500, 4, 4))
    coords = {"school": list(order), "group": [*"wxyz"]}
    return xarray.Dataset({"w": (("chain", "draw", *dims), values)}, coords=coords)


@pytest.mark.parametrize("reading", ["belief", "models"])
@pytest.mark.parametrize(
    ("drawn", "wrong"),
    [
        (lambda: labelled(*"dcba"), "another order of 'school'"),
        (lambda: labelled(*"abce"), "other labels of 'school'"),
        (lambda: labelled(*"abcd", dims=("school", "group")), "dimensions in another order"),
    ],
)
def test_entries_in_another_order_are_refused(drawn: Any, wrong: str, reading: str) -> None:
    """The draws of one school would be taken for those of another."""
    with pm.Model(coords={"group": [*"wxyz"], "school": [*"abcd"]}) as model:
        w = pm.Normal("w", 0, 1, dims=("group", "school"))
        pm.Normal("obs", pm.math.exp(w[0]), 1.0, observed=np.zeros(4), dims="school")
    bp.from_pymc(model, posterior=labelled(*"abcd"), reading=reading)
    with pytest.raises(BnprivError, match=wrong):
        bp.from_pymc(model, posterior=drawn(), reading=reading)


def test_chains_count_of_all_that_drives_a_column_through_what_has_no_draws() -> None:
    """The chains of mu stand still, and the effects of new schools below it have no draws."""
    random = np.random.default_rng(3)
    moving = random.normal(0, 5, (2, 1000))
    stuck = np.repeat(random.normal(0, 5, (2, 2)), 500, axis=1)
    secret = {"tau": bp.intervals(((0, 4), (4, 12)))}
    for mu in (moving, stuck):
        tau = np.abs(random.normal(0, 5, (2, 1000)))
        drawn = xarray.Dataset({"mu": (("chain", "draw"), mu), "tau": (("chain", "draw"), tau)})
        private = framework(bp.from_pymc(schools(centred=True), posterior=drawn, reading="belief"), secret)
        refused = TIGHT.supports(private, bp.mean("obs"), epsilon=1.0, delta=1e-2)
        assert (refused is None) == (mu is moving), str(refused)
