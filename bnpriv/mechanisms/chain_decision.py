"""What decided the noise of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.bound import Kind
from bnpriv.influence.chain.search import ChainQuilt
from bnpriv.render.text import Json, number_text, of_nats, upper_text


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
    models : int, optional
        How many models Theta has; with a single one its index is not said.
    """

    protected: str
    model: int
    quilt: ChainQuilt
    scale: float
    kind: Kind
    models: int = 1

    @property
    def text(self) -> str:
        """Return the decision in a sentence."""
        near = self.quilt.near
        hidden = f"{near:,} {'value' if near == 1 else 'values'} around it"
        return f"{self.protected}, {self._step}: {self._shield}; noise hides {hidden}; scale {number_text(self.scale)}."

    @property
    def why(self) -> str:
        """Return in a sentence what the noise hides, and what the rest tells."""
        near = self.quilt.near
        hidden = f"the value of {self.protected} at" if near == 1 else f"{near:,} values of {self.protected} around"
        return f"It hides {hidden} {self._step}; {self._shield}."

    @property
    def _step(self) -> str:
        """Return which step it is."""
        which = f" (model {self.model})" if self.models > 1 else ""
        return f"step {self.quilt.step:,} of {self.quilt.length:,}{which}"

    @property
    def _shield(self) -> str:
        """Return what the values around the hidden ones tell."""
        sides = [
            f"{distance:,} {'step' if distance == 1 else 'steps'} {side}"
            for distance, side in ((self.quilt.before, "before"), (self.quilt.after, "after"))
            if distance is not None
        ]
        if not sides:
            return "no values are far enough to be left out"
        values = "value" if len(sides) == 1 else "values"
        verb = "tells" if len(sides) == 1 else "tell"
        return f"the {values} {' and '.join(sides)} {verb} {of_nats(upper_text(self.quilt.influence))}"

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
