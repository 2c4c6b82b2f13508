"""What the rest of a chain's column tells about one value of it, exactly and from the spectrum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import subset
from bnpriv.core.influence.base import Influence, PureLosses, plain_text, worst_place
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import NetworkError, Refusal
from bnpriv.kind import FurtherTable, kind_of
from bnpriv.kinds.chain.network import LEAST, MarkovChain
from bnpriv.kinds.chain.search import ChainQuilt, ExactInfluence, Step, chain_scale, stationary_error, together
from bnpriv.text import name_text, number_text, times_text

# --------------------------------------------------------------------------------------------------
# A bound of the influence from the spectrum of the transition matrix: cheap, looser, for chains that mix.
# --------------------------------------------------------------------------------------------------

EIGENVALUE_MARGIN = 1e-10
"""Added to eigenvalues, with the error of the stationary law: far above the error of their computation."""


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
        required = "the spectral bound needs a stationary distribution without probabilities that are all but zero"
        return Refusal(required=required, found="a smaller one than doubles hold", remedy=remedy)
    return None


def _second(symmetric: FloatArray, margin: float) -> float:
    """The second largest absolute eigenvalue, rounded up."""
    ordered = np.sort(np.abs(np.linalg.eigvalsh(symmetric)))
    found = float(ordered[-2]) if len(ordered) > 1 else 0.0
    return min(1.0, found + margin)


# --------------------------------------------------------------------------------------------------
# What the rest of a chain's column tells about one value of it: all of it is in the values just before and after.
# --------------------------------------------------------------------------------------------------

KNOWN = 1e-9
"""Error of an influence in nats below which it is called exact."""

NO_CHAIN_CONDITIONALS = Refusal(
    required="the distribution of a column given a secret must be that of one value",
    found="a column of many values, which depend on each other",
    remedy="Use explain(), which names the values before and after that tell most.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChainContext:
    """What the rest of a chain tells about the values at some steps, at most.

    Parameters
    ----------
    first, last : int
        The steps, counted from 1, of a chain of `length` steps.
    length : int
    told : ndarray of shape (states, states)
        Upper bounds in nats for every ordered pair of states; -inf where a pair is no constraint.
    error : float
        By how much finite entries can be too large.
    sure : bool
        Whether infinite entries are so, and not for lost digits or for laws that are not known.
    """

    first: int
    last: int
    length: int
    told: FloatArray
    error: float
    sure: bool

    def __str__(self) -> str:
        of = f"of {self.length:,}"
        return f"step {self.first:,} {of}" if self.first == self.last else f"steps {self.first:,} to {self.last:,} {of}"


def chain_losses(influence: Influence) -> PureLosses:
    """What follows from the largest loss alone; how rare it is depends on the step."""
    return PureLosses(influence.values)


def explain_place(influence: Influence) -> str:
    """The steps at which most is told, which `details` holds, and about which two values."""
    if influence.details is None or influence.pair is None or not influence.frontier:
        return plain_text(influence)
    (name,) = influence.columns
    return (
        f"The rest of {name} moves the odds about one value of it by up to {times_text(influence.bound.upper)}: most "
        f"at {influence.details}, about {influence.pair}.\n"
        "Given the values just before and after, all others tell nothing more."
    )


def no_conditional(influence: Influence, column: str) -> Refusal:
    """Why there are no laws to compare."""
    return NO_CHAIN_CONDITIONALS


def chain_influence(
    network: MarkovChain, columns: Iterable[str], protected: str, pairs: Sequence[SecretPair]
) -> Influence:
    """What the other values of its column tell about one: the columns are that column itself."""
    asked = subset("columns", columns, network.attributes, error=NetworkError)
    network.require(protected)
    border = kind_of(network).frontier(network, protected, asked)
    places = [list(_places(network, model)) for model in range(network.models)]
    if not border:
        places = [[_silent(place) for place in found] for found in places]
    rows = [[_of_pair(network, pair, found) for pair in pairs] for found in places]
    values = np.array([[value for value, _ in row] for row in rows])
    values.flags.writeable = False
    error = max((place.error for found in places for place in found), default=0.0) if border else 0.0
    sure = all(place.sure for found in places for place in found) or not bool(np.isposinf(values).any())
    exact = sure and error <= KNOWN and all(pair.is_point for pair in pairs)
    possible = not bool(np.isneginf(values).all())
    model, k = worst_place(values)
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=error if exact else 0.0,
        kind="exact" if exact else "certified",
        pair=pairs[k] if possible else None,
        model=model if possible else 0,
        network=network,
        details=rows[model][k][1],
        how="exact, by the values just before and after" if exact else "a bound by the values just before and after",
    )


def _silent(place: ChainContext) -> ChainContext:
    told = np.where(np.isneginf(place.told), -np.inf, 0.0)
    return replace(place, told=told, error=0.0, sure=True)


def _of_pair(
    network: MarkovChain, pair: SecretPair, places: Sequence[ChainContext]
) -> tuple[float, ChainContext | None]:
    """Return the largest influence over the steps, and where; a set of states tells no more than some two of them."""
    states = network.states[network.column]
    cells = np.ix_(*([states.index(state) for state in side] for side in (pair.first, pair.second)))
    best: tuple[float, ChainContext | None] = -np.inf, None
    for place in places:
        value = float(place.told[cells].max())
        if value > best[0]:
            best = value, place
    return best


def _places(chain: MarkovChain, model: int) -> Iterator[ChainContext]:
    """Yield what the rest of the chain tells about its steps, those together that are not told apart."""
    exact = ExactInfluence(chain, model)
    matrix = chain.matrix(model)
    kept_digits = not bool(np.any((matrix > 0) & (matrix < LEAST)))
    for length in sorted(set(chain.length), reverse=True):
        for step in exact.steps(length):
            known = kept_digits and (chain.start == "any" or not bool(np.isposinf(step.odds).any()))
            for first, last in _alike(step, length):
                error = step.error + 4 * exact.factors.error(1)
                told = _told(exact, step, before=first > 1, after=last < length)
                yield ChainContext(first=first, last=last, length=length, told=told, error=error, sure=known)


def _alike(step: Step, length: int) -> list[tuple[int, int]]:
    """Return the steps that have values on both sides; of the ends of the chain those about which more is not told."""
    inner = max(step.first, 2), min(step.last, length - 1)
    if inner[0] <= inner[1]:
        return [inner]  # the same laws with one side missing tell no more
    return [(end, end) for end in dict.fromkeys((step.first, step.last))]


def _told(exact: ExactInfluence, step: Step, *, before: bool, after: bool) -> FloatArray:
    """Return what the values just before and after tell, for every ordered pair of states."""
    nothing = np.where(np.isneginf(step.odds), -np.inf, 0.0)
    left = exact.left(step, 1).reshape(nothing.shape) if before else nothing
    right = exact.right(step, 1).reshape(nothing.shape) if after else nothing
    both = together(cast(FloatArray, left), cast(FloatArray, right))
    return np.where(np.isneginf(nothing), -np.inf, np.maximum(both, 0.0))


# --------------------------------------------------------------------------------------------------
# What is known of chains only: what neighbouring values tell, and the noise at other epsilons.
# --------------------------------------------------------------------------------------------------

DISTANCES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Distances of the values whose influence is shown."""

FORGOTTEN = 1e-6
"""Influences of more distant values than the first that tells less are not shown."""

NOISE_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Budgets for which the noise is shown."""


def chain_tables(network: MarkovChain) -> tuple[FurtherTable, ...]:
    """What neighbouring values tell, and the noise at other epsilons."""
    exact = [ExactInfluence(network, model) for model in range(network.models)]
    return (_neighbours(network, exact), _noises(network, exact))


def _bounds(chain: MarkovChain, *, published: bool) -> list[SpectralBound]:
    if spectral_refusal(chain):
        return []
    return [SpectralBound.of(chain, model, published=published) for model in range(chain.models)]


def _neighbours(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    """Return influences at a step in the middle, where both sides are there."""
    length = max(chain.length)
    middle = (length + 1) // 2
    bounds = _bounds(chain, published=False)
    rows: list[tuple[int, float, float]] = []
    for distance in DISTANCES:
        if distance >= middle or distance > length - middle:
            break
        told = max(_at(each, length, middle, distance) for each in exact)
        rows.append((distance, told, max((_at(each, length, middle, distance) for each in bounds), default=np.inf)))
        if told < FORGOTTEN:
            break
    return FurtherTable(
        title="What the values before and after tell about the one between",
        intro=(
            "A value is hidden together with its neighbours: the values some steps before and after it still tell "
            "something about it, in nats; the noise hides those between, with what is left of epsilon."
        ),
        header=("steps away", "exact", "spectral bound"),
        rows=tuple(rows),
    )


def _at(told: ExactInfluence | SpectralBound, length: int, place: int, distance: int) -> float:
    step = next(group for group in told.steps(length) if group.first <= place <= group.last)
    return max(0.0, float(together(told.left(step, distance), told.right(step, distance)).max()))


def _noises(chain: MarkovChain, exact: list[ExactInfluence]) -> FurtherTable:
    spectral, published = (_bounds(chain, published=form) for form in (False, True))
    rows: list[tuple[str | int | float, ...]] = []
    for epsilon in NOISE_EPSILONS:
        quilts = [quilt for told in exact if (quilt := chain_scale(chain.length, epsilon, told)) is not None]
        if not quilts:
            continue
        worst = max(quilts, key=lambda quilt: quilt.score)
        least = [_least(chain, epsilon, told) for told in (spectral, published)]
        rows.append((epsilon, worst.score, *least, worst.near, _sides(worst)))
    return FurtherTable(
        title="Noise per unit of sensitivity",
        intro="For how many records the noise must stand at other epsilons, at the step that needs the most.",
        header=("epsilon", "exact", "spectral", "as published", "values hidden", "quilt"),
        rows=tuple(rows),
        finding="".join(_finding(chain, float(row[1])) for row in rows if row[0] == 1.0),
    )


def _finding(chain: MarkovChain, score: float) -> str:
    column = name_text(chain.column)
    return f"One value of {column} hides behind noise for {number_text(score)} records at epsilon 1"


def _least(chain: MarkovChain, epsilon: float, told: list[SpectralBound]) -> float:
    found = [chain_scale(chain.length, epsilon, each) for each in told]
    return max((quilt.score for quilt in found if quilt is not None), default=np.inf)


def _sides(quilt: ChainQuilt) -> str:
    sides = [("before", quilt.before), ("after", quilt.after)]
    return " and ".join(f"{distance:,} {side}" for side, distance in sides if distance is not None) or "none"
