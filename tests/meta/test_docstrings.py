"""The public face is documented: a first sentence everywhere, and a word on every argument of what users call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import bnpriv

ROOMS = [value for value in vars(bnpriv).values() if inspect.ismodule(value) and hasattr(value, "__all__")]
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


def public() -> dict[str, Any]:
    """Return every class and function of the face by its name."""
    rooms = [bnpriv, *(room for room in ROOMS if room.__name__ in {f"bnpriv.{name}" for name in bnpriv.__all__})]
    found = {f"{room.__name__}.{name}": getattr(room, name) for room in rooms for name in room.__all__}
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}


def methods(name: str, owner: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class itself defines under a name without an underscore."""
    for inner, value in vars(owner).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not inner.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
            yield f"{name}.{inner}", plain


def arguments(value: Any) -> list[str]:
    """Return the arguments that a caller gives."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in given if one.name not in {"self", "cls"} and not one.name.startswith("_")]


def described(text: str) -> set[str]:
    """Return the names that the Parameters section of a docstring lists."""
    section = SECTION.search(text)
    heads = [] if section is None else re.findall(r"^(\S[^\n]*)$", section[1], re.MULTILINE)
    return {name.strip(" *") for head in heads for name in head.split(" :")[0].split(",")}


def undescribed(value: Any) -> list[str]:
    known = described(inspect.getdoc(value) or "")
    return [name for name in arguments(value) if name not in known]


FACE = public()
MADE = {"bnpriv.types.InfluenceReport", "bnpriv.types.MarkovQuilts"}
"""Classes that only a function of the face makes; their docstrings name it."""

CALLED = {name for name, value in FACE.items() if not getattr(value, "_is_protocol", False)} - MADE
MEMBERS = {name: value for owner in FACE.items() if inspect.isclass(owner[1]) for name, value in methods(*owner)}


@pytest.mark.parametrize("name", sorted({**FACE, **MEMBERS}))
def test_a_docstring_starts_with_a_sentence(name: str) -> None:
    first = (inspect.getdoc({**FACE, **MEMBERS}[name]) or "").split("\n\n")[0]
    assert first[:1].isupper() or first[:1] in "`0123456789", first
    assert first.endswith((".", ":", "?")), first


@pytest.mark.parametrize("name", sorted(CALLED))
def test_every_argument_is_described(name: str) -> None:
    assert undescribed(FACE[name]) == []


@pytest.mark.parametrize("name", sorted(name for name, value in MEMBERS.items() if len(arguments(value)) > 1))
def test_every_argument_of_a_method_is_described(name: str) -> None:
    """One argument is what the first sentence is about; several are listed."""
    owner = name.rpartition(".")[0]
    assert getattr(FACE[owner], "_is_protocol", False) or undescribed(MEMBERS[name]) == []


def test_a_missing_argument_is_found() -> None:
    def asked(one: int, two: int) -> None:
        """Ask.

        Parameters
        ----------
        one : int
            The first.

        Returns
        -------
        two : None
        """

    assert undescribed(asked) == ["two"]
