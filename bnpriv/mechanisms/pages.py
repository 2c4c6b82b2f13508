"""Sections about calibrations as markup, for reports that are pages of their own."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.frameworks.guarantee import Guarantee, observer_fact, protected_fact
from bnpriv.mechanisms import sections
from bnpriv.mechanisms.answer import narrowest
from bnpriv.mechanisms.answer import verdict_badge as badge
from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.render.as_html import block, inline
from bnpriv.render.document import Quote
from bnpriv.render.html import Html, element, join

__all__ = ["narrowest"]


def comparison_section(calibrations: Sequence[Calibrated], refusals: sections.Refusals) -> Html:
    """Return the comparison of mechanisms."""
    return block(sections.comparison_section(calibrations, refusals))


def guarantee_quote(calibration: Calibrated) -> Html:
    """Return the guarantee, word for word."""
    return block(Quote(calibration.guarantee.sentence))


def noise_section(calibration: Calibrated) -> Html:
    """Return how much noise there is, and why."""
    return block(sections.noise_section(calibration))


def trust_section(source: str | None, assumptions: Sequence[str], calibration: Calibrated | None) -> Html:
    """Return where the model comes from."""
    certificate = None if calibration is None else calibration.certificate
    return block(sections.trust_section(source, assumptions, certificate))


def protected_list(guarantee: Guarantee) -> Html:
    """Return what is protected."""
    return join(*(element("div", inline(line)) for line in protected_fact(guarantee).lines))


def from_whom(observer: str, sees: str = "the answer") -> str:
    """Return who must not learn the secrets."""
    (line,) = observer_fact(observer, sees).lines
    assert isinstance(line, str)
    return line


def verdict_badge(calibration: Calibrated) -> Html:
    """Return the verdict in one coloured word."""
    return inline((badge(calibration),))
