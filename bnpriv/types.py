"""Types for annotations: networks, queries, influences, calibrations, releases, reports."""

from bnpriv.accounting.ledger_values import Budget
from bnpriv.attacks import Attack
from bnpriv.bound import Bound
from bnpriv.divergences import PrivacyCurve, PrivacyLoss
from bnpriv.frameworks import Framework, Guarantee
from bnpriv.influence.base import Influence
from bnpriv.influence.matrix import InfluenceMatrix
from bnpriv.influence.quilts import MarkovQuilt, MarkovQuilts
from bnpriv.mechanisms import Calibration, Certificate, Mechanism, Misspecified, Usefulness
from bnpriv.mechanisms.plan import Plan
from bnpriv.networks import (
    DensityNetwork,
    DiscreteNetwork,
    GaussianNetwork,
    IntervalNetwork,
    MarkovChain,
    Network,
    Posterior,
)
from bnpriv.queries import Predicate, Query
from bnpriv.release import Release
from bnpriv.report import InfluenceReport
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
