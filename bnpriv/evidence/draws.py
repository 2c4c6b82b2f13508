"""Law evidence over a network that is known by forward draws: the law of the answer is learned from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

from bnpriv.checks import listing
from bnpriv.errors import BnprivError, Refusal
from bnpriv.evidence.believed import confidence_refusal, effective_of, sizes_refusal
from bnpriv.evidence.constraints import Constraint, DrawFacts, LawPair
from bnpriv.evidence.forward import AnswerSampler
from bnpriv.evidence.sums import rounding_of
from bnpriv.frameworks import DistributionalAttributePrivacy
from bnpriv.frameworks.digest import first_digest
from bnpriv.laws.draws import Draws, gathered
from bnpriv.networks import DensityNetwork, Parameter, Sampling, drivers
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.secrets.values import ContinuousPair, Interval, IntervalPair, of_values
from bnpriv.tables.schema import Categorical, Schema

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


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledLaws:
    """The laws of an answer given that a protected parameter is in an interval, learned from forward draws.

    Parameters
    ----------
    forward : Forward
        Draws the answers, once they are asked for.
    secrets : mapping from str to sequence of pairs
    """

    forward: AnswerSampler
    secrets: Mapping[str, Sequence[ContinuousPair]]

    @property
    def sampling(self) -> Sampling:
        """Return how the laws are learned."""
        return self.forward.network.sampling

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return len(self.forward.form.rows)

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(self.forward.form)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold outside the library."""
        return (WHOLE_TABLES, INDEPENDENT_COLUMNS) if self.forward.independent else (WHOLE_TABLES,)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the pairs that are no constraint because a secret has probability zero."""
        return tuple(
            f"{name}: {pair}, a secret has probability zero"
            for name, pairs in self.secrets.items()
            for pair in pairs
            if isinstance(pair, IntervalPair) and not self._possible(name, pair)
        )

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per protected attribute; the first call draws."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        found: list[Constraint] = []
        for name, pairs in self.secrets.items():
            for model, forward in enumerate(self.samplers):
                laws = self._pairs(forward, name, pairs)
                if isinstance(laws, Refusal) or laws:
                    found.append(Constraint(protected=name, model=model, record=None, pairs=laws))
        return tuple(found)

    @cached_property
    def samplers(self) -> tuple[AnswerSampler, ...]:
        """Return what draws the answers under each model."""
        drawn = self.forward.network.drawn
        if drawn is None or drawn.reading == "belief":
            return (self.forward,)
        return tuple(replace(self.forward, row=k) for k in range(drawn.draws))

    def _pairs(
        self, forward: AnswerSampler, name: str, pairs: Sequence[ContinuousPair]
    ) -> tuple[LawPair, ...] | Refusal:
        chosen = [pair for pair in pairs if isinstance(pair, IntervalPair)]
        if len(chosen) < len(pairs):
            return NO_DISTANCE
        chosen = [pair for pair in chosen if self._possible(name, pair)]
        sides = list(dict.fromkeys(side for pair in chosen for side in (pair.first, pair.second)))
        sizes = {side: effective_of(forward, name, side) for side in sides}
        refusal = sizes_refusal(forward, name, sizes)
        if refusal is not None:
            return refusal
        try:
            drawn = forward.answers(name, sides) if sides else {}
        except BnprivError as error:
            return Refusal.of(error)
        return tuple(self._pair(pair, drawn, sizes) for pair in chosen)

    def _pair(
        self, pair: IntervalPair, drawn: Mapping[Interval, Draws], sizes: Mapping[Interval, float | None]
    ) -> LawPair:
        known = self.sampling
        least = [size for side in (pair.first, pair.second) if (size := sizes[side]) is not None]
        laws = gathered(drawn[pair.first], drawn[pair.second], known.cells)
        return LawPair(
            pair=str(pair),
            first=laws.first,
            second=laws.second,
            rounding=0.0,  # answers are drawn as the doubles that are released
            kind="estimate" if known.confidence is None else "certified",
            sampled=DrawFacts(
                draws=known.draws,
                confidence=known.confidence,
                moved=laws.moved,
                variance=laws.variance,
                drift=laws.drift,
                effective=min(least, default=None),
            ),
        )

    def _possible(self, name: str, pair: IntervalPair) -> bool:
        parameter = self.forward.network.parameters[name]
        return all(_possible(parameter, side) for side in (pair.first, pair.second))


def _possible(parameter: Parameter, side: Interval) -> bool:
    if parameter.states is not None:
        return any(side.low <= state <= side.high for state in parameter.states)
    return side.low <= parameter.upper and side.high >= parameter.lower


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
        columns = sorted(query.columns)
        evidence = SampledLaws(
            forward=AnswerSampler(
                network=network,
                form=normal_form(query, framework.schema),
                columns=tuple(name for name in columns if name in network.reading.columns),
                independent={name: framework.column_laws[name][0] for name in columns if name in framework.independent},
            ),
            secrets={name: of_values(pairs) for name, pairs in framework.secrets.items()},
        )
        if len(evidence.dropped) == sum(map(len, evidence.secrets.values())):
            return Refusal(
                required="some pair of secrets must have positive probability",
                found="none",
                remedy="Choose intervals inside the support of the parameter.",
            )
        known[query] = evidence
    return known[query]


def draws_refusal(
    framework: DistributionalAttributePrivacy, network: DensityNetwork, asked: frozenset[str]
) -> Refusal | None:
    """Return why columns cannot be drawn forward, or None if they can."""
    drawn, independent = network.reading.columns, frozenset(framework.independent)
    missing = sorted(asked.difference(drawn, independent))
    if missing:
        alone = [name for name in missing if name in network.attributes]
        return Refusal(
            required="draws need every queried column to be a column of the model, or declared independent",
            found=listing(alone) + ", a parameter without a column" if alone else listing(missing),
            remedy="Add to the model an observed variable, or a prediction, of that name, with one value per record.",
        )
    known = frozenset[str]() if network.drawn is None else network.drawn.parameters
    loose = frozenset[str]().union(*(network.between(name, asked) for name in framework.secrets))
    refusal = network.refusal(sorted(drivers(network, asked).union(framework.secrets)), known - loose)
    if refusal is not None:
        return refusal
    lawless = sorted(asked.intersection(independent).difference(framework.column_laws))
    if lawless:
        return Refusal(
            required="draws need the law of every queried independent column",
            found=f"none for {listing(lawless)}",
            remedy="Pass laws={column: scipy.stats.norm(mean, sd)}.",
        )
    named = [name for name in sorted(asked.intersection(drawn)) if _in_words(framework.schema, name)]
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
