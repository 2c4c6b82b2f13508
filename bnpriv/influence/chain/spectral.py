"""A bound of the influence from the spectrum of the transition matrix: cheap, looser, for chains that mix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import Refusal
from bnpriv.influence.chain.steps import Step, stationary_error
from bnpriv.networks.chain import MarkovChain

EIGENVALUE_MARGIN = 1e-10
"""Added to eigenvalues, with the error of the stationary law: far above the error of their computation."""


@final
@dataclass(frozen=True, kw_only=True)
class SpectralBound:
    """Influences bounded by how fast a chain forgets where it was.

    Parameters
    ----------
    decay : float
        D_t = exp(-decay t) / least.
    least : float
        The smallest stationary probability.
    twice : bool
        Whether the left side counts twice, which it need not when the start is stationary.
    """

    decay: float
    least: float
    twice: bool

    @classmethod
    def of(cls, chain: MarkovChain, model: int, *, published: bool) -> SpectralBound:
        """The bound of a chain that is irreducible and aperiodic; `published` gives the form of the paper."""
        matrix = chain.matrix(model)
        law = chain.stationary[min(model, len(chain.stationary) - 1)]
        margin = EIGENVALUE_MARGIN + 4 * stationary_error(len(law))
        root = np.sqrt(law)
        balanced = root[:, np.newaxis] * matrix / root[np.newaxis, :]
        if bool(chain.is_reversible[min(model, len(chain.transition) - 1)]):
            second = _second((balanced + balanced.T) / 2, margin)
            decay = 1 - second if published else -math.log(second) if second > 0 else math.inf
        else:
            second = _second(balanced @ balanced.T, margin)
            decay = (1 - second) / 2 if published else -math.log(second) / 2 if second > 0 else math.inf
        twice = published or chain.start != "stationary"
        return cls(decay=max(decay, 0.0), least=float(law.min()) * (1 - margin), twice=twice)

    @property
    def entries(self) -> int:
        """Return 1: the bound is the same for all pairs of values."""
        return 1

    def steps(self, length: int) -> Iterator[Step]:
        """Yield all steps at once: the bound does not depend on the step."""
        yield Step(first=1, last=length, odds=np.zeros((1, 1)), masks=[np.ones(1, dtype=np.bool_)], error=0.0)

    def right(self, step: Step, b: int) -> FloatArray:
        """The influence of the value `b` steps after."""
        return np.array([self._told(b)])

    def left(self, step: Step, a: int) -> FloatArray:
        """The influence of the value `a` steps before."""
        return np.array([(2 if self.twice else 1) * self._told(a)])

    def _told(self, distance: int) -> float:
        off = math.exp(-self.decay * distance) / self.least * (1 + EIGENVALUE_MARGIN)
        return math.inf if off >= 1 else (math.log1p(off) - math.log1p(-off)) * (1 + EIGENVALUE_MARGIN)


def spectral_refusal(chain: MarkovChain) -> Refusal | None:
    """Why a chain has no spectral bound, or None."""
    remedy = 'Use MarkovChainMechanism(influence="exact").'
    if not bool(chain.is_irreducible.all()):
        required = "the spectral bound needs every state to be reachable from every other"
        return Refusal(required=required, found="a reducible chain", remedy=remedy)
    if bool((chain.period > 1).any()):
        found = f"a chain of period {int(chain.period.max())}"
        return Refusal(required="the spectral bound needs a chain without a period", found=found, remedy=remedy)
    if any(chain.limit(model) is None for model in range(len(chain.transition))):
        required = "the spectral bound needs a stationary law without probabilities that are all but zero"
        return Refusal(required=required, found="a smaller one than doubles hold", remedy=remedy)
    return None


def _second(symmetric: FloatArray, margin: float) -> float:
    """The second largest absolute eigenvalue, rounded up."""
    ordered = np.sort(np.abs(np.linalg.eigvalsh(symmetric)))
    found = float(ordered[-2]) if len(ordered) > 1 else 0.0
    return min(1.0, found + margin)
