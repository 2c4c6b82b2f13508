"""What a calibration claims: a query, a model, noise, epsilon and delta; and the work and findings of one check."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property
from typing import Any

from bnpriv.verify.forms import Form
from bnpriv.verify.nodes import Nodes
from bnpriv.verify.noise import StoredRows, weights_of
from bnpriv.verify.values import SLACK, UNSHOWN, ZERO, Law, StopError, number, require

MOST_WORK = 1_000_000
"""Products of masses in one check: a few seconds."""

HIDE_RECORDS = ("RecordPrivacyMechanism", "GroupPrivacyMechanism")
"""Noise that was fitted to single records or groups: the guarantee has an epsilon of its own for the secrets."""


class Claim:
    """One claim: the noise, the guarantee, and the model that is to bear it; the largest epsilon that was found."""

    def __init__(self, record: Any, model: Any) -> None:
        self.model, self.work, self.worst, self.query = model, 0, ZERO, record["form"]
        self.n: int = model["records"]
        self.network = Nodes(model.get("network", {"models": 1, "nodes": {}, "driven": {}}))
        self.mechanism, self.noise, self.seen = record["mechanism"]["name"], record["noise"]["law"], 0
        self.joints = dict[Any, Law]()
        self.epsilon, self.delta = Decimal(record["guarantee"]["epsilon"]), Decimal(record["guarantee"]["delta"])
        require(0 < self.epsilon < 10**6 and 0 <= self.delta < 1, "a guarantee out of range")
        if self.mechanism not in HIDE_RECORDS and record["epsilon"] != record["guarantee"]["epsilon"]:
            raise StopError("fails", "the guarantee has another epsilon than the calibration")
        self.channel = StoredRows(record["noise"]["channel"]) if self.noise == "Channel" else None
        self.scale = ZERO if self.channel else number(record["noise"]["exact_scale"])
        if not self.channel and record["noise"]["scale"] != float(self.scale):
            raise StopError("fails", "the scale is not the exact scale beside it")
        drawn = self.noise in ("Laplace", "DiscreteLaplace")
        require(drawn or self.noise in ("NoNoise", "Channel"), f"{self.noise!r:.40} noise")
        require(self.scale.is_finite() and (self.scale > 0) == drawn, "the scale of the noise")
        self.weights = weights_of(record["noise"])

    @cached_property
    def form(self) -> Form:
        """The query, which has a number for every weight of the noise."""
        form = Form(self.query, self.model["columns"])
        if len(form.rows) != len(self.weights):
            raise StopError("fails", f"noise for {len(self.weights)} numbers where the answer has {len(form.rows)}")
        return form

    def spend(self, cost: int) -> None:
        """Note products of masses; stop where they are too many."""
        self.work += cost
        if self.work > MOST_WORK:
            raise StopError("too large", f"more than {MOST_WORK:,} products of masses")

    def joint(self, *names: str, theta: int) -> Law:
        """The law of some nodes in a model."""
        if (names, theta) not in self.joints:
            self.joints[names, theta] = self.network.joint(names, theta, self.spend)
        return self.joints[names, theta]

    def note(self, told: Decimal) -> None:
        """Note an epsilon that is reached or bounded."""
        self.seen, self.worst = self.seen + 1, max(self.worst, told)

    def held(self, how: str, told: Decimal) -> str:
        """Take note of an epsilon that is reached, to within what is lost in digits; say what holds."""
        if told - 2 * SLACK > self.epsilon:
            raise StopError("fails", f"epsilon is {told:.9g} where {self.epsilon:.9g} is claimed, {how}")
        return self.bounded(how, told)

    def bounded(self, how: str, told: Decimal = ZERO) -> str:
        """Take note of an epsilon that is not exceeded; stop where it passes the claim; say what holds."""
        self.note(told)
        return self.borne(how)

    def borne(self, how: str) -> str:
        """Say what holds, by all that was noted."""
        if self.worst > self.epsilon:
            raise StopError(UNSHOWN, f"epsilon may be {self.worst:.9g} where {self.epsilon:.9g} is claimed, {how}")
        require(self.seen, "secrets of which no two are possible")
        low, high = float(max(ZERO, self.worst - 2 * SLACK)), float(self.worst)
        excess = f" but for delta {self.delta:.6g}" if self.delta else ""
        return f"epsilon in [{math.nextafter(low, 0)!r}, {math.nextafter(high, math.inf)!r}]{excess}, {how}"
