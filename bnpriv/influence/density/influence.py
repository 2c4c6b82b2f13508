"""What columns tell about a parameter of a network of densities: max-influence and privacy curve by quadrature.

Grids are made finer and wider until the value is stable, and it is an estimate: what lies between the points of every
grid is not bounded. Where the graph separates the columns from the parameter it is 0, and exact.
docs/claims/quadrature.md says what is proved and what is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import BnprivError, Refusal, SizeError
from bnpriv.influence.base import Influence, asked_columns, plain_text
from bnpriv.influence.conditionals import overlap_text
from bnpriv.influence.density.conditional import conditional
from bnpriv.influence.density.curve import LossCurve, curve_of
from bnpriv.influence.density.densities import without_density
from bnpriv.influence.density.lattice import QuadratureGrid
from bnpriv.influence.density.refine import Refinement, outside, refined
from bnpriv.influence.losses import PureLosses, private_shifts
from bnpriv.networks.density import DensityNetwork
from bnpriv.noise.continuous import ContinuousNoise
from bnpriv.render.text import number_text
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.values import IntervalPair

T = TypeVar("T")

MOST_LATTICES = 4
"""Grids that are kept with a network; each may hold large tables."""

MOST_TOLD = 64
"""Influences and curves that are kept with a grid, so that the next report need not find them again; each is small."""

OF_DRAWS = Refusal(
    required="a bound of what columns tell needs the law of every parameter",
    found="draws of a posterior, which say nothing of values that were not drawn",
    remedy="Use a mechanism that compares laws of the answer, such as TightMechanism, or ColumnMechanism.",
)

SEPARATED = Refinement(value=0.0, change=0.0, settled=True, reason="The graph separates the columns from it.")
"""What is found where nothing is told."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class DensityLosses:
    """The privacy losses of every pair, from their law on grids and from their largest value.

    Parameters
    ----------
    values : ndarray of shape (1, pairs)
        As `Influence.values`.
    curves : tuple of Curve
        One for every pair; none where the largest value is all that is known.
    """

    values: FloatArray
    curves: tuple[LossCurve, ...] = ()

    def excess(self, epsilon: float, law: ContinuousNoise = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence of the columns together with a noisy number, as `Losses.excess` does.

        Returns
        -------
        ndarray of shape (1, pairs)
            The larger one of both directions, with the last change of the curve added; 0 where a pair is no constraint.
        """
        told = PureLosses(self.values).excess(epsilon, law, shift)
        if not self.curves:
            return told
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.values.shape)
        both = [
            curve.losses.excess(epsilon, law, moved[:, k : k + 1]).max(axis=1) for k, curve in enumerate(self.curves)
        ]
        return np.where(np.isneginf(self.values), 0.0, np.minimum(np.stack(both, axis=1), told))

    def shifts(self, epsilon: float, delta: float, law: ContinuousNoise) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Returns
        -------
        ndarray of shape (1, pairs)
            Rounded down; -inf where the columns alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.values.shape, epsilon, delta, law)
        return np.where(np.isneginf(self.values), np.inf, low)


def density_losses(influence: Influence) -> DensityLosses:
    """The privacy losses of every pair.

    Raises
    ------
    SizeError
        If a table would be too large.
    """
    found, lattices = influence.details
    curves = (
        _curve(lattice, influence.frontier, max(0, len(each.history) - 3))
        for lattice, each in zip(lattices, found, strict=False)
    )
    return DensityLosses(values=influence.values, curves=tuple(curves))


def explain_refinement(influence: Influence) -> str:
    """What was found for every pair, with the steps of the refinement."""
    lines = [f"{plain_text(influence)[:-1]} ({influence.kind})."]
    for pair, found in zip(influence.pairs, influence.details[0], strict=True):
        told = f"{number_text(found.value)}." if influence.unknown is None else "not known:"
        lines.append(f"{pair}: {told} {found.reason}")
        lines += [f"  {step}" for step in found.history]
    return "\n".join(lines)


def density_conditional(influence: Influence, column: str) -> TwoCurves:
    """The law of one column given each of the two secrets that are told apart best.

    Raises
    ------
    SizeError
        If a table would be too large.
    """
    worst = int(np.argmax(influence.values[0]))
    found, pair = conditional(influence.details[1][worst], column), influence.pairs[worst]
    return TwoCurves(
        values=found.values.tolist(),
        first=found.first.tolist(),
        second=found.second.tolist(),
        finite=found.finite,
        names=(f"{influence.protected}: {pair.first}", f"{influence.protected}: {pair.second}"),
        title=f"{column} given two secrets",
        desc=overlap_text(column, str(pair)),
    )


def density_influence(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: Sequence[IntervalPair]
) -> Influence:
    """The influence from refined grids; infinite where a density is missing, with the reason."""
    asked = asked_columns(network, columns, protected)
    border = network.graph.frontier(protected, asked)
    if border and network.drawn is not None:
        return _unknown(network, asked, protected, pairs, OF_DRAWS, f"{OF_DRAWS.required}; found {OF_DRAWS.found}.")
    missing = without_density(network, (protected, *border)) if border else ()
    if missing:
        why = Refusal(
            required="what columns tell needs the density of every parameter between them and the secret",
            found=f"none for {checks.listing(missing)}",
            remedy="Declare the model with scalar parameters that have densities, or ask about other columns.",
        )
        reason = f"No density is known for {checks.listing(missing)}, so that nothing bounds what the columns tell."
        return _unknown(network, asked, protected, pairs, why, reason)
    lattices: tuple[QuadratureGrid, ...] = ()
    if border:
        lattices = tuple(_lattice(network, protected, pair) for pair in pairs)
        found = tuple(_settled(lattice, border) for lattice in lattices)
    else:
        found = tuple(outside(network.parameters[protected], pair) or SEPARATED for pair in pairs)
    return _influence(network, asked, protected, pairs, found, lattices)


def unknown_because(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: Sequence[IntervalPair], error: BnprivError
) -> Influence:
    """Return an influence without bound where it cannot be computed."""
    # the remedies of tables do not help a grid
    reason = f"{error.required}; found {error.found}." if isinstance(error, SizeError) else str(error)
    return _unknown(network, frozenset(columns), protected, pairs, Refusal.of(error), reason)


def _unknown(
    network: DensityNetwork,
    columns: frozenset[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    why: Refusal,
    reason: str,
) -> Influence:
    nothing = Refinement(value=np.inf, change=np.inf, settled=False, reason=reason)
    found = tuple(outside(network.parameters[protected], pair) or nothing for pair in pairs)
    return _influence(network, columns, protected, pairs, found, (), why)


def _influence(
    network: DensityNetwork,
    columns: frozenset[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    found: tuple[Refinement, ...],
    lattices: tuple[QuadratureGrid, ...],
    unknown: Refusal | None = None,
) -> Influence:
    """Return the influence that a refinement led to; a value is the larger one of both directions."""
    border = network.graph.frontier(protected, columns)
    values = np.tile([[each.value for each in found]], (network.models, 1))
    values.flags.writeable = False
    worst = int(np.argmax(values[0]))
    ended = found[worst]
    return Influence(
        columns=columns,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=max((each.change for each in found if np.isfinite(each.value)), default=0.0),
        kind="estimate" if border else "exact",
        pair=None if bool(np.isneginf(values).all()) else pairs[worst],
        model=0,
        network=network,
        details=(found, lattices),
        history=tuple(each.history for each in found),
        settled=all(each.settled for each in found),
        how=_how(ended, unknown) if border else "exact, by the graph",
        unknown=unknown,
    )


def _how(ended: Refinement, unknown: Refusal | None) -> str:
    """Return in words how an influence was found."""
    if unknown is not None:
        return f"not known: {ended.reason}"
    return f"{'an estimate' if ended.settled else 'an estimate that did not settle'}. {ended.reason}"


def _lattice(network: DensityNetwork, protected: str, pair: IntervalPair) -> QuadratureGrid:
    """Return the grids for a pair, which all columns of a report share; the network keeps the latest."""
    kept: dict[tuple[str, IntervalPair], QuadratureGrid] = network.kept.table("lattices")
    key = protected, pair
    if key not in kept:
        while len(kept) >= MOST_LATTICES:
            del kept[next(iter(kept))]
        kept[key] = QuadratureGrid(network, protected, pair)
    return kept[key]


def _settled(lattice: QuadratureGrid, border: tuple[str, ...]) -> Refinement:
    """Return what refinement leads to for a frontier; the grids keep the latest."""
    return _told(lattice, (border,), lambda: refined(lattice, border))


def _curve(lattice: QuadratureGrid, border: tuple[str, ...], start: int) -> LossCurve:
    """Return the losses of a frontier; the grids keep the latest."""
    return _told(lattice, (border, start), lambda: curve_of(lattice, border, start=start))


def _told(lattice: QuadratureGrid, key: tuple[object, ...], find: Callable[[], T]) -> T:
    kept = cast("dict[tuple[object, ...], T]", lattice.told)
    if key not in kept:
        found = find()
        while len(kept) >= MOST_TOLD:
            del kept[next(iter(kept))]
        kept[key] = found
    return kept[key]


def unlimited_influence(
    network: DensityNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[IntervalPair], most_work: int
) -> tuple[Influence, int]:
    """An influence, infinite where it cannot be computed; grids have limits of their own, and no cells are counted."""
    try:
        return density_influence(network, border, protected, pairs), 0
    except BnprivError as error:
        return unknown_because(network, border, protected, pairs, error), 0
