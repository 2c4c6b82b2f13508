"""Models in the style of PyMC's gallery, on made-up data, each with what is secret and a column that is queried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pymc as pm
import pytensor.tensor as pt

import bnpriv as bp

Side = tuple[float, float]


@final
@dataclass(frozen=True, kw_only=True)
class GalleryModel:
    """A model, the parameter that is protected, two intervals of it, and a column with its declared type.

    Parameters
    ----------
    build : callable
        Returns the model with made-up data observed.
    protect : str
    secrets : pair of (float, float)
    column : str
    values : Real or Integer
    records : int
    """

    build: Callable[[], Any]
    protect: str
    secrets: tuple[Side, Side]
    column: str
    values: bp.Real | bp.Integer
    records: int

    @property
    def span(self) -> float:
        """Return how far apart two means of the column can be."""
        return float(self.values.upper - self.values.lower)


GALLERY: dict[str, GalleryModel] = {}


def gallery(
    protect: str, secrets: tuple[Side, Side], column: str, values: bp.Real | bp.Integer, records: int
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enter the function that builds a model."""

    def enter(build: Callable[[], Any]) -> Callable[[], Any]:
        GALLERY[build.__name__] = GalleryModel(
            build=build, protect=protect, secrets=secrets, column=column, values=values, records=records
        )
        return build

    return enter


def data() -> np.random.Generator:
    """Return what data are made up with."""
    return np.random.default_rng(20261122)


ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SCHOOLS = {"school": [*"ABCDEFGH"]}


@gallery("mu", ((0, 4), (4, 8)), "effect", bp.Real(-60, 60), 8)
def eight_schools() -> Any:
    with pm.Model(coords=SCHOOLS) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Deterministic("theta", mu + tau * pm.Normal("z", 0, 1, dims="school"), dims="school")
        pm.Normal("effect", theta, pm.Data("error", ERRORS, dims="school"), observed=EFFECTS, dims="school")
    return model


@gallery("mu", ((0, 4), (4, 8)), "effect", bp.Real(-60, 60), 8)
def eight_schools_centred() -> Any:
    with pm.Model(coords=SCHOOLS) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 10)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("effect", theta, ERRORS, observed=EFFECTS, dims="school")
    return model


@gallery("level", ((1.0, 1.4), (1.4, 1.8)), "radon", bp.Real(-4, 6), 300)
def varying_slopes() -> Any:
    random, counties, homes = data(), 60, 300
    county, floor = np.arange(homes) % counties, (random.random(homes) < 0.2).astype(float)
    mean = random.normal(1.4, 0.3, counties)[county] + random.normal(-0.6, 0.2, counties)[county] * floor
    with pm.Model(coords={"county": range(counties), "home": range(homes)}) as model:
        level, slope = pm.Normal("level", 0, 5), pm.Normal("slope", 0, 1)
        levels = level + pm.Exponential("level_sd", 1) * pm.Normal("level_z", 0, 1, dims="county")
        slopes = slope + pm.Exponential("slope_sd", 1) * pm.Normal("slope_z", 0, 1, dims="county")
        where, below = pm.Data("where", county, dims="home"), pm.Data("below", floor, dims="home")
        found = random.normal(mean, 0.7)
        pm.Normal("radon", levels[where] + slopes[where] * below, pm.Exponential("sd", 1), observed=found, dims="home")
    return model


@gallery("level[female]", ((-1.0, -0.45), (-0.45, 0.1)), "admitted", bp.Integer(0, 900), 12)
def admissions() -> Any:
    random, sex, department = data(), np.tile([0, 1], 6), np.repeat(np.arange(6), 2)
    applied = random.integers(100, 900, 12)
    chance = 1 / (1 + np.exp(-(np.array([-0.6, -0.5])[sex] + np.linspace(1, -1, 6)[department])))
    with pm.Model(coords={"sex": ["male", "female"], "department": [*"ABCDEF"]}) as model:
        level, easier = pm.Normal("level", 0, 1.5, dims="sex"), pm.Normal("easier", 0, 1.5, dims="department")
        p = pm.math.invlogit(level[sex] + easier[department])
        pm.Binomial("admitted", applied, p, observed=random.binomial(applied, chance))
    return model


@gallery("mean", ((-0.5, 0.2), (0.2, 0.9)), "left", bp.Integer(0, 1), 504)
def chimpanzees() -> Any:
    random = data()
    who, what, when = np.repeat(np.arange(7), 72), random.integers(0, 4, 504), random.integers(0, 6, 504)
    logits = random.normal(0.2, 0.8, 7)[who] + np.array([0, 0.4, -0.3, 0.3])[what]
    with pm.Model() as model:
        mean, sd_who, sd_when = pm.Normal("mean", 0, 1), pm.Exponential("sd_who", 1), pm.Exponential("sd_when", 1)
        own = mean + sd_who * pm.Normal("own", 0, 1, shape=7)
        block = sd_when * pm.Normal("block", 0, 1, shape=6)
        effect = pm.Normal("effect", 0, 0.5, shape=4)
        found = random.binomial(1, 1 / (1 + np.exp(-logits)))
        pm.Bernoulli("left", logit_p=own[who] + block[when] + effect[what], observed=found)
    return model


@gallery("drug_mean", ((100, 101.5), (101.5, 103)), "drug", bp.Real(50, 150), 47)
def two_groups() -> Any:
    random = data()
    with pm.Model() as model:
        one, two = pm.Normal("drug_mean", 101, 9), pm.Normal("placebo_mean", 101, 9)
        sd = pm.Uniform("sd", 1, 10, shape=2)
        freedom = pm.Exponential("freedom_minus_one", 1 / 29) + 1
        pm.StudentT("drug", freedom, one, sigma=sd[0], observed=random.normal(101.5, 5, 47))
        pm.StudentT("placebo", freedom, two, sigma=sd[1], observed=random.normal(100.5, 3, 42))
        pm.Deterministic("difference", one - two)
    return model


@gallery("mean[morning]", ((3.0, 4.0), (4.0, 5.0)), "wait", bp.Real(0, 12), 200)
def cafes_with_lkj() -> Any:
    random, cafe, afternoon = data(), np.repeat(np.arange(20), 10), np.tile([0.0, 1.0], 100)
    own = random.multivariate_normal([4, -1], [[0.7, -0.2], [-0.2, 0.3]], 20)
    found = random.normal(own[cafe, 0] + own[cafe, 1] * afternoon, 0.5)
    with pm.Model(coords={"cafe": range(20), "part": ["morning", "afternoon"]}) as model:
        mean = pm.Normal("mean", [4, -1], [2, 0.5], dims="part")
        root, _, _ = pm.LKJCholeskyCov("root", n=2, eta=2, sd_dist=pm.Exponential.dist(1, shape=2))
        ways = pm.MvNormal("ways", mean, chol=root, dims=("cafe", "part"))
        pm.Normal("wait", ways[cafe, 0] + ways[cafe, 1] * afternoon, pm.Exponential("sd", 1), observed=found)
    return model


@gallery("slope[age]", ((0.0, 0.4), (0.4, 0.8)), "earns", bp.Integer(0, 1), 250)
def logistic_regression() -> Any:
    random = data()
    table = random.normal(size=(250, 3))
    found = random.binomial(1, 1 / (1 + np.exp(-(0.2 + table @ [0.4, 0.8, -0.3]))))
    with pm.Model(coords={"what": ["age", "school", "hours"], "person": range(250)}) as model:
        slope = pm.Normal("slope", 0, 1, dims="what")
        linear = pm.Normal("level", 0, 1) + pm.math.dot(pm.Data("table", table, dims=("person", "what")), slope)
        pm.Bernoulli("earns", logit_p=linear, observed=found, dims="person")
    return model


@gallery("alcohol", ((0.0, 0.5), (0.5, 1.0)), "sneezes", bp.Integer(0, 60), 400)
def poisson_regression() -> Any:
    random, alcohol, pills = data(), np.repeat([0, 1], 200), np.tile([0, 1], 200)
    with pm.Model() as model:
        b = [pm.Normal(name, 0, 1) for name in ("level", "alcohol", "pills", "both")]
        rate = pm.math.exp(b[0] + b[1] * alcohol + b[2] * pills + b[3] * alcohol * pills)
        found = random.poisson(np.exp(0.2 + 0.5 * alcohol + 0.6 * pills - 0.1 * alcohol * pills))
        pm.Poisson("sneezes", rate, observed=found)
    return model


def mixed() -> np.ndarray:
    """Return numbers of three kinds, of which three in ten are the least."""
    random = data()
    return random.normal(random.choice([-4.0, 0.0, 4.0], 200, p=[0.3, 0.4, 0.3]), 0.8)


@gallery("w[0]", ((0.2, 0.3), (0.3, 0.4)), "x", bp.Real(-10, 10), 200)
def mixture() -> Any:
    with pm.Model() as model:
        mu, sd = pm.Normal("mu", [-4, 0, 4], 1, shape=3), pm.HalfNormal("sd", 1, shape=3)
        pm.NormalMixture("x", pm.Dirichlet("w", np.ones(3)), mu, sd, observed=mixed())
    return model


@gallery("w[0]", ((0.2, 0.3), (0.3, 0.4)), "x", bp.Real(-10, 10), 200)
def mixture_in_order() -> Any:
    ordered = pm.distributions.transforms.ordered
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5, transform=ordered, initval=[-4, 0, 4], shape=3)
        sd = pm.HalfNormal("sd", 1, shape=3)
        pm.NormalMixture("x", pm.Dirichlet("w", np.ones(3)), mu, sd, observed=mixed())
    return model


@gallery("step", ((0.05, 0.15), (0.15, 0.3)), "change", bp.Real(-5, 5), 120)
def stochastic_volatility() -> Any:
    random = data()
    walk = np.cumsum(random.normal(0, 0.15, 120))
    with pm.Model(coords={"day": range(120)}) as model:
        step, freedom = pm.Exponential("step", 8), pm.Exponential("freedom", 0.1) + 2
        start = pm.Normal.dist(0, 1)
        walked = pm.GaussianRandomWalk("walked", sigma=step, init_dist=start, dims="day")
        found = random.normal(size=120) * np.exp(walk)
        pm.StudentT("change", freedom, 0, sigma=pm.math.exp(walked), observed=found, dims="day")
    return model


@gallery("sd", ((0.7, 1.0), (1.0, 1.3)), "y", bp.Real(-10, 10), 100)
def autoregression() -> Any:
    random = data()
    found = np.zeros(100)
    for k in range(1, 100):
        found[k] = 0.3 * found[k - 1] + random.normal()
    with pm.Model() as model:
        rho, sd = pm.Normal("rho", 0, 0.3), pm.HalfNormal("sd", 1)
        pm.AR("y", rho=[rho], sigma=sd, init_dist=pm.Normal.dist(0, 1), steps=99, observed=found)
    return model


@gallery("average", ((0.26, 0.295), (0.295, 0.33)), "hits", bp.Integer(0, 45), 18)
def batting() -> Any:
    random = data()
    with pm.Model(coords={"player": range(18)}) as model:
        average, logs = pm.Uniform("average", 0, 1), pm.Exponential("log_kappa", 1.5)
        kappa = pm.Deterministic("kappa", pt.exp(logs))
        each = pm.Beta("each", average * kappa, (1 - average) * kappa, dims="player")
        pm.Binomial("hits", 45, each, observed=random.binomial(45, random.beta(26, 74, 18)), dims="player")
    return model


def rated() -> tuple[np.ndarray, np.ndarray]:
    """Return whether there was action in a story, and how it was rated, from 0 to 6."""
    random, action = data(), np.tile([0, 1], 150)
    latent = -0.4 * action + random.logistic(size=300)
    return action, np.searchsorted([-2, -1.2, -0.5, 0.3, 1, 1.9], latent)


@gallery("action", ((-0.8, -0.3), (-0.3, 0.2)), "rating", bp.Integer(0, 6), 300)
def ratings_in_order() -> Any:
    action, found = rated()
    with pm.Model() as model:
        ordered = pm.distributions.transforms.ordered
        cuts = pm.Normal("cuts", 0, 1.5, transform=ordered, shape=6, initval=np.linspace(-2.5, 2.5, 6))
        pm.OrderedLogistic("rating", eta=pm.Normal("action", 0, 0.5) * action, cutpoints=cuts, observed=found)
    return model


@gallery("action", ((-0.8, -0.3), (-0.3, 0.2)), "rating", bp.Integer(0, 6), 300)
def ratings_by_steps() -> Any:
    action, found = rated()
    with pm.Model() as model:
        first, steps = pm.Normal("first", -2, 1), pm.HalfNormal("steps", 1, shape=5)
        cuts = pt.concatenate([[first], first + pt.cumsum(steps)])
        pm.OrderedLogistic("rating", eta=pm.Normal("action", 0, 0.5) * action, cutpoints=cuts, observed=found)
    return model


@gallery("share[pine]", ((0.1, 0.25), (0.25, 0.4)), "trees[pine]", bp.Integer(0, 50), 10)
def forests() -> Any:
    random = data()
    with pm.Model(coords={"tree": ["pine", "oak", "beech", "larch", "yew"], "forest": range(10)}) as model:
        share, like = pm.Dirichlet("share", np.ones(5), dims="tree"), pm.LogNormal("like", 1, 1)
        found = [random.multinomial(50, p) for p in random.dirichlet([2.5, 3, 2, 1.5, 1], 10)]
        pm.DirichletMultinomial("trees", n=50, a=share * like, observed=found, dims=("forest", "tree"))
    return model


@gallery("difficulty", ((-0.6, 0.0), (0.0, 0.6)), "solved", bp.Integer(0, 1), 400)
def item_response() -> Any:
    random, student, item = data(), np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
    with pm.Model(coords={"student": range(40), "item": range(10)}) as model:
        difficulty, sd = pm.Normal("difficulty", 0, 1), pm.HalfNormal("sd", 1)
        able = pm.Normal("able", 0, 1, dims="student")
        hard = difficulty + sd * pm.Normal("hard", 0, 1, dims="item")
        sharp = pm.LogNormal("sharp", 0, 0.5, dims="item")
        logits = random.normal(size=40)[student] - random.normal(0, 0.8, 10)[item]
        found = random.binomial(1, 1 / (1 + np.exp(-logits)))
        pm.Bernoulli("solved", logit_p=sharp[item] * (able[student] - hard[item]), observed=found)
    return model


@gallery("mu", ((11.6, 12.35), (12.35, 13.1)), "y", bp.Real(3, 16), 200)
def censored() -> Any:
    found = np.clip(data().normal(13, 5, 200), 3, 16)
    with pm.Model() as model:
        law = pm.Normal.dist(pm.Normal("mu", 13, 5), pm.HalfNormal("sd", 5))
        pm.Censored("y", law, lower=3, upper=16, observed=found)
    return model


@gallery("effect", ((-0.3, 0.1), (0.1, 0.5)), "months", bp.Real(0, 60), 44)
def survival() -> Any:
    random, treated = data(), np.arange(44) % 2
    with pm.Model() as model:
        shape, effect = pm.Gamma("shape", 4, 3), pm.Normal("effect", 0, 0.5)
        law = pm.Weibull.dist(shape, pm.math.exp(pm.Normal("level", 4, 0.5) + effect * treated))
        pm.Censored("months", law, lower=None, upper=60.0, observed=np.minimum(60, random.weibull(1.2, 44) * 55))
    return model


@gallery("effect", ((-0.3, 0.1), (0.1, 0.5)), "months", bp.Real(0, 400), 30)
def survival_with_potential() -> Any:
    random = data()
    with pm.Model() as model:
        shape, effect = pm.Gamma("shape", 4, 3), pm.Normal("effect", 0, 0.5)
        pm.Weibull("months", shape, pm.math.exp(4 + effect), observed=random.weibull(1.2, 30) * 55)
        pm.Potential("longer", -14 * (60 / pm.math.exp(4 + effect)) ** shape)
    return model


PLACES = np.linspace(0, 10, 40)[:, None]


def smooth() -> np.ndarray:
    """Return a smooth function at 40 places, with noise."""
    return np.sin(PLACES[:, 0]) + data().normal(0, 0.3, 40)


@gallery("height", ((0.5, 1.0), (1.0, 2.0)), "y", bp.Real(-6, 6), 40)
def marginal_gp() -> Any:
    with pm.Model() as model:
        length, height = pm.Gamma("length", 4, 2), pm.HalfNormal("height", 2)
        process = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.Matern52(1, length))
        process.marginal_likelihood("y", X=PLACES, y=smooth(), sigma=pm.HalfNormal("sd", 1))
    return model


@gallery("height", ((0.5, 1.0), (1.0, 2.0)), "y", bp.Real(-6, 6), 40)
def latent_gp() -> Any:
    with pm.Model() as model:
        length, height = pm.Gamma("length", 4, 2), pm.HalfNormal("height", 2)
        process = pm.gp.Latent(cov_func=height**2 * pm.gp.cov.ExpQuad(1, length))
        pm.Normal("y", process.prior("f", X=PLACES), pm.HalfNormal("sd", 1), observed=smooth())
    return model


@gallery("psi", ((0.7, 0.75), (0.75, 0.8)), "fish", bp.Integer(0, 30), 300)
def zero_inflated() -> Any:
    random = data()
    with pm.Model() as model:
        psi, mu = pm.Beta("psi", 2, 2), pm.Gamma("mu", 2, 0.5)
        pm.ZeroInflatedPoisson("fish", psi, mu, observed=random.poisson(3, 300) * (random.random(300) < 0.7))
    return model


def disasters(*, missing: bool = False) -> Any:
    """Return the model of two rates and a year in which one follows the other."""
    years, random = np.arange(1851, 1962), data()
    found: Any = random.poisson(np.where(years < 1890, 3.0, 1.0)).astype(float)
    if missing:
        found[[40, 83]] = np.nan
        found = np.ma.masked_invalid(found)
    with pm.Model() as model:
        switch = pm.DiscreteUniform("switch", 1851, 1961)
        early, late = pm.Exponential("early", 1), pm.Exponential("late", 1)
        pm.Poisson("accidents", pm.math.switch(switch >= years, early, late), observed=found)
    return model


@gallery("early", ((2.5, 3.0), (3.0, 3.5)), "accidents", bp.Integer(0, 12), 111)
def coal() -> Any:
    return disasters()


@gallery("early", ((2.5, 3.0), (3.0, 3.5)), "accidents", bp.Integer(0, 12), 111)
def coal_with_missing_years() -> Any:
    return disasters(missing=True)


@gallery("switch", ((1880, 1889), (1890, 1900)), "accidents", bp.Integer(0, 12), 111)
def coal_switch() -> Any:
    return disasters()


# --------------------------------------------------------------------------------------------------
# What is drawn by a function of the user's, cut off, or in two parts.
# --------------------------------------------------------------------------------------------------


def g_and_k(rng: np.random.Generator, mid: Any, skew: Any, size: Any = None) -> Any:
    """Return numbers of the g-and-k distribution, which is known by its quantiles alone."""
    z = rng.normal(size=size)
    return mid + (1 + 0.8 * np.tanh(skew * z / 2)) * (1 + z**2) ** 0.3 * z


@gallery("mid", ((2.0, 3.0), (3.0, 4.0)), "y", bp.Real(-10, 30), 100)
def quantiles_alone() -> Any:
    found = g_and_k(data(), 3.0, 2.0, 100)
    with pm.Model() as model:
        pm.Simulator(
            "y", g_and_k, pm.Normal("mid", 3, 1), pm.Uniform("skew", 0, 4), sum_stat="sort", epsilon=1, observed=found
        )
    return model


WEEKS = 12


def hares_and_lynxes(rng: np.random.Generator, births: Any, hunts: Any, size: Any = None) -> Any:
    """Return numbers of prey and predators by week: whole animals are born, eaten and die at random."""
    births, hunts = np.ravel(births)[0], np.ravel(hunts)[0]  # PyMC passes them with the axes of size
    found, prey, hunters = np.empty((WEEKS, 2)), 60.0, 20.0
    for week in range(WEEKS):
        found[week] = prey, hunters
        born, eaten, died = rng.poisson((births * prey, hunts * prey * hunters, 0.3 * hunters))
        prey, hunters = max(prey + born - eaten, 0.0), max(hunters + 0.4 * eaten - died, 0.0)
    return found


@gallery("births", ((0.2, 0.3), (0.3, 0.4)), "animals[0]", bp.Real(0, 400), WEEKS)
def lotka_volterra() -> Any:
    found = hares_and_lynxes(data(), 0.3, 0.012)
    with pm.Model() as model:
        births, hunts = pm.HalfNormal("births", 0.4), pm.TruncatedNormal("hunts", 0.012, 0.004, lower=0)
        pm.Simulator("animals", hares_and_lynxes, births, hunts, epsilon=10, observed=found)
    return model


def folded_logp(value: Any, mid: Any, sd: Any) -> Any:
    """Return the log density of the absolute value of a normal number."""
    one, other = (pm.logp(pm.Normal.dist(mid, sd), each) for each in (value, -value))
    return pt.switch(pt.lt(value, 0), -np.inf, pt.logaddexp(one, other))


@gallery("mid", ((0.0, 1.0), (1.0, 2.0)), "away", bp.Real(0, 20), 120)
def distances_by_a_function() -> Any:
    with pm.Model() as model:
        mid, sd = pm.HalfNormal("mid", 2), pm.HalfNormal("sd", 2)
        pm.CustomDist(
            "away",
            mid,
            sd,
            logp=folded_logp,
            random=lambda mid, sd, rng=None, size=None: abs(rng.normal(mid, sd, size)),
            observed=abs(data().normal(1, 2, 120)),
        )
    return model


@gallery("psi", ((0.4, 0.5), (0.5, 0.6)), "visits", bp.Integer(0, 40), 200)
def hurdle_counts() -> Any:
    random = data()
    with pm.Model() as model:
        psi, mu = pm.Beta("psi", 2, 2), pm.Gamma("mu", 8, 2)
        found = (random.random(200) < 0.5) * (1 + random.poisson(3, 200))
        pm.HurdlePoisson("visits", psi, mu, observed=found)
    return model


@gallery("level", ((0.5, 1.0), (1.0, 1.5)), "rain", bp.Real(0, 60), 180)
def hurdle_rain() -> Any:
    random, summer = data(), np.tile([0.0, 1.0], 90)
    with pm.Model() as model:
        psi, shape = pm.Beta("psi", 3, 3), pm.Gamma("shape", 4, 3)
        mean = pm.math.exp(pm.Normal("level", 1, 0.5) - pm.HalfNormal("drier", 0.5) * summer)
        found = (random.random(180) < 0.4) * random.gamma(1.3, 2 - summer)
        pm.HurdleGamma("rain", psi=psi, alpha=shape, beta=shape / mean, observed=found)
    return model


@gallery("slope", ((0.0, 0.5), (0.5, 1.0)), "y", bp.Real(0, 5), 150)
def truncated_regression() -> Any:
    random, x = data(), np.linspace(-2, 2, 150)
    with pm.Model() as model:
        slope, level, sd = pm.Normal("slope", 0, 1), pm.Normal("level", 1, 1), pm.HalfNormal("sd", 1)
        found = np.clip(random.normal(1 + 0.6 * x, 0.8), 0.01, 4.99)
        pm.Truncated("y", pm.Normal.dist(level + slope * x, sd), lower=0, upper=5, observed=found)
    return model


@gallery("size", ((1.5, 2.5), (2.5, 3.5)), "claim", bp.Real(1, 60), 100)
def claims_above_a_deductible() -> Any:
    with pm.Model() as model:
        size, shape = pm.Gamma("size", 4, 1.5), pm.Gamma("shape", 4, 3)
        law = pm.Gamma.dist(alpha=shape, beta=shape / size)
        pm.Truncated("claim", law, lower=1, observed=1 + data().exponential(3, 100))
    return model


@gallery("treated", ((-1.0, -0.4), (-0.4, 0.2)), "roaches", bp.Integer(0, 200), 160)
def zero_inflated_negative_binomial() -> Any:
    random, treated = data(), np.tile([0.0, 1.0], 80)
    with pm.Model() as model:
        psi, spread = pm.Beta("psi", 4, 2), pm.Gamma("spread", 4, 4)
        mean = pm.math.exp(pm.Normal("level", 2.5, 0.3) + pm.Normal("treated", 0, 0.7) * treated)
        found = (random.random(160) < 0.7) * random.negative_binomial(1, 1 / (1 + 12 * np.exp(-0.5 * treated)))
        pm.ZeroInflatedNegativeBinomial("roaches", psi, mean, spread, observed=found)
    return model


@gallery("north", ((-0.5, 0.0), (0.0, 0.5)), "wind", bp.Real(-3.15, 3.15), 120)
def wind_directions() -> Any:
    with pm.Model() as model:
        north, narrow = pm.VonMises("north", 0, 1), pm.Gamma("narrow", 3, 1)
        pm.VonMises("wind", north, narrow, observed=data().vonmises(0.1, 2, 120))
    return model


@gallery("lean", ((0.0, 1.5), (1.5, 3.0)), "log_price", bp.Real(-8, 12), 150)
def skewed_prices() -> Any:
    with pm.Model() as model:
        mid, sd, lean = pm.Normal("mid", 0, 1), pm.HalfNormal("sd", 1), pm.Normal("lean", 0, 2)
        pm.SkewNormal("log_price", mu=mid, sigma=sd, alpha=lean, observed=data().gumbel(0, 1, 150))
    return model


@gallery("slope", ((1.0, 2.0), (2.0, 3.0)), "y", bp.Real(-20, 25), 100)
def robust_regression() -> Any:
    random, x = data(), np.linspace(0, 1, 100)
    with pm.Model(coords={"place": range(100)}) as model:
        line = pm.Normal("level", 1, 2) + pm.Normal("slope", 2, 2) * pm.Data("x", x, dims="place")
        found = 1 + 2 * x + 0.5 * random.standard_t(2, 100)
        freedom = pm.Gamma("freedom", 2, 0.1)
        pm.StudentT("y", freedom, line, sigma=pm.HalfNormal("sd", 1), observed=found, dims="place")
    return model


def lattice(side: int) -> np.ndarray:
    """Return which fields of a square board touch."""
    row = np.eye(side, k=1, dtype=int) + np.eye(side, k=-1, dtype=int)
    one = np.eye(side, dtype=int)
    return np.kron(row, one) + np.kron(one, row)


@gallery("level", ((0.5, 1.0), (1.0, 1.5)), "cases", bp.Integer(0, 60), 36)
def neighbours() -> Any:
    with pm.Model(coords={"district": range(36)}) as model:
        level, precise = pm.Normal("level", 1, 0.7), pm.Gamma("precise", 4, 2)
        near = pm.CAR("near", mu=np.zeros(36), W=lattice(6), alpha=0.9, tau=precise, dims="district")
        pm.Poisson("cases", pm.math.exp(level + near), observed=data().poisson(3, 36), dims="district")
    return model


@gallery("level", ((0.5, 1.0), (1.0, 1.5)), "cases", bp.Integer(0, 60), 36)
def neighbours_improper() -> Any:
    with pm.Model(coords={"district": range(36)}) as model:
        level, spread = pm.Normal("level", 1, 0.7), pm.HalfNormal("spread", 0.5)
        near = pm.ICAR("near", W=lattice(6), dims="district")
        pm.Poisson("cases", pm.math.exp(level + spread * near), observed=data().poisson(3, 36), dims="district")
    return model


# -- hierarchies that are computed: what is secret is a Deterministic


@gallery("theta[A]", ((-8, 4), (4, 16)), "effect", bp.Real(-60, 60), 8)
def eight_schools_effect() -> Any:
    return eight_schools()


@gallery("intercept[3]", ((0.6, 1.4), (1.4, 2.2)), "radon", bp.Real(-4, 6), 120)
def radon_by_county() -> Any:
    random, counties, homes = data(), 12, 120
    county, floor = np.arange(homes) % counties, (random.random(homes) < 0.2).astype(float)
    found = random.normal(random.normal(1.4, 0.4, counties)[county] - 0.6 * floor, 0.7)
    with pm.Model(coords={"county": range(counties), "home": range(homes)}) as model:
        level, spread = pm.Normal("level", 1, 1), pm.Exponential("spread", 2)
        moved = spread * pm.Normal("z", 0, 1, dims="county")
        intercept = pm.Deterministic("intercept", level + moved, dims="county")
        mean = intercept[county] + pm.Normal("slope", 0, 1) * floor
        pm.Normal("radon", mean, pm.Exponential("sd", 1), observed=found, dims="home")
    return model


AGES = np.array([8.0, 15, 22, 29, 36]) - 22


def weighed() -> np.ndarray:
    """Return weights of ten rats at five ages."""
    random = data()
    own = random.normal(240, 14, 10)[:, None] + random.normal(6.2, 0.5, 10)[:, None] * AGES
    return random.normal(own, 6.0)


@gallery("level", ((225, 240), (240, 255)), "weight", bp.Real(50, 450), 50)
def rats_with_potential() -> Any:
    """A prior of the spread on its logarithm, with its Jacobian."""
    with pm.Model(coords={"rat": range(10), "age": range(5)}) as model:
        level, logs = pm.Normal("level", 240, 20), pm.Normal("log_spread", 2.5, 10)
        pm.Potential("spread_prior", -0.5 * (pm.math.exp(logs) / 20) ** 2 + logs)
        own = pm.Normal("own", level, pm.math.exp(logs), dims="rat")
        slopes = pm.Normal("slopes", 6, 0.5, dims="rat")
        means = (own[:, None] + slopes[:, None] * AGES).flatten()
        pm.Normal("weight", means, pm.HalfNormal("sd", 10), observed=weighed().ravel())
    return model


@gallery("level", ((225, 240), (240, 255)), "weight", bp.Real(50, 450), 50)
def rats() -> Any:
    """The same with the spread declared, and its logarithm computed."""
    with pm.Model(coords={"rat": range(10), "age": range(5)}) as model:
        level, spread = pm.Normal("level", 240, 20), pm.HalfNormal("spread", 20)
        pm.Deterministic("log_spread", pm.math.log(spread))
        own = pm.Normal("own", level, spread, dims="rat")
        slopes = pm.Normal("slopes", 6, 0.5, dims="rat")
        means = (own[:, None] + slopes[:, None] * AGES).flatten()
        pm.Normal("weight", means, pm.HalfNormal("sd", 10), observed=weighed().ravel())
    return model


TRIED = np.tile([20, 18, 24, 14, 50], 4)


def tumours() -> np.ndarray:
    """Return how many rats of each of twenty groups had a tumour."""
    random = data()
    return random.binomial(TRIED, random.beta(2, 12, 20))


@gallery("chance[3]", ((0.05, 0.15), (0.15, 0.3)), "ill", bp.Integer(0, 50), 20)
def rat_tumours_with_potential() -> Any:
    """An improper prior of both numbers of a beta law, cut off by wide proper ones."""
    with pm.Model() as model:
        ab = pm.HalfNormal("ab", 10, shape=2)
        pm.Potential("prior", pm.math.log(pm.math.sum(ab) ** -2.5))
        chance = pm.Beta("chance", ab[0], ab[1], shape=20)
        pm.Binomial("ill", TRIED, chance, observed=tumours())
    return model


@gallery("a", ((0.5, 2.5), (2.5, 8.0)), "ill", bp.Integer(0, 50), 20)
def rat_tumours() -> Any:
    """The same prior by the numbers in which it is even: the mean, and one over the root of the sum."""
    with pm.Model() as model:
        mean, root = pm.Uniform("mean", 0, 1), pm.Uniform("root", 0.1, 0.6)
        a = pm.Deterministic("a", mean / root**2)
        b = pm.Deterministic("b", (1 - mean) / root**2)
        pm.Binomial("ill", TRIED, pm.Beta("chance", a, b, shape=20), observed=tumours())
    return model


TEAMS = ["Wales", "France", "Ireland", "Scotland", "Italy", "England"]
PAIRS = np.array([(i, j) for i in range(6) for j in range(6) if i != j])


@gallery("attack[Wales]", ((-0.4, 0.0), (0.0, 0.4)), "home_points", bp.Integer(0, 80), 30)
def rugby() -> Any:
    random, (home, away) = data(), PAIRS.T
    strong, solid = random.normal(0, 0.3, 6), random.normal(0, 0.2, 6)
    with pm.Model(coords={"team": TEAMS, "match": range(30)}) as model:
        level, at_home = pm.Normal("level", 3, 0.3), pm.Normal("at_home", 0.2, 0.2)
        raw = pm.Normal("raw_attack", 0, pm.HalfNormal("attack_sd", 0.5), dims="team")
        kept = pm.Normal("raw_defence", 0, pm.HalfNormal("defence_sd", 0.5), dims="team")
        attack = pm.Deterministic("attack", raw - pm.math.mean(raw), dims="team")
        defence = pm.Deterministic("defence", kept - pm.math.mean(kept), dims="team")
        for name, one, other, more in (("home_points", home, away, at_home), ("away_points", away, home, 0.0)):
            rate = pm.math.exp(level + more + attack[one] - defence[other])
            found = random.poisson(np.exp(3 + strong[one] - solid[other]))
            pm.Poisson(name, rate, observed=found, dims="match")
    return model


@gallery("average[4]", ((0.1, 0.27), (0.27, 0.5)), "hits", bp.Integer(0, 45), 18)
def baseball() -> Any:
    random = data()
    with pm.Model(coords={"player": range(18)}) as model:
        level, spread = pm.Normal("level", -1, 0.5), pm.HalfNormal("spread", 0.5)
        logit = level + spread * pm.Normal("z", 0, 1, dims="player")
        average = pm.Deterministic("average", pm.math.invlogit(logit), dims="player")
        pm.Binomial("hits", 45, average, observed=random.binomial(45, random.beta(26, 74, 18)), dims="player")
    return model


@gallery("level[29]", ((-4, 0), (0, 4)), "y", bp.Real(-20, 20), 30)
def level_walk() -> Any:
    random = data()
    with pm.Model(coords={"day": range(30)}) as model:
        start, step = pm.Normal("start", 0, 1), pm.HalfNormal("step", 1)
        walked = start + step * pt.cumsum(pm.Normal("shock", 0, 1, dims="day"))
        level = pm.Deterministic("level", walked, dims="day")
        found = np.cumsum(random.normal(0, 0.5, 30)) + random.normal(0, 0.7, 30)
        pm.Normal("y", level, pm.HalfNormal("sd", 1), observed=found, dims="day")
    return model


@gallery("indirect", ((-0.5, 0.25), (0.25, 1.0)), "y", bp.Real(-12, 12), 60)
def mediation() -> Any:
    random = data()
    x = random.normal(1, 1, 60)
    between = random.normal(0.6 * x, 1)
    with pm.Model() as model:
        to_m, to_y, direct = pm.Normal("to_m", 0, 1), pm.Normal("to_y", 0, 1), pm.Normal("direct", 0, 1)
        pm.Deterministic("indirect", to_m * to_y)
        m = pm.Normal("m", to_m * x, pm.HalfNormal("m_sd", 1), observed=between)
        found = random.normal(0.5 * between + 0.3 * x, 1)
        pm.Normal("y", to_y * m + direct * x, pm.HalfNormal("y_sd", 1), observed=found)
    return model


@gallery("uplift", ((0.0, 0.2), (0.2, 0.6)), "bought", bp.Integer(0, 1), 400)
def uplift() -> Any:
    random, shown = data(), np.arange(400) % 4 == 0
    with pm.Model() as model:
        chance = pm.Beta("chance", 8, 40, shape=2)
        pm.Deterministic("uplift", chance[1] / chance[0] - 1)
        found = random.binomial(1, np.where(shown, 0.2, 0.16))
        pm.Bernoulli("bought", chance[shown.astype(int)], observed=found)
    return model
