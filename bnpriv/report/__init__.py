"""Reports: what leaks, in words and tables."""

from bnpriv.report.influence_report import InfluenceReport, influence_report

__all__ = ["InfluenceReport", "influence_report"]
