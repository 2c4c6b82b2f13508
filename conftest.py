"""What pytest leaves out where an optional library is missing, and what it does with workers."""

import warnings
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("pymc") else ["bnpriv/io/pymc/read.py"]


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


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With -n, keep neighbours together as far as possible: they share what a module computes once.

    Here and not among the options of pyproject.toml, which pytest does not know without pytest-xdist.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"
