"""TOML files read table by table: whatever is wrong is refused by the name of the file, the table and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast, final

from bnpriv.checks import closest, listing, type_text
from bnpriv.errors import DeclarationError, FileError
from bnpriv.render.text import toml_key

# Python's TOML reader takes quadratic time on long dotted keys.
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")


@final
@dataclass(frozen=True)
class TomlTable:
    """A table of the file, with the words that name it in messages."""

    label: str
    where: str
    values: Mapping[str, object]

    def refusal(self, required: str, *, found: str, remedy: str) -> FileError:
        """Return a refusal that names the file and the table."""
        place = f"{self.label}, {self.where}" if self.where else self.label
        return FileError(f"{place}: {required}", found=found, remedy=remedy)

    @contextmanager
    def named(self, where: str = "") -> Generator[None]:
        """Let refusals from inside say which part of which file they are about."""
        try:
            yield
        except DeclarationError as refused:
            place = ", ".join(filter(None, (self.label, where or self.where)))
            raise type(refused)(f"{place}: {refused.required}", found=refused.found, remedy=refused.remedy) from None

    def section(self, key: str, known: Collection[str] | None = None) -> TomlTable:
        """Return the table under `key`, whose own keys must be among `known`."""
        where = f"[{self.where[1:-1]}.{toml_key(key)}]" if self.where else f"[{toml_key(key)}]"
        value = self.values.get(key)
        if not isinstance(value, dict):
            found = "none" if value is None else kind_of(value)
            raise self.refusal(f"a section {where} is needed", found=found, remedy=f"Write it below a line {where}.")
        part = TomlTable(self.label, where, cast("dict[str, object]", value))
        if known is not None:
            part.only(known)
        return part

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that are not `known`, and name the nearest that is."""
        unknown = next((key for key in self.values if key not in known), None)
        if unknown is not None:
            near = closest(unknown, known)
            raise self.refusal(
                f"the keys must be among {listing(known)}",
                found=f"the unknown {unknown[:80]!r}",
                remedy=f"Did you mean {near!r}?" if near is not None else "Remove it, or check the spelling.",
            )

    def string(self, key: str, default: str | None = None) -> str:
        """Return the text under `key`."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value.strip():
            found = "none" if value is None else "an empty string" if value == "" else kind_of(value)
            raise self.refusal(f"{key} must be a text", found=found, remedy=f'Write {key} = "...".')
        return value

    def boolean(self, key: str) -> bool:
        """Return the truth value under `key`, false by default."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.refusal(f"{key} must be true or false", found=kind_of(value), remedy=f"Write {key} = true.")
        return value

    def need(self, key: str) -> Any:
        """Return the value under `key`, of any type."""
        if key not in self.values:
            raise self.refusal(f"{key} is needed", found="none", remedy=f"Write {key} = ... in this section.")
        return self.values[key]


def parse_toml(label: str, content: str) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    long = _LONG_KEY.search(content)
    if long is not None:
        line = content.count("\n", 0, long.start()) + 1
        raise FileError(f"{label}: keys must be short", found=f"a long one on line {line}", remedy="Shorten it.")
    try:
        return tomllib.loads(content)
    except (ValueError, RecursionError) as broken:
        reason = str(broken) if isinstance(broken, tomllib.TOMLDecodeError) else "numbers or brackets without end"
        raise FileError(f"{label}: the file must be TOML", found=reason, remedy="Correct the line.") from None


def listed_or_none(value: object) -> list[object] | None:
    """Return a list as it is, None for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else None


def kind_of(value: object) -> str:
    """Return the type of a value, for messages."""
    return type_text(value)
