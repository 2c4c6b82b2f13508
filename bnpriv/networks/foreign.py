"""What is passed where a network is needed, and how it becomes one."""

from __future__ import annotations

import inspect
from pathlib import Path

from bnpriv.checks import type_text
from bnpriv.errors import NetworkError

REMEDIES = {
    "pgmpy": "Copy it with bnpriv.from_pgmpy(model).",
    "pyagrum": 'Save it with model.saveBIF("model.bif"), and read that with bnpriv.read_network("model.bif").',
    "pymc": "Read it with bnpriv.from_pymc(model).",
    "networkx": "A graph has no probabilities: add them with DiscreteNetwork.from_tables(tables, parents=...).",
}
"""By the library that a model comes from."""


def require_network(value: object) -> None:
    """Refuse what is no network of bnpriv, and say how it becomes one.

    Raises
    ------
    NetworkError
        If it has no attributes and no level.

    Examples
    --------
    >>> require_network("student.bif")
    Traceback (most recent call last):
    bnpriv.errors.NetworkError: a network is needed; found a str. Read it with bnpriv.read_network(path).
    """
    if hasattr(value, "attributes") and hasattr(value, "level") and not inspect.isclass(value):
        return
    remedy = foreign_remedy(value) or "Build one, for example with DiscreteNetwork.from_tables(...)."
    if hasattr(value, "network"):
        remedy = "Pass the network of the framework, framework.network."
    raise NetworkError("a network is needed", found=type_text(value), remedy=remedy)


def foreign_remedy(value: object) -> str:
    """Return how a model of another library, or a file, becomes a network; empty for anything else."""
    if isinstance(value, (str, Path)):
        return "Read it with bnpriv.read_network(path)."
    return REMEDIES.get(type(value).__module__.partition(".")[0].lower(), "")
