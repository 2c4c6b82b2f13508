"""Two laws after the noise: their largest ratio of densities, and the excess of one over the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from bnpriv.verify.claim import Claim
from bnpriv.verify.noise import laplace_excess, recursions, smoothed
from bnpriv.verify.values import INFINITE, SLACK, UNSHOWN, ZERO, Law, StopError, decimal, require


class NoisyPair:
    """Compares laws after the noise of a claim."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.decays = claim, dict[Any, Decimal]()

    def compare(self, label: str, first: Law, second: Law) -> None:
        """Take note of the largest ratio of two laws after the noise; stop where it, or delta, passes the claim."""
        claim, (ratio, output) = self.claim, self.largest(first, second)
        told, shown = ratio.ln() + SLACK, f"the answer {', '.join(map(repr, output))} of {label} shows it"
        if told > claim.epsilon and claim.delta:
            excess = max(self.excess(first, second), self.excess(second, first))
            slack = SLACK * (1 + claim.epsilon.exp() / 10**14)
            if excess + slack > claim.delta:
                status = "fails" if excess - slack > claim.delta else UNSHOWN
                raise StopError(status, f"delta is {excess:.9g} where {claim.delta:.9g} is claimed, {shown}")
            told = claim.epsilon
        claim.held(shown, told)

    def largest(self, first: Law, second: Law) -> tuple[Decimal, Any]:
        """The largest ratio of the densities of two laws after the noise, and the output that shows it."""
        union = sorted(first.keys() | second.keys())
        if self.claim.noise == "DiscreteLaplace" and any(x != int(x) for point in union for x in point):
            raise StopError("fails", "an answer that is no whole number, which discrete noise refuses")
        axes = [sorted(set(numbers)) for numbers in zip(*union, strict=True)]
        self.claim.spend(4 * (math.prod(map(len, axes)) if self.claim.scale else len(union)))
        points = list(product(*axes)) if self.claim.scale else union
        f, g = (self.smooth([law.get(point, ZERO) for point in points], axes) for law in (first, second))
        ordered = ((*sorted((p, q)), point) for p, q, point in zip(f, g, points, strict=True) if p or q)
        return max(((high / low if low else INFINITE), point) for low, high, point in ordered)

    def smooth(self, masses: list[Decimal], axes: Sequence[Sequence[Any]]) -> list[Decimal]:
        """Return masses on a grid after the noise, up to a factor."""
        if not self.claim.scale:
            return masses
        weighed = zip(axes, self.claim.weights, strict=True)
        return smoothed(masses, [[self.decay(low, high, w) for low, high in pairwise(axis)] for axis, w in weighed])

    def decay(self, low: Any, high: Any, weight: Fraction) -> Decimal:
        """By what factor the density of the noise falls from one number to another."""
        gap = decimal(weight * (Fraction(high) - Fraction(low)))
        if gap not in self.decays:
            self.decays[gap] = (-gap / self.claim.scale).exp()
        return self.decays[gap]

    def excess(self, first: Law, second: Law) -> Decimal:
        """The hockey-stick divergence of two laws after the noise."""
        ratio, weight = self.claim.epsilon.exp(), self.claim.weights[0]
        signed = {p: first.get(p, ZERO) - ratio * second.get(p, ZERO) for p in first.keys() | second.keys()}
        if not self.claim.scale:
            return sum((mass for mass in signed.values() if mass > 0), ZERO)
        require(len(next(iter(signed))) == 1, "several numbers with delta above 0")
        points: list[Any] = sorted(x for (x,) in signed)
        if whole := self.claim.noise == "DiscreteLaplace":
            self.claim.spend(int(points[-1] - points[0]))
            points = list(range(int(points[0]), int(points[-1]) + 1))
        decay = [self.decay(low, high, weight) for low, high in pairwise(points)]
        left, right = recursions([signed.get((x,), ZERO) for x in points], decay)
        if not whole:
            return laplace_excess(left, right, decay)
        q, ends = self.decay(0, 1, weight), max(ZERO, left[0] + right[0]) + max(ZERO, left[-1])
        inner = sum(max(ZERO, a + b) for a, b in zip(left, right, strict=True))
        return (inner + ends * q / (1 - q)) * (1 - q) / (1 + q)
