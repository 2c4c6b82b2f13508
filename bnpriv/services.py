"""What can be asked of a value beside what it is: found by name in one table, loaded when it is first asked for.

The kernel computes, charges and releases; pages, words, curves, files and studies are services. A value of the kernel
names the service (``service("calibration.document")(self)``), and never imports what renders it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

SERVICES: dict[str, str] = {
    # calibrations and mechanisms
    # guarantees, frameworks, secrets
    # networks and influence
    # queries
    # releases
    # the accountant and its ledger
    # render
}
"""The name of each service, and the module and function that give it."""


@cache
def service(name: str) -> Any:
    """The function behind the name of a service.

    Parameters
    ----------
    name : str
        A key of `SERVICES`: what is asked, and of what.

    Returns
    -------
    callable
    """
    module, _, function = SERVICES[name].partition(":")
    return getattr(import_module(module), function)
