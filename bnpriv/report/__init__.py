"""Reports: what leaks, in words and tables."""

from bnpriv.report.chain_report import ChainReport
from bnpriv.report.density_report import DensityReport
from bnpriv.report.gaussian_report import GaussianReport
from bnpriv.report.influence_report import InfluenceReport, influence_report

__all__ = ["ChainReport", "DensityReport", "GaussianReport", "InfluenceReport", "influence_report"]
