"""Publish statistics of a table without giving away a global property of its protected columns."""

from importlib import import_module
from typing import TYPE_CHECKING

# declare
from bnpriv.networks import DiscreteNetwork, MarkovChain, model_class
from bnpriv.tables.schema import Binned, Categorical, Integer, Real, Schema
from bnpriv.secrets.apart import apart
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import pairs
from bnpriv.secrets.values import intervals
from bnpriv.frameworks import (
    DatasetAttributePrivacy,
    DistributionalAttributePrivacy,
    DistributionPrivacy,
    ValuePrivacy,
)

# ask
from bnpriv.queries import (
    col,
    column_sensitivity,
    count,
    covariance,
    crosstab,
    custom,
    histogram,
    linear,
    mean,
    median,
    moments,
    parse_query,
    proportion,
    quantile,
    share,
    stack,
    std,
    sum,
    total,
    variance,
)

# analyse
from bnpriv.influence.maximum import max_influence
from bnpriv.influence.matrix import influence_matrix
from bnpriv.influence.quilts import markov_quilts

# calibrate
from bnpriv.mechanisms import (
    ColumnMechanism,
    MarkovQuiltMechanism,
    TightMechanism,
    WassersteinMechanism,
)

# release
from bnpriv.release import release
from bnpriv.verify import verify

# refusals, and what stands behind the rest
from bnpriv.errors import BnprivError
from bnpriv import errors, laws, mechanisms, noise

if TYPE_CHECKING:
    # declare
    from bnpriv.adapters.examples import example, example_data
    from bnpriv.adapters.files import read_network
    from bnpriv.adapters.framework_file import read_framework, read_queries
    from bnpriv.adapters.pgmpy import from_pgmpy
    from bnpriv.adapters.pymc import from_pymc
    from bnpriv.studies.laws_by_property import laws_by_property
    from bnpriv.starter.start import start

    # analyse
    from bnpriv.report import influence_report
    from bnpriv.studies.check_model import check_model
    from bnpriv.studies.compare import compare
    from bnpriv.studies.leaks import leaks

    # calibrate
    from bnpriv.mechanisms.plan import plan
    from bnpriv.studies.rehearse import rehearse
    from bnpriv.studies.tradeoff import tradeoff

    # release
    from bnpriv.studies.simulate import simulate

    # check a table, for its owner alone
    from bnpriv.private_checks import check_data

    # account
    from bnpriv.accounting import Accountant
    from bnpriv.session import Session

    # refusals, and what stands behind the rest
    from bnpriv import types

__version__ = "0.1.0"

_LOADED_WHEN_USED = {
    "Accountant": "accounting",
    "Session": "session",
    "check_data": "private_checks",
    "check_model": "studies.check_model",
    "compare": "studies.compare",
    "example": "adapters.examples",
    "example_data": "adapters.examples",
    "from_pgmpy": "adapters.pgmpy",
    "from_pymc": "adapters.pymc",
    "influence_report": "report",
    "laws_by_property": "studies.laws_by_property",
    "leaks": "studies.leaks",
    "plan": "mechanisms.plan",
    "read_framework": "adapters.framework_file",
    "read_network": "adapters.files",
    "read_queries": "adapters.framework_file",
    "rehearse": "studies.rehearse",
    "simulate": "studies.simulate",
    "start": "starter.start",
    "tradeoff": "studies.tradeoff",
    "types": "types",
}
"""Names on top that most programs do without, and the modules that they are in."""

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


def __getattr__(name: str) -> object:
    """Load what is used for the first time."""
    if name not in _LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_LOADED_WHEN_USED[name]}")
    value: object = module if name == "types" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what users type; the rooms of the package stay importable."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
