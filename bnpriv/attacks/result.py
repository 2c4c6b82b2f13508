"""What came out of an attack: how often it named the right secret, and how often any attack may."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bnpriv import checks
from bnpriv.errors import ParameterError
from bnpriv.render.document import Code, Document, fact
from bnpriv.render.plotting import axes, label
from bnpriv.render.shown import Shown
from bnpriv.render.text import full_text, number_text, percent_text, rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE_CONFIDENCE = 0.95
"""How sure the intervals of counted shares are."""

TOLD = (
    *("method", "query", "secrets", "accuracy", "interval", "answers"),
    *("bound", "epsilon", "delta", "mechanism", "error"),
)
"""What the JSON of an attack holds."""


def accuracy_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return how often any attacker may be right, who guesses one of two equally likely secrets.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee; an infinite epsilon bounds nothing.

    Returns
    -------
    float
        ``(exp(epsilon) + delta) / (1 + exp(epsilon))``, at most 1.

    Examples
    --------
    >>> round(accuracy_bound(1.0), 4), accuracy_bound(math.inf)
    (0.7311, 1.0)
    """
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise ParameterError(
            "epsilon must be at least 0 and delta between 0 and 1", found="others", remedy="Pass those of a guarantee."
        )
    odds = math.exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def share_interval(share: float, answers: int, level: float = SHARE_CONFIDENCE) -> tuple[float, float]:
    """Return where the true share of right guesses lies, by Clopper and Pearson.

    Parameters
    ----------
    share : float
        Of right guesses; ties count half.
    answers : int
    level : float
        How sure that is.

    Examples
    --------
    >>> low, high = share_interval(0.75, 1000)
    >>> round(low, 3), round(high, 3)
    (0.722, 0.777)
    """
    from scipy.stats import binomtest

    found = binomtest(round(share * answers), answers).proportion_ci(level, method="exact")
    return float(found.low), float(found.high)


@final
@dataclass(frozen=True, kw_only=True)
class Attack(Shown):
    """How often an attacker named the right one of two equally likely secrets from one released answer.

    Print it.

    Parameters
    ----------
    method : str
        How the attacker guesses.
    query : str
    secrets : str
        The two secrets, in words.
    accuracy : float
        The share of right guesses.
    interval : (float, float)
        Where that share lies with 95 % confidence, for one that was counted; twice the share for one that was computed.
    answers : int
        From how many answers it was counted; 0 if it was computed.
    epsilon, delta : float or None
        What the release guarantees; None without a guarantee.
    mechanism : str
        What added the noise; "no defence" without any.
    error : float
        The mean error of the released answer.
    """

    method: str
    query: str
    secrets: str
    accuracy: float
    interval: tuple[float, float]
    answers: int
    epsilon: float | None
    delta: float | None
    mechanism: str
    error: float

    @property
    def bound(self) -> float:
        """Return how often any attacker may be right under the guarantee; 1 without one."""
        return 1.0 if self.epsilon is None else accuracy_bound(self.epsilon, self.delta or 0.0)

    @property
    def document(self) -> Document:
        """Return how often the attack was right, and how often any may be."""
        counted = ""
        if self.answers:
            low, high = self.interval
            counted = (
                f" (between {percent_text(low)} and {percent_text(high)} with {100 * SHARE_CONFIDENCE:g} % confidence, "
                f"counted on {self.answers:,} answers)"
            )
        allowed = "Nothing is guaranteed"
        if self.epsilon is not None:
            asked = f"epsilon {self.epsilon:g}" + (f" and delta {full_text(self.delta)}" if self.delta else "")
            allowed = f"The guarantee, {asked}, allows {rounded_up(100 * self.bound):g} %"
        return Document(
            kind="attack",
            kicker="bnpriv attack",
            headline=("Attack on ", Code(self.query), f": right in {percent_text(self.accuracy)} of the cases"),
            lead=(
                f"By {self.method} the attacker names the right one of two equally likely secrets in "
                f"{percent_text(self.accuracy)} of the cases{counted}. {allowed}; a coin is right in 50 %."
            ),
            facts=(
                fact("Secrets", self.secrets),
                fact("Defence", self.mechanism),
                fact("Mean error", number_text(self.error)),
            ),
            data={name: getattr(self, name) for name in TOLD} | {"interval": list(self.interval)},
        )

    def __repr__(self) -> str:
        return f"Attack({self.mechanism}: right in {self.accuracy:.3g}, allowed {self.bound:.3g})"


def plot_attacks(attacks: Sequence[Attack], ax: Axes | None = None) -> Axes:
    """Draw how often attacks were right, with confidence, beside how often any attack may be.

    Parameters
    ----------
    attacks : sequence of Attack
        A row each, the first at the top.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ParameterError
        If there is none.
    MissingExtraError
        If matplotlib is not installed.
    """
    if not attacks:
        raise ParameterError("there must be attacks to draw", found="none", remedy="Pass a list of them.")
    checks.whole("the number of attacks", len(attacks))
    drawn = axes(ax)
    places = range(len(attacks), 0, -1)
    for place, attack in zip(places, attacks, strict=True):
        low, high = attack.interval
        off = [[attack.accuracy - low], [high - attack.accuracy]]
        drawn.errorbar([attack.accuracy], [place], xerr=off, fmt="o", color="tab:blue", capsize=3)
        if attack.epsilon is not None:
            drawn.plot([attack.bound], [place], marker="|", markersize=14, color="tab:red", linestyle="none")
    drawn.axvline(0.5, color="black", linestyle=":", linewidth=1)
    drawn.set_yticks(list(places), [label(f"{attack.mechanism}, {attack.method}") for attack in attacks])
    drawn.set_xlim(0.45, 1.02)
    drawn.set_ylim(0.5, len(attacks) + 0.5)
    drawn.set_xlabel("right guesses (dots, with 95 % confidence) and what the guarantee allows (red marks)")
    return drawn
