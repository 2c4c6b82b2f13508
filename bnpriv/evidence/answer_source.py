"""What draws answers: the members that it has, and one that draws from an exact law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.evidence.conditions import Condition, SecretSide
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.draws import Draws
from bnpriv.laws.normal import Normal
from bnpriv.networks.density import Sampling
from bnpriv.networks.parameter_draws import ParameterDraws

DrawsBySecret = dict[SecretSide | None, Draws]
"""Draws of the answer for each of several secrets; under None those without a condition."""


class AnswerSource(Protocol):
    """Draws answers to one query, of whole tables."""

    @property
    def sampling(self) -> Sampling:
        """How many are drawn, and from which seed."""
        ...

    @property
    def believed(self) -> ParameterDraws | None:
        """The draws of a posterior whose law is that of the parameters; None if there are none."""
        ...

    def reseeded(self, draws: int, seed: int) -> AnswerSource:
        """Return the same with so many draws from another seed."""
        ...

    def answers(self, condition: Condition | None, sides: Sequence[SecretSide | None]) -> DrawsBySecret:
        """Return independent draws of the answer given each of several secrets; None for no condition."""
        ...


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ExactSampler:
    """Draws answers from their exact law, where the other side of a pair is drawn.

    Parameters
    ----------
    law : Atoms
        Of the answer, one atom for each double that is released.
    sampling : Sampling
    place : int
        Which of several distributions it is, counted from 1.
    """

    law: Atoms
    sampling: Sampling
    place: int

    believed = None

    def reseeded(self, draws: int, seed: int) -> ExactSampler:
        """Return the same with so many draws from another seed."""
        return replace(self, sampling=replace(self.sampling, draws=draws, seed=seed))

    def answers(self, condition: Condition | None, sides: Sequence[SecretSide | None]) -> DrawsBySecret:
        """Return independent draws of the answer; there is no condition."""
        random = np.random.default_rng([self.sampling.seed, *words("distribution"), self.place])
        drawn = drawn_from(self.law, self.sampling.draws, random)
        return dict.fromkeys(sides, Draws(drawn, seed=self.sampling.seed))


def drawn_from(law: Atoms | Normal, draws: int, random: np.random.Generator) -> FloatArray:
    """Independent draws from a law, of shape (draws, outputs)."""
    if isinstance(law, Normal):
        return random.multivariate_normal(law.mean, law.covariance, size=draws)
    weights = law.probabilities / law.probabilities.sum()
    return law.points[random.choice(law.size, size=draws, p=weights)]


def words(text: str) -> tuple[int, ...]:
    """Return a text as numbers that a seed can be made of."""
    data = text.encode()
    return (len(data), *(int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)))
