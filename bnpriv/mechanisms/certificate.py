"""Why a calibration is private: the theorem, what decided it, and how well its numbers are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bnpriv.bound import Bound, Kind, weakest
from bnpriv.mechanisms.posterior_draws import model_text
from bnpriv.render.shown import HasCard
from bnpriv.render.text import Json, number_text, of_nats, set_text, upper_chance, upper_text
from bnpriv.services import service

if TYPE_CHECKING:
    from bnpriv.influence.quilts import MarkovQuilt
    from bnpriv.mechanisms.chain_decision import ChainDecision
    from bnpriv.mechanisms.channel_facts import ChannelFacts
    from bnpriv.mechanisms.law_decision import LawDecision
    from bnpriv.render.document import Document
    from bnpriv.secrets.pair import Pair


@final
@dataclass(frozen=True, kw_only=True)
class Decision:
    """What decided the noise for one protected attribute.

    Parameters
    ----------
    protected : str
        The protected attribute.
    pair : SecretPair or ContinuousPair
        The pair of secrets that needs the most noise.
    model : int
        The index in Theta of the model that needs it.
    quilt : MarkovQuilt
        The quilt used for them; `near` holds the protected attribute.
    queried_near : frozenset of str
        The queried columns that are near: the noise hides any change of them.
    influence : Bound
        What the other queried columns tell, in nats.
    sensitivity : Bound
        Column sensitivity of the query for the near columns.
    scale : float
        Noise scale that this attribute needs.
    excess : float, optional
        With delta above 0: by how much (hockey-stick divergence) the quilt can pass `influence`, which is then what the
        noise leaves of epsilon to it; None for a pure guarantee.
    models : int, optional
        How many models Theta has; with a single one its index is not said.
    """

    protected: str
    pair: Pair
    model: int
    quilt: MarkovQuilt
    queried_near: frozenset[str]
    influence: Bound
    sensitivity: Bound
    scale: float
    excess: float | None = None
    models: int = 1

    @property
    def kind(self) -> Kind:
        """Return how well the influence is known."""
        return self.influence.kind

    @property
    def text(self) -> str:
        """Return the decision in a sentence."""
        passed = f", but for delta {upper_chance(self.excess)}" if self.excess else ""
        told = of_nats(upper_text(self.influence.upper))
        if self.scale == 0 and not self.queried_near:
            return (
                f"{self.protected}: the queried columns are all far: they tell at most {told} about it{passed}, within "
                "the budget, so no noise is needed."
            )
        trivial = not self.quilt.quilt
        spent = (
            "the trivial quilt: every queried column that is not separated from it is near"
            if trivial
            else f"the quilt {set_text(self.quilt.quilt)} tells {told}{passed}"
        )
        return (
            f"{self.protected} ({self.pair}{model_text(self.model, self.models)}): {spent}; noise hides "
            f"{set_text(self.queried_near)}, "
            f"which can move the answer by {number_text(self.sensitivity.upper)}; scale {number_text(self.scale)}."
        )

    def to_json(self) -> Json:
        """Return the decision as plain values."""
        return {
            "protected": self.protected,
            "pair": str(self.pair),
            "model": self.model,
            "quilt": sorted(self.quilt.quilt),
            "near": sorted(self.quilt.near),
            "remote": sorted(self.quilt.remote),
            "queried_near": sorted(self.queried_near),
            "influence": self.influence.upper,
            "influence_kind": self.influence.kind,
            "sensitivity": self.sensitivity.upper,
            "sensitivity_kind": self.sensitivity.kind,
            "scale": self.scale,
            "excess": self.excess,
        }


@final
@dataclass(frozen=True, kw_only=True)
class Certificate(HasCard):
    """Why a calibration is private.

    Parameters
    ----------
    theorem : str
        The theorem with its source.
    claim : str
        The file in docs/claims that proves it.
    decisions : tuple of Decision, LawDecision or ChainDecision
        What decided the noise: one per protected attribute, or per attribute and model for laws, the one that needs the
        most noise first; empty for mechanisms that need no model.
    sensitivity : Bound
        Column sensitivity that the noise hides.
    source : str
        Where the model comes from.
    assumptions : tuple of str
        What must hold outside the library.
    dropped : tuple of str
        Pairs of secrets that are no constraint because a secret has probability zero.
    notes : tuple of str
        Anything else that a reader must know.
    zero_noise_reason : str, optional
        Why no noise is needed; None whenever there is noise.
    confidence : float, optional
        With which confidence over draws from the model the numbers hold; None where they rest on no draws, or are an
        estimate.
    channel : ChannelFacts, optional
        What is known of a channel; None for noise that is added.
    """

    theorem: str
    claim: str
    decisions: tuple[Decision | LawDecision | ChainDecision, ...]
    sensitivity: Bound
    source: str
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    zero_noise_reason: str | None = None
    confidence: float | None = None
    channel: ChannelFacts | None = None

    @property
    def kind(self) -> Kind:
        """Return how well the numbers behind the noise are known."""
        return weakest((self.sensitivity.kind, *(decision.kind for decision in self.decisions)))

    @property
    def known(self) -> str:
        """Return in words how well the numbers behind the noise are known: the kind, with its confidence if any."""
        if self.confidence is not None:
            return f"{self.kind}, with {self.caution}"
        return "an estimate" if self.kind == "estimate" else self.kind

    @property
    def caution(self) -> str:
        """Return in words what keeps the noise from being proved to be enough, if anything does."""
        if self.confidence is not None:
            return f"confidence {100 * self.confidence:g} %"
        return "an estimate" if self.kind == "estimate" else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return in words what decided the noise, the most noise first; of many decisions the first ones."""
        return service("certificate.reasons")(self)

    @property
    def document(self) -> Document:
        """Return the theorem, what decided the noise, and what must hold outside the library."""
        return service("certificate.document")(self)

    def to_json(self) -> Json:
        """Return the certificate as plain values."""
        return {
            "theorem": self.theorem,
            "claim": self.claim,
            "kind": self.kind,
            "confidence": self.confidence,
            "source": self.source,
            "sensitivity": self.sensitivity.upper,
            "decisions": [decision.to_json() for decision in self.decisions],
            "assumptions": list(self.assumptions),
            "dropped": list(self.dropped),
            "notes": list(self.notes),
            "zero_noise_reason": self.zero_noise_reason,
            **({} if self.channel is None else {"channel": self.channel.to_json()}),
        }
