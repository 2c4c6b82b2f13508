"""Which part of a framework file is at fault where network, columns, secrets and laws do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bnpriv.adapters.toml_file import TomlTable
from bnpriv.errors import BnprivError, SecretError
from bnpriv.frameworks.framework import AttributeFramework
from bnpriv.tables.column_laws import DeclaredLaws

Assembler = Callable[[Mapping[str, Any], DeclaredLaws | None], AttributeFramework]
"""Makes a framework of secrets and laws."""


def assembled(
    root: TomlTable, made: Assembler, secrets: Mapping[str, tuple[TomlTable, Any]], laws: DeclaredLaws | None
) -> AttributeFramework | None:
    """Make a framework, or note what is wrong with each of its secrets and laws, tried one by one.

    Parameters
    ----------
    root : TomlTable
        The file.
    made : callable
    secrets : mapping from str to (TomlTable, object)
        For every protected attribute its section, and what is hidden of it.
    laws : mapping, optional

    Returns
    -------
    Framework or None
        None where something was noted.
    """
    hidden = {name: chosen for name, (_, chosen) in secrets.items()}
    whole = _refusal(made, hidden, laws)
    if not isinstance(whole, BnprivError):
        return whole
    alone = {name: _refusal(made, {name: chosen}, None) for name, chosen in hidden.items()}
    faults = {name: each for name, each in alone.items() if isinstance(each, BnprivError)}
    for name, fault in faults.items():
        # what is no fault of a secret is one of the whole, and told once
        _note(secrets[name][0] if isinstance(fault, SecretError) else root, fault)
    sound = {name: chosen for name, chosen in hidden.items() if name not in faults}
    blamed = bool(faults)
    for name, law in (laws or {}).items() if sound else ():
        fault = _refusal(made, sound, {name: law})
        if isinstance(fault, BnprivError):
            _note(root.section("laws").section(name), fault)
            blamed = True
    if not blamed:
        _note(root, whole)
    return None


def _refusal(
    made: Assembler, secrets: Mapping[str, Any], laws: DeclaredLaws | None
) -> AttributeFramework | BnprivError:
    """Return the framework, or why it is refused."""
    try:
        return made(secrets, laws)
    except BnprivError as refused:
        return refused


def _note(part: TomlTable, fault: BnprivError) -> None:
    with part.problems.gathered(), part.named():
        raise fault
