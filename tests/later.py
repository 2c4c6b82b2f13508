"""Large libraries that a test imports when it uses them, so that collecting the tests stays quick."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest


class Later:
    """A module by its name, imported when something in it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str):
        if attribute.startswith("_"):  # pytest asks everything that a file holds whether it is a mock
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def optional(name: str) -> Later:
    """Return a module by its name, or skip the file that asks for it where the library is missing."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"could not import {name!r}", allow_module_level=True)
    return Later(name)
