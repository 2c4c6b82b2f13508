"""Law evidence that is learned from draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from bnpriv.checks import listing
from bnpriv.core.columns import Categorical, State
from bnpriv.core.draws import Draws, gathered
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, DrawFacts, LawPair, Laws
from bnpriv.core.evidence.records import rounding_of
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.networks.base import drivers
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.normal_form import NormalForm, normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Interval, IntervalPair, Pair, Secret, SecretPair
from bnpriv.digest import first_digest
from bnpriv.errors import BnprivError, Refusal
from bnpriv.kind import kind_of
from bnpriv.kinds.density.network import DensityNetwork, Parameter, Sampling
from bnpriv.kinds.draws.answers import AnswerSampler, AnswerSource, DrawTime, paced
from bnpriv.kinds.draws.believed import confidence_refusal, effective_of, size_refusal
from bnpriv.kinds.draws.conditions import Condition, OfParameter, OfProperty, SecretSide
from bnpriv.kinds.draws.parameter_draws import ParameterDraws

# --------------------------------------------------------------------------------------------------
# Law evidence that is learned from draws: which answers are drawn under which secrets, once they are asked for.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SampledSide:
    """What answers are drawn from for one secret.

    Parameters
    ----------
    sampler : AnswerSource
    condition : Condition or None
        What has a value of the secret; None where all tables of the sampler count.
    side : secret or None
    """

    sampler: AnswerSource
    condition: Condition | None = None
    side: SecretSide | None = None

    def effective(self, share: float) -> float | None:
        """Return how many draws of a posterior the law rests on; `share` says which share of the tables was kept."""
        return effective_of(self.sampler, self.condition, self.side, share)


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledPair:
    """A pair of secrets, what decisions call it, and what answers are drawn from under each of the two."""

    pair: Pair
    label: str
    first: SampledSide
    second: SampledSide


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledConstraint:
    """The pairs of one protected attribute under one model, or why they are not drawn."""

    protected: str
    model: int
    pairs: Sequence[SampledPair] | Refusal


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledLaws(ComputedLaws):
    """The laws of an answer under pairs of secrets, learned from forward draws once they are asked for.

    Parameters
    ----------
    form : NormalForm
        The query.
    sampling : Sampling
        How the laws are learned.
    asked : tuple of SampledConstraint
    assumptions : tuple of str
        What must hold outside the library.
    dropped : tuple of str
        The pairs that are no constraint because a secret has probability zero.
    drawn : ParameterDraws, optional
        The draws of a posterior that parameters are taken from.
    """

    form: NormalForm
    sampling: Sampling
    asked: tuple[SampledConstraint, ...]
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    drawn: ParameterDraws | None = None

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return len(self.form.rows)

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(self.form)

    def _compared(self) -> Iterator[Constraint]:
        known: dict[SampledSide, Draws] = {}
        refusal = next(filter(None, map(_too_rare, self.asked)), None)
        with paced(self._expected()) as advance:
            for each in self.asked:
                before = len(known)
                pairs = self._laws(each.pairs if refusal is None else refusal, known)
                advance((len(known) - before) * self.sampling.draws)
                yield Constraint(protected=each.protected, model=each.model, record=None, pairs=pairs)

    def _expected(self) -> DrawTime:
        """Return how long drawing takes for all models together, where every draw of a posterior is one."""
        pairs = [pair for each in self.asked if not isinstance(each.pairs, Refusal) for pair in each.pairs]
        sides = dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second))
        first = next(iter(sides), None)
        if first is None or not isinstance(first.sampler, AnswerSampler) or first.sampler.row is None:
            return DrawTime(tables=0, seconds=0.0)
        try:
            return first.sampler.time(first.condition, len(sides))
        except BnprivError:  # drawing will say why it cannot be done
            return DrawTime(tables=0, seconds=0.0)

    def _laws(
        self, pairs: Sequence[SampledPair] | Refusal, known: dict[SampledSide, Draws]
    ) -> tuple[LawPair, ...] | Refusal:
        if isinstance(pairs, Refusal):
            return pairs
        sides = list(dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second)))
        refusal = _sizes_refusal(dict.fromkeys(sides, 1.0))  # at best; drawn tables tell how many are kept
        if refusal is not None:
            return refusal
        try:
            _draw(sides, known)
        except BnprivError as error:
            return Refusal.of(error)
        refusal = _sizes_refusal({side: known[side].share for side in sides})
        return refusal or tuple(self._pair(pair, known[pair.first], known[pair.second]) for pair in pairs)

    def _pair(self, pair: SampledPair, first: Draws, second: Draws) -> LawPair:
        sampling = self.sampling
        laws = gathered(first, second, sampling.told_apart(first.dimension))
        sizes = (side.effective(draws.share) for side, draws in ((pair.first, first), (pair.second, second)))
        return LawPair(
            pair=pair.label,
            first=laws.first,
            second=laws.second,
            rounding=0.0,  # answers are drawn as the doubles that are released
            kind="estimate" if sampling.confidence is None else "certified",
            sampled=DrawFacts(
                draws=sampling.draws,
                confidence=sampling.confidence,
                moved=laws.moved,
                variance=laws.variance,
                drift=laws.drift,
                share=min(first.share, second.share),
                effective=min((size for size in sizes if size is not None), default=None),
            ),
        )


def _sizes_refusal(shares: Mapping[SampledSide, float]) -> Refusal | None:
    """Return why too few draws of a posterior lie in one of some secrets, by how often each comes up."""
    sizes = {side: side.effective(share) for side, share in shares.items()}
    for side in sorted(sizes, key=lambda side: math.inf if sizes[side] is None else sizes[side] or 0.0):
        refusal = size_refusal(side.sampler, side.condition, side.side, sizes[side])
        if refusal is not None:
            return refusal
    return None


def _too_rare(asked: SampledConstraint) -> Refusal | None:
    """Return why a secret is too rare under the draw of a posterior that is a model, before any table is drawn."""
    for pair in () if isinstance(asked.pairs, Refusal) else asked.pairs:
        sampler, condition = pair.first.sampler, pair.first.condition
        sides = [each.side for each in (pair.first, pair.second) if each.side is not None]
        if isinstance(sampler, AnswerSampler) and sampler.row is not None and condition is not None:
            try:
                sampler.check(condition, sides)
            except BnprivError as error:
                return Refusal.of(error)
    return None


def _draw(sides: Iterable[SampledSide], known: dict[SampledSide, Draws]) -> None:
    """Draw for all secrets that are not known yet, for all secrets about one number at once."""
    groups: dict[tuple[AnswerSource, Condition | None], list[SampledSide]] = {}
    for side in dict.fromkeys(sides):
        if side not in known:
            groups.setdefault((side.sampler, side.condition), []).append(side)
    for (sampler, condition), members in groups.items():
        drawn = sampler.answers(condition, [member.side for member in members])
        known.update({member: drawn[member.side] for member in members})


def conditioned(
    sampler: AnswerSource, condition: Condition, pair: IntervalPair | SecretPair, declared: Pair | None = None
) -> SampledPair:
    """Return a pair of secrets about one number, drawn by one sampler, and called as it was declared."""
    first, second = (SampledSide(sampler=sampler, condition=condition, side=side) for side in (pair.first, pair.second))
    called = pair if declared is None else declared
    return SampledPair(pair=called, label=str(called), first=first, second=second)


# --------------------------------------------------------------------------------------------------
# Law evidence over a network that is known by forward draws: the law of the answer is learned from them.
# --------------------------------------------------------------------------------------------------

WHOLE_TABLES = (
    "The table is drawn from the declared model as a whole, with the declared number of records; pseudo-random draws "
    "of the model stand for independent ones."
)
INDEPENDENT_COLUMNS = "Independent columns follow their declared distributions, whatever the rest of the table is."
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
    known: dict[Query, SampledLaws] = framework.kept.table("drawn distributions")
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
            required="draws need the distribution of every queried independent column",
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


# --------------------------------------------------------------------------------------------------
# Law evidence of a property of tables that a model draws as a whole (docs/claims/conditional_draws.md).
# --------------------------------------------------------------------------------------------------

AS_UNKNOWN = (
    "The parameters are as unknown to the observer as the model says; somebody who knows them holds another model."
)


def property_laws(framework: DatasetAttributePrivacy, network: DensityNetwork, query: Query) -> SampledLaws | Refusal:
    """Return the laws of an answer given properties of the table, or why they cannot be learned.

    Nothing is drawn before they are asked for.
    """
    first_digest(framework)  # what is kept is about the framework as it is now
    read = query.columns.union(*(secret.property.columns for secret in framework.protect.values()))
    refusal = columns_refusal(network, framework.schema, read) or confidence_refusal(network)
    if refusal is not None:
        return refusal
    sampler = AnswerSampler(
        network=network,
        form=normal_form(query, framework.schema),
        columns=tuple(sorted(query.columns)),
        independent={},
        sampling=network.sampling,
    )
    return SampledLaws(
        form=sampler.form,
        sampling=sampler.sampling,
        asked=tuple(
            _asked(framework, each, name, model)
            for name in framework.protect
            for model, each in enumerate(samplers_of(sampler))
        ),
        drawn=network.drawn,
        assumptions=(WHOLE_TABLES, AS_UNKNOWN) if network.parameters else (WHOLE_TABLES,),
    )


def _asked(framework: DatasetAttributePrivacy, sampler: AnswerSampler, name: str, model: int) -> SampledConstraint:
    """Return what one protected column asks: every chosen pair in one direction, as both count."""
    condition = property_condition(framework.protect[name], framework.schema)
    listed = one_way(framework.secrets[name])
    pairs = [conditioned(sampler, condition, cast("IntervalPair | SecretPair", pair)) for pair in listed]
    return SampledConstraint(protected=name, model=model, pairs=pairs)


def property_condition(secret: Secret, schema: Schema) -> OfProperty:
    """Return the condition that a property of a table has some value."""
    form = normal_form(secret.property, schema)
    return OfProperty(form=form, columns=tuple(sorted(secret.property.columns)), name=str(secret.property))


# --------------------------------------------------------------------------------------------------
# Which laws of answers are learned from draws: those of networks of densities, given a parameter or a property.
# --------------------------------------------------------------------------------------------------

MOST_LEARNED_MODELS = 100
"""Draws of a posterior for each of which laws of an answer are learned."""


def laws_of_densities(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws of an answer of a network of densities, learned from draws."""
    return sampled_laws(framework, cast(DensityNetwork, framework.network), query)


def too_many_draws(forward: DensityNetwork) -> Refusal | None:
    """Return why laws of an answer are not learned for so many draws, each a model; None if they are."""
    if forward.models <= MOST_LEARNED_MODELS:
        return None
    return Refusal(
        required=f"distributions of an answer are learned for each draw of a posterior, for {MOST_LEARNED_MODELS} at "
        "most",
        found=f"{forward.models:,}, and an answer whose distribution has no closed form",
        remedy=f"Take fewer: from_pymc(..., thin={-(-forward.models // 25)}), or use MarkovQuiltMechanism.",
    )


def laws_given_property(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """Return the laws of an answer given properties of tables that are drawn as a whole."""
    forward = framework.forward
    assert forward is not None
    # a linear model keeps all draws, for laws in closed form: there are none given a property
    many = too_many_draws(forward) if kind_of(framework.network).keeps_draws else None
    return many or property_laws(framework, forward, query)


def laws_of_draws(framework: DistributionalAttributePrivacy, forward: DensityNetwork, query: Query) -> Laws | Refusal:
    """The laws of an answer of columns that parameters drive, learned from draws of them."""
    return too_many_draws(forward) or sampled_laws(framework, forward, query)
