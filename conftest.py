"""What pytest leaves out where an optional library is missing, and how warnings come back from its workers."""

import warnings
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("pymc") else ["bnpriv/adapters/pymc/read.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Send another library's warning as a plain one.

    The process that collects what the workers of pytest-xdist report imports the module of each warning's class, in one
    thread for every worker: two threads that import a library like PyMC at once can both fail.
    """
    kind = warning_message.category
    if kind.__module__.split(".")[0] in {"builtins", "bnpriv", "pytest", "_pytest"}:
        return
    warning_message.message = UserWarning(f"{kind.__name__}: {warning_message.message}")
    warning_message.category = UserWarning
