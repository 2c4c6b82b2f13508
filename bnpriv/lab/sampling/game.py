"""Made-up tables and answers given a secret: what is asked, which game is played, and one sampler a notion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import GAP_MARK, Categorical, State
from bnpriv.core.distributions import Normal
from bnpriv.core.evidence.constraints import Constraint, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.pairs import DistributionPrivacy, draws_tables
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.base import Network, forward_of
from bnpriv.core.networks.discrete import no_tables
from bnpriv.core.noise import Noise
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.queries.contribution import answers, cleaned
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Column, Schema, has_gaps, is_whole
from bnpriv.core.secrets import BETWEEN, Apart, IntervalPair, Pair, SecretPair
from bnpriv.errors import FrameworkError, ParameterError, Refusal, SecretError
from bnpriv.kind import kind_of, loaded, notion_of
from bnpriv.kinds.draws.answers import drawn_from
from bnpriv.kinds.draws.laws import SampledConstraint, SampledLaws, SampledPair, SampledSide
from bnpriv.lab.attacks.likelihood_ratio import right_along
from bnpriv.lab.attacks.shadow import learnable, told_apart
from bnpriv.mechanisms.directional import DirectionalLaplace

# --------------------------------------------------------------------------------------------------
# What a made-up table is to be like, what comes back, and what all that draw one check.
# --------------------------------------------------------------------------------------------------

Assumed = Mapping[str, State | Collection[State]]
"""What is true of some attributes: a state, a number, or several of which one holds."""

MadeUpColumns = Mapping[str, NDArray[Any]]

MOST_NUMBERS_HELD = 2**22
"""Numbers in the tables that are held at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationRequest:
    """What a made-up table is to be like.

    Parameters
    ----------
    records : int
    secret : mapping from str to what is true of an attribute
    model : int
        Index of the model in Theta.
    random : numpy.random.Generator
    """

    records: int
    secret: Assumed
    model: int
    random: np.random.Generator


@dataclass(frozen=True, eq=False)
class MadeUp:
    """A made-up table.

    Parameters
    ----------
    columns : mapping from str to ndarray of shape (records,)
    probability : float, optional
        How probable what was assumed is under the model; None where no model says it.
    """

    columns: MadeUpColumns
    probability: float | None = None

    def __post_init__(self) -> None:
        gaps = {
            name: np.where(values == GAP_MARK, np.nan, values)
            for name, values in self.columns.items()
            if values.dtype == np.float64
        }
        object.__setattr__(self, "columns", {**self.columns, **gaps})


def held(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Values as a column holds them: inside its bounds, whole, or a category."""
    clean = cleaned(column, values)
    if isinstance(column, Categorical):
        return np.array(column.outcomes, dtype=object if has_gaps(column) else None)[clean]
    return clean.astype(np.int64) if is_whole(column) and not has_gaps(column) else clean


def new_seed(random: np.random.Generator) -> int:
    """A seed for a simulator."""
    return int(random.integers(2**62))


def model_index(models: int, model: int) -> int:
    """Return `model` if it is the index of one of so many models.

    Raises
    ------
    ParameterError
        If it is not.
    """
    index = checks.whole("model", model, least=0)
    if index >= models:
        raise ParameterError(
            f"model must be below the number of models, {models}",
            found=checks.shown(index),
            remedy="Count models from 0.",
        )
    return index


def require_nodes(network: Network, schema: Schema) -> None:
    """Refuse a schema with columns that the network says nothing about.

    Raises
    ------
    FrameworkError
    """
    missing = [name for name in schema.columns if name not in network.attributes]
    if missing:
        raise FrameworkError(
            "every simulated column must be a node of the network of records",
            found=f"none for {listing(missing)}",
            remedy="Add the column to the network, without parents if it depends on nothing, or leave it out.",
        )


def one_secret(given: Assumed) -> SecretError:
    """The refusal of several secrets at once."""
    return SecretError(
        "a table is made up with one property given",
        found=f"the properties of {listing(given)}",
        remedy="Assume the value of one of them.",
    )


def zero_probability(found: str, remedy: str) -> SecretError:
    """The refusal of a secret that never holds."""
    return SecretError("the secret must have positive probability", found=found, remedy=remedy)


def states_among(what: str, known: object, states: Iterable[State]) -> tuple[State, ...]:
    """The states that are assumed, one or several, if all of them are among `states`.

    Raises
    ------
    SecretError
        If one is not, or there are none; `what` must name its states, as it says.
    """
    listed = (known,) if isinstance(known, (str, int, float)) else tuple(cast("Iterable[State]", known))
    states = tuple(states)
    unknown = [state for state in listed if state not in states]
    if unknown or not listed:
        raise SecretError(
            f"{what} {listing(states)}",
            found=listing(map(repr, unknown)),
            remedy=checks.spelling(next(iter(unknown), None), states),
        )
    return listed


def ends_of(name: str, known: object, what: str = "a number") -> tuple[float, float]:
    """The ends of the interval in which a number is assumed to lie; both are the number where one is given.

    Raises
    ------
    SecretError
        If it is neither a number nor two ends in order.
    """
    ends: tuple[object, ...] = known, known
    if isinstance(known, Iterable) and not isinstance(known, str):
        ends = tuple(cast("Iterable[object]", known))
    numbers = [checks.number(f"the secret about {name!r}", end, error=SecretError) for end in ends]
    if len(numbers) != 2 or not numbers[0] <= numbers[1]:
        raise SecretError(
            f"the secret about {name!r} must be {what}, or the two ends of an interval",
            found=listing(numbers),
            remedy=f'Write secret={{"{name}": (30, 40)}}.',
        )
    return numbers[0], numbers[1]


# --------------------------------------------------------------------------------------------------
# The game of a rehearsal: two secrets, what draws exact answers under each, and who guesses which one it was.
# --------------------------------------------------------------------------------------------------

LEARNED_ANSWERS = 2000
"""Answers under each secret from which a guesser learns, who has no formula for their laws."""

Draw = Callable[[int, np.random.Generator], FloatArray]
"""From a number of draws to exact answers of shape (draws, outputs)."""

Guessed = tuple[float, tuple[str, ...]]
"""How often a guess is right, and where it is not exact."""

AnyConstraint = TypeVar("AnyConstraint", Constraint, SampledConstraint)
"""What one protected attribute asks: laws that are known, or what is drawn to learn them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackGame:
    """Two secrets, answers under each of them, and a guesser.

    Parameters
    ----------
    protected : str
        The protected attribute.
    pair : Pair
        The two secrets.
    model : int
        The index of the model in Theta.
    sides : tuple of two Draw
        What draws exact answers under each secret.
    formula : callable, optional
        From released answers under either secret, and their noise, to what is guessed by a formula for both laws; None
        where it knows none for such noise.
    require : callable
        Refuses noise that the guesser does not know.
    approximate : callable
        Which numbers of the answers that were drawn so far were drawn from a distribution that is only nearly theirs.
    """

    protected: str
    pair: Pair
    model: int
    sides: tuple[Draw, Draw]
    formula: Callable[[FloatArray, FloatArray, Noise], Guessed | None] = lambda first, second, noise: None
    require: Callable[[Noise], object] = learnable
    approximate: Callable[[], Sequence[str]] = tuple

    def guessed(self, first: FloatArray, second: FloatArray, noise: Noise, random: np.random.Generator) -> Guessed:
        """Who has no formula learns both laws from other made-up answers."""
        known = self.formula(first, second, noise)
        if known is not None:
            return known
        learned = self.sides[0](LEARNED_ANSWERS, random), self.sides[1](LEARNED_ANSWERS, random)
        said = (
            f"The guesser learned both distributions from {LEARNED_ANSWERS:,} other made-up answers under each secret; "
            "who knows them may be right more often, up to what the guarantee allows."
        )
        return told_apart((first, second), learned, learnable(noise)), (said,)


def game_of_laws(evidence: Laws | Refusal, calibration: Calibration, pair: Pair | None = None) -> AttackGame:
    """The game of exact laws: of the pair that decided the noise, or the first; `pair` says it in other words."""
    constraint, decided = constraint_of(evidence, calibration)
    if isinstance(constraint.pairs, Refusal):
        raise constraint.pairs.error()
    found = next((each for each in constraint.pairs if each.pair == decided), constraint.pairs[0])
    if pair is None:
        first, _, second = found.pair.partition(BETWEEN)
        pair = SecretPair(frozenset({first}), frozenset({second or f"not {first}"}))

    def along(first: FloatArray, second: FloatArray, noise: Noise) -> Guessed | None:
        """Along one direction the best guess between normal laws is known."""
        one, other = found.first, found.second
        if not (isinstance(noise, DirectionalLaplace) and isinstance(one, Normal) and isinstance(other, Normal)):
            return None
        right = right_along((first, second), one, other, noise)
        return None if right is None else (right, ())

    return AttackGame(
        protected=constraint.protected,
        pair=pair,
        model=constraint.model,
        sides=(partial(drawn_from, found.first), partial(drawn_from, found.second)),
        formula=along,
    )


def game_of_draws(evidence: SampledLaws, calibration: Calibration) -> AttackGame:
    """The game of laws that are learned from draws, whichever notion they are for."""
    constraint, decided = decided_constraint(evidence.asked, calibration)
    if isinstance(constraint.pairs, Refusal):
        raise constraint.pairs.error()
    return game_of_drawn_pair(constraint.pairs, constraint, decided)


def game_of_drawn_pair(pairs: Sequence[SampledPair], constraint: SampledConstraint, decided: str) -> AttackGame:
    """The game of the pair that decided the noise, or of the first, among pairs that are drawn."""
    wanted = next((each for each in pairs if each.label == decided), pairs[0])
    return AttackGame(
        protected=constraint.protected,
        pair=wanted.pair,
        model=constraint.model,
        sides=(partial(_of_draws, wanted.first), partial(_of_draws, wanted.second)),
    )


def _of_draws(given: SampledSide, draws: int, random: np.random.Generator) -> FloatArray:
    sampler = given.sampler.reseeded(draws, int(random.integers(2**31)))
    return sampler.answers(given.condition, [given.side])[given.side].values.reshape(draws, -1)


def constraint_of(evidence: Laws | Refusal, calibration: Calibration) -> tuple[Constraint, str]:
    """What asked for the most noise, with the pair of secrets in words; the first where nothing did."""
    if isinstance(evidence, Refusal):
        raise evidence.error()
    return decided_constraint(evidence.constraints(), calibration)


def decided_constraint(listed: Sequence[AnyConstraint], calibration: Calibration) -> tuple[AnyConstraint, str]:
    """The constraint that asked for the most noise, with the pair in words; the first where none did."""
    for decision in calibration.certificate.decisions[:1]:
        for each in listed:
            if (each.protected, each.model) == (decision.protected, decision.model):
                return each, str(getattr(decision, "pair", ""))
    return listed[0], ""


# --------------------------------------------------------------------------------------------------
# What draws tables, and answers under two secrets, as a framework declares them: one object a notion, one a kind.
#
# The object of a notion checks what is assumed, and asks the object of the kind of network for what it draws.
# --------------------------------------------------------------------------------------------------

NO_RECORDS = Refusal(
    required="a made-up table needs the distribution of its records",
    found="distributions of the answer alone, which say of no table how probable it is",
    remedy="Declare pairs of record networks, from which the distribution of any answer follows too.",
)


def notion_sampler(framework: object) -> NotionSampler:
    """What draws as a framework declares it, whatever its notion is."""
    return loaded(notion_of(framework).sampler)()


def kind_sampler(network: object) -> KindSampler:
    """What draws from a network, of whatever kind it is."""
    return loaded(kind_of(network).sampler)()


class NotionSampler:
    """Draws as a framework of one notion declares it; a notion that does not say how is refused."""

    def table(self, framework: Any, asked: SimulationRequest) -> MadeUp:
        """A made-up table, given what is assumed.

        Raises
        ------
        BnprivError
            If the law of a column is not declared, or the secret is unknown or has probability zero.
        """
        raise _undrawn(framework, "a made-up table")

    def game(self, framework: Any, calibration: Calibration) -> AttackGame:
        """The two secrets that need the most noise, and what draws answers under them.

        Raises
        ------
        BnprivError
            If no law of the answer follows from what is declared.
        """
        raise _undrawn(framework, "a rehearsal")

    def two_secrets(self, framework: Any, random: np.random.Generator) -> tuple[Assumed, Assumed]:
        """The first pair of secrets that a framework hides, each as `table` takes it.

        Raises
        ------
        SecretError
            If it hides values by their distance.
        """
        name, pairs = next(iter(framework.secrets.items()))
        pair = next(iter(pairs), None)
        if isinstance(pair, SecretPair):
            return {name: pair.first}, {name: pair.second}
        if isinstance(pair, IntervalPair):
            return {name: (pair.first.low, pair.first.high)}, {name: (pair.second.low, pair.second.high)}
        raise SecretError(
            "two secrets must be named where a framework hides values by their distance",
            found=f"none of {name!r}",
            remedy=f'Write secrets=({{"{name}": ...}}, {{"{name}": ...}}), no further apart than is hidden.',
        )


def _undrawn(framework: object, what: str) -> FrameworkError:
    return FrameworkError(
        f"{what} needs a notion of privacy that says how tables are drawn",
        found=checks.type_text(framework),
        remedy="Use one of the frameworks of bnpriv.",
    )


class KindSampler:
    """Draws from a network of one kind, given a secret of each notion; by default it has no tables to draw from."""

    def columns(self, network: Any, schema: Schema, asked: SimulationRequest) -> MadeUpColumns:
        """The columns of a table, of which nothing is assumed."""
        raise no_tables(network, "a made-up table")

    def table_of_parameters(self, framework: DistributionalAttributePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table whose columns are drawn below parameters that are as assumed."""
        raise no_tables(framework.network, "a made-up table")

    def table_of_values(self, framework: ValuePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table of which the record in the middle is as assumed."""
        raise no_tables(framework.network, "a made-up table")

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table that has a property as assumed, one at most."""
        raise no_tables(framework.network, "a made-up table")

    def answers(self, network: Any, schema: Schema, query: Query) -> Draw:
        """What draws answers to tables of which nothing is assumed."""
        raise no_tables(network, "a rehearsal")

    def game_of_parameters(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two secrets of a parameter."""
        raise no_tables(framework.network, "a rehearsal")

    def game_of_values(self, framework: ValuePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of one record."""
        raise no_tables(framework.network, "a rehearsal")

    def game_of_property(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a property of the records."""
        raise no_tables(framework.network, "a rehearsal")


class ParameterSampler(NotionSampler):
    """Tables and answers given a parameter of the network."""

    def table(self, framework: DistributionalAttributePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table whose columns are drawn below parameters that are as assumed."""
        return kind_sampler(framework.network).table_of_parameters(framework, asked)

    def game(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two secrets of a parameter."""
        return kind_sampler(framework.network).game_of_parameters(framework, calibration)


class ValueSampler(NotionSampler):
    """Tables and answers given a single value."""

    def table(self, framework: ValuePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table of which the record in the middle is as assumed."""
        model_index(framework.models, asked.model)
        return kind_sampler(framework.network).table_of_values(framework, asked)

    def game(self, framework: ValuePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of one record."""
        return kind_sampler(framework.network).game_of_values(framework, calibration)


class PropertySampler(NotionSampler):
    """Tables and answers given a property of the table, which is drawn record by record or as a whole."""

    def table(self, framework: DatasetAttributePrivacy, asked: SimulationRequest) -> MadeUp:
        """A table that has a property as assumed."""
        if framework.forward is None:
            require_nodes(framework.network, framework.schema)
        model_index(framework.models, asked.model)
        for name in asked.secret:
            checks.member("a protected column", name, framework.protect, error=SecretError)
        if len(asked.secret) > 1:
            raise one_secret(asked.secret)
        return kind_sampler(framework.forward or framework.network).table_of_property(framework, asked)

    def game(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a property."""
        evidence = laws(framework, calibration.query)
        if isinstance(evidence, SampledLaws):
            return game_of_draws(evidence, calibration)
        return kind_sampler(framework.network).game_of_property(framework, calibration)

    def two_secrets(self, framework: DatasetAttributePrivacy, random: np.random.Generator) -> tuple[Assumed, Assumed]:
        """Of values that are hidden by their distance: that of one made-up table, and one so far away."""
        name, secret = next(iter(framework.protect.items()))
        if not isinstance(secret.pairs, Apart) or secret.of_cells:
            return super().two_secrets(framework, random)
        schema = framework.schema
        asked = SimulationRequest(records=schema.records, secret={}, model=0, random=random)
        columns = self.table(framework, asked).columns
        form = normal_form(secret.property, schema)
        (usual,) = answers(form, {each: columns[each][np.newaxis] for each in secret.property.columns}).ravel()
        (low,), (high,) = answer_range(secret.property, schema)
        far = secret.pairs.at_most
        other = usual + far if usual + far <= high else max(usual - far, low)
        return {name: float(usual)}, {name: float(other)}


class PairSampler(NotionSampler):
    """Tables and answers of declared distributions: record networks, models of whole tables, or laws of an answer."""

    def table(self, framework: DistributionPrivacy, asked: SimulationRequest) -> MadeUp:
        """A table of the distribution that is assumed; of the first side of the pair by default."""
        if not framework.of_records:
            raise NO_RECORDS.error()
        model_index(framework.models, asked.model)
        ((name, pairs),) = framework.secrets.items()
        for given in asked.secret:
            checks.member("what is protected", given, (name,), error=SecretError)
        sides = {
            text: side
            for pair in (pairs[asked.model], *pairs)
            for text, side in zip(pair.sides, (pair.first, pair.second), strict=True)
        }
        known = asked.secret.get(name)
        chosen = () if known is None else states_among("the secret must name states of", known, sides)
        if len(chosen) > 1:
            raise SecretError(
                "a table comes from one distribution", found=listing(chosen), remedy=f'Write secret={{"{name}": ...}}.'
            )
        side: Any = sides[str(chosen[0])] if chosen else next(iter(sides.values()))
        network = forward_of(side) if draws_tables(side) else side
        return MadeUp(kind_sampler(network).columns(network, framework.schema, asked))

    def game(self, framework: DistributionPrivacy, calibration: Calibration) -> AttackGame:
        """The game of two distributions; answers to record networks are drawn record by record."""
        evidence = laws(framework, calibration.query)
        if isinstance(evidence, SampledLaws):
            return game_of_draws(evidence, calibration)
        constraint, _ = constraint_of(evidence, calibration)
        pair = framework.secrets[constraint.protected][constraint.model]
        if framework.sampling is not None or not framework.of_records:
            return game_of_laws(evidence, calibration, pair)
        first, second = (
            kind_sampler(network).answers(network, framework.schema, calibration.query)
            for network in framework.pairs[constraint.model]
        )
        return AttackGame(protected=constraint.protected, pair=pair, model=constraint.model, sides=(first, second))

    def two_secrets(self, framework: DistributionPrivacy, random: np.random.Generator) -> tuple[Assumed, Assumed]:
        """The first pair of distributions."""
        ((name, pairs),) = framework.secrets.items()
        first, second = pairs[0].sides
        return {name: first}, {name: second}
