"""A plan as a document: the mechanisms compared, then all about the best."""

from __future__ import annotations

from dataclasses import replace

from bnpriv.mechanisms.plan import Plan
from bnpriv.render.document import Document
from bnpriv.views.calibration import calibration_document, comparison_section


def plan_document(found: Plan) -> Document:
    """The comparison of a plan, and the document of its best calibration."""
    comparison = comparison_section((*found.calibrations, *found.baselines), found.refusals, found.limit)
    data: dict[str, object] = {
        "calibrations": [calibration.to_dict() for calibration in found.calibrations],
        "limit": found.limit.to_json(found.calibrations),
        "refusals": [{"mechanism": str(mechanism), "reason": str(why)} for mechanism, why in found.refusals],
    }
    if found.baselines:
        data["baselines"] = [calibration.to_dict() for calibration in found.baselines]
    if found.draws is not None:
        data["draws"] = found.draws.to_json()
    if found.session is not None:
        data["session"] = found.session.to_json()
    if found.public is not None:
        data["public"] = found.public.document.data
    if found.closer is not None:
        data["closer_secrets"] = [step.to_json() for step in found.closer.steps]
    if not found.calibrations:
        headline = "No mechanism supports this query"
        return Document(kind="plan", kicker="bnpriv plan", headline=headline, sections=(comparison,), data=data)
    best = calibration_document(found.calibrations[0])
    ahead = () if found.closer is None else (found.closer.section,)
    asides = [found.section for found in (found.public, found.session, found.draws) if found is not None]
    return replace(
        best,
        kind="plan",
        kicker="bnpriv plan",
        title=f"{found.calibrations[0].query}: mechanisms compared",
        sections=(*ahead, comparison, *asides, *best.sections),
        data=data,
    )
