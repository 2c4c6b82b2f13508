"""Publish statistics of a table without giving away a global property of its protected columns."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily as _lazily

if TYPE_CHECKING:
    # declare
    from bnpriv.core.networks.discrete import DiscreteNetwork
    from bnpriv.kinds.graphs import model_class
    from bnpriv.core.columns import Binned, Categorical, Integer, Real
    from bnpriv.core.schema import Schema
    from bnpriv.core.secrets import Secret, apart, intervals, pairs
    from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
    from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
    from bnpriv.core.frameworks.pairs import DistributionPrivacy
    from bnpriv.core.frameworks.value import ValuePrivacy
    from bnpriv.io.examples import example, example_data
    from bnpriv.io.networks.files import read_network
    from bnpriv.io.framework_file import read_framework, read_queries
    from bnpriv.io.pgmpy import from_pgmpy
    from bnpriv.io.pyagrum import from_pyagrum
    from bnpriv.io.pymc.read import from_pymc
    from bnpriv.io.starter.start import start

    # ask
    from bnpriv.core.queries.predicates import col
    from bnpriv.core.queries.sensitivity import column_sensitivity
    from bnpriv.core.queries.asked import count, crosstab, histogram, linear, mean, moments, proportion, total
    from bnpriv.core.queries.spread import covariance, std, variance
    from bnpriv.core.queries.custom import custom
    from bnpriv.core.queries.spread import median, quantile
    from bnpriv.io.query_text import parse_query
    from bnpriv.core.queries.asked import stack

    # analyse
    from bnpriv.core.influence.base import max_influence
    from bnpriv.lab.matrix import influence_matrix
    from bnpriv.core.influence.quilts import markov_quilts
    from bnpriv.views.report.report import influence_report
    from bnpriv.lab.check_model import check_model
    from bnpriv.lab.compare import compare
    from bnpriv.lab.leaks import leaks
    from bnpriv.lab.public_comparison import compare_with_public

    # calibrate
    from bnpriv.core.mechanisms.column import ColumnMechanism
    from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
    from bnpriv.core.mechanisms.tight import TightMechanism
    from bnpriv.core.mechanisms.wasserstein import WassersteinMechanism
    from bnpriv.mechanisms.plan import plan
    from bnpriv.lab.rehearse import rehearse
    from bnpriv.lab.audit import audit
    from bnpriv.lab.tradeoff import tradeoff
    from bnpriv.tables.private_table.open_columns import open_columns
    from bnpriv.tables.private_table.plan import plan_table

    # release
    from bnpriv.core.release import release
    from bnpriv.tables.private_table.private_table import private_table
    from bnpriv.verify.check import verify
    from bnpriv.lab.simulate import simulate

    # check a table, for its owner alone
    from bnpriv.tables.data_check import check_data

    # account
    from bnpriv.core.accounting.accountant import Accountant
    from bnpriv.ledger.session import Session
    from bnpriv.ledger.external import from_differential_privacy

    # refusals, and what stands behind the rest
    from bnpriv.errors import BnprivError
    from bnpriv import errors, laws, mechanisms, noise

    # public modules of their own, see the reference; not in `__all__`
    from bnpriv import accounting as accounting, attacks as attacks, networks as networks
    from bnpriv import types

__version__ = "0.1.0"

__all__ = [
    "Accountant",
    "Binned",
    "BnprivError",
    "Categorical",
    "ColumnMechanism",
    "DatasetAttributePrivacy",
    "DiscreteNetwork",
    "DistributionPrivacy",
    "DistributionalAttributePrivacy",
    "Integer",
    "MarkovQuiltMechanism",
    "Real",
    "Schema",
    "Secret",
    "Session",
    "TightMechanism",
    "ValuePrivacy",
    "WassersteinMechanism",
    "apart",
    "audit",
    "check_data",
    "check_model",
    "col",
    "column_sensitivity",
    "compare",
    "compare_with_public",
    "count",
    "covariance",
    "crosstab",
    "custom",
    "errors",
    "example",
    "example_data",
    "from_differential_privacy",
    "from_pgmpy",
    "from_pyagrum",
    "from_pymc",
    "histogram",
    "influence_matrix",
    "influence_report",
    "intervals",
    "laws",
    "leaks",
    "linear",
    "markov_quilts",
    "max_influence",
    "mean",
    "mechanisms",
    "median",
    "model_class",
    "moments",
    "noise",
    "open_columns",
    "pairs",
    "parse_query",
    "plan",
    "plan_table",
    "private_table",
    "proportion",
    "quantile",
    "read_framework",
    "read_network",
    "read_queries",
    "rehearse",
    "release",
    "simulate",
    "stack",
    "start",
    "std",
    "total",
    "tradeoff",
    "types",
    "variance",
    "verify",
]

__getattr__, __dir__ = _lazily(__name__)
