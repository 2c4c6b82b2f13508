"""Paths as users give them: what ~ stands for, and whether two of them are, or will be, one file."""

from __future__ import annotations

import os
from pathlib import Path
from unicodedata import normalize

JOURNALS = ("-journal", "-wal", "-shm")
"""What SQLite adds to the name of a database for the files that it keeps beside it."""

NO_PATH = "no path: it holds a sign that no name of a file can have"
"""What is found where the system takes a text for no path at all, as with a NUL byte in it."""

_DATABASE = b"SQLite format 3\0"


def user_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that a user gave, with the home folder in the place of ~ at its beginning.

    Every path that comes from outside passes here once, so that one text is the same file everywhere. Where no user
    has the name behind ~, it is a name like any other.

    Examples
    --------
    >>> user_path("~/table.csv") == Path.home() / "table.csv", user_path("a~b.csv").name
    (True, 'a~b.csv')
    """
    # the method of Path fails where no user has the name
    return Path(os.path.expanduser(os.fsdecode(path)))


def may_be_one(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, or will when both are there: by links, by "..", or by the case of letters.

    Names of files that are not there yet are compared as by the file systems that tell least apart: these take letters
    in another case, or composed otherwise, for the same.

    Raises
    ------
    ValueError
        If one is no path.

    Examples
    --------
    >>> may_be_one(Path("none/../new.db"), Path("NEW.db")), may_be_one(Path("new.db"), Path("other.db"))
    (True, False)
    """
    places = [Path(os.path.realpath(path)) for path in (one, other)]
    found = [_status(place) for place in places]
    if found[0] is not None or found[1] is not None:
        return None not in found and os.path.samestat(*found)  # pyright: ignore[reportArgumentType]
    folders = [_status(place.parent) for place in places]
    if None in folders:
        return _folded(str(places[0])) == _folded(str(places[1]))
    same_folder = os.path.samestat(*folders)  # pyright: ignore[reportArgumentType]
    return same_folder and _folded(places[0].name) == _folded(places[1].name)


def with_journals(database: Path) -> list[Path]:
    """Return the file of a database, and what SQLite may put beside it.

    Examples
    --------
    >>> [path.name for path in with_journals(Path("ledger.db"))]
    ['ledger.db', 'ledger.db-journal', 'ledger.db-wal', 'ledger.db-shm']
    """
    return [database, *(Path(f"{database}{ending}") for ending in JOURNALS)]


def is_of_database(path: Path) -> bool:
    """Whether a file is an SQLite database, or is called like what belongs to one that lies beside it."""
    own = [path, *(Path(str(path)[: -len(ending)]) for ending in JOURNALS if path.name.lower().endswith(ending))]
    return any(map(_begins_database, own))


def _begins_database(path: Path) -> bool:
    try:
        if not os.path.isfile(path):  # the method of Path fails on names that are too long
            return False
        with path.open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.stat()
    except OSError:
        return None


def _folded(name: str) -> str:
    return normalize("NFKD", normalize("NFKD", name).casefold()).rstrip(" .")
