"""Types for annotations: networks, queries, influences, calibrations, releases, reports."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.bound import Bound as Bound
    from bnpriv.core.frameworks.guarantee import Guarantee as Guarantee
    from bnpriv.core.frameworks.question import Framework as Framework
    from bnpriv.core.influence.base import Influence as Influence
    from bnpriv.core.influence.quilts import MarkovQuilt as MarkovQuilt, MarkovQuilts as MarkovQuilts
    from bnpriv.core.mechanisms.base import Calibration as Calibration, Mechanism as Mechanism
    from bnpriv.core.mechanisms.certificate import Certificate as Certificate
    from bnpriv.core.networks.base import Network as Network, Posterior as Posterior
    from bnpriv.core.networks.discrete import DiscreteNetwork as DiscreteNetwork, IntervalNetwork as IntervalNetwork
    from bnpriv.core.queries.base import Query as Query
    from bnpriv.core.queries.predicates import Predicate as Predicate
    from bnpriv.core.release import Release as Release
    from bnpriv.core.secrets import SecretPair as SecretPair
    from bnpriv.kinds.chain.network import MarkovChain as MarkovChain
    from bnpriv.kinds.density.network import DensityNetwork as DensityNetwork
    from bnpriv.kinds.gaussian.network import GaussianNetwork as GaussianNetwork
    from bnpriv.lab.attacks.result import Attack as Attack
    from bnpriv.lab.check_model import ModelCheck as ModelCheck
    from bnpriv.lab.compare import FrameworkComparison as FrameworkComparison, Tradeoff as Tradeoff
    from bnpriv.lab.leaks import Leaks as Leaks
    from bnpriv.lab.matrix import InfluenceMatrix as InfluenceMatrix
    from bnpriv.lab.public_comparison import PublicComparison as PublicComparison
    from bnpriv.lab.simulate import Rehearsal as Rehearsal
    from bnpriv.ledger.external import ExternalRelease as ExternalRelease, ExternalReport as ExternalReport
    from bnpriv.ledger.history import History as History
    from bnpriv.ledger.prices import Price as Price
    from bnpriv.ledger.split import BudgetSplit as BudgetSplit
    from bnpriv.ledger.values import Budget as Budget
    from bnpriv.ledger.workload import Workload as Workload, WorkloadAnswer as WorkloadAnswer
    from bnpriv.loss.loss import PrivacyCurve as PrivacyCurve, PrivacyLoss as PrivacyLoss
    from bnpriv.mechanisms.misspecified import Misspecified as Misspecified
    from bnpriv.mechanisms.plan import Plan as Plan
    from bnpriv.mechanisms.usefulness import Usefulness as Usefulness
    from bnpriv.tables.private_table.hidden import HiddenAnswer as HiddenAnswer, HiddenTable as HiddenTable
    from bnpriv.tables.private_table.open_columns import OpenColumns as OpenColumns, OpenTable as OpenTable
    from bnpriv.tables.private_table.private_table import PrivateTable as PrivateTable, TablePlan as TablePlan
    from bnpriv.tables.readings import Dialect as Dialect
    from bnpriv.views.report.columns import RankedQuilts as RankedQuilts
    from bnpriv.views.report.report import InfluenceReport as InfluenceReport

__getattr__, __dir__ = lazily(__name__)
