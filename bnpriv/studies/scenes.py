"""The game of a rehearsal: two secrets, what draws exact answers under each, and who guesses which one it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, final

import numpy as np

from bnpriv.attacks.learned import learnable, told_apart
from bnpriv.attacks.likelihood_ratio import right_along
from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal
from bnpriv.evidence.answer_source import drawn_from
from bnpriv.evidence.constraints import Constraint, Laws
from bnpriv.evidence.sampled import SampledConstraint, SampledLaws, SampledPair, SampledSide
from bnpriv.laws.normal import Normal
from bnpriv.mechanisms.base import Calibration
from bnpriv.noise.continuous import Noise
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import BETWEEN, SecretPair

LEARNED_ANSWERS = 2000
"""Answers under each secret from which a guesser learns, who has no formula for their laws."""

Draw = Callable[[int, np.random.Generator], FloatArray]
"""From a number of draws to exact answers of shape (draws, outputs)."""

Guessed = tuple[float, tuple[str, ...]]
"""How often a guess is right, and where it is not exact."""

AnyConstraint = TypeVar("AnyConstraint", Constraint, SampledConstraint)
"""What one protected attribute asks: laws that are known, or what is drawn to learn them."""


@final
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
    """

    protected: str
    pair: Pair
    model: int
    sides: tuple[Draw, Draw]
    formula: Callable[[FloatArray, FloatArray, Noise], Guessed | None] = lambda first, second, noise: None
    require: Callable[[Noise], object] = learnable

    def guessed(self, first: FloatArray, second: FloatArray, noise: Noise, random: np.random.Generator) -> Guessed:
        """Who has no formula learns both laws from other made-up answers."""
        known = self.formula(first, second, noise)
        if known is not None:
            return known
        learned = self.sides[0](LEARNED_ANSWERS, random), self.sides[1](LEARNED_ANSWERS, random)
        said = (
            f"The guesser learned both laws from {LEARNED_ANSWERS:,} other made-up answers under each secret; who "
            "knows them may be right more often, up to what the guarantee allows."
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
