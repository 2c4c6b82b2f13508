"""What the rest of a chain's column tells about one value of it: all of it is in the values just before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import subset
from bnpriv.errors import NetworkError, Refusal
from bnpriv.influence.base import Influence, plain_text, worst_place
from bnpriv.influence.chain.search import ExactInfluence, together
from bnpriv.influence.chain.steps import Step
from bnpriv.influence.losses import PureLosses
from bnpriv.kind import kind_of
from bnpriv.networks.chain import LEAST, MarkovChain
from bnpriv.render.text import of_nats, upper_text
from bnpriv.secrets.states import SecretPair

KNOWN = 1e-9
"""Error of an influence in nats below which it is called exact."""

NO_CHAIN_CONDITIONALS = Refusal(
    required="the law of a column given a secret must be that of one value",
    found="a column of many values, which depend on each other",
    remedy="Use explain(), which names the values before and after that tell most.",
)


@final
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
    told = of_nats(upper_text(influence.bound.upper))
    return (
        f"The rest of {name} tells {told} about one value of it: most at {influence.details}, about {influence.pair}.\n"
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
