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
    "framework.document": "bnpriv.frameworks.card:framework_document",
    "framework.file_parts.dataset": "bnpriv.frameworks.to_file:dataset_parts",
    "framework.file_parts.distributional": "bnpriv.frameworks.to_file:distributional_parts",
    "framework.file_parts.value": "bnpriv.frameworks.to_file:value_parts",
    "framework.to_file": "bnpriv.frameworks.to_file:write_framework",
    # networks and influence
    "influence.finite_rows": "bnpriv.influence.junction:finite_rows",
    "influence.two_conditionals": "bnpriv.influence.conditionals:two_conditionals",
    "laws.given_property": "bnpriv.evidence.density_laws:laws_given_property",
    "laws.of_tables_drawn": "bnpriv.evidence.density_laws:laws_of_drawn_tables",
    "network.document": "bnpriv.frameworks.card:network_document",
    "network.to_file": "bnpriv.networks.file_texts:write_network",
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
