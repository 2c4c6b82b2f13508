"""The guarantee of a framework: what it protects against whom, with the numbers that are promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnpriv.bound import Kind
from bnpriv.frameworks.guarantee import Guarantee
from bnpriv.mechanisms.posterior_draws import models_text

if TYPE_CHECKING:
    from bnpriv.frameworks.framework import Framework


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
    """Return what is promised of the secrets of a framework.

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
