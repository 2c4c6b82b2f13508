"""One small framework and query of every kind, and what is computed from them once for many tests.

Only the public face is used, so that the tests that stand on this survive any move of modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np

import bnpriv as bp
from bnpriv.core.evidence.structural import influences
from tests.later import Later

stats = Later("scipy.stats")
pd = Later("pandas")

RECORDS = 100
SCHOOL = bp.Schema(
    records=RECORDS,
    columns={"sat": bp.Real(0, 1600), "income": bp.Real(0, 200)},
)
ACTIVITY = bp.Schema(records=RECORDS, columns={"activity": bp.Categorical(["rest", "walk"])})
HEALTH = bp.Schema(
    records=RECORDS,
    columns={name: bp.Categorical(["no", "yes"]) for name in ("ill", "smokes", "coughs")},
)
LOW_HIGH: dict[str, Any] = {
    "states": {name: ["low", "high"] for name in ("income", "school", "sat")},
    "parents": {"school": ["income"], "sat": ["school"]},
}
COUGHS = bp.count(bp.col("coughs") == "yes")
SOURCE = "invented"


class Kind:
    """A framework, a query and what the verbs return for them; each is computed when it is first asked for.

    Parameters
    ----------
    framework : Framework
    query : Query
    column : str
        A column of which the influence is asked.
    protected : str
        The attribute that it may tell about.
    network : network, optional
        None where laws are declared without one.
    delta : float
        Above 0 where nothing but hiding the whole column would do without it.
    """

    def __init__(
        self,
        framework: Any,
        query: bp.types.Query,
        column: str,
        protected: str,
        network: Any = None,
        *,
        delta: float = 0.0,
    ) -> None:
        self.framework, self.query, self.column, self.protected = framework, query, column, protected
        self.network, self.delta = network, delta

    @cached_property
    def plan(self) -> Any:
        return bp.plan(self.framework, self.query, 1.0, self.delta)

    @property
    def calibration(self) -> Any:
        return self.plan.best

    @property
    def observations(self) -> pd.DataFrame:
        """Return what the network may be checked against: states where attributes have named ones, else a table."""
        states = getattr(self.network, "states", None)
        if not isinstance(states, Mapping):
            return table(self.framework.schema)
        return pd.DataFrame({name: [values[k % len(values)] for k in range(20)] for name, values in states.items()})

    @cached_property
    def evidence(self) -> Any:
        return refused_or(influences(self.framework))

    @cached_property
    def influence(self) -> Any:
        return refused_or(self.evidence.influence(frozenset({self.column}), self.protected))

    @cached_property
    def report(self) -> Any:
        return bp.influence_report(self.framework, self.query, 1.0, self.delta)

    @cached_property
    def page(self) -> str:
        return self.report.to_html()

    @cached_property
    def leaks(self) -> Any:
        return bp.leaks(self.framework, self.query)

    @cached_property
    def comparison(self) -> Any:
        return bp.compare(self.framework, self.framework, self.query)

    @cached_property
    def tradeoff(self) -> Any:
        return bp.tradeoff(self.framework, self.query, [0.5, 1.0])

    @cached_property
    def rehearsal(self) -> Any:
        return bp.rehearse(self.calibration, 50)

    @cached_property
    def release(self) -> Any:
        return bp.release(self.calibration, table(self.framework.schema))


def refused_or(value: Any) -> Any:
    """Return a value, and raise what a refusal says."""
    if isinstance(value, bp.errors.Refusal):
        raise value.error()
    return value


def table(schema: bp.Schema) -> pd.DataFrame:
    """Return a table that fits a schema, with the same rows every time."""
    random = np.random.default_rng(0)
    return pd.DataFrame({name: values(column, schema.records, random) for name, column in schema.columns.items()})


def values(column: object, records: int, random: np.random.Generator) -> Any:
    if isinstance(column, bp.Categorical):
        return random.choice(np.array(column.categories, dtype=object), records)
    assert isinstance(column, bp.Real | bp.Integer)
    drawn = random.integers(int(column.lower), int(column.upper) + 1, records)
    return drawn.astype(float) if isinstance(column, bp.Real) else drawn


def discrete() -> Kind:
    """Parameters with two states each, in one model."""
    tables = {"income": [0.5, 0.5], "school": [[0.8, 0.2], [0.2, 0.8]], "sat": [[0.7, 0.3], [0.3, 0.7]]}
    return of_parameters(bp.DiscreteNetwork.from_tables(tables, **LOW_HIGH))


def graphs() -> Kind:
    """Two experts: income decides sat through school, or school decides both: an arrow is turned round."""
    near, root = [[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5]
    chain = {"income": root, "school": near, "sat": [[0.7, 0.3], [0.3, 0.7]]}
    fork = {"income": near, "school": root, "sat": [[0.6, 0.3], [0.4, 0.7]]}
    other: dict[str, Any] = {**LOW_HIGH, "parents": {"income": ["school"], "sat": ["school"]}}
    return of_parameters(
        bp.model_class(
            [bp.DiscreteNetwork.from_tables(chain, **LOW_HIGH), bp.DiscreteNetwork.from_tables(fork, **other)]
        )
    )


def interval() -> Kind:
    """The same, every probability known up to 0.05."""
    low = {"income": [0.45, 0.45], "school": [[0.75, 0.15], [0.15, 0.75]], "sat": [[0.65, 0.25], [0.25, 0.65]]}
    high = {"income": [0.55, 0.55], "school": [[0.85, 0.25], [0.25, 0.85]], "sat": [[0.75, 0.35], [0.35, 0.75]]}
    return of_parameters(bp.DiscreteNetwork.from_intervals(low, high, **LOW_HIGH))


def of_parameters(network: Any) -> Kind:
    grades = {"low": stats.uniform(0, 1200), "high": stats.uniform(400, 1200)}
    wages = {"low": stats.uniform(0, 150), "high": stats.uniform(50, 150)}
    framework = bp.DistributionalAttributePrivacy(
        network, SCHOOL, "income", source=SOURCE, laws={"sat": grades, "income": wages}
    )
    return Kind(framework, bp.mean("sat"), "sat", "income", network)


def gaussian() -> Kind:
    """Parameters with a joint normal law; values at most 5 apart are secret."""
    network = bp.types.GaussianNetwork.linear(
        {"income": 40.0, "school": 12.0, "sat": 840.0},
        {"income": 10.0, "school": 2.0, "sat": 150.0},
        {"school": {"income": 0.1}, "sat": {"school": 10.0}},
    )
    protect = {"income": bp.apart(at_most=5)}
    framework = bp.DistributionalAttributePrivacy(network, SCHOOL, protect, source=SOURCE)
    return Kind(framework, bp.mean("sat"), "sat", "income", network, delta=0.005)


def density() -> Kind:
    """Parameters with densities, integrated numerically."""
    parameter = bp.networks.Parameter
    whole: dict[str, Any] = {"lower": -np.inf, "upper": np.inf}
    network = bp.types.DensityNetwork(
        parameters={
            "income": parameter(name="income", log_density=lambda x: -x * x / 2, **whole),
            "school": parameter(
                name="school", parents=("income",), log_density=lambda x, income: -((x - income) ** 2) / 2, **whole
            ),
            "sat": parameter(
                name="sat", parents=("school",), log_density=lambda x, school: -((x - school / 5) ** 2) / 2, **whole
            ),
        },
        model_hash="three normal parameters",
        simulator=drawn,
    )
    protect = {"income": bp.intervals((0.0, 1.0))}
    framework = bp.DistributionalAttributePrivacy(network, SCHOOL, protect, source=SOURCE)
    return Kind(framework, bp.mean("sat"), "sat", "income", network, delta=0.005)


def drawn(
    names: tuple[str, ...], draws: int, *, seed: int, given: Mapping[str, float], records: int
) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    income = np.full(draws, given["income"]) if "income" in given else random.normal(size=draws)
    school = income + random.normal(size=draws)
    return {"income": income, "school": school, "sat": school / 5 + random.normal(size=draws)}


def chain() -> Kind:
    """Single values of one column that goes on by a Markov chain."""
    network = bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", RECORDS, states=["rest", "walk"])
    framework = bp.ValuePrivacy(network, ACTIVITY, "activity", source=SOURCE)
    return Kind(framework, bp.count(bp.col("activity") == "walk"), "activity", "activity", framework.network)


def patients(ill: float = 0.1, smokers: float = 0.6) -> bp.DiscreteNetwork:
    """Independent records; the ill smoke more often."""
    return bp.DiscreteNetwork.from_tables(
        {
            "ill": [1 - ill, ill],
            "smokes": [[0.8, 1 - smokers], [0.2, smokers]],
            "coughs": [[0.9, 0.4], [0.1, 0.6]],
        },
        states={name: ["no", "yes"] for name in HEALTH.columns},
        parents={"smokes": ["ill"], "coughs": ["smokes"]},
        level="records",
    )


def records() -> Kind:
    """Single values of independent records with dependent columns."""
    return Kind(bp.ValuePrivacy(patients(), HEALTH, "ill", source=SOURCE), COUGHS, "coughs", "ill", patients())


def dataset() -> Kind:
    """A property of a small table: how many are ill, up to 5 apart."""
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=5))
    schema = bp.Schema(records=30, columns=HEALTH.columns)
    framework = bp.DatasetAttributePrivacy(patients(), schema, {"ill": secret}, source=SOURCE)
    return Kind(framework, COUGHS, "coughs", "ill", patients())


def normal() -> Kind:
    """A property of a table of normal records: the mean income, values at most 2 apart."""
    network = bp.types.GaussianNetwork.linear(
        {"income": 100.0, "school": 12.0, "sat": 640.0},
        {"income": 5.0, "school": 2.0, "sat": 50.0},
        {"school": {"income": 0.1}, "sat": {"school": 10.0}},
        level="records",
    )
    secret = bp.Secret(bp.mean("income"), pairs=bp.apart(at_most=2))
    framework = bp.DatasetAttributePrivacy(network, SCHOOL, {"income": secret}, source=SOURCE)
    return Kind(framework, bp.mean("sat"), "sat", "income", network)


def laws() -> Kind:
    """Two laws of one answer, declared without a network."""
    pair = bp.laws.Atoms(range(RECORDS + 1), [1 / 101] * 101), bp.laws.Atoms.binomial(RECORDS, 0.5)
    framework = bp.DistributionPrivacy([pair], query=COUGHS, schema=HEALTH, source=SOURCE)
    return Kind(framework, COUGHS, "coughs", "the distribution")


def networks() -> Kind:
    """Two networks of records, either of which the table may come from."""
    framework = bp.DistributionPrivacy([(patients(), patients(0.2, 0.5))], schema=HEALTH, source=SOURCE)
    return Kind(framework, COUGHS, "coughs", "the distribution")


WARD = bp.Schema(records=30, columns={name: bp.Categorical([0, 1]) for name in ("ill", "coughs")})


def ward(prior: tuple[float, float] = (4, 6)) -> bp.types.DensityNetwork:
    """Whole tables: how common an illness is has a beta law, and the ill cough more often."""

    def drawn_tables(
        names: tuple[str, ...], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        prevalence = random.beta(*prior, draws)
        ill = random.random((draws, records)) < prevalence[:, np.newaxis]
        coughs = random.random((draws, records)) < np.where(ill, 0.6, 0.2)
        found = {"prevalence": prevalence, "ill": ill.astype(float), "coughs": coughs.astype(float)}
        return {name: found[name] for name in names}

    return bp.types.DensityNetwork(
        parameters={"prevalence": bp.networks.Parameter(name="prevalence", lower=0.0, upper=1.0)},
        model_hash=f"a ward {prior}",
        simulator=drawn_tables,
        reading=bp.networks.ImportReport(columns={"ill": ("prevalence",), "coughs": ("prevalence",)}),
    ).with_sampling(draws=2000)


def tables() -> Kind:
    """A property of tables that a model draws as a whole: how many are ill, in two ranges."""
    secret = bp.Secret(bp.count(bp.col("ill") == 1), pairs=bp.intervals(((5, 10), (12, 20))))
    framework = bp.DatasetAttributePrivacy(ward(), WARD, {"ill": secret}, source=SOURCE)
    return Kind(framework, bp.count(bp.col("coughs") == 1), "coughs", "ill", delta=0.005)


def models() -> Kind:
    """Two models that draw whole tables, either of which the table may come from."""
    framework = bp.DistributionPrivacy([(ward(), ward((6, 6)))], schema=WARD, source=SOURCE)
    return Kind(framework, bp.count(bp.col("coughs") == 1), "coughs", "the distribution", delta=0.005)


KINDS = {
    build.__name__: cache(build)
    for build in (
        discrete,
        graphs,
        interval,
        gaussian,
        density,
        chain,
        records,
        dataset,
        normal,
        laws,
        networks,
        tables,
        models,
    )
}
"""How each kind is built, once: frozen values, which tests share; the names are the columns of the table of verbs.

Who needs another copy calls the function itself.
"""
