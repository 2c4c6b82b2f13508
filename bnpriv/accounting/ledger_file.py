"""The handle of a ledger's file, which gives up its lock whatever was left open on it."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, final
from urllib.parse import quote


@final
class FileHandle(sqlite3.Connection):
    """A connection that knows its cursors: one that is left open keeps a lock, though the connection is closed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.cursors: list[sqlite3.Cursor] = []
        super().__init__(*given, **named)

    @staticmethod
    def of(path: Path, wait: float) -> FileHandle:
        """Open a file that is there, and wait for others at most so many seconds at a time.

        Raises
        ------
        sqlite3.Error
            If it cannot be opened.
        """
        # mode=rw: what is not there is never made by opening it
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
            factory=FileHandle,
        )

    def cursor(self, *given: Any, **named: Any) -> Any:
        """Return a cursor."""
        found = super().cursor(*given, **named)
        self.cursors.append(found)
        return found

    def close(self) -> None:
        """End all that was begun, and close."""
        with suppress(sqlite3.Error):
            for cursor in self.cursors:
                cursor.close()
            self.rollback()
        super().close()
