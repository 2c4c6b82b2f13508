"""A release on an account: charged before the answer is worked out, and stored before it is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bnpriv.core.frameworks.question import Framework
from bnpriv.core.interrupts import interruptible
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import posteriors_of
from bnpriv.core.networks.base import Posterior, TableFingerprint
from bnpriv.core.noise import Sampler
from bnpriv.core.queries.contribution import cleaned
from bnpriv.core.release import Release, check, check_sampler, drawn, with_values
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError
from bnpriv.kinds.public_records import public_records_of
from bnpriv.ledger.chain import canonical
from bnpriv.ledger.counted import CountedAccount
from bnpriv.ledger.ledger import name_charge
from bnpriv.ledger.values import Budget
from bnpriv.tables.evaluate import answer_labels, check_rows, require_answerable
from bnpriv.tables.public import fingerprint_of
from bnpriv.tables.readings import ColumnValues, dialect_of

# --------------------------------------------------------------------------------------------------
# Refuse to release from the very table that the models were learned from, which was said to be public.
# --------------------------------------------------------------------------------------------------


def refuse_learned(framework: Framework, schema: Schema, data: object) -> None:
    """Refuse a table that is the one that the models of a framework were learned from.

    Raises
    ------
    DataError
        If all columns of the public table are there with the same records in any order, or all shared columns hold the
        same values in the same order; unless it was declared that this table may be the public one. Public records are
        compared by what they count as.

    Notes
    -----
    Whether it is refused depends on the data; docs/claims/posterior.md says why that tells nothing that is not public.
    Hashes are computed in the same way whether they agree or not.
    """
    compared = [partial(_is_same, learned, schema) for learned in _watched(posteriors_of(framework), schema)]
    public = framework.public_records
    said = any(posterior.same_table_is_public for posterior in posteriors_of(framework))
    if public is not None and public.records == schema.records and not said:
        compared.append(partial(_counts_the_same, public.columns, schema))
    for same in compared:
        if interruptible(data, partial(same, data)):
            raise DataError(
                "the table to be released must not be the one that the models were learned from",
                found="the same values in the columns that both have",
                remedy="Learn from other data, or declare same_table_is_public=True if all of this table is public.",
            )


def _is_same(learned: TableFingerprint, schema: Schema, data: object) -> bool:
    columns = _read([name for name in learned.columns if name in schema.columns], schema, data)
    return bool(columns) and _same(learned, fingerprint_of(columns))


def _counts_the_same(public: Mapping[str, NDArray[Any]], schema: Schema, data: object) -> bool:
    """Whether a table holds what public records hold: numbers within their bounds, and what is missing filled in."""
    columns = _read([name for name in public if name in schema.columns], schema, data)
    if not columns:
        return False
    # whatever an engine writes for a gap is none
    given = public_records_of(columns, {name: schema[name] for name in columns}).columns
    one, other = (
        fingerprint_of({name: cleaned(schema[name], table[name]).tolist() for name in columns})
        for table in (public, given)
    )
    return _same(one, other)


def _watched(posteriors: Iterable[Posterior], schema: Schema) -> Iterator[TableFingerprint]:
    """Yield what a table is compared with: not what it cannot be, and not what it may be.

    The number of records is declared and public, so that nothing is read where it differs.
    """
    for posterior in posteriors:
        table = posterior.table
        if table is not None and not posterior.same_table_is_public and table.records == schema.records:
            yield table


def _read(names: Iterable[str], schema: Schema, data: object) -> Mapping[str, ColumnValues]:
    """Return those of the columns that can be read; a query only needs some of the columns of a schema."""
    from bnpriv.tables.reader import collected, opened

    found: dict[str, ColumnValues] = {}
    for name in names:
        try:
            with opened(data, {name: schema[name]}, dialect=dialect_of(schema)) as frame:
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


# --------------------------------------------------------------------------------------------------
# A release on an account of a ledger: charged before the answer is worked out, and stored before it is shown.
# --------------------------------------------------------------------------------------------------


def charged_release(
    calibration: Calibration,
    data: object,
    *,
    sampler: Sampler | None,
    ledger: str | Path | CountedAccount,
    budget: float | Budget | None,
    name: str,
    key: str | None,
) -> Release:
    """Release an answer that a ledger counts: `bnpriv.core.release` with a ledger."""
    try:
        account = _opened(calibration, data, sampler, ledger, budget, name)
        return _charged(calibration, data, sampler, account, key)
    except BaseException as error:
        name_charge(error, name, None)
        raise


def _opened(
    calibration: Calibration,
    data: object,
    sampler: Sampler | None,
    ledger: str | Path | CountedAccount,
    budget: float | Budget | None,
    name: str,
) -> CountedAccount:
    """Check all that can be checked before a charge, then open the account."""
    check_sampler(sampler, calibration.noise)
    check(calibration)
    framework = calibration.framework
    columns = require_answerable(calibration.query, framework.schema)
    _check_storable(calibration)
    check_rows(columns, framework.schema, data)
    refuse_learned(framework, framework.schema, data)
    if isinstance(ledger, CountedAccount):
        return ledger
    return CountedAccount.opened(framework, ledger, budget, name)


def _charged(
    calibration: Calibration, data: object, sampler: Sampler | None, account: CountedAccount, key: str | None
) -> Release:
    """Charge, compute, store, show: what happens after the charge takes nothing of it back."""
    receipt = None
    try:
        receipt = account.charge(calibration, key)
        if receipt.answer is not None:
            return Release.from_stored(receipt.answer.content, calibration, account.mark(receipt, receipt.answer))
        (answered,) = drawn((calibration,), data, sampler)
        answer = account.ledger.store(receipt, answered.stored)
        return replace(answered, mark=account.mark(receipt, answer))
    except BaseException as error:
        charged = None if receipt is None or receipt.answer is not None else receipt.charge
        name_charge(error, account.account.name, charged)
        raise


def _check_storable(calibration: Calibration) -> None:
    """Refuse an answer that is too long for a ledger, before it is charged; no number is longer than this one."""
    labels = answer_labels(calibration.query, calibration.framework.schema)
    canonical(with_values(calibration, (-sys.float_info.max,) * len(labels), labels).stored)
