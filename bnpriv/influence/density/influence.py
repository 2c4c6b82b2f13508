"""What columns tell about a parameter of a network of densities: max-influence and privacy curve by quadrature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, Kind
from bnpriv.divergences.gaussian import gaussian_excess
from bnpriv.errors import BnprivError, NetworkError, SizeError
from bnpriv.influence.conditionals import TellsApart, overlap_text
from bnpriv.influence.density.curve import Curve, curve_of
from bnpriv.influence.density.densities import without_density
from bnpriv.influence.density.lattice import Lattice
from bnpriv.influence.density.refine import Refinement, Settled, outside, refined
from bnpriv.influence.density.seen import seen
from bnpriv.influence.finite import asked_columns, frontier
from bnpriv.influence.losses import Law, laplace_excess, private_shifts
from bnpriv.networks import DensityNetwork
from bnpriv.render import number_text, set_text
from bnpriv.render.text import visible
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.states import SecretPairs
from bnpriv.secrets.values import IntervalPair, IntervalPairs, density_secrets_of

if TYPE_CHECKING:
    pass


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DensityInfluence(TellsApart):
    """What columns tell about a protected parameter of a network of densities.

    It is found by quadrature on grids that are made finer and wider until it is stable, and is an estimate: what lies
    between the points of every grid is not bounded. Where the graph separates the columns from the parameter it is 0,
    and exact.

    Parameters
    ----------
    columns : frozenset of str
        The set that was asked about.
    protected : str
        The protected attribute.
    frontier : tuple of str
        The members of `columns` that the others do not separate from `protected`; they alone carry the influence.
    pairs : tuple of IntervalPair
        The pairs of secrets; a value is the larger one of both directions.
    found : tuple of Settled
        For every pair what the refinement led to.
    lattices : tuple of Lattice
        The grids for every pair; none where the frontier is empty or a density is missing.
    """

    columns: frozenset[str]
    protected: str
    frontier: tuple[str, ...]
    pairs: tuple[IntervalPair, ...]
    found: tuple[Settled, ...]
    lattices: tuple[Lattice, ...] = field(default=(), repr=False)

    @property
    def values(self) -> FloatArray:
        """Return the max-influence of every pair, of shape (1, pairs).

        Infinite where it grows without end or did not settle; -inf where a secret has probability zero, so that the
        pair is no constraint.
        """
        return np.array([[found.value for found in self.found]])

    @property
    def error(self) -> float:
        """Return the largest last change of a finite value; the values include it."""
        return max((found.change for found in self.found if np.isfinite(found.value)), default=0.0)

    @property
    def kind(self) -> Kind:
        """Return "estimate", or "exact" where the graph separates the columns from the protected attribute."""
        return "estimate" if self.frontier else "exact"

    @property
    def settled(self) -> bool:
        """Return whether every value is stable, or known to grow without end."""
        return all(found.settled for found in self.found)

    @property
    def histories(self) -> tuple[tuple[Refinement, ...], ...]:
        """Return for every pair the steps of the refinement."""
        return tuple(found.history for found in self.found)

    @property
    def dropped(self) -> tuple[tuple[IntervalPair, int], ...]:
        """Return the pairs, with the model, that are no constraint because a secret has probability zero."""
        return tuple((pair, 0) for pair, value in zip(self.pairs, self.values[0], strict=True) if np.isneginf(value))

    @property
    def bound(self) -> Bound:
        """Return the largest influence over the pairs."""
        return Bound(0.0, max(0.0, float(np.max(self.values))), self.kind)

    @property
    def worst(self) -> IntervalPair:
        """Return the pair about which the columns tell the most."""
        return self.pairs[int(np.argmax(self.values[0]))]

    def __float__(self) -> float:
        return self.bound.upper

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Return the privacy losses of every pair.

        Raises
        ------
        SizeError
            If a table would be too large.
        """
        return tuple(
            curve_of(lattice, self.frontier, start=max(0, len(found.history) - 3))
            for lattice, found in zip(self.lattices, self.found, strict=False)
        )

    def delta(self, epsilon: float) -> float:
        """Return the hockey-stick divergence at `epsilon` of what the columns tell, at the worst pair."""
        return float(np.max(self.excess(checks.epsilon(epsilon))))

    def excess(self, epsilon: float, law: Law = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence at `epsilon` of the columns together with a noisy number.

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (1, pairs)
            By how many scales of the noise the secret moves it; 0 for the columns alone.

        Returns
        -------
        ndarray of shape (1, pairs)
            The larger one of both directions, with the last change of the curve added; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.values.shape)
        alone = gaussian_excess if law == "gaussian" else laplace_excess
        # a log ratio that is never above a value leaves epsilon minus that value to the noise
        pure = alone(moved, np.where(np.isneginf(self.values), epsilon, epsilon - self.values))
        told = pure
        if self.lattices:
            both = [
                curve.losses.excess(epsilon, law, moved[:, k : k + 1]).max(axis=1)
                for k, curve in enumerate(self.curves)
            ]
            told = np.minimum(np.stack(both, axis=1), pure)
        return np.where(np.isneginf(self.values), 0.0, told)

    def shifts(self, epsilon: float, delta: float, law: Law) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (1, pairs)
            Rounded down; -inf where the columns alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.values.shape, epsilon, delta, law)
        return np.where(np.isneginf(self.values), np.inf, low)

    def conditional(self, column: str | None = None) -> TwoCurves:
        """Return the law of one column's parameter given each of the two secrets that are told apart best.

        Parameters
        ----------
        column : str, optional
            A member of the frontier; by default its first.

        Raises
        ------
        NetworkError
            If nothing is told, a density is missing, or `column` is not in the frontier.
        SizeError
            If a table would be too large.
        """
        name = self.drawn_column(column)
        if not self.lattices:
            raise NetworkError(
                "there must be something to compare",
                found="a density that is missing",
                remedy="Ask about columns whose parameters have densities.",
            )
        worst = int(np.argmax(self.values[0]))
        found, pair = seen(self.lattices[worst], name), self.pairs[worst]
        return TwoCurves(
            values=found.values.tolist(),
            first=found.first.tolist(),
            second=found.second.tolist(),
            finite=found.finite,
            names=(f"{self.protected}: {pair.first}", f"{self.protected}: {pair.second}"),
            title=f"{name} given two secrets",
            desc=overlap_text(name, str(pair)),
        )

    def explain(self) -> str:
        """Return in words what was found for every pair, with the steps of the refinement."""
        lines = [
            f"{set_text(self.columns)} tells {number_text(float(self))} nats about {self.protected} ({self.kind})."
        ]
        for pair, found in zip(self.pairs, self.found, strict=True):
            lines.append(f"{pair}: {number_text(found.value)}. {found.reason}")
            lines += [f"  {step}" for step in found.history]
        return "\n".join(lines)

    def __repr__(self) -> str:
        told = f"{float(self):.6g} nats, {self.kind}" + ("" if self.settled else ", not settled")
        return visible(f"DensityInfluence({set_text(self.columns)} on {self.protected}: {told})")


def density_influence(
    network: DensityNetwork,
    columns: Iterable[str],
    protected: str,
    secrets: IntervalPairs | SecretPairs | None = None,
) -> DensityInfluence:
    """Return how much a set of attributes tells about a protected one in a network of densities, by quadrature.

    Parameters
    ----------
    network : DensityNetwork
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    secrets : IntervalPairs, optional
        ``bnpriv.intervals(...)`` of values or intervals; by default all pairs of states, if there are finitely many.

    Returns
    -------
    DensityInfluence

    Raises
    ------
    NetworkError
        If a name is unknown, `protected` is among `columns`, or a density that is needed is missing.
    SecretError
        If the secrets are of another form.
    SizeError
        If too many parameters hang together for a grid.

    Notes
    -----
    What is proved and what is an estimate is in docs/claims/quadrature.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.networks import DensityNetwork, Parameter
    >>> def simulate(names, draws, *, seed, given, records):
    ...     rng = np.random.default_rng(seed)
    ...     rate = np.full(draws, given["rate"]) if "rate" in given else rng.gamma(2.0, size=draws)
    ...     return {"rate": rate, "wait": rng.exponential(1 / rate)}
    >>> rate = Parameter(name="rate", lower=0, upper=np.inf, log_density=lambda x: np.log(x) - x)
    >>> wait = Parameter(
    ...     name="wait", parents=("rate",), lower=0, upper=np.inf, log_density=lambda x, rate: np.log(rate) - rate * x
    ... )
    >>> network = DensityNetwork(parameters={"rate": rate, "wait": wait}, model_hash="waiting", simulator=simulate)
    >>> told = density_influence(network, {"wait"}, "rate", bp.intervals((1.0, 2.0)))
    >>> float(told), round(told.delta(0.5), 4), told.kind
    (inf, 0.1516, 'estimate')
    """
    pairs = density_secrets_of(network.parameters, {protected: secrets})[protected]
    return density_influence_of(network, columns, protected, pairs)


def density_influence_of(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: Sequence[IntervalPair]
) -> DensityInfluence:
    """Return the influence for `pairs`; see `density_influence`."""
    asked = asked_columns(network, columns, protected)
    border = frontier(network.graph, protected, asked)
    lattices: tuple[Lattice, ...] = ()
    if border:
        lattices = tuple(_lattice(network, protected, pair) for pair in pairs)
        found = tuple(refined(lattice, border) for lattice in lattices)
    else:
        found = tuple(outside(network.parameters[protected], pair) or SEPARATED for pair in pairs)
    return DensityInfluence(
        columns=asked, protected=protected, frontier=border, pairs=tuple(pairs), found=found, lattices=lattices
    )


SEPARATED = Settled(value=0.0, change=0.0, settled=True, reason="The graph separates the columns from it.")
"""What is found where nothing is told."""


def unknown_influence(
    network: DensityNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[IntervalPair]
) -> DensityInfluence | None:
    """Return an influence without bound where a density that is needed is missing, or None if all are there."""
    missing = without_density(network, (protected, *border)) if border else ()
    if not missing:
        return None
    reason = f"No density is known for {checks.listing(missing)}, so that nothing bounds what the columns tell."
    found = Settled(value=np.inf, change=np.inf, settled=False, reason=reason)
    return DensityInfluence(
        columns=frozenset(border),
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        found=tuple(outside(network.parameters[protected], pair) or found for pair in pairs),
    )


def unknown_because(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: Sequence[IntervalPair], error: BnprivError
) -> DensityInfluence:
    """Return an influence without bound where it cannot be computed."""
    names = frozenset(columns)
    # the remedies of tables do not help a grid
    reason = f"{error.required}; found {error.found}." if isinstance(error, SizeError) else str(error)
    found = Settled(value=np.inf, change=np.inf, settled=False, reason=reason)
    return DensityInfluence(
        columns=names,
        protected=protected,
        frontier=frontier(network.graph, protected, names),
        pairs=tuple(pairs),
        found=tuple(found for _ in pairs),
    )


@lru_cache(maxsize=4)
def _lattice(network: DensityNetwork, protected: str, pair: IntervalPair) -> Lattice:
    """Return the grids for a pair, which all columns of a report share."""
    return Lattice(network, protected, pair)
