"""Publish statistics of a table without giving away a global property of its protected columns."""

# declare
from bnpriv.adapters.examples import example, example_data, examples
from bnpriv.adapters.files import read_network
from bnpriv.adapters.framework_file import read_framework, read_queries
from bnpriv.adapters.pgmpy import from_pgmpy, to_pgmpy
from bnpriv.adapters.pymc import from_pymc

# values and errors
from bnpriv.bound import Bound
from bnpriv.errors import (
    BnprivError,
    CertificateError,
    DataError,
    DeclarationError,
    FileError,
    FrameworkError,
    MissingExtraError,
    NetworkError,
    ParameterError,
    QueryError,
    Refusal,
    RefusedError,
    SchemaError,
    SecretError,
    SeparationError,
    SizeError,
)
from bnpriv.evidence import influences
from bnpriv.laws import Atoms, Draws, Normal
from bnpriv.frameworks import (
    DatasetAttributePrivacy,
    DistributionalAttributePrivacy,
    DistributionPrivacy,
    Guarantee,
    ValuePrivacy,
)

# analyse
from bnpriv.influence.matrix import influence_matrix
from bnpriv.studies.compare import Comparison, compare
from bnpriv.studies.leaks import Leaks, leaks
from bnpriv.studies.tradeoff import Tradeoff, tradeoff
from bnpriv.influence.finite import Influence, max_influence

# calibrate
from bnpriv.mechanisms import (
    Calibration,
    Certificate,
    ColumnMechanism,
    MarkovChainMechanism,
    MarkovQuiltMechanism,
    Mechanism,
    Misspecified,
    TightMechanism,
    WassersteinMechanism,
)
from bnpriv.networks.learning import parameters_by_group
from bnpriv.networks import (
    DensityNetwork,
    DiscreteNetwork,
    GaussianNetwork,
    IntervalNetwork,
    MarkovChain,
    Posterior,
    model_class,
)
from bnpriv.noise.continuous import Gaussian, Laplace, NoNoise
from bnpriv.mechanisms.plan import Plan, plan

# ask
from bnpriv.queries import (
    Query,
    col,
    column_sensitivity,
    count,
    custom,
    histogram,
    linear,
    mean,
    moments,
    parse_query,
    proportion,
    stack,
    total,
)
from bnpriv.influence.gaussian import GaussianInfluence, gaussian_influence
from bnpriv.secrets.values import intervals
from bnpriv.influence.density import DensityInfluence, density_influence
from bnpriv.influence.quilts import MarkovQuilt, markov_quilt, markov_quilts

# release
from bnpriv.release import Release, release
from bnpriv.report import ChainReport, DensityReport, GaussianReport, InfluenceReport, influence_report
from bnpriv.studies.check_model import ModelCheck, check_model
from bnpriv.tables.schema import Categorical, Integer, Real, Schema
from bnpriv.secrets.properties import Secret, apart
from bnpriv.secrets.states import SecretPair, pairs
from bnpriv.studies.rehearse import Rehearsal, rehearse
from bnpriv.studies.simulate import simulate

# check
from bnpriv.verify import verify

__version__ = "0.1.0"

__all__ = [
    "Atoms",
    "BnprivError",
    "Bound",
    "Calibration",
    "Categorical",
    "Certificate",
    "CertificateError",
    "ChainReport",
    "ColumnMechanism",
    "Comparison",
    "DataError",
    "DatasetAttributePrivacy",
    "DeclarationError",
    "DensityInfluence",
    "DensityNetwork",
    "DensityReport",
    "DiscreteNetwork",
    "DistributionPrivacy",
    "DistributionalAttributePrivacy",
    "Draws",
    "FileError",
    "FrameworkError",
    "Gaussian",
    "GaussianInfluence",
    "GaussianNetwork",
    "GaussianReport",
    "Guarantee",
    "Influence",
    "InfluenceReport",
    "Integer",
    "IntervalNetwork",
    "Laplace",
    "Leaks",
    "MarkovChain",
    "MarkovChainMechanism",
    "MarkovQuilt",
    "MarkovQuiltMechanism",
    "Mechanism",
    "MissingExtraError",
    "Misspecified",
    "ModelCheck",
    "NetworkError",
    "NoNoise",
    "Normal",
    "ParameterError",
    "Plan",
    "Posterior",
    "Query",
    "QueryError",
    "Real",
    "Refusal",
    "RefusedError",
    "Rehearsal",
    "Release",
    "Schema",
    "SchemaError",
    "Secret",
    "SecretError",
    "SecretPair",
    "SeparationError",
    "SizeError",
    "TightMechanism",
    "Tradeoff",
    "ValuePrivacy",
    "WassersteinMechanism",
    "apart",
    "check_model",
    "col",
    "column_sensitivity",
    "compare",
    "count",
    "custom",
    "density_influence",
    "example",
    "example_data",
    "examples",
    "from_pgmpy",
    "from_pymc",
    "gaussian_influence",
    "histogram",
    "influence_matrix",
    "influence_report",
    "influences",
    "intervals",
    "leaks",
    "linear",
    "markov_quilt",
    "markov_quilts",
    "max_influence",
    "mean",
    "model_class",
    "moments",
    "pairs",
    "parameters_by_group",
    "parse_query",
    "plan",
    "proportion",
    "read_framework",
    "read_network",
    "read_queries",
    "rehearse",
    "release",
    "simulate",
    "stack",
    "to_pgmpy",
    "total",
    "tradeoff",
    "verify",
]
