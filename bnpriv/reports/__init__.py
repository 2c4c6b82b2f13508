"""Reports: what leaks, in words and tables."""

from bnpriv.reports.gaussian_report import GaussianReport
from bnpriv.reports.influence_report import InfluenceReport, influence_report

__all__ = ["GaussianReport", "InfluenceReport", "influence_report"]
