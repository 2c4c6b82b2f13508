"""What columns tell about a parameter in a linear-Gaussian network: a number mu, and the privacy curve that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind
from bnpriv.divergences.gaussian import gaussian_delta, gaussian_excess, gaussian_mu
from bnpriv.divergences.laplace_normal import laplace_normal_excess
from bnpriv.influence.conditionals import TellsApart, two_normals
from bnpriv.influence.finite import asked_columns, frontier
from bnpriv.influence.losses import Law, laplace_excess, private_shifts
from bnpriv.networks import GaussianNetwork
from bnpriv.render import number_text, set_text
from bnpriv.render.text import visible
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.properties import Apart
from bnpriv.secrets.values import ContinuousPair, IntervalPairs, continuous_secrets_of

if TYPE_CHECKING:
    pass


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GaussianInfluence(TellsApart):
    """What columns tell about a protected parameter of a linear-Gaussian network.

    Given the parameter's value the columns' parameters are normal with a mean that moves with it and a covariance that
    does not. Two values are told apart as well as two normal numbers of deviation 1 that are `mu` apart: no factor
    bounds the odds (the max-influence is infinite unless mu = 0), but a large factor is improbable.

    Parameters
    ----------
    columns : frozenset of str
        The set that was asked about.
    protected : str
        The protected attribute.
    frontier : tuple of str
        The members of `columns` that the others do not separate from `protected`.
    pairs : tuple of ValuesApart or IntervalPair
        The pairs of secrets.
    unit : ndarray of shape (models,)
        Mahalanobis distance between the laws of the columns' parameters under two values that are 1 apart, rounded up.
    network : GaussianNetwork
    """

    columns: frozenset[str]
    protected: str
    frontier: tuple[str, ...]
    pairs: tuple[ContinuousPair, ...]
    unit: FloatArray
    network: GaussianNetwork

    @cached_property
    def mahalanobis(self) -> FloatArray:
        """Return the Mahalanobis distance of every model and pair at its farthest values, rounded up."""
        farthest = np.array([pair.farthest for pair in self.pairs])
        return self.unit[:, np.newaxis] * farthest * (1 + 4 * UNIT_ROUNDOFF)

    @property
    def mu(self) -> float:
        """Return the largest Mahalanobis distance over models and pairs."""
        return float(self.mahalanobis.max())

    @property
    def kind(self) -> Kind:
        """Return "exact" for pairs of values, "certified" when an interval stands for its farthest values."""
        return "exact" if all(pair.is_point for pair in self.pairs) else "certified"

    @property
    def values(self) -> FloatArray:
        """Return the max-influence of every model and pair: 0 where nothing is told, else infinite."""
        return np.where(self.mahalanobis > 0, np.inf, 0.0)

    @property
    def error(self) -> float:
        """Return the rounding error of `values`, which have none."""
        return 0.0

    @property
    def dropped(self) -> tuple[tuple[ContinuousPair, int], ...]:
        """Return no pair: every value of a normal parameter is possible."""
        return ()

    def delta(self, epsilon: float) -> float:
        """Return the hockey-stick divergence at `epsilon` of what the columns tell, at the worst model and pair."""
        return gaussian_delta(self.mu, checks.epsilon(epsilon))

    def excess(self, epsilon: float, law: Law = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence at `epsilon` of the columns together with a noisy number.

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the columns alone.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up.

        Notes
        -----
        With Gaussian noise the two are one normal number, moved by sqrt(mu^2 + shift^2); with Laplace noise see
        `laplace_normal_excess`.
        """
        told, moved = np.broadcast_arrays(self.mahalanobis, np.asarray(shift, dtype=np.float64))
        level = np.full(told.shape, epsilon)
        if law == "gaussian":
            return gaussian_excess(np.hypot(told, moved) * (1 + 4 * UNIT_ROUNDOFF), level)
        some = told > 0
        return np.where(
            some,
            laplace_normal_excess(np.where(some, told, 1.0), moved, epsilon),
            laplace_excess(moved, level),
        )

    def shifts(self, epsilon: float, delta: float, law: Law) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the columns alone tell too much.
        """
        if law == "laplace":
            return private_shifts(self.excess, self.mahalanobis.shape, epsilon, delta, law)
        most = gaussian_mu(epsilon, delta)
        told = self.mahalanobis
        left = np.sqrt(np.maximum((most - told) * (most + told), 0.0)) * (1 - 8 * UNIT_ROUNDOFF)
        return np.where(told <= most, left, -np.inf)

    def conditional(self, column: str | None = None) -> TwoCurves:
        """Return the law of one column's parameter given the two farthest values of the pair that is told apart best.

        Parameters
        ----------
        column : str, optional
            A member of the frontier; by default its first.

        Raises
        ------
        NetworkError
            If nothing is told, or `column` is not in the frontier.
        """
        name = self.drawn_column(column)
        model, k = (int(x) for x in np.unravel_index(int(np.argmax(self.mahalanobis)), self.mahalanobis.shape))
        return two_normals(self.network, self.protected, name, self.pairs[k], model)

    def __repr__(self) -> str:
        told = f"mu = {number_text(self.mu)}"
        return visible(f"GaussianInfluence({set_text(self.columns)} on {self.protected}: {told}, {self.kind})")


def gaussian_influence(
    network: GaussianNetwork, columns: Iterable[str], protected: str, secrets: Apart | IntervalPairs
) -> GaussianInfluence:
    """Return how much a set of attributes tells about a protected one in a linear-Gaussian network.

    Parameters
    ----------
    network : GaussianNetwork
        One or several models.
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    secrets : Apart or IntervalPairs
        ``bnpriv.apart(at_most=r)``, or ``bnpriv.intervals(...)``.

    Returns
    -------
    GaussianInfluence

    Raises
    ------
    NetworkError
        If a name is unknown or `protected` is among `columns`.
    SecretError
        If the secrets are of another form.

    Notes
    -----
    With L the regression of the columns on the protected parameter and S their covariance given it, mu is the distance
    of the values times sqrt(L' S^-1 L); see docs/claims/gaussian_network.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = GaussianNetwork.linear(
    ...     {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
    ... )
    >>> told = gaussian_influence(network, {"sat"}, "income", bp.apart(at_most=5))
    >>> round(told.mu, 6), round(told.delta(0.5), 6)
    (0.1, 0.0)
    """
    pairs = continuous_secrets_of(network.attributes, {protected: secrets})[protected]
    return gaussian_influence_of(network, columns, protected, pairs)


def gaussian_influence_of(
    network: GaussianNetwork, columns: Iterable[str], protected: str, pairs: Sequence[ContinuousPair]
) -> GaussianInfluence:
    """Return the influence for `pairs`; see `gaussian_influence`."""
    asked = asked_columns(network, columns, protected)
    border = frontier(network.graph, protected, asked)
    return GaussianInfluence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        unit=_unit_distance(network, protected, border),
        network=network,
    )


def _unit_distance(network: GaussianNetwork, protected: str, border: Sequence[str]) -> FloatArray:
    """Return sqrt(L' S^-1 L) for every model, rounded up.

    The root of the covariance of (protected, border) is brought to triangular form: its first row holds what the border
    shares with the protected attribute, the rest is a root of S. No covariance is inverted, so that noises of very
    different sizes lose no digits.
    """
    if not border:
        return np.zeros(network.models)
    rows = [network.attributes.index(name) for name in (protected, *border)]
    root = network.root[:, rows]
    lengths = np.linalg.norm(root, axis=2, keepdims=True)
    triangle = cast(FloatArray, np.linalg.qr(np.swapaxes(root / lengths, 1, 2), mode="r"))
    shared, rest = triangle[:, 0, 1:], triangle[:, 1:, 1:]
    told = np.linalg.solve(np.swapaxes(rest, 1, 2), shared[:, :, np.newaxis])[:, :, 0]
    size = np.linalg.norm(told, axis=1)
    return (size * (1 + network.rounding) + network.rounding) / lengths[:, 0, 0]
