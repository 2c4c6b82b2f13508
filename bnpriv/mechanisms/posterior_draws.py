"""What is said of the models, and promised of those drawn from a posterior (docs/claims/posterior.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from bnpriv.frameworks.framework import Framework
    from bnpriv.networks.posterior import Posterior

PURE_SCALES, APPROXIMATE_SCALES, WEIGHTINGS = 2, 6, 3
"""Among how many scales a plan chooses for one question (docs/claims/posterior.md, claim 3).

Laplace noise and discrete Laplace noise; with delta above 0 those at delta 0 as well, and normal noise of two kinds.
Parts of an answer may be weighed in three ways.
"""


def posterior_of(framework: Framework) -> Posterior | None:
    """Return where the models of a framework were drawn from, or None if they are no draws."""
    return cast("Posterior | None", getattr(getattr(framework, "network", None), "posterior_draws", None))


def posteriors_of(framework: Framework) -> tuple[Posterior, ...]:
    """Return where all those networks of a framework were drawn from that were; several for pairs of networks."""
    network = getattr(framework, "network", None)
    pairs = cast("tuple[tuple[object, object], ...]", getattr(framework, "pairs", ()))
    networks = (side for pair in pairs for side in pair) if network is None else (network,)
    found = (cast("Posterior | None", getattr(network, "posterior_draws", None)) for network in networks)
    return tuple(drawn for drawn in found if drawn is not None)


def models_text(framework: Framework) -> str:
    """Return what the adversary may believe, where that is more than the number of models."""
    drawn = posterior_of(framework)
    return cast(str, getattr(framework, "models_text", "")) if drawn is None else drawn.models_text


def model_text(model: int, models: int) -> str:
    """Return which of several models decides; nothing where there is only one.

    Examples
    --------
    >>> model_text(0, 1), model_text(2, 3)
    ('', ', model 2')
    """
    return f", model {model}" if models > 1 else ""


def beyond_text(framework: Framework, numbers: int, *, delta: float, parts: int = 1) -> str:
    """Return what is known about models that were not drawn; empty where models are no draws, or no model matters.

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
    """Return what is known about models that were not drawn of a total over answers whose noise rests on draws."""
    drawn = posterior_of(framework)
    return "" if drawn is None else drawn.fitted_sentence("What the answers tell together was")


def stands_for_more(framework: Framework) -> bool:
    """Return whether the models are independent draws, so that something can be said about those not drawn."""
    drawn = posterior_of(framework)
    return drawn is not None and drawn.independent and not drawn.belief


def claimed_delta(framework: Framework, spent: float, delta: float) -> float:
    """Return the delta to promise where `spent` suffices for the models that were drawn: what was asked for, or 0.

    What lies between was read off the draws, and would be a second number beside the scale.
    """
    return delta if 0 < spent < delta and stands_for_more(framework) else spent
