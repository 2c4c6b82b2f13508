"""Random networks in which something hidden has an effect only in a narrow window, with their exact answers.

The answers come from sums over points that know where the window is, which the library does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import bnpriv as bp
from bnpriv.kinds.density.network import DensityNetwork
from tests.densities import Node, density_network
from tests.later import Later

stats = Later("scipy.stats")

FloatArray = NDArray[np.float64]

LOW, HIGH = 400.0, 700.0
LOWEST = -600.0
"""Log densities below it are not compared: for thin tails the ratio grows beyond every number."""


@dataclass(frozen=True)
class Narrow:
    """A network of a, y and what is hidden, and the densities of y."""

    network: DensityNetwork
    secrets: object
    given: Callable[[int, FloatArray], FloatArray]
    """From 0 or 1, the secret, and values of y, to log densities."""
    text: str

    def answers(self) -> tuple[float, float]:
        """Return the largest log ratio of the densities of y, as far as it is found, and delta at 0.25."""
        tails = np.geomspace(12, 1e4, 60)
        y = np.unique(np.concatenate([-tails, np.linspace(-12, 12, 801), tails]))
        first, second = self.given(0, y), self.given(1, y)
        kept = np.minimum(first, second) > LOWEST
        first, second = np.maximum(first, 2 * LOWEST), np.maximum(second, 2 * LOWEST)
        steps = np.gradient(y)
        ways = ((first, second), (second, first))
        delta = max(float(steps @ np.maximum(np.exp(f) - np.exp(0.25) * np.exp(g), 0)) for f, g in ways)
        return float(np.max(np.abs(first - second), where=kept, initial=0.0)), delta

    def told(self) -> bp.types.Influence:
        """Return what y tells about a."""
        return bp.max_influence(self.network, {"y"}, "a", self.secrets)  # type: ignore[arg-type]


def windowed(low: float, high: float, place: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Return points of an interval, dense about a place, and the logs of their weights under a uniform law."""
    near = np.clip(np.linspace(place - 8 * width, place + 8 * width, 401), low, high)
    points = np.unique(np.concatenate([np.linspace(low, high, 401), near]))
    weights = np.gradient(points)
    weights[[0, -1]] /= 2
    return points, np.log(weights / weights.sum())


def law_of(rng: np.random.Generator) -> tuple[str, Callable[..., object]]:
    kind = str(rng.choice(["t", "normal", "laplace"]))
    freedom = float(rng.choice([2.0, 3.0, 5.0]))
    return kind, {
        "t": lambda mu, sd: stats.t(freedom, mu, sd),
        "normal": stats.norm,
        "laplace": stats.laplace,
    }[kind]


def mixed(law: Callable[..., object], mu: FloatArray, sd: FloatArray | float, logs: FloatArray) -> Callable:
    """Return the log density of a mixture of laws over points."""

    def density(y: FloatArray) -> FloatArray:
        parts = [
            np.logaddexp.reduce(law(mu, sd).logpdf(y[i : i + 200, None]) + logs, axis=1)  # type: ignore[attr-defined]
            for i in range(0, len(y), 200)
        ]
        return np.concatenate(parts)

    return density


def bump(x: FloatArray, place: float, width: float) -> FloatArray:
    return np.exp(-0.5 * ((x - place) / width) ** 2)


UNIFORM = Node(lambda: stats.uniform(0, 1), lower=0.0, upper=1.0)
CENTRE = Node(lambda: stats.uniform(LOW, HIGH - LOW), lower=LOW, upper=HIGH)


def line(rng: np.random.Generator) -> Narrow:
    """One hidden centre: a matters where it is near a place."""
    place, width, amp = rng.uniform(420, 680), 10 ** rng.uniform(-1, 1.2), rng.uniform(3, 10)
    kind, law = law_of(rng)
    y = Node(lambda a, c: law(amp * a * bump(c, place, width), 0.1), ("a", "c"))
    points, logs = windowed(LOW, HIGH, place, width)
    given = [mixed(law, amp * a * bump(points, place, width), 0.1, logs) for a in (0.3, 1.0)]
    network = density_network({"a": UNIFORM, "c": CENTRE, "y": y})
    text = f"line {kind} at {place:.1f} width {width:.3g} height {amp:.2f}"
    return Narrow(network, bp.intervals((0.3, 1.0)), lambda side, x: given[side](x), text)


def noisy_line(rng: np.random.Generator) -> Narrow:
    """The same with the spread hidden too."""
    place, width, amp = rng.uniform(420, 680), 10 ** rng.uniform(-0.5, 1.2), rng.uniform(3, 10)
    kind, law = law_of(rng)
    y = Node(lambda a, c, d: law(amp * a * bump(c, place, width), 0.1 * np.exp(d)), ("a", "c", "d"))
    points, logs = windowed(LOW, HIGH, place, width)
    spread = np.linspace(-1.2, 1.2, 13)
    weights = stats.norm(0, 0.3).logpdf(spread)
    weights -= np.logaddexp.reduce(weights)
    both = (logs[:, None] + weights).ravel()
    sds = np.broadcast_to(0.1 * np.exp(spread), (len(points), 13)).ravel()
    given = [mixed(law, np.repeat(amp * a * bump(points, place, width), 13), sds, both) for a in (0.3, 1.0)]
    network = density_network({"a": UNIFORM, "c": CENTRE, "d": Node(lambda: stats.norm(0, 0.3)), "y": y})
    text = f"noisy line {kind} at {place:.1f} width {width:.3g} height {amp:.2f}"
    return Narrow(network, bp.intervals((0.3, 1.0)), lambda side, x: given[side](x), text)


def spike(rng: np.random.Generator) -> Narrow:
    """Narrow in y: near the place y hardly varies, about a value that a decides."""
    place, width, sd = rng.uniform(420, 680), 10 ** rng.uniform(0, 1.2), 10 ** rng.uniform(-3, -1.5)
    kind, law = law_of(rng)

    def spread(c: FloatArray) -> FloatArray:
        return sd + (1 - bump(c, place, width)) ** 2

    y = Node(lambda a, c: law(a * bump(c, place, width), spread(c)), ("a", "c"))
    points, logs = windowed(LOW, HIGH, place, width)
    given = [mixed(law, a * bump(points, place, width), spread(points), logs) for a in (0.3, 1.0)]
    network = density_network({"a": UNIFORM, "c": CENTRE, "y": y})
    text = f"spike {kind} at {place:.1f} width {width:.3g} spread {sd:.2g}"
    return Narrow(network, bp.intervals((0.3, 1.0)), lambda side, x: given[side](x), text)


def window(rng: np.random.Generator) -> Narrow:
    """Narrow in the parameter: one of two intervals has a window in which y is elsewhere."""
    place, width, amp = rng.uniform(0.55, 0.95), 10 ** rng.uniform(-3, -1.5), rng.uniform(3, 10)
    kind, law = law_of(rng)
    y = Node(lambda a: law(amp * bump(a, place, width), 0.1), ("a",))
    given: list[Callable] = []
    for low, high in ((0.0, 0.49), (0.5, 1.0)):
        points, logs = windowed(low, high, place, width)
        given.append(mixed(law, amp * bump(points, place, width), 0.1, logs))
    network = density_network({"a": UNIFORM, "y": y})
    text = f"window {kind} at {place:.3f} width {width:.3g} height {amp:.2f}"
    return Narrow(network, bp.intervals(((0.0, 0.49), (0.5, 1.0))), lambda side, x: given[side](x), text)


KINDS = (line, noisy_line, spike, window)


def narrow(seed: int) -> Narrow:
    """Return a network of one of the kinds."""
    return KINDS[seed % len(KINDS)](np.random.default_rng(seed))
