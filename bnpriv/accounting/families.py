"""Which theorem counts a release beside others: one family for each, and a table of what adds to what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bnpriv.errors import Refusal
from bnpriv.evidence.structural import influences
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.column import ColumnMechanism
from bnpriv.noise.intervals import is_none
from bnpriv.queries.given import GivenAnswer

ReleaseFamily = Literal["column", "quilt", "own law"]
RELEASE_FAMILIES: tuple[ReleaseFamily, ...] = ("column", "quilt", "own law")

ADDED: Mapping[frozenset[ReleaseFamily], str] = {
    frozenset({"column"}): "theorem 2a",
    frozenset({"column", "quilt"}): "theorem 2a",
    frozenset({"column", "own law"}): "theorem 2b",
    frozenset({"quilt"}): "theorem 1",
}
"""What counts two releases of such families together (docs/claims/accountant.md); what is not here is refused."""


JOINTLY = "Ask all questions at once, with bp.stack(...), or give the others noise that composes: ColumnMechanism."


def family_of(calibration: Calibration) -> ReleaseFamily:
    """Return what a calibration counts as.

    Examples
    --------
    >>> import bnpriv as bp
    >>> question = (bp.example("student"), bp.count(bp.col("height") > 180))
    >>> [
    ...     family_of(each.calibrate(*question, epsilon=1.0))
    ...     for each in (bp.MarkovQuiltMechanism(), bp.ColumnMechanism())
    ... ]
    ['quilt', 'column']
    """
    if isinstance(calibration.mechanism, ColumnMechanism):
        return "column"
    return "own law" if own_law_reason(calibration) else "quilt"


def own_law_reason(calibration: Calibration) -> Refusal | None:
    """Return why the noise of a release does not count by quilts, or None if it does."""
    evidence = influences(calibration.framework)
    if isinstance(evidence, Refusal):
        return evidence
    if evidence.quilts is not None:
        return evidence.quilts
    if isinstance(calibration.query, GivenAnswer):
        return Refusal(
            required="noise counts by the columns that a query reads",
            found="laws of an answer alone",
            remedy="Pass query=... and schema=... to the framework.",
        )
    if calibration.noise.accounted_noise() is None and not is_none(calibration.noise):
        return Refusal(
            required="noise that is added to an answer counts by its scale",
            found="a table of outputs, which is private for the declared laws of this one answer alone",
            remedy="Use a mechanism that adds noise, such as TightMechanism.",
        )
    return evidence.covers(calibration.query.columns)
