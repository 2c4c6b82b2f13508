"""What was worked out once and is asked for again: the framework of a file, and plans."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from bnpriv.app.state import Draft
from bnpriv.digest import sha256
from bnpriv.errors import ParameterError

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework
    from bnpriv.mechanisms.plan import Plan

PLANNING = Lock()
"""One plan is made at a time: who asks for the same one meanwhile finds it made."""


def framework_at(path: str) -> Framework:
    """The framework of a file, as it is now."""
    return _read(path, digest_at(path))


def plan_at(path: str, query: str, epsilon: float, delta: float) -> Plan:
    """The plan for a query under the framework of a file."""
    with PLANNING:
        return _planned(path, digest_at(path), query, epsilon, delta)


def digest_at(path: str) -> str:
    """Tells a framework file, with the files that it names, from others."""
    from bnpriv.io.framework_file import framework_files

    return sha256("".join(sha256(each.read_bytes()) for each in framework_files(path) if each.is_file()))


@lru_cache(maxsize=4)
def _read(path: str, digest: str) -> Framework:
    from bnpriv.io.framework_file import read_framework

    return read_framework(path)


@lru_cache(maxsize=32)
def _planned(path: str, digest: str, query: str, epsilon: float, delta: float) -> Plan:
    from bnpriv.io.query_text import parse_query
    from bnpriv.mechanisms.plan import plan

    return plan(_read(path, digest), parse_query(query), epsilon, delta)


def declared(state: Draft) -> Framework:
    """The framework that was made or given; refused where there is none yet."""
    if not state.framework:
        raise ParameterError("a model is needed first", found="none", remedy="Go back to the model, and make one.")
    return framework_at(state.framework)
