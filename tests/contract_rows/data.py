"""Rows about tables: what is in them, how they are read, and what may be told about them."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.noise import SecureSampler
from bnpriv.errors import DataError, FileError, InstallationError
from bnpriv.tables.evaluate import evaluate
from tests.contract_rows.evidence import ROOT, all_refused, calibrated, pair_of_nodes, refusal, row, within
from tests.later import Later

duckdb, pd, pl, pa, pq = (Later(name) for name in ("duckdb", "pandas", "polars", "pyarrow", "pyarrow.parquet"))

ONE = bp.Schema(records=4, columns={"x": bp.Real(0, 8)})
NAN, INF = math.nan, math.inf


def engines(values: list[object], folder: Path) -> dict[str, object]:
    """Return one column of four values in every engine that is there."""
    table = pd.DataFrame({"x": values})
    arrow = pa.table({"x": pa.array(values)})
    file, text = folder / "t.parquet", folder / "t.csv"
    pq.write_table(arrow, file)
    table.to_csv(text, index=False)
    frame = pl.DataFrame({"x": values})
    relation = duckdb.from_arrow(arrow)
    return {
        "pandas": table, "polars": frame, "lazy": frame.lazy(), "arrow": arrow, "duckdb": relation, "file": file,
        "csv": text,
    }  # fmt: skip


@row(1, "NaN, inf, null in data")
def _(folder: Path) -> str:
    found = {
        name: evaluate(bp.total("x"), ONE, data).values
        for name, data in engines([NAN, INF, None, -INF], folder).items()
    }
    assert set(found.values()) == {(4 + 8 + 4 + 0,)}, found
    return f"total 16 = missing 4 + 8 + missing 4 + 0 in {len(found)} engines, no exception"


@row(2, "missing bounds")
def _(folder: Path) -> str:
    for make in (bp.Real, bp.Integer):
        with pytest.raises(TypeError, match="lower"):
            make()
    return all_refused([lambda: bp.Real(None, 1), lambda: bp.Real(0, None), lambda: bp.Integer(None, None)])


@row(3, "inverted, NaN, infinite, huge bounds")
def _(folder: Path) -> str:
    bad = [(1, 0), (0, 0), (NAN, 1), (0, NAN), (0, INF), (-INF, 0), (0, 1e308 * 10), (-1.7e308, 1.7e308)]
    return all_refused([lambda b=b: bp.Real(*b) for b in bad])


@row(4, "a value outside the declared categories")
def _(folder: Path) -> str:
    schema = bp.Schema(records=4, columns={"x": bp.Categorical(["a", "b"], missing="b")})
    tables = engines(["a", "zzz", None, "A"], folder)
    found = {evaluate(bp.count(bp.col("x") == "b"), schema, data).values for data in tables.values()}
    assert found == {(3,)}, found
    return f"3 of 4 counted as the missing value in {len(tables)} engines"


@row(13, "empty data, n = 0, rows != declared n")
def _(folder: Path) -> str:
    ledger = folder / "l.db"
    texts = set()
    for rows in (0, 1, 9_999):
        table = pd.DataFrame({"height": np.full(rows, 170.0)})
        error = refusal(lambda table=table: bp.release(calibrated(), table, ledger=ledger, budget=1.0), kind=DataError)
        texts.add(str(error))
    assert len(texts) == 1
    assert "not the declared n" in texts.pop()
    assert not ledger.exists()
    return (
        all_refused([lambda: bp.Schema(records=0, columns={"x": bp.Real(0, 1)})])
        + "; one text for 0, 1, 9,999 rows, ledger not made"
    )


@row(16, "integer wrap, float32, sums beyond 2^53")
def _(folder: Path) -> str:
    high = 2**31 - 1
    schema = bp.Schema(records=4, columns={"x": bp.Integer(0, high)})
    found = set()
    for values in (pl.Series("x", [high] * 4, dtype=pl.Int32), pl.Series("x", [float(high)] * 4)):
        found.add(evaluate(bp.total("x"), schema, pl.DataFrame({"x": values})).values[0])
    assert found == {4 * high}
    exact = bp.Schema(records=4, columns={"x": bp.Real(2**54, 2**54 + 2**22)})
    many = evaluate(bp.total("x"), exact, pd.DataFrame({"x": [2**54 + 4, 2**54, 2**54 + 8, 2**54 + 4]})).values[0]
    assert many == 2**56 + 16, many
    return f"4 (2^31 - 1) = {4 * high}; 2^56 + 16 exactly"


@row(17, "row order changes a float sum")
def _(folder: Path) -> str:
    values = np.random.default_rng(1).uniform(0, 8, 4)
    found = {
        evaluate(bp.mean("x"), ONE, data).values[0]
        for order in itertools.permutations(values.tolist())
        for data in (pd.DataFrame({"x": order}), pl.DataFrame({"x": order}))
    }
    assert len(found) == 1
    return "24 orders in 2 engines: 1 value"


FORKED = """
import os
from bnpriv.core.noise import SecureSampler
SecureSampler().laplace([0.0] * 4, 1.0)
for _ in range(3):
    if os.fork() == 0:
        print(SecureSampler().laplace([0.0] * 4, 1.0), flush=True)
        os._exit(0)
    os.wait()
"""


@row(18, "noise with holes in its support; forked")
def _(folder: Path) -> str:
    draws = 4000
    told = []
    for true in (0.0, 1.0):
        shown = np.array(SecureSampler().laplace([true] * draws, 1.0))
        inside = np.abs(shown) < 0.25
        told.append(np.mean(inside & (shown * 2.0**53 != np.round(shown * 2.0**53))))
    # with doubles of NumPy the event has probability 0 for one true value and about .19 for the other; epsilon is 1
    assert 0.04 < told[1] < told[0] < told[1] * math.e * 1.2, told
    lines = subprocess.run([sys.executable, "-c", FORKED], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(set(lines.splitlines())) == 3, lines
    bits = f"low bits: {told[0]:.3f} given 0, {told[1]:.3f} given 1, a factor {told[0] / told[1]:.2f} of e"
    return f"{bits}; 3 of 3 forked workers differ"


@row(34, "time as a channel")
def _(folder: Path) -> str:
    page = (ROOT / "docs" / "known-vulnerabilities.md").read_text(encoding="utf-8")
    _, _, told = page.partition("* **Time.** ")
    assert "depends on the data" in told.partition("\n\n")[0]
    return "out of scope, and said so: docs/known-vulnerabilities.md, Time"


@row(35, "raw values in repr, logs, tracebacks")
def _(folder: Path) -> str:
    secret = 7.123456789
    table = pd.DataFrame({"x": [secret, 1.0, 2.0, 3.0]})

    def panics(frame: object) -> object:
        raise RuntimeError(f"the value is {secret}")

    texts = []
    lazy = pl.LazyFrame({"x": [secret, 1.0, 2.0, 3.0]}).map_batches(panics)
    own = bp.custom(panics, columns=["x"], sensitivity=1)
    for work in (lambda: evaluate(bp.total("x"), ONE, lazy), lambda: evaluate(own, ONE, table)):
        error = refusal(work, kind=DataError)
        texts += ["".join(traceback.format_exception(error)), repr(error)]
    frame = bp.DistributionalAttributePrivacy(
        pair_of_nodes(), bp.Schema(records=4, columns={"x": bp.Real(0, 8)}), "s", source="made up"
    )
    calibration = bp.ColumnMechanism().calibrate(frame, bp.total("x"), epsilon=1.0)
    with bp.Session(frame, table, budget=2.0, ledger=folder / "l.db") as session:
        shown = session.release(calibration, even_if_useless=True)
        texts += [repr(session), str(session), repr(session.history)]
    texts += [repr(shown), str(shown), shown.to_json(), (folder / "l.db").read_bytes().decode("latin-1")]
    assert not any("7.1234" in text for text in texts)
    return f"{len(texts)} texts (tracebacks, repr, session, history, JSON, the ledger's bytes) without the value"


@row(38, "NaN stored as NaN in Parquet, no value above the bound")
def _(folder: Path) -> str:
    found = set()
    for k, (kind, statistics, plain) in enumerate(
        itertools.product((pa.float64(), pa.float32()), (True, False), (True, False))
    ):
        place = folder / f"{k}.parquet"
        table = pa.table({"x": pa.array([1.0, NAN, 2.0, NAN], kind, from_pandas=False)})
        pq.write_table(table, place, write_statistics=statistics, use_dictionary=plain)
        query = bp.stack(bp.count(bp.col("x") <= 3), bp.total("x"))
        found |= {evaluate(query, ONE, place).values, evaluate(query, ONE, pl.scan_parquet(place)).values}
    assert found == {(2, 11)}, found
    return "16 pairs of writer and reader: 2 of 4 below 3, total 11"


@row(39, "columns whose type is inferred")
def _(folder: Path) -> str:
    schema = bp.Schema(records=4, columns={"x": bp.Categorical(["0", "1"], missing="0")})
    columns = {
        "all null": ([None] * 4, 0), "object booleans": ([True, None, "1", "0"], None),
        "one text among numbers": ([1, "n/a", "0", 1], 2), "bad bytes": (["1", b"\xff", None, 1], 2),
    }  # fmt: skip
    for name, (values, ones) in columns.items():
        found = evaluate(bp.count(bp.col("x") == "1"), schema, pd.DataFrame({"x": pd.Series(values, dtype="object")}))
        assert ones is None or found.values == (ones,), (name, found.values)
    place = folder / "t.csv"
    place.write_bytes(b'x\n"1"\n\xff\xfe\n"1"x\n1\n')
    assert evaluate(bp.count(bp.col("x") == "1"), schema, place).values[0] in {2, 3}
    return f"{len(columns)} columns of objects and a CSV of bad bytes and quotes: a number each, no refusal"


@row(46, "a FIFO, a device, a name too long, a NUL byte, odd names")
def _(folder: Path) -> str:
    os.mkfifo(folder / "pipe.parquet")
    started = time.monotonic()
    places = [folder / "pipe.parquet", "/dev/zero", "x" * 5000 + ".csv", "a\0b.csv", "~/nothing.csv", ""]
    with within(30):  # nothing waits for the other end of the pipe
        for place in places:
            refusal(lambda place=place: evaluate(bp.total("x"), ONE, place))
            refusal(lambda place=place: bp.read_framework(place))
            refusal(lambda place=place: bp.read_network(place))
    seconds = time.monotonic() - started
    names = ["*", 'a"b', "^x$", "^.*$", "a`b", "a.b", "x", "a\nb", " a"]
    schema = bp.Schema(records=2, columns={name: bp.Integer(0, 9) for name in names})
    table = {name: [k % 9, k % 9] for k, name in enumerate(names)}
    query = bp.stack(*(bp.total(name) for name in names))
    found = {
        evaluate(query, schema, make(table)).values for make in (pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table)
    }
    assert found == {tuple(2 * (k % 9) for k in range(len(names)))}, found
    return f"{3 * len(places)} refused in {seconds:.1f} s; {len(names)} odd names in 4 engines"


@row(51, "the lowest and the newest versions; a broken installation")
def _(folder: Path) -> str:
    import narwhals as nw

    place = folder / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}), place)
    plain = nw.from_native

    def broken(data: object, **options: object) -> object:
        if isinstance(data, duckdb.DuckDBPyRelation):
            raise ImportError("cannot import name 'sqltypes' from 'duckdb'", name="duckdb")
        return plain(data, **options)

    nw.from_native = broken
    try:
        refusal(lambda: evaluate(bp.total("x"), ONE, place), "duckdb", "pip install", kind=InstallationError)
    finally:
        nw.from_native = plain
    (folder / "bad.parquet").write_bytes(b"PAR1")
    refusal(lambda: evaluate(bp.total("x"), ONE, folder / "bad.parquet"), kind=FileError)
    assert "for each in lowest-direct highest" in (ROOT / ".ci" / "run").read_text()
    return "InstallationError for libraries that do not fit, FileError for a file; .ci/run installs both ends"


@row(55, "a table handed on")
def _(folder: Path) -> str:
    yes_no, rows = bp.Categorical(["no", "yes"]), 4_000
    # sorted by what is hidden, with an index that counts, and a record twice
    table = pd.DataFrame({"ill": ["yes"] * 1_000 + ["no"] * 3_000, "age": list(range(100)) * 40, "id": range(rows)})
    table.index = pd.Index(range(7, 7 + rows), name="bed")
    schema = bp.Schema(records=rows, columns={"ill": yes_no, "age": bp.Integer(0, 99)})
    hidden = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=10))
    made = bp.private_table(hidden, table, 1.0, 1e-6, schema=schema, records_may_be_seen=True)
    assert isinstance(made, bp.types.PrivateTable)
    assert list(made.table.columns) == ["ill", "age"]
    assert list(made.table.index) == list(range(len(made.table)))
    assert made.table.index.name is None
    ill = (made.table.ill == "yes").to_numpy()
    half, share = len(ill) // 2, float(ill.mean())
    assert abs(float(ill[:half].mean()) - float(ill[half:].mean())) < 6 * (share * (1 - share) * 2 / half) ** 0.5
    files = []
    for name in ("one.parquet", "two.parquet"):
        output = folder / name
        bp.private_table(hidden, table, 1.0, 1e-6, schema=schema, records_may_be_seen=True, output=output)
        stored = pq.ParquetFile(output)
        assert not stored.schema_arrow.metadata
        files.append((stored.schema_arrow, stored.metadata.num_rows, stored.metadata.num_row_groups))
    assert files[0] == files[1]
    source = folder / "source.parquet"
    table.to_parquet(source)
    before = source.read_bytes()
    given = {"schema": schema, "records_may_be_seen": True}
    refusal(lambda: bp.private_table(hidden, str(source), 1.0, 1e-6, output=source, **given))
    refusal(lambda: bp.private_table(hidden, str(source), 1.0, 1e-6, output=folder / "none" / "x.parquet", **given))
    assert source.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["one.parquet", "source.parquet", "two.parquet"]
    return f"{rows:,} sorted rows: no order, index or identity left; two files of one form; a failure writes nothing"
