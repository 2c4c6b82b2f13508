"""Refuse to release from the very table that the models were learned from, which was said to be public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from bnpriv.errors import DataError
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.posterior_draws import posteriors_of
from bnpriv.networks.learning.fingerprint import fingerprint_of
from bnpriv.networks.posterior import Posterior, TableFingerprint
from bnpriv.tables.interrupts import interruptible
from bnpriv.tables.readings import ColumnValues
from bnpriv.tables.schema import Schema


def refuse_learned(framework: Framework, schema: Schema, data: object) -> None:
    """Refuse a table that is the one that the models of a framework were learned from.

    Raises
    ------
    DataError
        If all columns of the public table are there with the same records in any order, or all shared columns hold the
        same values in the same order; unless it was declared that this table may be the public one.

    Notes
    -----
    Whether it is refused depends on the data; docs/claims/posterior.md says why that tells nothing that is not public.
    Hashes are computed in the same way whether they agree or not.
    """
    for learned in _watched(posteriors_of(framework), schema):
        if interruptible(data, partial(_is_same, learned, schema, data)):
            raise DataError(
                "the table to be released must not be the one that the models were learned from",
                found="the same values in the columns that both have",
                remedy="Learn from other data, or declare same_table_is_public=True if all of this table is public.",
            )


def _is_same(learned: TableFingerprint, schema: Schema, data: object) -> bool:
    columns = _read([name for name in learned.columns if name in schema.columns], schema, data)
    return bool(columns) and _same(learned, fingerprint_of(columns))


def _watched(posteriors: Iterable[Posterior], schema: Schema) -> Iterator[TableFingerprint]:
    """Yield what a table is compared with: not what it cannot be, and not what it may be.

    The number of records is declared and public, so that nothing is read where it differs.
    """
    for drawn in posteriors:
        if drawn.table is not None and not drawn.same_table_is_public and drawn.table.records == schema.records:
            yield drawn.table


def _read(names: Iterable[str], schema: Schema, data: object) -> Mapping[str, ColumnValues]:
    """Return those of the columns that can be read; a query only needs some of the columns of a schema."""
    from bnpriv.tables.reader import collected, opened

    found: dict[str, ColumnValues] = {}
    for name in names:
        try:
            with opened(data, {name: schema[name]}) as frame:
                found[name] = collected(frame)["c0"].to_list()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:  # what the query needs is refused by its evaluation, without quoting the data
            continue
    lengths = {len(values) for values in found.values()}
    return found if lengths == {schema.records} else {}


def _same(learned: TableFingerprint, given: TableFingerprint) -> bool:
    in_order = [given.columns[name] == learned.columns[name] for name in given.columns]
    whole = given.columns.keys() == learned.columns.keys()
    return all(in_order) or (whole and given.rows == learned.rows)
