"""Influence: how much a set of columns tells about a protected attribute, for every kind of network."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray, Kind
from bnpriv.core.columns import State
from bnpriv.core.gaussian_curve import gaussian_excess, gaussian_mu
from bnpriv.core.networks.base import Network, own_names, require_network
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.secrets import Declared, Pair, pairs_of
from bnpriv.errors import BnprivError, NetworkError, Refusal, SecretError
from bnpriv.kind import kind_of
from bnpriv.progress import progress
from bnpriv.services import service
from bnpriv.shown import HasCard
from bnpriv.text import name_text, number_text, set_text, some_text, times_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnpriv.render.document import Document
    from bnpriv.render.figures import TwoCurves

# --------------------------------------------------------------------------------------------------
# Privacy losses: the whole law of the log ratio of what columns tell about a secret, not only its maximum.
# --------------------------------------------------------------------------------------------------

LEAST_MARGIN = 1e-9
"""In nats. A smaller margin would be mostly rounding error of the influence, so that such a quilt is not used."""

MOST_LOSSES = 2**20
"""The most cells, over all pairs and models, whose losses are kept."""

GATHERED_WIDTH = 2.0**-11
"""Width of the grid of ratios that cells are gathered on, near 0; it grows in proportion to larger ratios."""

SHIFT_HALVINGS = 60
"""Halvings of the interval of shifts; the private end is used."""


class PrivacyLosses(Protocol):
    """The law of the privacy loss of a set of columns about a protected attribute."""

    def excess(self, epsilon: float, law: ContinuousNoise = ..., shift: FloatArray | float = ...) -> FloatArray:
        """The hockey-stick divergence of the columns together with a noisy number, of shape (models, pairs).

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the columns alone.
        """
        ...

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest private shift in scales of the noise, of shape (models, pairs); -inf where none is private."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """The law of the privacy loss given the first secret, for every model and ordered pair.

    Parameters
    ----------
    ratios : ndarray of shape (models, pairs, cells)
        Upper bounds of log P(cell | first) - log P(cell | second); inf where the second secret rules the cell out.
    masses : ndarray of shape (models, pairs, cells)
        Upper bounds of P(cell | first).
    possible : ndarray of shape (models, pairs)
        False where a secret has probability zero, so that the pair is no constraint.
    """

    ratios: FloatArray
    masses: FloatArray
    possible: NDArray[np.bool_]

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """The hockey-stick divergence at `epsilon` of the cells together with a noisy number.

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the cells alone.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.possible.shape)[..., np.newaxis]
        left = epsilon - self.ratios
        finite = np.where(np.isfinite(left), left, 0.0)
        # the level is lowered by its rounding: the divergence falls in it, so the result stays an upper bound
        level = np.where(np.isfinite(left), finite - 8 * UNIT_ROUNDOFF * (epsilon + np.abs(finite) + moved), left)
        curve = gaussian_excess(moved, level) if law == "gaussian" else laplace_excess(moved, level)
        total = (self.masses * curve).sum(axis=2) * (1 + (self.ratios.shape[2] + 64) * UNIT_ROUNDOFF)
        return np.where(self.possible, np.minimum(total, 1.0), 0.0)

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            Both above 0.
        law : {"laplace", "gaussian"}

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the cells alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.possible.shape, epsilon, delta, law)
        if law == "laplace":
            # what the largest ratio leaves of epsilon is a shift that is private with delta 0; bisection may miss it
            pure = (epsilon - np.maximum(self.ratios.max(axis=2), 0.0)) * (1 - 2.0**-51)
            low = np.maximum(low, np.where(pure >= 0, pure, -np.inf))
        return np.where(self.possible, low, np.inf)


def gathered(losses: Losses) -> Losses:
    """Losses on fewer cells that tell at least as much, and hardly more.

    Every cell is split between the two nearest points of a grid of ratios, so that both secrets keep its probability.
    That tells no less: whoever forgets which of the two points was seen is left with the cell.

    Parameters
    ----------
    losses : Losses

    Returns
    -------
    Losses
        The same for few cells.

    Examples
    --------
    >>> ratios, masses = np.linspace(-1, 1, 100_000), np.full(100_000, 1e-5)
    >>> many = Losses(ratios=ratios[None, None], masses=masses[None, None], possible=np.ones((1, 1), dtype=np.bool_))
    >>> few = gathered(many)
    >>> few.ratios.size, bool(0 <= few.excess(0.3) - many.excess(0.3) < 1e-7)
    (3614, True)
    """
    models, pairs, cells = losses.ratios.shape
    if cells * GATHERED_WIDTH <= 4:  # a grid has a few thousand points: too few cells to gain anything
        return losses
    flat = zip(losses.ratios.reshape(-1, cells), losses.masses.reshape(-1, cells), strict=True)
    rows = [_on_grid(ratios, masses) for ratios, masses in flat]
    most = max(len(ratios) for ratios, _ in rows)
    ratios, masses = (
        np.stack([np.pad(row[side], (0, most - len(row[side]))) for row in rows]).reshape(models, pairs, most)
        for side in (0, 1)
    )
    return Losses(ratios=ratios, masses=masses, possible=losses.possible)


def _on_grid(ratios: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split each cell's mass over two grid points, never lowering the loss: both secrets keep its probability."""
    held = np.isfinite(ratios) & (masses > 0)
    ratio, mass = ratios[held], masses[held]
    # the grid is even in arcsinh: nearly even around ratio 0, geometric in the tails
    place = np.floor(np.arcsinh(ratio) / GATHERED_WIDTH).astype(np.int64)
    low, high = np.sinh(place * GATHERED_WIDTH), np.sinh((place + 1) * GATHERED_WIDTH)
    # m = a + b under one secret and m exp(-r) = a exp(-high) + b exp(-low) under the other, solved for a
    above = mass * np.clip(np.expm1(low - ratio) / np.expm1(low - high), 0.0, 1.0)
    points, at = np.unique(np.concatenate([place, place + 1]), return_inverse=True)
    total: FloatArray = np.bincount(at, weights=np.concatenate([mass - above, above])).astype(np.float64) * (
        1 + (ratios.size + 16) * UNIT_ROUNDOFF
    )
    # an infinite ratio shows the secret whatever the noise is: its mass is kept as it is
    endless = masses[np.isposinf(ratios)].sum() * (1 + ratios.size * UNIT_ROUNDOFF)
    grid: FloatArray = np.sinh(points.astype(np.float64) * GATHERED_WIDTH)
    return np.append(grid, np.inf), np.append(total, endless)


@dataclass(frozen=True, eq=False)
class PureLosses:
    """Losses of which only the maximum is known, and not how rare it is.

    Parameters
    ----------
    values : ndarray of shape (models, pairs)
        Upper bounds of the loss in nats; -inf where a pair is no constraint.
    """

    values: FloatArray

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """An upper bound on the divergence of the columns together with a noisy number, as in `Losses.excess`.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.values.shape)
        alone = gaussian_excess if law == "gaussian" else laplace_excess
        # if the log ratio never exceeds a value, epsilon minus that value is left for the noise
        told = alone(moved, np.where(np.isneginf(self.values), epsilon, epsilon - self.values))
        return np.where(np.isneginf(self.values), 0.0, told)

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """The largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the columns alone may tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.values.shape, epsilon, delta, law)
        return np.where(np.isneginf(self.values), np.inf, low)


class Excess(Protocol):
    """The hockey-stick divergence of what is told together with a noisy number, as in `Losses.excess`."""

    def __call__(self, epsilon: float, law: ContinuousNoise = ..., shift: FloatArray | float = ...) -> FloatArray:
        """The divergence for every model and pair."""
        ...


def private_shifts(
    excess: Excess, shape: tuple[int, ...], epsilon: float, delta: float, law: ContinuousNoise
) -> FloatArray:
    """The largest shifts whose divergence is at most `delta`, rounded down; -inf where there is none."""
    low, high = np.zeros(shape), np.full(shape, largest_shift(epsilon, delta, law))
    for _ in range(SHIFT_HALVINGS):
        middle = (low + high) / 2
        private = excess(epsilon, law, middle) <= delta
        low, high = np.where(private, middle, low), np.where(private, high, middle)
    # where the columns alone pass delta, no noise on the answer helps
    return np.where(excess(epsilon, law) <= delta, low, -np.inf)


def largest_shift(epsilon: float, delta: float, law: ContinuousNoise) -> float:
    """The shift that is private where the cells tell nothing, an upper limit on every private shift."""
    if law == "gaussian":
        return gaussian_mu(epsilon, delta)
    return (epsilon - 2 * math.log1p(-delta)) * (1 + 8 * UNIT_ROUNDOFF)


def laplace_excess(shift: FloatArray, epsilon: FloatArray) -> FloatArray:
    """The privacy curve of Laplace noise of scale 1 shifted by `shift`, at levels of either sign.

    Examples
    --------
    >>> laplace_excess(np.array([1.0, 1.0, 0.0]), np.array([0.5, 2.0, -np.inf])).round(6).tolist()
    [0.221199, 0.0, 1.0]
    """
    inside = np.abs(np.expm1(np.minimum((epsilon - shift) / 2, 0.0)))
    return np.where(epsilon <= -shift, np.abs(np.expm1(np.minimum(epsilon, 0.0))), inside)


# --------------------------------------------------------------------------------------------------
# The max-influence of a set of columns on a protected attribute, as one value for every kind of network.
#
# What differs from kind to kind of network is asked of its `bnpriv.kind.NetworkKind`.
# --------------------------------------------------------------------------------------------------

NOTHING_TOLD = Refusal(
    required="there must be something to compare",
    found="columns that tell nothing",
    remedy="Ask about columns that depend on the protected attribute.",
)


@dataclass(frozen=True, kw_only=True)
class GridLevel:
    """One step of a refinement of grids.

    Parameters
    ----------
    points : int
        Of every axis in integrals.
    depth : float
        How much less probable, in logs, the ends of the axes are than the most probable values.
    influence : float
        The largest log ratio found.
    change : float
        By how much it differs from the step before; infinite at the first.
    lost : float
        How far the densities on the grid are from summing to one, at worst.
    """

    points: int
    depth: float
    influence: float
    change: float
    lost: float

    def __str__(self) -> str:
        change = "" if math.isinf(self.change) else f", change {self.change:.2g}"
        return f"{self.points} points, depth {self.depth:g}: {self.influence:.9g}{change}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Influence(HasCard):
    """The max-influence of a set of columns on a protected attribute.

    ``float(influence)`` is an upper bound in nats: seeing the columns moves the log odds between two protected secrets
    by at most this. 0 means that they tell nothing, inf that nothing bounds it.

    Parameters
    ----------
    columns : frozenset of str
        The set that was asked about.
    protected : str
        The protected attribute.
    frontier : tuple of str
        The members of `columns` that the others do not separate from `protected`; they alone carry the influence.
    pairs : tuple of Pair
        The pairs of secrets.
    values : ndarray of shape (models, pairs)
        Upper bounds in nats; -inf where a secret of the pair has probability zero under the model, so that the pair is
        no constraint.
    error : float
        Largest error of the values in nats: ``values - 2 * error`` is a lower bound where the kind is "exact".
    kind : {"exact", "certified", "estimate"}
        "certified" when an upper bound stands in, because a table would have been too large, or because no single
        model or secret need attain it; "estimate" when it was found on grids.
    pair : Pair or None
        The pair about which the columns tell most; None when no pair is a constraint.
    model : int
        The index in Theta of the model under which they do.
    network : Network
        The network that was asked.
    details : object
        What the kind of network keeps for the losses, the laws and the words of the influence; None where it needs
        nothing.
    assignment : mapping from str to state
        The values of the frontier that attain the maximum; empty where there is no such witness.
    history : tuple of tuple of GridLevel
        For every pair the steps of a refinement of grids; empty where none was needed.
    settled : bool
        False where a refinement ended before the values were stable: then they are infinite.
    how : str
        In words how the values were found: "exact", or why they are a bound or an estimate.
    too_large : str
        Where a bound stands in for tables that would be too large: their cells, of how many there may be.
    unknown : Refusal or None
        Why nothing is known of what the columns tell, where the values are infinite for that reason.
    """

    columns: frozenset[str]
    protected: str
    frontier: tuple[str, ...]
    pairs: tuple[Pair, ...]
    values: FloatArray
    error: float
    kind: Kind
    pair: Pair | None
    model: int
    network: Network
    details: Any = None
    assignment: Mapping[str, State] = field(default_factory=dict[str, State])
    history: tuple[tuple[GridLevel, ...], ...] = ()
    settled: bool = True
    how: str = "exact"
    too_large: str = ""
    unknown: Refusal | None = None

    @cached_property
    def bound(self) -> Bound:
        """The largest influence over models and pairs, in nats, between its ends."""
        top = max(0.0, float(np.max(self.values, initial=0.0)))
        # the values were rounded up by `error`, and may themselves be too high by as much
        low = top if np.isinf(top) else max(0.0, top - 2 * self.error)
        return Bound(low if self.kind == "exact" else 0.0, top, self.kind)

    def __float__(self) -> float:
        return self.bound.upper

    @property
    def mu(self) -> float | None:
        """The largest Mahalanobis distance between the laws of the columns under two secrets; None unless Gaussian."""
        return kind_of(self.network).mu(self)

    @property
    def over_draws(self) -> tuple[float, float, float] | None:
        """The influence that half, 95 % and all of the posterior draws stay below, in nats; None without draws."""
        drawn = self.network.posterior_draws
        return None if drawn is None or drawn.belief or self.unknown is not None else draw_points(self.values)

    @property
    def dropped(self) -> tuple[tuple[Pair, int], ...]:
        """The pairs, with the model, that are no constraint because a secret has probability zero."""
        models, columns = np.nonzero(np.isneginf(self.values))
        return tuple((self.pairs[int(k)], int(model)) for model, k in zip(models, columns, strict=True))

    @cached_property
    def losses(self) -> PrivacyLosses | Refusal:
        """The whole law of the privacy loss, or why it is not known; computed when it is first asked for."""
        try:
            return kind_of(self.network).losses(self)
        except BnprivError as error:
            return Refusal.of(error)

    def delta(self, epsilon: float) -> float | Refusal:
        """The hockey-stick divergence of what the columns tell, at the worst model and pair.

        Parameters
        ----------
        epsilon : float
            Above 0.

        Returns
        -------
        float or Refusal
            No event is more than ``delta`` above ``exp(epsilon)`` times as probable under one secret as under the
            other; rounded up.

        Raises
        ------
        ParameterError
            If `epsilon` is no number above 0.
        """
        level = checks.epsilon(epsilon)
        # noise takes what is not known for everything; to say so would make a finding of it
        losses = self.losses if self.unknown is None else self.unknown
        if isinstance(losses, Refusal):
            return losses
        # without noise both curves agree; for normal laws the Gaussian one has a closed form
        told = losses.excess(level) if self.mu is None else losses.excess(level, "gaussian")
        return float(np.max(told, initial=0.0))

    def explain(self) -> str:
        """What attains the influence, in words (probabilities, open paths, rows of the tables), or its steps."""
        return kind_of(self.network).explain(self)

    def conditional(self, column: str | None = None) -> TwoCurves | Refusal:
        """The law of one column's parameter given each of the two secrets that are told apart best.

        Parameters
        ----------
        column : str, optional
            A member of the frontier; by default its first.

        Returns
        -------
        TwoCurves or Refusal
            A refusal where nothing is told, or the laws cannot be computed.

        Raises
        ------
        NetworkError
            If `column` is not in the frontier.
        """
        if column is not None and self.frontier:
            checks.member("a column", column, self.frontier, error=NetworkError)
        if not self.frontier:
            return NOTHING_TOLD
        if self.unknown is not None:
            return self.unknown
        if self.pair is None:
            return Refusal(
                required="there must be something to compare",
                found="secrets of probability zero only",
                remedy="Choose other secrets.",
            )
        try:
            return kind_of(self.network).conditional(self, column or self.frontier[0])
        except BnprivError as error:
            return Refusal.of(error)

    def plot_secrets(self, column: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the law of one column's parameter given each of the two secrets; with the extra `plot`.

        Parameters
        ----------
        column : str, optional
            A member of the frontier; by default its first.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        NetworkError
            If `column` is not in the frontier.
        RefusedError
            If there are no such laws, as `conditional` says.
        """
        return service("influence.plot_secrets")(self, column, ax)

    def plot_draws(self, ax: Axes | None = None) -> Axes:
        """Draw how many of the models tell how much; with the extra `plot`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return service("influence.plot_draws")(self, ax)

    def __repr__(self) -> str:
        told = f"{float(self):.6g} nats" if self.mu is None else f"mu = {number_text(self.mu)}"
        told = told if self.unknown is None else "not known"
        ended = "" if self.settled else ", not settled"
        return visible(f"Influence({set_text(self.columns)} on {self.protected}: {told}, {self.kind}{ended})")

    @property
    def document(self) -> Document:
        """How much is told, how well that is known, and how it is told, as a document."""
        return service("influence.document")(self)


def tells(columns: Collection[str]) -> str:
    """The verb that agrees with so many columns."""
    return "tells" if len(columns) <= 1 else "tell"


def plain_text(influence: Influence) -> str:
    """How much is told, in one sentence."""
    return f"{some_text(influence.columns, nothing='An empty set of columns')} {told_text(influence)}."


def bound_text(influence: Influence) -> str:
    """How much is told, in one sentence, and what that means where it is a certified bound."""
    said = plain_text(influence)
    if influence.kind != "certified":
        return said
    large = f" Too large for an exact value: {influence.too_large}." if influence.too_large else ""
    return f"{said}\nThis is a proved bound: the columns tell no more, and may tell less.{large}"


def told_text(influence: Influence) -> str:
    """How much is told about what, as the end of a sentence that begins with the columns."""
    verb, told, name = tells(influence.columns), float(influence), name_text(influence.protected)
    bound = influence.kind == "certified"
    if influence.unknown is not None:
        return f"may tell anything about {name}: how much is not known"
    if math.isinf(told):
        if influence.pair is not None and math.isinf(influence.pair.farthest):
            return f"{'may' if bound else 'can'} rule out a secret of {name} altogether"
        return f"{verb} about {name} without bound"
    if told == 0:
        return f"{verb} nothing about {name}"
    moves, most = verb.replace("tell", "move"), "at most" if bound else "up to"
    return f"{moves} the odds about {name} by {most} {times_text(told)}"


def influence_of(network: object, columns: Iterable[str], protected: str, pairs: Sequence[Pair]) -> Influence:
    """The influence of columns for given pairs of secrets, in the way of the network's kind.

    Parameters
    ----------
    network : network
        Of any kind.
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    pairs : sequence of Pair
        As the kind of network counts them: every ordered pair of states; of values each pair once.

    Returns
    -------
    Influence
        As `max_influence`; infinite, with the reason in `Influence.unknown`, where nothing is known.

    Raises
    ------
    NetworkError
        If a name is unknown, `protected` is among `columns`, or the kind of network is not known.
    SizeError
        If a table would pass the limit and no cheaper bound holds.
    """
    return kind_of(network).influence(network, columns, protected, pairs)


def asked_columns(network: Network, columns: Iterable[str], protected: str) -> frozenset[str]:
    """The columns that are asked about, checked.

    Raises
    ------
    NetworkError
        If a name is unknown or `protected` is among them.
    """
    asked = checks.subset("columns", columns, network.attributes, error=NetworkError)
    if network.require(protected) in asked:
        raise NetworkError(
            "the columns must not hold the protected attribute",
            found=repr(protected),
            remedy="Ask about the other columns; a column tells everything about itself.",
        )
    return asked


def worst_place(sizes: FloatArray) -> tuple[int, int]:
    """The model and the pair of the largest entry of an array of shape (models, pairs)."""
    model, k = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(model), int(k)


def draw_points(values: FloatArray) -> tuple[float, float, float]:
    """The influence that half, 95 % and all of the models stay below, from values of shape (models, pairs).

    Examples
    --------
    >>> draw_points(np.array([[0.1], [0.4], [0.2], [0.3]]))
    (0.2, 0.4, 0.4)
    """
    told = np.sort(np.maximum(values.max(axis=1), 0.0))
    half, most, every = (float(told[math.ceil(share * told.size) - 1]) for share in (0.5, 0.95, 1.0))
    return half, most, every


# --------------------------------------------------------------------------------------------------
# The public function that computes the influence in a network of any kind.
# --------------------------------------------------------------------------------------------------


def max_influence(network: Network, columns: Iterable[str], protected: str, pairs: Declared | None = None) -> Influence:
    """The max-influence of a set of attributes on a protected one.

    Parameters
    ----------
    network : network
        Of any kind: one or several models, or all within intervals.
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    pairs : SecretPairs, Apart or IntervalPairs, optional
        The pairs of secrets: ``bnpriv.pairs(...)`` of states, where all pairs are the default; ``bnpriv.apart(...)``
        or ``bnpriv.intervals(...)`` where the attribute may be any number.

    Returns
    -------
    Influence
        The largest log ratio P(columns = q | a) / P(columns = q | b) over assignments, pairs and models, with the
        whole law of that ratio (`Influence.delta`) where it is known.

    Raises
    ------
    NetworkError
        If a name is unknown, `protected` is among `columns`, or a density that is needed is missing.
    SecretError
        If the secrets do not fit, or all have probability zero.
    SizeError
        If a table would pass the limit and no cheaper bound holds.

    Notes
    -----
    Definition of max-influence: Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD
    2017), definition 4.1; see docs/claims/max_influence.md for the frontier and the independent parts, and
    intervals.md, gaussian_network.md, quadrature.md and markov_chain.md there for other kinds of networks.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> influence = max_influence(network, {"sat"}, "income")
    >>> round(float(influence), 6)
    1.386294
    >>> str(influence.pair), dict(influence.assignment)
    ('low against high', {'sat': 'low'})

    In a linear-Gaussian network no factor bounds the odds, but a large factor is improbable:

    >>> linear = bp.types.GaussianNetwork.linear(
    ...     {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
    ... )
    >>> told = max_influence(linear, {"sat"}, "income", bp.apart(at_most=5))
    >>> float(told), round(told.mu, 6), round(told.delta(0.5), 6)
    (inf, 0.1, 0.0)
    """
    require_network(network)
    protected = network.require(protected)
    with progress("computing what columns tell"):
        influence = influence_of(network, own_names(network, columns), protected, pairs_of(network, protected, pairs))
    if influence.pair is None:
        raise impossible_secrets(protected)
    if influence.unknown is not None:
        why = influence.unknown
        raise NetworkError(why.required, found=why.found, remedy=why.remedy)
    return influence


def impossible_secrets(protected: str) -> SecretError:
    """The refusal of secrets all of whose pairs are impossible in every model."""
    return SecretError(
        f"some pair of secrets of {protected!r} must have positive probability",
        found="none in any model",
        remedy="Correct the table of the protected attribute, or choose other secrets.",
    )
