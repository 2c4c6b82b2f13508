"""Markov chains: one value per step, each depending on the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import FloatArray
from bnpriv.checks import listed, listing, member, text, whole
from bnpriv.core.columns import State
from bnpriv.core.distributions import SUM_TOLERANCE
from bnpriv.core.networks.base import NOTHING_READ, Level, NetworkMethods
from bnpriv.core.networks.graph import Graph
from bnpriv.errors import NetworkError, SizeError
from bnpriv.kind import NetworkKind

Start = Literal["given", "stationary", "any"]

MOST_CHAIN_STATES = 512
"""States of a chain; the influence of a step takes their cube."""

LEAST = 1e-280
"""Probabilities that are smaller, but no true zeros, have lost digits; what rests on them is not used."""

REVERSIBLE = 1e-12
"""Relative difference of the two flows between states that is taken for rounding."""


COLUMN = "value"
"""What the column of a chain is called that was declared without one."""


def _frontier(network: MarkovChain, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
    """The column itself: the other values of it tell about one."""
    return (network.column,) if set(columns) and max(network.length) > 1 else ()


def _stored(chain: MarkovChain, names: Iterable[str], most: int) -> Mapping[str, object]:
    """What a checker replays: transitions and initial law, without rounding, unless they are too many numbers."""
    size = chain.transition.size + chain.initial.size + len(chain.length)
    if size > most:
        return {"chain": {"size": size}}
    facts = {"column": chain.column, "states": list(chain.state_space), "length": list(chain.length)}
    initial = _hex(chain.initial) if chain.start == "given" else chain.start
    return {"chain": {**facts, "transition": _hex(chain.transition), "initial": initial}}


def _hex(laws: FloatArray) -> list[Any]:
    return [float(p).hex() for p in laws] if laws.ndim == 1 else list(map(_hex, laws))


CHAIN_KIND = NetworkKind(
    stored=_stored,
    whole_column=True,
    influence="bnpriv.kinds.chain.column:chain_influence",
    losses="bnpriv.kinds.chain.column:chain_losses",
    explain="bnpriv.kinds.chain.column:explain_place",
    conditional="bnpriv.kinds.chain.column:no_conditional",
    frontier=_frontier,
    extra_tables="bnpriv.kinds.chain.column:chain_tables",
    sampler="bnpriv.lab.sampling.answers:ChainSampler",
    section="bnpriv.io.framework_text:chain_section",
)


@dataclass(frozen=True, eq=False, init=False)
class MarkovChain(NetworkMethods):
    """A Markov chain of known length, or several on the same states (the model class Theta).

    Parameters
    ----------
    transition : array of shape (k, k) or (models, k, k)
        P(next = column | now = row); rows sum to one.
    initial : array of shape (k,) or (models, k), "stationary" or "any"
        The law of the first step; "any" is every law.
    length : int or sequence of int
        Number of steps; several numbers are several independent chains, one after each gap in the record.
    states : sequence of states, optional
        Names of the states; "0", "1", ... by default.
    column : str, optional
        The column that holds the value of every step. A framework gives it the name of its protected column.

    Raises
    ------
    NetworkError
        If shapes do not fit, an entry is negative or not finite, a row or initial law does not sum to 1 within 1e-9,
        or the stationary law is asked for and is not unique.
    SizeError
        If there are more than 512 states.

    Examples
    --------
    >>> chain = MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 100, states=["rest", "walk"])
    >>> chain.stationary.round(3).tolist(), chain.is_reversible.tolist()
    ([[0.5, 0.5]], [True])
    """

    kind = CHAIN_KIND

    transition: FloatArray
    initial: FloatArray
    """The law of the first step; not used where `start` is "any"."""
    length: tuple[int, ...]
    state_space: tuple[State, ...]
    column: str
    start: Start
    """How the initial law is known."""
    declared: tuple[FloatArray, FloatArray | None] = field(repr=False, compare=False)
    """Transitions and initial law as they were declared, from which files are written; None if `start` says it."""

    def __init__(
        self,
        transition: ArrayLike,
        initial: ArrayLike | Literal["stationary", "any"],
        length: int | Sequence[int],
        *,
        states: Sequence[State] = (),
        column: str = COLUMN,
    ) -> None:
        matrices = _laws("transition", transition, 3)
        k = matrices.shape[1]
        if matrices.shape[2] != k:
            raise NetworkError(
                "a transition matrix must be square",
                found=f"shape {matrices.shape[1:]}",
                remedy="Give one row per state.",
            )
        if k > MOST_CHAIN_STATES:
            raise SizeError(
                f"a chain may have at most {MOST_CHAIN_STATES} states", found=str(k), remedy="Merge states."
            )
        names = _names(states) or tuple(str(number) for number in range(k))
        if len(names) != k or len(set(names)) != k:
            raise NetworkError(
                f"a chain of {k} states needs {k} distinct names", found=listing(names), remedy="Name each state once."
            )
        name = text("the column of a chain", column, error=NetworkError)
        vars(self).update(transition=_divided(matrices), state_space=names, column=name, length=_lengths(length))
        start, first = self._start(initial, k)
        law = _divided(first) if start == "given" else first
        declared = (matrices, first if start == "given" else None)
        vars(self).update(start=start, initial=law, declared=declared)

    def _start(self, given: object, k: int) -> tuple[Start, FloatArray]:
        """Return how the initial law is known, and it, as declared where it was given."""
        if isinstance(given, str):
            member("initial", given, ("stationary", "any"), error=NetworkError)
            return ("any", np.full((1, k), 1 / k)) if given == "any" else ("stationary", self.stationary)
        initial = _laws("initial", cast(ArrayLike, given), 2)
        counts = {len(initial), len(self.transition)} - {1}
        if initial.shape[1] != k or len(counts) > 1:
            raise NetworkError(
                f"an initial distribution must have {k} entries, for one model or as many as there are transition "
                "matrices",
                found=f"shape {initial.shape}",
                remedy="Give one probability per state.",
            )
        return "given", initial

    def of_column(self, column: str) -> MarkovChain:
        """Return the same chain as the law of another column."""
        chain = copy(self)
        object.__setattr__(chain, "column", text("the column of a chain", column, error=NetworkError))
        return chain

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the column of the chain, alone: the value of one step."""
        return (self.column,)

    @property
    def states(self) -> Mapping[str, tuple[State, ...]]:
        """Return the states of the column."""
        return {self.column: self.state_space}

    @property
    def graph(self) -> Graph:
        """Return the graph of one step: one node without edges."""
        return Graph({self.column: ()})

    @property
    def level(self) -> Level:
        """Return what a node means: the column in one record."""
        return "records"

    posterior_draws = None
    """None: nothing was drawn."""

    reading = NOTHING_READ
    """Nothing was read."""

    kind_text = "a Markov chain"
    """The kind of network, with its article."""

    def identity(self) -> bytes:
        """Return the laws of all models, the lengths and the states, for a hash."""
        laws = (self.transition.tolist(), self.initial.tolist(), self.start, self.length, self.state_space)
        return repr(laws).encode()

    @property
    def models(self) -> int:
        """Return the number of models in Theta."""
        return max(len(self.transition), len(self.initial))

    @property
    def steps(self) -> int:
        """Return the number of steps of all chains together."""
        return sum(self.length)

    def matrix(self, model: int) -> FloatArray:
        """Return the transition matrix of a model."""
        return self.transition[min(model, len(self.transition) - 1)]

    def first(self, model: int) -> FloatArray:
        """Return the initial law of a model."""
        return self.initial[min(model, len(self.initial) - 1)]

    @cached_property
    def stationary(self) -> FloatArray:
        """Return the stationary law of every model, of shape (models, k), to a relative error of about k^2 roundings.

        Raises
        ------
        NetworkError
            If a model has several.
        """
        return np.stack([_stationary(matrix) for matrix in self.transition])

    def varies(self, model: int) -> bool:
        """Return whether two states are possible at some step under a model."""
        if self.start == "any":
            return len(self.state_space) > 1
        possible = self.first(model) > 0
        for _ in range(min(max(self.length), len(self.state_space) + 1)):  # one state a step comes back to where it was
            if possible.sum() > 1:
                return True
            possible = (self.matrix(model)[possible] > 0).any(axis=0)
        return False

    def limit(self, model: int) -> FloatArray | None:
        """Return the stationary law of a model if it has one alone and every start forgets itself, else None."""
        matrix = self.matrix(model)
        try:
            law = _stationary(matrix)
        except NetworkError:
            return None
        inside = law > 0
        return law if _period(matrix[np.ix_(inside, inside)]) == 1 else None

    @cached_property
    def is_irreducible(self) -> np.ndarray:
        """Return for every model whether each state can be reached from every other."""
        return np.array([len(_classes(matrix)[1]) == 1 for matrix in self.transition])

    @cached_property
    def period(self) -> np.ndarray:
        """Return the period of every model that is irreducible, 0 for the others."""
        return np.array([_period(matrix) if len(_classes(matrix)[1]) == 1 else 0 for matrix in self.transition])

    @cached_property
    def is_reversible(self) -> np.ndarray:
        """Return for every model whether its stationary flows between two states are equal, both ways."""
        flows = self.stationary[:, :, np.newaxis] * self.transition
        back = flows.swapaxes(1, 2)
        return np.all(np.abs(flows - back) <= REVERSIBLE * np.maximum(flows, back), axis=(1, 2))

    def __repr__(self) -> str:
        chains = "" if len(self.length) == 1 else f", chains={len(self.length)}"
        return (
            f"MarkovChain(states={len(self.state_space)}, steps={self.steps}{chains}, start={self.start!r}, "
            f"models={self.models})"
        )


def _laws(what: str, given: ArrayLike, axes: int) -> FloatArray:
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise NetworkError(f"{what} must hold numbers", found="something else", remedy="Give probabilities.") from None
    array = array[np.newaxis] if array.ndim == axes - 1 else array
    if array.ndim != axes or 0 in array.shape:
        raise NetworkError(
            f"{what} must have {axes - 1} axes, or one for models before them",
            found=f"shape {array.shape}",
            remedy="Give one row per state.",
        )
    if not bool(np.all(np.isfinite(array) & (array >= 0))):
        raise NetworkError(
            f"{what} must hold probabilities", found="a negative entry, nan or inf", remedy="Correct it."
        )
    sums = array.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if bool(off.any()):
        turned = axes == 3 and bool(np.all(np.abs(array.sum(axis=-2) - 1) <= SUM_TOLERANCE))
        raise NetworkError(
            f"every distribution in {what} must sum to 1 within {SUM_TOLERANCE:g}",
            found=f"the sum {float(sums[off][0]):.12g}{', while the columns sum to 1' if turned else ''}",
            remedy="Transpose it: a row is the distribution of the next step."
            if turned
            else "Correct it, or divide by the sum.",
        )
    array.flags.writeable = False
    return array


def _divided(laws: FloatArray) -> FloatArray:
    """Return laws divided by their sums."""
    divided = laws / laws.sum(axis=-1)[..., np.newaxis]
    divided.flags.writeable = False
    return divided


def _names(given: object) -> tuple[State, ...]:
    names = listed(given)
    if names is None or not all(isinstance(name, (str, int, float)) for name in names):
        raise NetworkError(
            "the states of a chain must be a list of texts or numbers",
            found="something else",
            remedy='Write states=["rest", "walk"].',
        )
    return cast("tuple[State, ...]", names)


def _lengths(given: int | Sequence[int]) -> tuple[int, ...]:
    several = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if not several:
        raise NetworkError("a chain needs a length", found="none", remedy="Give the number of steps.")
    return tuple(whole("the length of a chain", each, error=NetworkError) for each in several)


def _classes(matrix: FloatArray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the communicating class of every state, and the members of each."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(matrix > 0, directed=True, connection="strong")
    return label, [np.flatnonzero(label == number) for number in range(count)]


def _stationary(matrix: FloatArray) -> FloatArray:
    """Return the stationary law by elimination of states without any subtraction (Grassmann, Taksar, Heyman 1985)."""
    _, classes = _classes(matrix)
    closed = [inside for inside in classes if not bool((np.delete(matrix[inside], inside, axis=1) > 0).any())]
    if len(closed) != 1:
        raise NetworkError(
            "a chain needs one stationary distribution",
            found=f"{len(closed)} closed classes of states, each with its own",
            remedy="Give the initial distribution, or one chain for each class.",
        )
    inside = closed[0]
    rest = matrix[np.ix_(inside, inside)].copy()
    for n in range(len(rest) - 1, 0, -1):
        rest[:n, n] /= rest[n, :n].sum()
        rest[:n, :n] += np.outer(rest[:n, n], rest[n, :n])
    weights = np.ones(len(rest))
    for n in range(1, len(rest)):
        weights[n] = weights[:n] @ rest[:n, n]
    law = np.zeros(len(matrix))
    law[inside] = weights / weights.sum()
    if not bool(np.all(law[inside] >= LEAST)):
        raise NetworkError(
            f"every stationary probability that is not zero must be at least {LEAST:g}",
            found="a smaller one",
            remedy="Merge states that hardly ever occur.",
        )
    return law


def _period(matrix: FloatArray) -> int:
    """Return the greatest common divisor of the lengths of all cycles."""
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(matrix > 0, 0, directed=True)
    depth = np.zeros(len(matrix), dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[before[state]] + 1
    rows, columns = np.nonzero(matrix > 0)
    return int(np.gcd.reduce(depth[rows] + 1 - depth[columns]))
