"""A public table with the private records is known again, in whatever order, engine or types they are."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnpriv.errors import FileError
from bnpriv.io.starter.public import refuse_the_same
from tests.later import Later

pd = Later("pandas")

TYPED = ["id", "weight", "ill", "day"]


def typed_copies(folder: Path) -> dict[str, object]:
    """Return tables with the records of one, in other orders, engines and types; gaps are written in other ways."""
    rows = [(k, 50 + k / 7 if k % 5 else None, k % 3 == 0, f"2020-01-{k + 1:02}") for k in range(20)]
    frame = pd.DataFrame(rows, columns=pd.Index(TYPED))
    frame.iloc[::-1].to_parquet(folder / "typed.parquet")
    texts = frame.astype(str).assign(ill=np.where(frame["ill"], "yes", "no"))
    texts.sample(frac=1, random_state=1, ignore_index=True).to_parquet(folder / "texts.parquet")
    halves = frame.astype({"weight": "float32"})[[*reversed(TYPED)]]
    halves.assign(day=pd.to_datetime(halves["day"])).to_parquet(folder / "halves.parquet")
    with closing(sqlite3.connect(folder / "h.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id TEXT, weight REAL, ill TEXT, day TEXT)")
        written = [(str(k), weight, "yes" if ill else "no", day) for k, weight, ill, day in rows]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", written)
    connection.close()
    texts.replace("nan", "NA").to_csv(folder / "table.csv", index=False)
    files = {each: folder / f"{each}.parquet" for each in ("typed", "texts", "halves")}
    return {**files, "csv": folder / "table.csv", "sqlite": f"sqlite:///{folder / 'h.db'}#t"}


def test_the_private_table_is_known_again_whatever_types_its_values_have(tmp_path: Path) -> None:
    copies = typed_copies(tmp_path)
    for private, public in itertools.permutations(copies.values(), 2):
        with pytest.raises(FileError, match="another than the private one"):
            refuse_the_same(private, public)
    changed = pd.read_csv(tmp_path / "table.csv")
    changed.loc[3, "weight"] = 51.0
    changed.to_csv(tmp_path / "other.csv", index=False)
    for each in copies.values():
        refuse_the_same(each, tmp_path / "other.csv")
