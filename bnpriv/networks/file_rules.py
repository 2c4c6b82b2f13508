"""What the formats of network files can hold: the same rules for those that are written and those that are read."""

from __future__ import annotations

# Each is several times what the largest networks in common use need. What is larger is built with from_tables.
MOST_FILE_CELLS = 2**20
MOST_ATTRIBUTES = 2**11
MOST_PARENTS = 2**5
MOST_FILE_NAMES = 2**20

MOST_NETWORK_BYTES = 2**23
"""Largest network file, 8 MiB: half as much again as the largest network in common use."""

LONGEST_STATE_NAME = 256

COMMENTS = ("//", "/*")
"""What begins a comment in most formats, and so stands in no name."""

BIF_BARRED = "{}()[]|,;"
"""What has a meaning in BIF, in quotes too for many readers."""


def may_be_named(name: str, barred: str = "") -> bool:
    """Whether a file may give an attribute or a state this name.

    Examples
    --------
    >>> may_be_named("mostly girls"), may_be_named("a//b"), may_be_named("a,b", barred=",")
    (True, False, False)
    """
    short = 0 < len(name) <= LONGEST_STATE_NAME and name.isprintable()
    return short and not any(mark in name for mark in (*COMMENTS, *barred))
