"""The privacy curve of several pairs of laws: the largest of each view over all pairs, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bnpriv.bound import Bound, weakest
from bnpriv.divergences.loss import PrivacyLoss
from bnpriv.divergences.shown_views import curve_figure, loss_text, plot_curve, views_data, views_table
from bnpriv.errors import ParameterError
from bnpriv.laws.atoms import Atoms
from bnpriv.render.document import Document, Section
from bnpriv.render.shown import Shown
from bnpriv.render.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrivacyCurve(Shown):
    """The largest privacy loss of all pairs of laws that a guarantee is about, in every view; print it.

    Parameters
    ----------
    losses : sequence of PrivacyLoss
        One for each pair of laws and each order of the two, at least one.
    names : sequence of str, optional
        What each of them is, in words.
    asked : (float, float), optional
        The epsilon and delta of a guarantee, which drawings mark.

    Raises
    ------
    ParameterError
        If there is no loss.

    Notes
    -----
    docs/claims/curves.md.

    Examples
    --------
    >>> from bnpriv.laws import Atoms
    >>> from bnpriv.noise import Laplace
    >>> curve = PrivacyCurve.of([(Atoms([0], [1.0]), Atoms([1], [1.0]))], Laplace(2.0))
    >>> round(float(curve.epsilon), 6), round(float(curve.delta(0.25)), 6)
    (0.5, 0.117503)
    >>> round(float(curve.largest(lambda loss: loss.zero_concentrated())), 4)
    0.1065
    """

    losses: Sequence[PrivacyLoss]
    names: Sequence[str] = ()
    asked: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", tuple(self.losses))
        if not self.losses:
            raise ParameterError("a privacy curve needs a pair of laws", found="none", remedy="Pass a pair of laws.")

    @staticmethod
    def of(pairs: Sequence[tuple[Atoms, Atoms]], noise: object) -> PrivacyCurve:
        """Return the curve of pairs of laws of an answer with noise, in both directions.

        Parameters
        ----------
        pairs : sequence of (Atoms, Atoms)
        noise : Noise or Channel
        """
        both = [PrivacyLoss(first, second, noise) for first, second in pairs]
        return PrivacyCurve([one for loss in both for one in (loss, loss.reversed)])

    def largest(self, view: Callable[[PrivacyLoss], Bound]) -> Bound:
        """Return the largest value of a view over all pairs and directions."""
        found = [view(loss) for loss in self.losses]
        kind = weakest(bound.kind for bound in found)
        return Bound(max(bound.lower for bound in found), max(bound.upper for bound in found), kind)

    @property
    def epsilon(self) -> Bound:
        """Return the largest loss."""
        return self.largest(lambda loss: loss.epsilon)

    def delta(self, epsilon: float) -> Bound:
        """Return the least delta at epsilon."""
        return self.largest(lambda loss: loss.delta(epsilon))

    def epsilon_at(self, delta: float) -> Bound:
        """Return the least epsilon at delta."""
        return self.largest(lambda loss: loss.epsilon_at(delta))

    @property
    def kullback_leibler(self) -> Bound:
        """Return the largest mean loss."""
        return self.largest(lambda loss: loss.kullback_leibler)

    def renyi(self, order: float) -> Bound:
        """Return the largest Renyi divergence of an order."""
        return self.largest(lambda loss: loss.renyi(order))

    @property
    def total_variation(self) -> Bound:
        """Return the largest total variation."""
        return self.delta(0.0)

    def mutual_information(self, prior: float | None = None) -> Bound:
        """Return what an output tells of which law of a pair it came from, in nats, for a prior or the worst one."""
        return self.largest(lambda loss: loss.mutual_information(prior))

    @property
    def worst(self) -> PrivacyLoss:
        """Return the pair of laws, in that order, whose largest loss is the largest of all."""
        return self.losses[self._worst]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw delta over epsilon, with a logarithmic axis for delta.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return plot_curve(ax, self, self.asked)

    @property
    def _which(self) -> str:
        return f", most about {visible(self.names[self._worst])}" if len(self.names) == len(self.losses) > 2 else ""

    @property
    def _worst(self) -> int:
        return max(range(len(self.losses)), key=lambda place: self.losses[place].epsilon.upper)

    @property
    def document(self) -> Document:
        """Return the drawing of delta over epsilon, and the best known views."""
        title = "The privacy curve"
        return Document(
            kind="privacy curve",
            kicker="bnpriv privacy curve",
            title=title,
            headline=loss_text(self.epsilon.upper),
            lead=f"Largest over {len(self.losses):,} ordered pairs of laws{self._which}; the numbers are "
            f"{self.epsilon.kind}.",
            answer=(curve_figure(self, asked=self.asked, title=title),),
            sections=(Section(title="In every view", blocks=(views_table(self, "Largest over all pairs"),)),),
            data={"pairs": len(self.losses), **views_data(self)},
        )

    def __repr__(self) -> str:
        return f"PrivacyCurve({len(self.losses)} ordered pairs, epsilon={self.epsilon.upper:.4g})"
