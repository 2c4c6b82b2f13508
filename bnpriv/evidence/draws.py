"""Law evidence over a network that is known by forward draws: the law of the answer is learned from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.evidence.believed import confidence_refusal
from bnpriv.evidence.conditions import OfParameter
from bnpriv.evidence.forward import AnswerSampler
from bnpriv.evidence.sampled import SampledConstraint, SampledLaws, conditioned
from bnpriv.frameworks.digest import first_digest
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.networks.density import DensityNetwork, Parameter
from bnpriv.networks.reading import drivers
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair
from bnpriv.secrets.values import Interval, IntervalPair
from bnpriv.tables.schema import Categorical, Schema, State

WHOLE_TABLES = (
    "The table is drawn from the declared model as a whole, with the declared number of records; pseudo-random draws "
    "of the model stand for independent ones."
)
INDEPENDENT_COLUMNS = "Independent columns follow their declared laws, whatever the rest of the table is."
NO_DISTANCE = Refusal(
    required="draws compare two intervals of a parameter, or two values",
    found="any two values that are so far apart",
    remedy="Protect bnpriv.intervals(((30, 40), (50, 60))).",
)


def _of_parameter(
    sampler: AnswerSampler, parameter: Parameter, pairs: Sequence[Pair], states: Sequence[State], model: int
) -> SampledConstraint | None:
    """Return what one protected parameter, with some names of its states, asks; None if no secret is possible."""
    chosen = [pair for pair in pairs if isinstance(pair, (IntervalPair, SecretPair))]
    if len(chosen) < len(pairs):
        return SampledConstraint(protected=parameter.name, model=model, pairs=NO_DISTANCE)
    condition = OfParameter(parameter)
    found = [
        conditioned(sampler, condition, _in_numbers(pair, parameter, states), pair)
        for pair in chosen
        if _pair_possible(parameter, pair)
    ]
    return SampledConstraint(protected=parameter.name, model=model, pairs=found) if found else None


def _pair_possible(parameter: Parameter, pair: IntervalPair | SecretPair) -> bool:
    """Whether the parameter can lie in both intervals; named states are values that it has."""
    for side in (pair.first, pair.second):
        if isinstance(side, Interval):
            known = parameter.states
            within = side.low <= parameter.upper and side.high >= parameter.lower
            if not (within if known is None else any(side.low <= state <= side.high for state in known)):
                return False
    return True


def _in_numbers(
    pair: IntervalPair | SecretPair, parameter: Parameter, states: Sequence[State]
) -> IntervalPair | SecretPair:
    """Return a pair of named states by the numbers that they stand for."""
    if isinstance(pair, IntervalPair):
        return pair
    numbers = dict(zip(states, parameter.states or (), strict=True))
    return SecretPair(*(frozenset(numbers[state] for state in side) for side in (pair.first, pair.second)))


def one_way(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Each pair in one direction, as both count."""
    listed: list[Pair] = []
    for pair in pairs:
        if pair.reverse not in listed:
            listed.append(pair)
    return tuple(listed)


def sampled_laws(
    framework: DistributionalAttributePrivacy, network: DensityNetwork, query: Query
) -> SampledLaws | Refusal:
    """Return the laws, or why they cannot be learned; nothing is drawn before they are asked for."""
    # mechanisms ask several times, and several of them for the same
    known: dict[Query, SampledLaws] = framework.kept.table("drawn laws")
    if query not in known:
        first_digest(framework)  # what is kept is about the framework as it is now
        refusal = draws_refusal(framework, network, query.columns) or confidence_refusal(network)
        if refusal is not None:
            return refusal
        sampler = parameter_sampler(framework, network, query)
        secrets = {network.parameters[name]: one_way(pairs) for name, pairs in framework.secrets.items()}
        states = framework.network.states
        samplers = samplers_of(sampler)
        asked = (
            _of_parameter(each, parameter, pairs, states.get(parameter.name, ()), model)
            for parameter, pairs in secrets.items()
            for model, each in enumerate(samplers)
        )
        evidence = SampledLaws(
            form=sampler.form,
            sampling=sampler.sampling,
            asked=tuple(each for each in asked if each is not None),
            drawn=network.drawn,
            assumptions=(WHOLE_TABLES, INDEPENDENT_COLUMNS) if sampler.independent else (WHOLE_TABLES,),
            dropped=tuple(
                f"{parameter.name}: {pair}, a secret has probability zero"
                for parameter, pairs in secrets.items()
                for pair in pairs
                if isinstance(pair, (IntervalPair, SecretPair)) and not _pair_possible(parameter, pair)
            ),
        )
        if len(evidence.dropped) == sum(map(len, secrets.values())):
            return Refusal(
                required="some pair of secrets must have positive probability",
                found="none",
                remedy="Choose intervals inside the support of the parameter.",
            )
        known[query] = evidence
    return known[query]


def parameter_sampler(
    framework: DistributionalAttributePrivacy, network: DensityNetwork, query: Query
) -> AnswerSampler:
    """Return what draws the answers to a query given a parameter."""
    columns = sorted(query.columns)
    return AnswerSampler(
        network=network,
        form=normal_form(query, framework.schema),
        columns=tuple(name for name in columns if name in network.reading.columns),
        independent={name: framework.column_laws[name][0] for name in columns if name in framework.independent},
        sampling=network.sampling,
    )


def samplers_of(sampler: AnswerSampler) -> tuple[AnswerSampler, ...]:
    """Return what draws the answers under each model: one for each draw of a posterior that is read as models."""
    drawn = sampler.network.drawn
    if drawn is None or drawn.reading == "belief":
        return (sampler,)
    return tuple(replace(sampler, row=k) for k in range(drawn.draws))


def draws_refusal(
    framework: DistributionalAttributePrivacy, network: DensityNetwork, asked: frozenset[str]
) -> Refusal | None:
    """Return why columns cannot be drawn forward, or None if they can."""
    independent = frozenset(framework.independent)
    refusal = columns_refusal(network, framework.schema, asked, independent, framework.secrets)
    if refusal is not None:
        return refusal
    lawless = sorted(asked.intersection(independent).difference(framework.column_laws))
    if lawless:
        return Refusal(
            required="draws need the law of every queried independent column",
            found=f"none for {listing(lawless)}",
            remedy="Pass laws={column: scipy.stats.norm(mean, sd)}.",
        )
    return None


def columns_refusal(
    network: DensityNetwork,
    schema: Schema,
    asked: frozenset[str],
    independent: frozenset[str] = frozenset(),
    protected: Iterable[str] = (),
) -> Refusal | None:
    """Return why a model does not draw columns as a table of the schema has them, or None if it does."""
    drawn = network.reading.columns
    missing = sorted(asked.difference(drawn, independent))
    if missing:
        alone = [name for name in missing if name in network.attributes]
        return Refusal(
            required="draws need every queried column to be a column of the model, or declared independent",
            found=listing(alone) + ", a parameter without a column" if alone else listing(missing),
            remedy="Add to the model an observed variable, or a prediction, of that name, with one value per record.",
        )
    known = frozenset[str]() if network.drawn is None else network.drawn.parameters
    loose = frozenset[str]().union(*(network.between(name, asked) for name in protected))
    refusal = network.refusal(sorted(drivers(network, asked).union(protected)), known - loose)
    if refusal is not None:
        return refusal
    named = [name for name in sorted(asked.intersection(drawn)) if _in_words(schema, name)]
    if named:
        return Refusal(
            required="the columns of the model are drawn as numbers",
            found=f"categories in words for {listing(named)}",
            remedy="Declare whole numbers as categories, Categorical([0, 1, 2]), or an Integer column.",
        )
    return None


def _in_words(schema: Schema, name: str) -> bool:
    column = schema[name]
    return isinstance(column, Categorical) and any(isinstance(category, str) for category in column.categories)
