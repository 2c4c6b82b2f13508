"""Reports: what leaks, in words and tables."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport, influence_report

__all__ = ["InfluenceReport", "influence_report"]

__getattr__, __dir__ = lazily(__name__)
