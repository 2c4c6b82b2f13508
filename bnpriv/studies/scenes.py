"""Which two secrets a rehearsal plays, and what answers are made up from: one registration for each notion."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import Protocol, TypeVar, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.attacks.guesser import Answers, Guesser, Settings, known_noise, settings
from bnpriv.attacks.learned import learnable, told_apart
from bnpriv.attacks.likelihood_ratio import right_along
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, Refusal, SecretError
from bnpriv.evidence.conditions import OfParameter
from bnpriv.evidence.constraints import Constraint
from bnpriv.evidence.counts import Counts
from bnpriv.evidence.dataset import network_record_law
from bnpriv.evidence.draws import parameter_sampler, sampled_laws
from bnpriv.evidence.laws import laws
from bnpriv.evidence.normal import NormalLaws
from bnpriv.evidence.normal_columns import NormalColumnLaws
from bnpriv.evidence.sampled import SampledConstraint, SampledLaws, SampledPair, conditioned
from bnpriv.evidence.structural import influences
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.pairs import DistributionPrivacy
from bnpriv.frameworks.value import ValuePrivacy
from bnpriv.laws.binomial import binomial_logs
from bnpriv.laws.normal import Normal
from bnpriv.laws.whole import WholeLaw
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.chain_decision import ChainDecision
from bnpriv.networks.base import Network
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import no_tables, require_discrete
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Noise
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.queries.asked import stack
from bnpriv.queries.normal_form import NormalForm, normal_form
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import BETWEEN, SecretPair
from bnpriv.secrets.values import Interval, IntervalPair
from bnpriv.studies.answers import Draw, OfChain, OfForward, OfLaw, OfRecords, even, law_given, part_of, told_by_step
from bnpriv.studies.made_up import require_forward, unknown_notion
from bnpriv.studies.parameters import require_laws
from bnpriv.studies.records import step_laws

LEARNED_ANSWERS = 2000
"""Answers under each secret from which a guesser learns, who has no formula for their laws."""

AnyConstraint = TypeVar("AnyConstraint", Constraint, SampledConstraint)
"""What one protected attribute asks: laws that are known, or what is drawn to learn them."""


class Scene(Protocol):
    """Two secrets, answers under each of them, and a guesser."""

    @property
    def protected(self) -> str:
        """The protected attribute."""
        ...

    @property
    def pair(self) -> Pair:
        """The two secrets."""
        ...

    @property
    def model(self) -> int:
        """The index of the model in Theta."""
        ...

    def require(self, noise: Noise) -> None:
        """Refuse noise that the guesser does not know."""
        ...

    def exact(self, side: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers under the first (0) or the second (1) secret, of shape (draws, outputs)."""
        ...

    def guessed(
        self, first: FloatArray, second: FloatArray, noise: Noise, random: np.random.Generator
    ) -> tuple[float, tuple[str, ...]]:
        """Return how often the guess is right on released answers, and where it is not exact."""
        ...


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A scene whose guesser learns both laws from other made-up answers.

    Parameters
    ----------
    protected : str
    pair : Pair
    model : int
    sides : tuple of two Draw
        What draws the answers under each secret.
    """

    protected: str
    pair: Pair
    model: int
    sides: tuple[Draw, Draw]

    def require(self, noise: Noise) -> None:
        """Refuse noise whose density is not known."""
        learnable(noise)

    def exact(self, side: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers, of shape (draws, outputs)."""
        return self.sides[side](draws, random)

    def guessed(
        self, first: FloatArray, second: FloatArray, noise: Noise, random: np.random.Generator
    ) -> tuple[float, tuple[str, ...]]:
        """Return how often the guess is right, and that it was learned; along one direction it is the best one."""
        one, other = (side.law if isinstance(side, OfLaw) else None for side in self.sides)
        if isinstance(noise, DirectionalLaplace) and isinstance(one, Normal) and isinstance(other, Normal):
            best = right_along((first, second), one, other, noise)
            if best is not None:
                return best, ()
        learned = self.sides[0](LEARNED_ANSWERS, random), self.sides[1](LEARNED_ANSWERS, random)
        said = (
            f"The guesser learned both laws from {LEARNED_ANSWERS:,} other made-up answers under each secret; who "
            "knows them may be right more often, up to what the guarantee allows."
        )
        return told_apart((first, second), learned, learnable(noise)), (said,)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Computed:
    """A scene over parameters with finitely many states, whose guesser weighs all combinations of them."""

    protected: str
    pair: Pair
    model: int
    settings: Settings
    answers: Answers = field(repr=False)

    def require(self, noise: Noise) -> None:
        """Refuse noise whose density is not known."""
        if not isinstance(noise, Channel):
            known_noise(noise)

    def exact(self, side: int, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers, of shape (draws, outputs), for parameters drawn given a secret."""
        counts = random.multinomial(draws, (self.settings.first, self.settings.second)[side])
        drawn = [
            self.answers.draw(self.settings.states(int(k)), int(counts[k]), random) for k in np.flatnonzero(counts)
        ]
        return random.permutation(np.concatenate(drawn))

    def guessed(
        self, first: FloatArray, second: FloatArray, noise: Noise, random: np.random.Generator
    ) -> tuple[float, tuple[str, ...]]:
        """Return how often the guess is right, and what of it is approximate."""
        if isinstance(noise, Channel):
            return self._learned.guessed(first, second, noise, random)
        guesser = Guesser(settings=self.settings, answers=self.answers, noise=known_noise(noise))
        correct, complete = guesser.correct(first, second)
        said: list[str] = []
        if self.answers.approximate:
            which = checks.listing(self.answers.approximate, 3)
            said.append(f"Sums of values ({which}) were drawn from normal laws with exact mean and covariance.")
        if not complete:
            said.append("The guesser knows the likeliest combinations of parameter states only: there are too many.")
        return correct, tuple(said)

    @property
    def _learned(self) -> Learned:
        """Return the scene whose guesser learns the laws, for what is no density around an exact answer."""
        sides = (partial(self.exact, 0), partial(self.exact, 1))
        return Learned(protected=self.protected, pair=self.pair, model=self.model, sides=sides)


@singledispatch
def scene_of(framework: Framework, calibration: Calibration) -> Scene:
    """Return the two secrets that need the most noise, and how answers under them are made up.

    Raises
    ------
    BnprivError
        If no law of the answer follows from what is declared.
    """
    raise unknown_notion(framework, "a rehearsal")


@scene_of.register
def _(framework: DistributionalAttributePrivacy, calibration: Calibration) -> Scene:
    return of_parameters(framework.network, framework, calibration)


@singledispatch
def of_parameters(network: object, framework: DistributionalAttributePrivacy, calibration: Calibration) -> Scene:
    """Return the scene for one kind of network of parameters; by default from its tables."""
    exact = require_discrete(framework.network, "a rehearsal")
    query = calibration.query
    if exact.forward is not None and isinstance(laws(framework, query), SampledLaws):
        return _forward(framework, exact.forward, calibration, {})
    form = normal_form(query, framework.schema)
    require_laws(framework, sorted(query.columns))
    protected, pair, model = _decided_states(framework, calibration)
    return Computed(
        protected=protected,
        pair=pair,
        model=model,
        settings=settings(framework, query.columns, protected, pair, model),
        answers=Answers(framework=framework, form=form),
    )


def _decided_states(framework: Framework, calibration: Calibration) -> tuple[str, SecretPair, int]:
    """Return the attribute, pair and model that decided the noise, or that the queried columns tell most about."""
    for decision in calibration.certificate.decisions[:1]:
        pair = getattr(decision, "pair", None)
        if isinstance(pair, SecretPair):
            return decision.protected, pair, decision.model
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    columns = calibration.query.columns
    refusal = evidence.covers(columns)
    if refusal is not None:
        raise refusal.error()
    driven = {name: evidence.driven(columns, name) for name in evidence.secrets}
    told = {name: evidence.influence(columns - driven[name], name) for name in evidence.secrets}
    name = max(told, key=lambda name: (bool(driven[name]), float(told[name])))
    pair = told[name].pair
    if pair is None:
        raise SecretError(
            f"some pair of secrets of {name!r} must have positive probability",
            found="none in any model",
            remedy="Correct the table of the protected attribute, or choose other secrets.",
        )
    return name, cast(SecretPair, pair), told[name].model


@of_parameters.register
def _(network: GaussianNetwork, framework: DistributionalAttributePrivacy, calibration: Calibration) -> Scene:
    evidence = laws(framework, calibration.query)
    if isinstance(evidence, (NormalLaws, NormalColumnLaws)):
        return _of_normals(framework, evidence, calibration)
    forward = require_forward(network)
    return _forward(framework, forward, calibration, _near(network, framework))


@of_parameters.register
def _(network: DensityNetwork, framework: DistributionalAttributePrivacy, calibration: Calibration) -> Scene:
    return _forward(framework, network, calibration, {})


def _near(network: GaussianNetwork, framework: DistributionalAttributePrivacy) -> dict[str, IntervalPair]:
    """Return for every attribute whose values are hidden by their distance two narrow intervals around its mean."""
    found: dict[str, IntervalPair] = {}
    for name, pairs in framework.secrets.items():
        if any(isinstance(pair, IntervalPair) for pair in pairs):
            continue
        middle, spread = float(network.mean[0][network.attributes.index(name)]), float(network.deviation(name)[0])
        half = min(pairs[0].farthest, 4 * spread) / 2
        width = half / 4
        first = Interval(middle - half, middle - half + width)
        found[name] = IntervalPair(first, Interval(middle + half - width, middle + half))
    return found


def _forward(
    framework: DistributionalAttributePrivacy,
    network: DensityNetwork,
    calibration: Calibration,
    near: Mapping[str, IntervalPair],
) -> Scene:
    evidence = sampled_laws(framework, network, calibration.query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    constraint, decided = _decided(evidence.asked, calibration)
    if not isinstance(constraint.pairs, Refusal):
        return _of_sampled(constraint.pairs, constraint, decided)
    sampler = parameter_sampler(framework, network, calibration.query)
    condition = OfParameter(network.parameters[constraint.protected])
    return _of_sampled([conditioned(sampler, condition, near[constraint.protected])], constraint, decided)


def _of_drawn(evidence: SampledLaws, calibration: Calibration) -> Scene:
    """Return the scene of laws that are learned from draws, whichever notion they are for."""
    constraint, decided = _decided(evidence.asked, calibration)
    if isinstance(constraint.pairs, Refusal):
        raise constraint.pairs.error()
    return _of_sampled(constraint.pairs, constraint, decided)


def _of_sampled(pairs: Sequence[SampledPair], constraint: SampledConstraint, decided: str) -> Scene:
    """Return the scene of the pair that decided the noise, or of the first, among pairs that are drawn."""
    wanted = next((each for each in pairs if each.label == decided), pairs[0])
    sides = OfForward(wanted.first), OfForward(wanted.second)
    return Learned(protected=constraint.protected, pair=wanted.pair, model=constraint.model, sides=sides)


@scene_of.register
def _(framework: ValuePrivacy, calibration: Calibration) -> Scene:
    return of_values(framework.network, framework, calibration)


@singledispatch
def of_values(network: Network, framework: ValuePrivacy, calibration: Calibration) -> Scene:
    """Return the scene for single values; one registration for each kind of model."""
    raise no_tables(network, "a rehearsal")


@of_values.register
def _(network: DiscreteNetwork, framework: ValuePrivacy, calibration: Calibration) -> Scene:
    form = normal_form(calibration.query, framework.schema)
    protected, pair, model = _decided_states(framework, calibration)
    schema, query = framework.schema, calibration.query
    rest = network_record_law(network, schema, query, None, model), _one(schema.records - 1)
    given = (law_given(network, schema, query, protected, side, model) for side in (pair.first, pair.second))
    first, second = (OfRecords(form, ((law, _one(1)), rest), ONE_CHOICE) for law in given)
    return Learned(protected=protected, pair=pair, model=model, sides=(first, second))


ONE_CHOICE = np.ones(1)


def _one(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([count], dtype=np.int64)


@of_values.register
def _(network: MarkovChain, framework: ValuePrivacy, calibration: Calibration) -> Scene:
    form = normal_form(calibration.query, framework.schema)
    other = sorted(calibration.query.columns - {network.column})
    if other:
        raise FrameworkError(
            "an answer is made up from the law of every queried column, and the chain is the law of one",
            found=f"none for {listing(other)}",
            remedy=f"Ask about {network.column!r} alone.",
        )
    decisions = calibration.certificate.decisions
    decision = decisions[0] if decisions and isinstance(decisions[0], ChainDecision) else None
    part = int(np.argmax(network.length)) if decision is None else network.length.index(decision.quilt.length)
    step = network.length[part] // 2 if decision is None else decision.quilt.step - 1
    model = 0 if decision is None else decision.model
    passed = step_laws(part_of(network, network.length[part]), step, model)
    told = told_by_step(network, form, passed, model)
    possible = np.flatnonzero(passed[-1] > 0).tolist()
    if len(possible) < 2:
        raise SecretError(
            "two values must be possible at the step that is rehearsed",
            found="one",
            remedy="Correct the transition matrix or the start.",
        )
    a, b = max(itertools.combinations(possible, 2), key=lambda two: float(np.abs(told[two[0]] - told[two[1]]).sum()))
    states = network.state_space[a], network.state_space[b]
    sides = [OfChain(chain=network, form=form, model=model, part=part, step=step, state=state) for state in states]
    pair = SecretPair(frozenset({states[0]}), frozenset({states[1]}))
    return Learned(protected=network.column, pair=pair, model=model, sides=(sides[0], sides[1]))


def _of_normals(framework: Framework, evidence: NormalLaws | NormalColumnLaws, calibration: Calibration) -> Scene:
    """Return the scene of normal laws: of the two values that decided the noise, and are the farthest apart."""
    constraint, decided = _constraint(framework, calibration)
    first, second = (Interval(value, value) for value in evidence.values(constraint.protected, constraint.model))
    scene = _of_pairs(constraint, decided)
    return replace(scene, pair=IntervalPair(first, second))


@scene_of.register
def _(framework: DatasetAttributePrivacy, calibration: Calibration) -> Scene:
    evidence = laws(framework, calibration.query)
    if isinstance(evidence, (NormalLaws, NormalColumnLaws)):
        return _of_normals(framework, evidence, calibration)
    if isinstance(evidence, SampledLaws):
        return _of_drawn(evidence, calibration)
    constraint, decided = _constraint(framework, calibration)
    network = require_discrete(framework.network, "a rehearsal")
    secret, model = framework.protect[constraint.protected], constraint.model
    asked = stack(secret.property, calibration.query)
    both = network_record_law(network, framework.schema, asked, framework.column_laws, model)
    values = [int(value) for value in np.unique(both.columns[0])]
    if len(values) > 2:
        return _of_pairs(constraint, decided)
    scale = normal_form(secret.property, framework.schema).wholes()[0]
    counts = Counts.of(scale, framework.schema.records, *values)
    chosen = counts.pairs(secret)
    log_low, log_high = (both.log_mass([value]) for value in values)
    logs, _ = binomial_logs(counts.n, log_high, log_low)
    if chosen is None:
        steps = counts.apart(secret, None)[0][-1]
        low = min(max(int(np.argmax(logs)) - steps // 2, 0), counts.n - steps)
        sides = frozenset({low}), frozenset({low + steps})
    else:
        sides = max(chosen.values(), key=lambda two: max(abs(a - b) for a in two[0] for b in two[1]))
    form = normal_form(calibration.query, framework.schema)
    given = both.given([values[1]]), both.given([values[0]])
    first, second = (_of_counts(form, given, counts.n, sorted(side), logs) for side in sides)
    pair = SecretPair(*(frozenset({counts.text(side)}) for side in sides))
    return Learned(protected=constraint.protected, pair=pair, model=model, sides=(first, second))


def _of_counts(
    form: NormalForm, given: tuple[WholeLaw, WholeLaw], n: int, members: Sequence[int], logs: FloatArray
) -> OfRecords:
    """Return answers given how many records count: those that do and those that do not have a law each."""
    count = np.array(members, dtype=np.int64)
    return OfRecords(form, ((given[0], count), (given[1], n - count)), even(logs[count]))


@scene_of.register
def _(framework: DistributionPrivacy, calibration: Calibration) -> Scene:
    evidence = laws(framework, calibration.query)
    if isinstance(evidence, SampledLaws):
        return _of_drawn(evidence, calibration)
    constraint, decided = _constraint(framework, calibration)
    pair = framework.secrets[constraint.protected][constraint.model]
    networks = [side for side in framework.pairs[constraint.model] if isinstance(side, DiscreteNetwork)]
    if not networks:
        return replace(_of_pairs(constraint, decided), pair=pair)
    query, schema = calibration.query, framework.schema
    form, count = normal_form(query, schema), _one(schema.records)
    sides = [
        OfRecords(form, ((network_record_law(network, schema, query), count),), ONE_CHOICE) for network in networks
    ]
    return Learned(protected=constraint.protected, pair=pair, model=constraint.model, sides=(sides[0], sides[1]))


def _constraint(framework: Framework, calibration: Calibration) -> tuple[Constraint, str]:
    """Return what asked for the most noise, with the pair of secrets in words; the first where nothing did."""
    evidence = laws(framework, calibration.query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    return _decided(evidence.constraints(), calibration)


def _decided(listed: Sequence[AnyConstraint], calibration: Calibration) -> tuple[AnyConstraint, str]:
    """Return the constraint that asked for the most noise, with the pair in words; the first where none did."""
    for decision in calibration.certificate.decisions[:1]:
        for each in listed:
            if (each.protected, each.model) == (decision.protected, decision.model):
                return each, str(getattr(decision, "pair", ""))
    return listed[0], ""


def _of_pairs(constraint: Constraint, decided: str) -> Learned:
    """Return the scene of exact laws: the pair that decided the noise, or the first."""
    if isinstance(constraint.pairs, Refusal):
        raise constraint.pairs.error()
    found = next((each for each in constraint.pairs if each.pair == decided), constraint.pairs[0])
    first, _, second = found.pair.partition(BETWEEN)
    pair = SecretPair(frozenset({first}), frozenset({second or f"not {first}"}))
    sides = OfLaw(found.first), OfLaw(found.second)
    return Learned(protected=constraint.protected, pair=pair, model=constraint.model, sides=sides)
