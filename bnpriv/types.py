"""Types for annotations: networks, queries, influences, calibrations, releases, reports."""

from bnpriv.bound import Bound
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.base import Influence
from bnpriv.core.influence.quilts import MarkovQuilt, MarkovQuilts
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.networks.base import Network, Posterior
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.release import Release
from bnpriv.core.secrets import SecretPair
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.lab.attacks.result import Attack
from bnpriv.lab.check_model import ModelCheck
from bnpriv.lab.compare import FrameworkComparison
from bnpriv.lab.leaks import Leaks
from bnpriv.lab.matrix import InfluenceMatrix
from bnpriv.lab.public_comparison import PublicComparison
from bnpriv.lab.rehearse import Rehearsal
from bnpriv.lab.tradeoff import Tradeoff
from bnpriv.ledger.external import ExternalRelease, ExternalReport
from bnpriv.ledger.history import History
from bnpriv.ledger.prices import Price
from bnpriv.ledger.split import BudgetSplit
from bnpriv.ledger.values import Budget
from bnpriv.ledger.workload import Workload, WorkloadAnswer
from bnpriv.loss.loss import PrivacyCurve, PrivacyLoss
from bnpriv.mechanisms.misspecified import Misspecified
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import Usefulness
from bnpriv.tables.private_table.hidden import HiddenAnswer, HiddenTable
from bnpriv.tables.private_table.open_columns import OpenColumns, OpenTable
from bnpriv.tables.private_table.plan import TablePlan
from bnpriv.tables.private_table.private_table import PrivateTable
from bnpriv.tables.readings import Dialect
from bnpriv.views.report.network import RankedQuilts
from bnpriv.views.report.report import InfluenceReport

__all__ = [
    "Attack",
    "Bound",
    "Budget",
    "BudgetSplit",
    "Calibration",
    "Certificate",
    "DensityNetwork",
    "Dialect",
    "DiscreteNetwork",
    "ExternalRelease",
    "ExternalReport",
    "Framework",
    "FrameworkComparison",
    "GaussianNetwork",
    "Guarantee",
    "HiddenAnswer",
    "HiddenTable",
    "History",
    "Influence",
    "InfluenceMatrix",
    "InfluenceReport",
    "IntervalNetwork",
    "Leaks",
    "MarkovChain",
    "MarkovQuilt",
    "MarkovQuilts",
    "Mechanism",
    "Misspecified",
    "ModelCheck",
    "Network",
    "OpenColumns",
    "OpenTable",
    "Plan",
    "Posterior",
    "Predicate",
    "Price",
    "PrivacyCurve",
    "PrivacyLoss",
    "PrivateTable",
    "PublicComparison",
    "Query",
    "RankedQuilts",
    "Rehearsal",
    "Release",
    "SecretPair",
    "TablePlan",
    "Tradeoff",
    "Usefulness",
    "Workload",
    "WorkloadAnswer",
]
