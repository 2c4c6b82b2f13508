"""The law of one parameter given each of two secrets, to be drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from bnpriv import checks
from bnpriv.errors import NetworkError
from bnpriv.influence.elimination import joint_law
from bnpriv.networks import GaussianNetwork, Network, require_discrete
from bnpriv.render import plotting
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.states import SecretPair, side_text
from bnpriv.secrets.values import ContinuousPair, IntervalPair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 241
REACH = 4.0
"""Standard deviations beyond the means that are drawn."""


class TellsApart(ABC):
    """What columns tell about a protected attribute, of which the law of one column given two secrets can be drawn."""

    frontier: tuple[str, ...]

    @abstractmethod
    def conditional(self, column: str | None = None) -> TwoCurves:
        """Return the law of one column's parameter given each of the two secrets that are told apart best."""

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
            As `conditional`.
        """
        return plotting.draw_curves(ax, self.conditional(column), self.drawn_column(column))

    def drawn_column(self, column: str | None) -> str:
        """Return which member of the frontier is drawn.

        Raises
        ------
        NetworkError
            If there is none, or `column` is none.
        """
        if not self.frontier:
            raise NetworkError(
                "there must be something to compare",
                found="columns that tell nothing",
                remedy="Ask about columns that depend on the protected attribute.",
            )
        return checks.member("a column", column or self.frontier[0], self.frontier, error=NetworkError)


def two_conditionals(network: Network, protected: str, name: str, pair: SecretPair, model: int) -> TwoCurves:
    """Return the law of an attribute of a discrete network given each of two secrets of a protected one.

    Raises
    ------
    NetworkError
        If the network is given by intervals.
    """
    exact = require_discrete(network, "the law of a column given a secret")
    joint = joint_law(exact, (protected, name))
    logs = joint.values[min(model, len(joint.values) - 1)]
    sides: list[list[float]] = []
    for secret in (pair.first, pair.second):
        inside = np.array([state in secret for state in exact.states[protected]])
        law = np.exp(logs[inside]).sum(axis=0)
        sides.append((law / law.sum()).tolist())
    labels = [str(state) for state in exact.states[name]]
    return TwoCurves(
        values=[float(k) for k in range(len(labels))],
        first=sides[0],
        second=sides[1],
        finite=True,
        names=(f"{protected}: {side_text(pair.first)}", f"{protected}: {side_text(pair.second)}"),
        title=f"{name} given two secrets",
        desc=overlap_text(name, str(pair)),
        labels=labels,
    )


def two_normals(network: GaussianNetwork, protected: str, name: str, pair: ContinuousPair, model: int) -> TwoCurves:
    """Return the law of an attribute of a linear-Gaussian network given the two farthest values of a pair."""
    i, j = network.attributes.index(protected), network.attributes.index(name)
    mean, covariance = network.mean[model], network.covariance[model]
    slope = covariance[i, j] / covariance[i, i]
    spread = float(np.sqrt(max(covariance[j, j] - slope * covariance[i, j], 0.0)))
    secrets = farthest_values(pair, float(mean[i]))
    centres = [float(mean[j] + slope * (value - mean[i])) for value in secrets]
    values = np.linspace(min(centres) - REACH * spread, max(centres) + REACH * spread, POINTS)
    first, second = (
        (np.exp(-(((values - centre) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))).tolist()
        for centre in centres
    )
    return TwoCurves(
        values=values.tolist(),
        first=first,
        second=second,
        finite=False,
        names=(f"{protected}: {secrets[0]:g}", f"{protected}: {secrets[1]:g}"),
        title=f"{name} given two secrets",
        desc=overlap_text(name, f"{secrets[0]:g} against {secrets[1]:g}"),
    )


def farthest_values(pair: ContinuousPair, centre: float) -> tuple[float, float]:
    """Return the two values of a pair that are farthest apart; for values so far apart two around `centre`."""
    if not isinstance(pair, IntervalPair):
        return centre - pair.farthest / 2, centre + pair.farthest / 2
    first, second = pair.first, pair.second
    return (first.low, second.high) if first.high < second.low else (first.high, second.low)


def overlap_text(name: str, pair: str) -> str:
    """Return what such a drawing shows."""
    return f"The law of {name} given {pair}: the more the two overlap, the less it tells."
