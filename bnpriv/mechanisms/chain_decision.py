"""What decided the noise of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.bound import Kind
from bnpriv.influence.chain import ChainQuilt
from bnpriv.render import Json, number_text


@final
@dataclass(frozen=True, kw_only=True)
class ChainDecision:
    """The step of a chain that needs the most noise, under one model.

    Parameters
    ----------
    protected : str
        The column that the chain drives.
    model : int
        The index in Theta.
    quilt : ChainQuilt
        The step with its best quilt.
    scale : float
        Noise scale that it needs.
    kind : {"exact", "certified"}
        How well the influence is known.
    """

    protected: str
    model: int
    quilt: ChainQuilt
    scale: float
    kind: Kind

    @property
    def text(self) -> str:
        """Return the decision in a sentence."""
        quilt = self.quilt
        sides = [
            f"{distance:,} {'step' if distance == 1 else 'steps'} {side}"
            for distance, side in ((quilt.before, "before"), (quilt.after, "after"))
            if distance is not None
        ]
        shield = f"the values {' and '.join(sides)} tell {number_text(quilt.influence)} nats" if sides else "no quilt"
        return (
            f"{self.protected}, step {quilt.step:,} of {quilt.length:,} (model {self.model}): {shield}; noise hides "
            f"{quilt.near:,} {'value' if quilt.near == 1 else 'values'} around it; scale {number_text(self.scale)}."
        )

    def to_json(self) -> Json:
        """Return the decision as plain values."""
        return {
            "protected": self.protected,
            "model": self.model,
            "step": self.quilt.step,
            "length": self.quilt.length,
            "before": self.quilt.before,
            "after": self.quilt.after,
            "influence": self.quilt.influence,
            "near": self.quilt.near,
            "kind": self.kind,
            "scale": self.scale,
        }
