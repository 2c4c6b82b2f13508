"""Texts that become files together, which replace nothing unless that was asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bnpriv.errors import FileError
from bnpriv.render.outputs import outputs

MOST_FILES = 1000
"""Files that one call writes."""


def write_new(texts: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write texts to files, all or none.

    Raises
    ------
    FileError
        If a file is there already and `overwrite` is false, or one cannot be written.
    """
    there = next((path for path in texts if os.path.lexists(path)), None)
    if there is not None and not overwrite:
        raise FileError(
            f"{there}: a file that is there already is not replaced",
            found="one",
            remedy="Choose another name, or pass overwrite=True.",
        )
    with outputs(*texts) as out:
        for path, text in texts.items():
            out.put(path, text)


def numbered(path: Path, count: int) -> tuple[Path, ...]:
    """Return a name for each of several files: `path` for one, else with numbers before its ending.

    Raises
    ------
    FileError
        If there are too many.

    Examples
    --------
    >>> [file.name for file in numbered(Path("model.bif"), 2)]
    ['model-1.bif', 'model-2.bif']
    """
    if count > MOST_FILES:
        raise FileError(
            f"one call writes at most {MOST_FILES:,} files", found=f"{count:,}", remedy="Keep the models in Python."
        )
    if count == 1:
        return (path,)
    return tuple(path.with_name(f"{path.stem}-{k:0{len(str(count))}}{path.suffix}") for k in range(1, count + 1))
