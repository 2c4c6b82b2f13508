"""Reports: what leaks, in words and tables."""

from bnpriv.reports.chain_report import ChainReport
from bnpriv.reports.density_report import DensityReport
from bnpriv.reports.gaussian_report import GaussianReport
from bnpriv.reports.influence_report import InfluenceReport, influence_report

__all__ = ["ChainReport", "DensityReport", "GaussianReport", "InfluenceReport", "influence_report"]
