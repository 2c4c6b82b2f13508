"""Certificates: why a calibration is private, what decided it, and how well its numbers are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bnpriv.bound import Bound, Kind, weakest
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.kind import notion_of
from bnpriv.services import service
from bnpriv.shown import HasCard
from bnpriv.text import Json, by_times, number_text, set_text, upper_chance

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework
    from bnpriv.core.influence.quilts import MarkovQuilt
    from bnpriv.core.networks.base import Posterior
    from bnpriv.core.secrets import Pair
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Statements about models that were drawn from a posterior (docs/claims/posterior.md).
# --------------------------------------------------------------------------------------------------

PURE_SCALES, APPROXIMATE_SCALES, WEIGHTINGS = 2, 6, 3
"""The number of scales among which a plan chooses for one query (docs/claims/posterior.md, claim 3).

Laplace noise and discrete Laplace noise; with delta above 0 those at delta 0 as well, and normal noise of two kinds.
Parts of an answer may be weighed in three ways.
"""


def posterior_of(framework: Framework) -> Posterior | None:
    """The posterior that the models of a framework were drawn from, or None."""
    return None if framework.pairs_name_models else next(iter(posteriors_of(framework)), None)


def posteriors_of(framework: Framework) -> tuple[Posterior, ...]:
    """The posteriors of all networks of a framework that were drawn; several for pairs of networks."""
    found: Iterator[Posterior | None] = (each.posterior_draws for each in notion_of(framework).networks(framework))
    return tuple(drawn for drawn in found if drawn is not None)


def models_text(framework: Framework) -> str:
    """What the adversary may believe, where that is more than the number of models."""
    drawn = posterior_of(framework)
    return notion_of(framework).models_text(framework) or ("" if drawn is None else drawn.models_text)


def model_text(model: int, models: int) -> str:
    """Which of several models decides, as an insertion; empty where there is only one.

    Examples
    --------
    >>> model_text(0, 1), model_text(2, 3)
    ('', ', model 2')
    """
    return f", model {model}" if models > 1 else ""


def beyond_text(framework: Framework, numbers: int, *, delta: float, parts: int = 1) -> str:
    """What is known about models that were not drawn; empty where models are no draws, or no model matters.

    Parameters
    ----------
    framework : Framework
    numbers : int
        How many numbers were taken from the draws: 0 for noise that needs no model, 1 for a scale.
    delta : float
        What was asked for.
    parts : int
        The parts of the answer that may have been weighed against each other.
    """
    drawn = posterior_of(framework)
    if drawn is None or not numbers:
        return ""
    if numbers > 1:
        return drawn.fitted_sentence(f"The {numbers:,} numbers that make this noise were")
    scales = APPROXIMATE_SCALES if delta else PURE_SCALES
    return drawn.sentence_among(scales * (WEIGHTINGS if parts > 1 else 1))


def total_beyond_text(framework: Framework) -> str:
    """What is known about undrawn models when noise resting on draws is added up over several answers."""
    drawn = posterior_of(framework)
    return "" if drawn is None else drawn.fitted_sentence("What the answers tell together was")


def stands_for_more(framework: Framework) -> bool:
    """Whether the models are independent draws, so that something holds beyond those drawn."""
    drawn = posterior_of(framework)
    return drawn is not None and drawn.independent and not drawn.belief


def claimed_delta(framework: Framework, spent: float, delta: float) -> float:
    """The delta to promise where `spent` suffices for the models that were drawn: what was asked for, or 0.

    What lies between was read off the draws, and would be a second number beside the scale.
    """
    return delta if 0 < spent < delta and stands_for_more(framework) else spent


# --------------------------------------------------------------------------------------------------
# The certificate of a calibration: its theorem, its decisions, and the kind of its numbers.
# --------------------------------------------------------------------------------------------------


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
        """How well the influence is known."""
        return self.influence.kind

    @property
    def text(self) -> str:
        """The decision in a sentence."""
        passed = f", but for delta {upper_chance(self.excess)}" if self.excess else ""
        if self.scale == 0 and not self.queried_near:
            return (
                f"{self.protected}: the queried columns move the odds about it "
                f"{by_times(self.influence.upper)}{passed}, within the budget, so no noise is needed."
            )
        trivial = not self.quilt.quilt
        spent = (
            "no other column shields it (the trivial quilt)"
            if trivial
            else f"the quilt {set_text(self.quilt.quilt)} moves the odds {by_times(self.influence.upper)}{passed}"
        )
        return (
            f"{self.protected} ({self.pair}{model_text(self.model, self.models)}): {spent}; noise hides "
            f"{set_text(self.queried_near)}, "
            f"which can move the answer by {number_text(self.sensitivity.upper)}; scale {number_text(self.scale)}."
        )

    def to_json(self) -> Json:
        """The decision as plain values."""
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


@dataclass(frozen=True, kw_only=True)
class Certificate(HasCard):
    """The certificate of a calibration: why it is private.

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
    decisions: tuple[Any, ...]
    sensitivity: Bound
    source: str
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    zero_noise_reason: str | None = None
    confidence: float | None = None
    channel: Any = None

    @property
    def kind(self) -> Kind:
        """How well the numbers behind the noise are known: as well as the worst of them."""
        return weakest((self.sensitivity.kind, *(decision.kind for decision in self.decisions)))

    @property
    def known(self) -> str:
        """How well the numbers behind the noise are known, in words, with the confidence if any."""
        if self.confidence is not None:
            return f"{self.kind}, with {self.caution}"
        return "an estimate" if self.kind == "estimate" else self.kind

    @property
    def caution(self) -> str:
        """What keeps the noise from being proved sufficient, in words; empty if nothing does."""
        if self.confidence is not None:
            return f"confidence {100 * self.confidence:g} %"
        return "an estimate" if self.kind == "estimate" else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """What decided the noise, in words, the most noise first; of many decisions only the first."""
        return service("certificate.reasons")(self)

    @property
    def document(self) -> Document:
        """The theorem, what decided the noise, and what must hold outside the library, as a document."""
        return service("certificate.document")(self)

    def to_json(self) -> Json:
        """The certificate as plain values."""
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


# --------------------------------------------------------------------------------------------------
# The interface of a release, without importing the module that reads data.
# --------------------------------------------------------------------------------------------------

IntervalEnds = tuple[float, float]
"""The ends of an interval for an exact answer."""


class Released(Protocol):
    """A released answer: what `bnpriv.release` returns."""

    @property
    def value(self) -> float | tuple[float, ...]:
        """The number if there is one, else the tuple of all."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the release promises."""
        ...

    def interval(self, level: float = 0.95) -> IntervalEnds | tuple[IntervalEnds, ...]:
        """Intervals that contain all exact answers at once, with probability `level` over the noise."""
        ...

    def clamped(self) -> Released:
        """The release with every number clamped to the range of its exact answer."""
        ...

    def rounded(self) -> Released:
        """The release with whole-numbered answers rounded."""
        ...

    def to_json(self) -> str:
        """The release with its calibration as JSON."""
        ...


# --------------------------------------------------------------------------------------------------
# The guarantee of a framework: against whom it protects, with the numbers that are promised.
# --------------------------------------------------------------------------------------------------


def guarantee_for(
    framework: Framework,
    *,
    epsilon: float,
    delta: float,
    kind: Kind,
    beyond_text: str,
    confidence: float | None = None,
    baseline_text: str = "",
    without_model: float | None = None,
    answers: int = 1,
) -> Guarantee:
    """The guarantee for the secrets of a framework.

    Parameters
    ----------
    framework : Framework
    epsilon, delta : float
    kind : {"exact", "certified", "estimate"}
    beyond_text : str
        What is known about models that were not drawn, where models are draws.
    confidence : float, optional
        With which confidence over draws from the model it holds.
    baseline_text : str
        What is hidden beside the secrets.
    without_model : float, optional
        An epsilon that holds whatever the model is, where `epsilon` rests on it.
    answers : int
        How many answers the adversary sees.
    """
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        secrets=framework.protected_secrets,
        models=framework.models,
        source=framework.source,
        kind=kind,
        single_values=framework.single_values,
        by_intervals=framework.by_intervals,
        models_text=models_text(framework),
        beyond_text=" ".join(text for text in (beyond_text, framework.kinds_text) if text),
        confidence=confidence,
        baseline_text=baseline_text,
        without_model=without_model,
        answers=answers,
    )
