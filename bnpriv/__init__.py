"""Publish statistics of a table without giving away a global property of its protected columns."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily as _lazily

if TYPE_CHECKING:
    # declare
    from bnpriv.core.networks.discrete import DiscreteNetwork as DiscreteNetwork
    from bnpriv.kinds.graphs import model_class as model_class
    from bnpriv.core.columns import Binned as Binned, Categorical as Categorical, Integer as Integer, Real as Real
    from bnpriv.core.schema import Schema as Schema
    from bnpriv.core.secrets import Secret as Secret, apart as apart, intervals as intervals, pairs as pairs
    from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy as DatasetAttributePrivacy
    from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy as DistributionalAttributePrivacy
    from bnpriv.core.frameworks.pairs import DistributionPrivacy as DistributionPrivacy
    from bnpriv.core.frameworks.attributes import ValuePrivacy as ValuePrivacy
    from bnpriv.io.examples import example as example, example_data as example_data
    from bnpriv.io.networks.files import read_network as read_network
    from bnpriv.io.framework_file import read_framework as read_framework, read_queries as read_queries
    from bnpriv.io.pgmpy import from_pgmpy as from_pgmpy
    from bnpriv.io.pyagrum import from_pyagrum as from_pyagrum
    from bnpriv.io.pymc.read import from_pymc as from_pymc
    from bnpriv.io.starter.start import start as start

    # ask
    from bnpriv.core.queries.predicates import col as col
    from bnpriv.core.queries.sensitivity import column_sensitivity as column_sensitivity
    from bnpriv.core.queries.asked import (
        count as count,
        crosstab as crosstab,
        histogram as histogram,
        linear as linear,
        mean as mean,
        moments as moments,
        proportion as proportion,
        total as total,
    )
    from bnpriv.core.queries.spread import covariance as covariance, std as std, variance as variance
    from bnpriv.core.queries.builtin import custom as custom
    from bnpriv.core.queries.spread import median as median, quantile as quantile
    from bnpriv.io.query_text import parse_query as parse_query
    from bnpriv.core.queries.asked import stack as stack

    # analyse
    from bnpriv.core.influence.base import max_influence as max_influence
    from bnpriv.lab.matrix import influence_matrix as influence_matrix
    from bnpriv.core.influence.quilts import markov_quilts as markov_quilts
    from bnpriv.views.report.report import influence_report as influence_report
    from bnpriv.lab.check_model import check_model as check_model
    from bnpriv.lab.compare import compare as compare
    from bnpriv.lab.leaks import leaks as leaks
    from bnpriv.lab.public_comparison import compare_with_public as compare_with_public

    # calibrate
    from bnpriv.core.mechanisms.column import ColumnMechanism as ColumnMechanism
    from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism as MarkovQuiltMechanism
    from bnpriv.core.mechanisms.law_mechanisms import TightMechanism as TightMechanism
    from bnpriv.core.mechanisms.law_mechanisms import WassersteinMechanism as WassersteinMechanism
    from bnpriv.mechanisms.plan import plan as plan
    from bnpriv.lab.simulate import rehearse as rehearse
    from bnpriv.lab.audit import audit as audit
    from bnpriv.lab.compare import tradeoff as tradeoff
    from bnpriv.tables.private_table.open_columns import open_columns as open_columns
    from bnpriv.tables.private_table.private_table import plan_table as plan_table

    # release
    from bnpriv.core.release import release as release
    from bnpriv.tables.private_table.private_table import private_table as private_table
    from bnpriv.verify.check import verify as verify
    from bnpriv.lab.simulate import simulate as simulate

    # check a table, for its owner alone
    from bnpriv.tables.data_check import check_data as check_data

    # account
    from bnpriv.core.accounting.accountant import Accountant as Accountant
    from bnpriv.ledger.session import Session as Session
    from bnpriv.ledger.external import from_differential_privacy as from_differential_privacy

    # refusals, and what stands behind the rest
    from bnpriv.errors import BnprivError as BnprivError
    from bnpriv import errors as errors, laws as laws, mechanisms as mechanisms, noise as noise

    # public modules of their own, see the reference; not in `__all__`
    from bnpriv import accounting as accounting, attacks as attacks, networks as networks
    from bnpriv import types as types

__version__ = "0.1.0"


__getattr__, __dir__ = _lazily(__name__, beside=("accounting", "attacks", "networks"))
