"""Law evidence that is learned from draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import Categorical, State
from bnpriv.core.distributions import Draws, gathered
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, DrawFacts, LawPair, Laws
from bnpriv.core.evidence.records import rounding_of
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.networks.base import drivers
from bnpriv.core.queries.base import NormalForm, Query, normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Interval, IntervalPair, Pair, Secret, SecretPair
from bnpriv.digest import first_digest
from bnpriv.errors import BnprivError, NetworkError, Refusal
from bnpriv.kind import kind_of
from bnpriv.kinds.density.network import DensityNetwork, Parameter, Sampling
from bnpriv.kinds.draws.answers import AnswerSampler, AnswerSource, DrawTime, paced
from bnpriv.kinds.draws.conditions import Condition, OfParameter, OfProperty, SecretSide, side_words
from bnpriv.kinds.draws.parameter_draws import ParameterDraws, largest_shape, tail_shape
from bnpriv.text import and_text, number_text, some_text, upper_percent

# --------------------------------------------------------------------------------------------------
# How far draws of a posterior carry the law of an answer given a secret (docs/claims/belief.md).
# --------------------------------------------------------------------------------------------------

LEAST_EFFECTIVE = 100
"""Independent draws that those of a posterior in a secret must be worth."""


def effective_of(
    source: AnswerSource, condition: Condition | None, side: SecretSide | None, share: float
) -> float | None:
    """Return how many independent draws of a posterior the law given a secret rests on; None if it rests on none.

    Where tables are drawn and those with the secret kept, of a property or of a parameter that has no draws and no
    density, `share` says how many were kept. A draw counts by its own weight times the share that is kept below it,
    which is at most 1: so all are worth at least the sum of these weights over the largest own one.
    """
    if not isinstance(source, AnswerSampler) or source.believed is None:
        return None
    drawn = source.believed
    read = frozenset(source.columns).union(() if condition is None else condition.columns)
    behind = _behind(source.network, drivers(source.network, read))
    # whether chains have never moved in a parameter that takes no value twice
    known = () if drawn.posterior.independent else (name for name in behind if name in drawn.values)
    if any(source.network.parameters[name].is_continuous and not np.ptp(drawn.values[name]) for name in known):
        return float(drawn.chains)
    if condition is not None and isinstance(side, Interval) and drawn.values.keys() & set(condition.parameters):
        return drawn.effective(condition.name, side.low, side.high, behind)
    correlated = min([1.0, drawn.weight_share, *(drawn.share(each) for each in behind.intersection(drawn.values))])
    rare = None if condition is None or side is None else source.rare(condition, side)
    if rare is not None:
        above = source.network.graph.ancestral(condition.parameters if condition is not None else ())
        return rare.size * min([correlated, *(drawn.share(each) for each in above.intersection(drawn.values))])
    every = drawn.size(np.arange(drawn.draws)) if condition is None else drawn.sum_of_weights * share
    return every * correlated


def _behind(network: DensityNetwork, driving: Iterable[str]) -> frozenset[str]:
    """Return the parameters that columns depend on, up to those that have draws."""
    known = frozenset[str]() if network.drawn is None else network.drawn.parameters
    found, todo = set[str](), list(driving)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += () if name in known else network.parameters[name].parents
    return frozenset(found)


def size_refusal(
    source: AnswerSource, condition: Condition | None, side: SecretSide | None, size: float | None
) -> Refusal | None:
    """Return why too few draws of a posterior lie in a secret, or None if there are enough."""
    if size is None or not isinstance(source, AnswerSampler) or source.believed is None:
        return None
    drawn, name = source.believed, "the model" if condition is None else condition.name
    own = condition is None or bool(drawn.values.keys() & set(condition.parameters))
    where = name if side is None else f"{name} in {side_words(side)}"
    if _is_number(source, condition, side) and own:
        return None  # a single value is refused for what it is
    if size < LEAST_EFFECTIVE:
        return Refusal(
            required=f"draws of the posterior in a secret must be worth {LEAST_EFFECTIVE} independent ones",
            found=f"{where}: {_worth(size)} of {drawn.draws:,}",
            remedy=_more(drawn.draws, size),
            headline=_headline(where, drawn.draws, size, LEAST_EFFECTIVE),
        )
    decided = _tail_refusal(source, condition, side, where)
    if decided is not None:
        return decided
    wanted, confidence = source.sampling.draws, source.sampling.confidence
    if confidence is not None and not own:
        return Refusal(
            required="with a confidence what is protected needs draws of its own",
            found=f"none of {name}, below draws of others",
            remedy="Leave out the confidence, for an estimate, or pass draws of it too.",
        )
    if confidence is not None and size < wanted:
        return Refusal(
            required="with a confidence every draw of the posterior is used once, so that tables are independent",
            found=f"{where}: {_worth(size)} for {wanted:,} tables",
            remedy=f"Draw fewer tables: network.with_sampling(draws={math.floor(size)}, confidence={confidence:g}). "
            f"{_more(drawn.draws, size, wanted)}",
            headline=_headline(where, drawn.draws, size, wanted),
        )
    return None


def _tail_refusal(
    source: AnswerSampler, condition: Condition | None, side: SecretSide | None, where: str
) -> Refusal | None:
    """Return why a few weights decide a law, or None if draws count alike or the largest do not."""
    for weights in _weights(source, condition, side):
        shape, most = tail_shape(weights), largest_shape(int(np.count_nonzero(weights)))
        if not shape <= most:
            return Refusal(
                required=f"the largest weights of draws must not decide: their Pareto shape must be at most {most:.2f}",
                found=f"{where}: {shape:.2f}, so that weights of draws that were not met may count for more",
                remedy="Pass draws of a distribution that is wider where the weights are large, or draws of the "
                "parameter that "
                "is protected, or choose an interval in which its density is bounded.",
            )
    return None


def _weights(source: AnswerSampler, condition: Condition | None, side: SecretSide | None) -> list[FloatArray]:
    """Return the weights that a law given a secret rests on; none where all draws count alike."""
    rare = None if condition is None or side is None else source.rare(condition, side)
    if rare is not None:
        return [rare.weights, rare.by_draw]
    drawn = source.believed
    if drawn is None or drawn.weights is None:
        return []
    if condition is not None and isinstance(side, Interval) and drawn.values.keys() & set(condition.parameters):
        return [drawn.weights[drawn.inside(condition.name, side.low, side.high)]]
    return [drawn.weights]


def _is_number(source: AnswerSampler, condition: Condition | None, side: SecretSide | None) -> bool:
    """Return whether a secret is one value of a parameter that may be any number."""
    if condition is None or not isinstance(side, Interval) or side.low < side.high:
        return False
    found = [source.network.parameters[name] for name in condition.parameters]
    return bool(found) and all(parameter.states is None for parameter in found)


def _worth(size: float) -> str:
    return f"draws worth {number_text(size)}"


def _headline(where: str, draws: int, size: float, wanted: int) -> str:
    few = f"{math.floor(size):,} useful draw{'s' * (math.floor(size) != 1)}" if size else "No draw"
    take = f"take {_take(draws, size, wanted):,} of the posterior" if size else "choose a more probable secret"
    return f"{few} of {where} where {wanted:,} are needed: {take}"


def _take(draws: int, size: float, wanted: int = LEAST_EFFECTIVE) -> int:
    """Return of how many draws so many of a secret would be useful, where of `draws` there are `size`."""
    return math.ceil(draws * wanted / size)


def _more(draws: int, size: float, wanted: int = LEAST_EFFECTIVE) -> str:
    if size == 0:
        return (
            "No draw lies in it: choose a wider or a more probable interval, or pass draws of a distribution that is "
            "wider there with log_weights=."
        )
    return (
        f"Take about {_take(draws, size, wanted):,} draws of the posterior, choose a wider interval, or pass "
        "draws of a distribution that is wider there with log_weights=."
    )


def draws_needed(network: DensityNetwork, name: str, low: float, high: float) -> int:
    """Return how many draws of the posterior, such as there are, a secret takes: that a parameter is in a range.

    Raises
    ------
    NetworkError
        If it is not read as a belief from draws of that parameter, or none of them is in the range.
    """
    drawn = network.drawn
    believed = drawn is not None and drawn.reading == "belief" and name in drawn.values
    size = drawn.effective(name, low, high, _behind(network, _driving(network))) if drawn and believed else 0.0
    if drawn is None or not size:
        raise NetworkError(
            "draws are counted in a range of a parameter of a belief that has some there",
            found=f"none of {name!r} from {low:g} to {high:g}",
            remedy="Choose a wider range." if believed else 'Read the model with reading="belief" and draws of it.',
        )
    return _take(drawn.draws, size)


MOST_FORETOLD = 100
"""Parameters of which it is foretold how much of the posterior a secret must hold: chains are long."""


def foretold(network: DensityNetwork) -> str:
    """Return how much of a posterior must lie in a secret, about, for its draws to be enough; empty without a belief.

    A secret holds a share of the draws, of which as many are independent as of the parameter, and of those that drive
    the columns, which are asked about.
    """
    drawn = network.drawn
    if drawn is None or drawn.reading == "models":
        return ""
    names = [name for name in network.attributes if name in drawn.values][:MOST_FORETOLD]
    behind = [name for name in names if name in _behind(network, _driving(network))]
    every = drawn.size(np.arange(drawn.draws)) * min([1.0, drawn.weight_share, *map(drawn.share, behind)])
    worth = {name: min(every, drawn.draws * drawn.share(name)) for name in names}
    shares: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: -worth[name]):
        enough = worth[name] >= LEAST_EFFECTIVE
        share = f"about {upper_percent(LEAST_EFFECTIVE / worth[name])}" if enough else "more than all"
        shares.setdefault(share, []).append(name)
    told = [f"{share} ({some_text(members, 2)})" for share, members in shares.items()]
    shown = and_text(told if len(told) < 4 else [*told[:2], told[-1]])
    return (
        f"{LEAST_EFFECTIVE} useful draws, that is of these {drawn.draws:,} {shown}. "
        "network.draws_needed(name, low, high) counts how many yours takes."
    )


def _driving(network: DensityNetwork) -> frozenset[str]:
    return drivers(network, network.reading.columns)


def shared_refusal(sources: Iterable[AnswerSource]) -> Refusal | None:
    """Return why the laws of two models carry no confidence together: both lie below the same draws."""
    believed = [source.believed for source in sources if source.sampling.confidence is not None]
    drawn = [each for each in believed if each is not None]
    if not any(first.shares(second) for first, second in itertools.combinations(drawn, 2)):
        return None
    return Refusal(
        required="with a confidence the two models of a pair need draws of their own",
        found="the same draws of a posterior below both",
        remedy="Give every model other draws, each used once, or leave out the confidence, for an estimate.",
    )


def confidence_refusal(network: DensityNetwork) -> Refusal | None:
    """Return why laws from draws of a posterior carry no confidence, or None if they do."""
    drawn = network.drawn
    if drawn is None or drawn.reading == "models" or network.sampling.confidence is None:
        return None
    if drawn.log_weights is not None:
        return Refusal(
            required="a confidence needs draws of the posterior itself",
            found="weighted draws of another distribution",
            remedy="Leave out the confidence, for an estimate.",
        )
    if drawn.posterior.independent:
        return None
    return Refusal(
        required="a confidence needs independent draws of the posterior",
        found="draws of Markov chains, which depend on each other",
        remedy="Leave out the confidence, for an estimate, or pass draws of a conjugate posterior with "
        "independent=True.",
    )


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
