"""The chain of a ledger: every row has a hash of its content and of all rows before it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast, final

from bnpriv import checks
from bnpriv.digest import sha256
from bnpriv.errors import LedgerError
from bnpriv.render.text import Json

START = sha256(b"bnpriv ledger")
"""What stands before the first row of a ledger."""

MOST_LETTERS = 2**24
"""Of plain values as text: 16 MiB, an answer of some 300,000 numbers with their labels."""


@final
@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """One row of a chain.

    Parameters
    ----------
    chain : int
        0 for the ledger's own chain, from 1 on those of its accounts.
    sequence : int
        Its place, from 0 on.
    kind : str
        What it says.
    payload : str
        Canonical JSON.
    previous, hash : str
        The hash of the row before it, and its own.
    """

    chain: int
    sequence: int
    kind: str
    payload: str
    previous: str
    hash: str

    @property
    def content(self) -> Mapping[str, object]:
        """The payload as plain values."""
        return cast("Mapping[str, object]", json.loads(self.payload))

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "chain": self.chain,
            "sequence": self.sequence,
            "kind": self.kind,
            "payload": json.loads(self.payload),
            "previous": self.previous,
            "hash": self.hash,
        }


def canonical(value: object) -> str:
    """Return plain values as JSON in the one form that is hashed: sorted keys, no spaces, ASCII, no NaN.

    Parameters
    ----------
    value : object
        Mappings with texts as keys, sequences, texts, finite numbers, booleans and None.

    Returns
    -------
    str

    Raises
    ------
    LedgerError
        If there is anything else in it, or more than `MOST_LETTERS`.

    Examples
    --------
    >>> canonical({"b": (1, 0.5), "a": None})
    '{"a":null,"b":[1,0.5]}'
    """
    try:
        found = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "a ledger keeps plain values: texts, finite numbers, lists, and mappings by text",
            found="something else, or NaN",
            remedy="Pass what to_json() returns.",
        ) from None
    if len(found) > MOST_LETTERS:
        raise LedgerError(
            f"one row of a ledger may have at most {MOST_LETTERS:,} letters",
            found=f"{len(found):,}",
            remedy="Ask for fewer numbers at once.",
        )
    return found


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        if not all(isinstance(name, str) for name, _ in pairs):
            raise TypeError
        return {name: _plain(held) for name, held in pairs}
    if isinstance(value, (list, tuple)):
        return [_plain(held) for held in cast("Iterable[object]", value)]
    return value


def row_hash(previous: str, sequence: int, kind: str, payload: str) -> str:
    """Return the SHA-256 of the canonical JSON of a row: the list of these four.

    Examples
    --------
    >>> row_hash(START, 0, "ledger", "{}")[:12]
    '086c23fc0680'
    """
    first = json.dumps([previous, sequence, kind], separators=(",", ":"))
    return sha256(f"{first[:-1]},{payload}]")


def row_after(previous: str, *, chain: int, sequence: int, kind: str, content: Mapping[str, object]) -> LedgerRow:
    """Return the next row of a chain."""
    payload = canonical(content)
    found = row_hash(previous, sequence, kind, payload)
    return LedgerRow(chain=chain, sequence=sequence, kind=kind, payload=payload, previous=previous, hash=found)


def check_row(row: LedgerRow, *, previous: str, sequence: int) -> None:
    """Check that a row continues a chain.

    Raises
    ------
    LedgerError
        If it does not.
    """
    try:
        whole = row.payload.isascii() and row.hash == row_hash(previous, sequence, row.kind, row.payload)
    except (LedgerError, UnicodeError, AttributeError, TypeError):
        whole = False
    if not whole or row.previous != previous or row.sequence != sequence:
        raise changed(f"row {checks.shown(sequence)} of chain {checks.shown(row.chain)} does not fit")


def changed(found: str) -> LedgerError:
    """Return the refusal of a ledger that does not hold what was written."""
    return LedgerError(
        "a ledger must hold what was written, in the order in which it was",
        found=found,
        remedy="Nothing was repaired and nothing is released. Restore the latest whole copy, and count what was "
        "released since as spent.",
    )
