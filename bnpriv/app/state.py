"""What was chosen on the way from a table to a statement: a frozen value, kept in one file."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from bnpriv.checks import closest
from bnpriv.digest import sha256
from bnpriv.errors import FileError
from bnpriv.ledger.store import ledger_file

STATE_FORMAT = "bnpriv app 1"

TABLES = (".csv", ".parquet", ".tsv")
"""What a private or a public table may end in."""

CODEBOOKS = (".csv", ".toml", ".names")

PATHS = ("table", "public", "book", "codebook", "framework")
"""Fields of a state that name files."""


@dataclass(frozen=True, kw_only=True)
class HiddenColumn:
    """What is hidden of one column: the property's text, and how far apart two of its values may lie."""

    property: str = ""
    at_most: int | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A release that was asked for, as all was chosen then; its key finds it in the ledger again, free of charge."""

    key: str
    state: Draft  # without releases; its framework file is kept as it was


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What was chosen so far, empty where nothing was; nothing of it was computed from the private table."""

    table: str = ""
    public: str = ""
    book: str = ""  # the codebook that was chosen
    codebook: str = ""  # that one, or one in the kept folder that holds what was typed too
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])  # typed, by column
    names: str = ""  # of a table without a line of names, with commas between
    decimal: str = ""  # the sign before decimals, where no public table shows it
    records: int | None = None
    read_as: Mapping[str, str] = field(default_factory=dict[str, str])
    hidden: Mapping[str, HiddenColumn] = field(default_factory=dict[str, HiddenColumn])
    # by hand, by the column above and the one below, with the strength that is stated; empty where as they were found
    edges: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict[str, Mapping[str, float | None]])
    graphs: int = 1  # resamples in which edges were looked for
    told: tuple[str, ...] = ()  # what is to be known of the model that was made
    framework: str = ""  # the path of its file
    given: bool = False  # whether that was there before: then table, columns, secret and model are as it says
    query: str = ""
    epsilon: float = 1.0
    delta: float = 0.0
    mechanism: str = ""  # empty takes the one that errs least
    queries: tuple[str, ...] = ()  # asked before, the last one first
    form: str = "answer"  # what is released: that, or a whole private "table"
    decided: Mapping[str, str] = field(default_factory=dict[str, str])  # who decided what, as statements say it
    releases: tuple[Asked, ...] = ()  # kept before they are charged

    @property
    def mark(self) -> str:
        """Tells what is chosen from what was chosen when a page was shown, as in another tab."""
        return sha256(json.dumps(asdict(replace(self, releases=(), decided={})), sort_keys=True))[:12]

    @property
    def by_hand(self) -> dict[tuple[str, str], float | None]:
        """The edges by hand, each with the strength that is stated."""
        return {(above, below): each for above, held in self.edges.items() for below, each in held.items()}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the files lie: tables that can be chosen, what only this session reads, what is handed over, the ledger."""

    folder: Path
    kept: Path
    uploads: Path
    ledger: str

    def new_model(self) -> Path:
        """A place for a framework file that is made; older ones stay, because releases were made under them."""
        made = self.kept / f"model-{secrets.token_hex(4)}"
        made.mkdir(mode=0o700)
        return made / "framework.toml"

    def listed(self, endings: tuple[str, ...]) -> list[str]:
        """Names of the files that can be chosen; nothing outside the folder, and no link out of it."""
        root = self.folder.resolve()
        found = (path for path in sorted(root.iterdir()) if path.suffix.lower() in endings and path.is_file())
        return [path.name for path in found if path.resolve().parent == root]

    def chosen(self, name: str, endings: tuple[str, ...]) -> str:
        """Return the path of a listed file.

        Raises
        ------
        FileError
            If it is not listed.
        """
        known = self.listed(endings)
        if name not in known:
            near = closest(name, known)
            remedy = f"Choose {near!r}." if near else "Choose one from the list, or hand one over."
            raise FileError("a file is one of those in the folder where the shell was", found="another", remedy=remedy)
        return str(self.folder.resolve() / name)

    def handed(self, state: Draft) -> set[Path]:
        """The files that were handed over and are still chosen, by a release too."""
        held = (state, *(each.state for each in state.releases))
        paths = {Path(getattr(each, name)) for each in held for name in PATHS}
        return {path for path in paths if path.is_relative_to(self.uploads)}


def folder_of(ledger: str) -> Path:
    """The session's folder: beside the ledger; in the working folder for a ledger on a server."""
    file = ledger_file(ledger)
    if file is None:
        parts = urlsplit(ledger)
        # without what may be a password
        file = Path(f"ledger-{sha256(f'{parts.hostname}{parts.path}')[:8]}")
    return file.with_name(f"{file.name}.session")


@contextmanager
def on_disk() -> Generator[None]:
    """Refuse what the disk refuses, as where it is full or may not be written."""
    try:
        yield
    except OSError as error:
        required, found = "the session needs a folder that can be written, with room", error.strerror or "an error"
        remedy = "Make room, or start bnpriv serve with --ledger in another folder."
        raise FileError(required, found=found, remedy=remedy) from None


def forget(paths: Iterable[Path]) -> None:
    """Remove files that were handed over, each with the folder of its own."""
    for path in paths:
        shutil.rmtree(path.parent, ignore_errors=True)


def write_state(state: Draft, kept: Path) -> None:
    """Keep the state."""
    write_kept(kept / "state.json", json.dumps({"format": STATE_FORMAT, **asdict(state)}, indent=1))


def write_kept(path: Path, text: str) -> None:
    """Write a file for nobody else, in one step: after a fall of the power it is the old one or the new one."""
    new = path.with_name(f"{path.name}.new")
    with on_disk():
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)


def read_state(kept: Path) -> Draft:
    """Return the state that was kept, or the first one; what was handed over and is gone must be chosen again.

    Raises
    ------
    FileError
        If the file is not what this wrote.
    """
    path = kept / "state.json"
    if not path.exists():
        return Draft()
    try:
        held = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        if held.pop("format") != STATE_FORMAT:
            raise ValueError
        state = _state(held)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        required, remedy = "must be as it was written", "Remove the file; what was charged stays in the ledger."
        raise FileError(f"{path}: the state {required}", found="something else", remedy=remedy) from None
    return replace(state, **{name: "" for name in PATHS if not os.path.isfile(getattr(state, name))})


def _state(held: dict[str, Any]) -> Draft:
    hidden = {name: HiddenColumn(**each) for name, each in held.pop("hidden", {}).items()}
    releases = [Asked(key=each["key"], state=_state(each["state"])) for each in held.pop("releases", ())]
    plain: dict[str, Any] = {
        name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in held.items()
    }
    made = Draft(**plain, hidden=hidden, releases=tuple(releases))
    usual = vars(Draft()).items()
    if any(each is not None and not isinstance(getattr(made, name), type(each)) for name, each in usual):
        raise TypeError
    return made


def lacking(state: Draft, step: str) -> str:
    """The step that must come first; empty where this one can be shown, as what was released always can."""
    if state.releases and step in ("release", "downloads"):
        return ""
    done = {
        "table": bool(state.table and (state.given or state.records)),
        "secret": bool(state.hidden),
        "model": bool(state.framework),
        "question": bool(state.query),
    }
    declaring = {} if state.given else {"columns": ["table"], "secret": ["table"], "model": ["table", "secret"]}
    asking = {"question": ["model"], "strength": ["model", "question"], "release": ["table", "model", "question"]}
    needs = {**declaring, **asking, "downloads": ["model"]}.get(step, [])
    return next((each for each in needs if not done[each]), "")
