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
class Hidden:
    """What is hidden of one column: the property's text, and how far apart two of its values may lie."""

    property: str = ""
    at_most: int | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One release that was asked for.

    Parameters
    ----------
    key : str
        Finds it in the ledger again, free of charge; and names what is kept of it.
    state : State
        What was chosen then, without releases; its framework file is kept as it was.
    """

    key: str
    state: State


@dataclass(frozen=True, kw_only=True)
class State:
    """What was chosen so far; nothing of it was computed from the private table.

    Parameters
    ----------
    table, public, book : str
        Paths; empty where none was chosen.
    codebook : str
        The codebook that was chosen, `book`, or one in the kept folder that holds what was typed too.
    facts : mapping from str to mapping
        What was typed of columns, by its field; of columns of other tables too, for who goes back to these.
    names : str
        The columns of a table without a line of names, with commas between.
    records : int, optional
        Number of rows, a public fact.
    read_as : mapping from str to str
        Columns of this table that are not read as what they look like.
    hidden : mapping from str to Hidden
        What must stay hidden, by its column.
    edges : mapping from str to mapping from str to float or None
        Edges by hand, by the column above and the one below, each with the strength that is stated; empty where they
        are as they were found.
    graphs : int
        In how many resamples edges were looked for.
    told : tuple of str
        What is to be known of the model that was made.
    framework : str
        Path of the framework file; empty until there is one.
    given : bool
        Whether the framework file was there before, so that table, columns, secret and model are as it says.
    query : str
    epsilon, delta : float
    mechanism : str
        Empty takes the one that errs least.
    queries : tuple of str
        Asked before, the last one first.
    form : str
        What is released: "answer", or "table" for a whole private table.
    decided : mapping from str to str
        Who decided what, and why, as statements say it.
    releases : tuple of Asked
        Kept before they are charged.
    """

    table: str = ""
    public: str = ""
    book: str = ""
    codebook: str = ""
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    names: str = ""
    records: int | None = None
    read_as: Mapping[str, str] = field(default_factory=dict[str, str])
    hidden: Mapping[str, Hidden] = field(default_factory=dict[str, Hidden])
    edges: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict[str, Mapping[str, float | None]])
    graphs: int = 1
    told: tuple[str, ...] = ()
    framework: str = ""
    given: bool = False
    query: str = ""
    epsilon: float = 1.0
    delta: float = 0.0
    mechanism: str = ""
    queries: tuple[str, ...] = ()
    form: str = "answer"
    decided: Mapping[str, str] = field(default_factory=dict[str, str])
    releases: tuple[Asked, ...] = ()

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
    """Where the files lie.

    Parameters
    ----------
    folder : Path
        Where the shell was; the tables in it can be chosen.
    kept : Path
        Folder of the session, for nobody else: the state, and the framework that is made.
    uploads : Path
        Folder for what is handed over by the page; it goes with the server.
    ledger : str
        A file, or the URL of a database.
    """

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
            raise FileError(
                "a file is one of those in the folder where the shell was",
                found="another name",
                remedy=f"Choose {near!r}." if near else "Choose one from the list, or hand one over.",
            )
        return str(self.folder.resolve() / name)

    def handed(self, state: State) -> set[Path]:
        """The files that were handed over and are still chosen, by a release too."""
        texts = [text for each in (state, *(one.state for one in state.releases)) for text in vars(each).values()]
        paths = {Path(text) for text in texts if isinstance(text, str) and text}
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
        raise FileError(
            "the session needs a folder that can be written, with room",
            found=error.strerror or "an error of the disk",
            remedy="Make room, or start bnpriv serve with --ledger in another folder.",
        ) from None


def forget(paths: Iterable[Path]) -> None:
    """Remove files that were handed over, each with the folder of its own."""
    for path in paths:
        shutil.rmtree(path.parent, ignore_errors=True)


def write_state(state: State, kept: Path) -> None:
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


def read_state(kept: Path) -> State:
    """Return the state that was kept, or the first one; what was handed over and is gone must be chosen again.

    Raises
    ------
    FileError
        If the file is not what this wrote.
    """
    path = kept / "state.json"
    if not path.exists():
        return State()
    try:
        held = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        if held.pop("format") != STATE_FORMAT:
            raise ValueError
        state = _state(held)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(
            f"{path}: the state of a session must be as it was written",
            found="something else",
            remedy="Remove the file; what was charged stays in the ledger.",
        ) from None
    return replace(state, **{name: "" for name in PATHS if not os.path.isfile(getattr(state, name))})


def _state(held: dict[str, Any]) -> State:
    hidden = {name: Hidden(**each) for name, each in held.pop("hidden", {}).items()}
    releases = [Asked(key=each["key"], state=_state(each["state"])) for each in held.pop("releases", ())]
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in held.items()}
    made = State(**plain, hidden=hidden, releases=tuple(releases))
    if any(
        not isinstance(getattr(made, name), type(usual)) for name, usual in vars(State()).items() if usual is not None
    ):
        raise TypeError
    return made


def lacking(state: State, step: str) -> str:
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
