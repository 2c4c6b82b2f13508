"""Types for annotations: networks, queries, influences, calibrations, releases, reports."""

from bnpriv.accounting.ledger_values import Budget
from bnpriv.attacks.result import Attack
from bnpriv.bound import Bound
from bnpriv.divergences.curve import PrivacyCurve
from bnpriv.divergences.loss import PrivacyLoss
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.guarantee import Guarantee
from bnpriv.influence.base import Influence
from bnpriv.influence.matrix import InfluenceMatrix
from bnpriv.influence.quilts import MarkovQuilt, MarkovQuilts
from bnpriv.mechanisms.base import Calibration, Mechanism
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.misspecified import Misspecified
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import Usefulness
from bnpriv.networks.base import Network
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.networks.posterior import Posterior
from bnpriv.queries.base import Query
from bnpriv.queries.predicates import Predicate
from bnpriv.release.result import Release
from bnpriv.report.influence_report import InfluenceReport
from bnpriv.secrets.states import SecretPair
from bnpriv.session.history import History
from bnpriv.session.price import Price
from bnpriv.session.split import BudgetSplit
from bnpriv.studies.check_model import ModelCheck
from bnpriv.studies.compare import FrameworkComparison
from bnpriv.studies.leaks import Leaks
from bnpriv.studies.rehearse import Rehearsal
from bnpriv.studies.tradeoff import Tradeoff

__all__ = [
    "Attack",
    "Bound",
    "Budget",
    "BudgetSplit",
    "Calibration",
    "Certificate",
    "DensityNetwork",
    "DiscreteNetwork",
    "Framework",
    "FrameworkComparison",
    "GaussianNetwork",
    "Guarantee",
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
    "Plan",
    "Posterior",
    "Predicate",
    "Price",
    "PrivacyCurve",
    "PrivacyLoss",
    "Query",
    "Rehearsal",
    "Release",
    "SecretPair",
    "Tradeoff",
    "Usefulness",
]
