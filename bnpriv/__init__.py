"""Publish statistics of a table without giving away a global property of its protected columns."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily as _lazily

if TYPE_CHECKING:
    # declare
    from bnpriv.networks.discrete import DiscreteNetwork
    from bnpriv.networks.chain import MarkovChain
    from bnpriv.networks.model_class import model_class
    from bnpriv.tables.schema import Binned, Categorical, Integer, Real, Schema
    from bnpriv.secrets.apart import apart
    from bnpriv.secrets.properties import Secret
    from bnpriv.secrets.states import pairs
    from bnpriv.secrets.values import intervals
    from bnpriv.frameworks.dataset import DatasetAttributePrivacy
    from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
    from bnpriv.frameworks.pairs import DistributionPrivacy
    from bnpriv.frameworks.value import ValuePrivacy
    from bnpriv.adapters.examples import example, example_data
    from bnpriv.adapters.files import read_network
    from bnpriv.adapters.framework_file import read_framework, read_queries
    from bnpriv.adapters.pgmpy import from_pgmpy
    from bnpriv.adapters.pymc.read import from_pymc
    from bnpriv.studies.laws_by_property import laws_by_property
    from bnpriv.starter.start import start

    # ask
    from bnpriv.queries.predicates import col
    from bnpriv.queries.sensitivity import column_sensitivity
    from bnpriv.queries.constructors import (
        count,
        crosstab,
        histogram,
        linear,
        mean,
        moments,
        proportion,
        proportion as share,
        total as sum,
        total,
    )
    from bnpriv.queries.spread import covariance, std, variance
    from bnpriv.queries.custom import custom
    from bnpriv.queries.quantiles import median, quantile
    from bnpriv.queries.parser import parse_query
    from bnpriv.queries.asked import stack

    # analyse
    from bnpriv.influence.maximum import max_influence
    from bnpriv.influence.matrix import influence_matrix
    from bnpriv.influence.quilts import markov_quilts
    from bnpriv.report.influence_report import influence_report
    from bnpriv.studies.check_model import check_model
    from bnpriv.studies.compare import compare
    from bnpriv.studies.leaks import leaks

    # calibrate
    from bnpriv.mechanisms.column import ColumnMechanism
    from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
    from bnpriv.mechanisms.tight import TightMechanism
    from bnpriv.mechanisms.wasserstein import WassersteinMechanism
    from bnpriv.mechanisms.plan import plan
    from bnpriv.studies.rehearse import rehearse
    from bnpriv.studies.tradeoff import tradeoff

    # release
    from bnpriv.release.release import release
    from bnpriv.verify.check import verify
    from bnpriv.studies.simulate import simulate

    # check a table, for its owner alone
    from bnpriv.private_checks.data_check import check_data

    # account
    from bnpriv.accounting.accountant import Accountant
    from bnpriv.session.session import Session

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
    "MarkovChain",
    "MarkovQuiltMechanism",
    "Real",
    "Schema",
    "Secret",
    "Session",
    "TightMechanism",
    "ValuePrivacy",
    "WassersteinMechanism",
    "apart",
    "check_data",
    "check_model",
    "col",
    "column_sensitivity",
    "compare",
    "count",
    "covariance",
    "crosstab",
    "custom",
    "errors",
    "example",
    "example_data",
    "from_pgmpy",
    "from_pymc",
    "histogram",
    "influence_matrix",
    "influence_report",
    "intervals",
    "laws",
    "laws_by_property",
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
    "pairs",
    "parse_query",
    "plan",
    "proportion",
    "quantile",
    "read_framework",
    "read_network",
    "read_queries",
    "rehearse",
    "release",
    "share",
    "simulate",
    "stack",
    "start",
    "std",
    "sum",
    "total",
    "tradeoff",
    "types",
    "variance",
    "verify",
]

__getattr__, __dir__ = _lazily(__name__)
