"""A release or a private table on an account: charged before the data are read, stored before it is shown."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.core.accounting.total import Entry, typed
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.interrupts import interruptible
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import posteriors_of
from bnpriv.core.networks.base import Posterior, TableFingerprint
from bnpriv.core.noise import Sampler
from bnpriv.core.queries.contribution import cleaned
from bnpriv.core.release import Release, check, check_sampler, drawn, with_values
from bnpriv.core.schema import Schema
from bnpriv.digest import sha256
from bnpriv.errors import DataError, LedgerError
from bnpriv.kinds.public_records import public_records_of
from bnpriv.ledger.counted import CountedAccount, alone, as_budget, mark_of, no_bound, open_account
from bnpriv.ledger.ledger import LOST_TABLE, Admit, Ledger, name_charge
from bnpriv.ledger.prices import refuse_useless
from bnpriv.ledger.values import Account, Budget, Receipt, canonical
from bnpriv.render.outputs import outputs
from bnpriv.tables.evaluate import answer_labels, check_rows, require_answerable
from bnpriv.tables.public import fingerprint_of
from bnpriv.tables.readings import ColumnValues, dialect_of
from bnpriv.views.accountant import PRIVATE_TABLE

if TYPE_CHECKING:
    from bnpriv.tables.private_table.private_table import PrivateTable
    from bnpriv.tables.private_table.rule import Hidden, TableRule

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
    _refuse_same(compared, data)


def refuse_learned_law(asked: Hidden, data: object) -> None:
    """Refuse a table that the models of what is hidden were learned from, or the network that records are made up by.

    Raises
    ------
    DataError
        As `refuse_learned`.
    """
    schema = asked.classes.schema
    if asked.framework is not None:
        refuse_learned(asked.framework, schema, data)
    drawn = None if asked.network is None else asked.network.posterior_draws
    _refuse_same([partial(_is_same, each, schema) for each in _watched([drawn] if drawn else [], schema)], data)


def _refuse_same(compared: Iterable[Callable[[object], bool]], data: object) -> None:
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
    even_if_useless: bool,
) -> Release:
    """Release an answer that a ledger counts: `bnpriv.core.release` with a ledger."""
    try:
        _check(calibration, data, sampler)
        waived, account = checks.flag("even_if_useless", even_if_useless), ledger
        if not isinstance(account, CountedAccount):
            if not waived and key is None:  # no ledger is made for nothing
                refuse_useless(calibration)
            account = CountedAccount.opened(calibration.framework, account, budget, name)
        _require_useful(calibration, account, key, waived=waived)
        return _charged(calibration, data, sampler, account, key)
    except BaseException as error:
        name_charge(error, name, None)
        raise


def require_releasable(
    calibration: Calibration,
    data: object,
    sampler: Sampler | None,
    account: CountedAccount,
    key: str | None,
    *,
    waived: bool,
) -> None:
    """Refuse all that a release refuses before its charge, but for the budget.

    Parameters
    ----------
    calibration, data, sampler, account, key
        As of `charged_release`.
    waived : bool
        Whether a useless answer is released all the same.
    """
    _check(calibration, data, sampler)
    _require_useful(calibration, account, key, waived=waived)


def _require_useful(calibration: Calibration, account: CountedAccount, key: str | None, *, waived: bool) -> None:
    """Refuse a useless answer, unless it is waived or was charged before."""
    if not (waived or (isinstance(key, str) and key in account.ledger.book(account.account).keys)):
        refuse_useless(calibration, account.accountant.entries)


def _check(calibration: Calibration, data: object, sampler: Sampler | None) -> None:
    """Check all that can be checked before an account is opened."""
    check_sampler(sampler, calibration.noise)
    check(calibration)
    framework = calibration.framework
    columns = require_answerable(calibration.query, framework.schema)
    _check_storable(calibration)
    check_rows(columns, framework.schema, data)
    refuse_learned(framework, framework.schema, data)


def _charged(
    calibration: Calibration, data: object, sampler: Sampler | None, account: CountedAccount, key: str | None
) -> Release:
    """Charge, compute, store, show: what happens after the charge takes nothing of it back."""
    receipt = None
    try:
        receipt = account.charge(calibration, key)
        if receipt.answer is not None:
            return Release.from_stored(receipt.answer.content, calibration, mark_of(receipt, receipt.answer.hash))
        (answered,) = drawn((calibration,), data, sampler)
        answer = account.ledger.store(receipt, answered.stored)
        return replace(answered, mark=mark_of(receipt, answer.hash))
    except BaseException as error:
        charged = None if receipt is None or receipt.answer is not None else receipt.charge
        name_charge(error, account.account.name, charged)
        raise


def _check_storable(calibration: Calibration) -> None:
    """Refuse an answer that is too long for a ledger, before it is charged; no number is longer than this one."""
    labels = answer_labels(calibration.query, calibration.framework.schema)
    canonical(with_values(calibration, (-sys.float_info.max,) * len(labels), labels).stored)


# --------------------------------------------------------------------------------------------------
# A private table on an account: it enters once, and is opened again as often as it is asked for.
# --------------------------------------------------------------------------------------------------


def charged_table(
    rule: TableRule,
    asked: Hidden,
    data: object,
    *,
    output: Path | None,
    inside: bool,
    sampler: Sampler | None,
    ledger: str | Path | CountedAccount,
    budget: float | Budget | None,
    name: str,
    key: str | None,
) -> PrivateTable:
    """Make a private table that a ledger counts: `bnpriv.private_table` with a ledger."""
    from bnpriv.tables.private_table.private_table import made_by
    from bnpriv.tables.private_table.rows import read_files

    receipt, schema, target = None, rule.classes.schema, output
    try:
        check_rows(tuple(schema.columns), schema, data)
        refuse_learned_law(asked, data)
        entry = _table_entry(rule)
        where, account, admit = _table_account(rule, asked, entry, ledger, budget, name)
        charge = partial(where.charge, account, entry.to_json(), admit=admit, key=key)
        if isinstance(key, str) and key in where.book(account).keys:
            receipt = charge()
            return _opened_again(rule, receipt, target)
        with outputs(target, reading=() if target is None else read_files(data, target)) as out:
            receipt = charge()
            if receipt.answer is not None:
                raise _not_here("one that another process made meanwhile", "Ask once more with the same key.")
            place = None if target is None else out.beside(target)
            made = made_by(rule, data, output=place, sampler=sampler)
            told = {} if inside else {"sizes": list(made.sizes), "noisy": list(made.noisy)}
            written = None if place is None else _file_hash(place)
            answer = where.store(receipt, {"form": rule.form, "sha256": written, **told})
        return replace(made, table=target or made.table, mark=mark_of(receipt, answer.hash))
    except BaseException as error:
        charged = None if receipt is None or receipt.answer is not None else receipt.charge
        name_charge(error, name, charged)
        raise


def _table_account(
    rule: TableRule,
    asked: Hidden,
    entry: Entry,
    ledger: str | Path | CountedAccount,
    budget: float | Budget | None,
    name: str,
) -> tuple[Ledger, Account, Admit]:
    """Open the account of a framework, or that of secrets by themselves, on which nothing else is counted."""
    if budget is not None and entry.delta > as_budget(budget).delta:
        raise no_bound(entry).error()
    if isinstance(ledger, CountedAccount):
        return ledger.ledger, ledger.account, ledger.admit
    if asked.framework is not None:
        opened = CountedAccount.opened(asked.framework, ledger, budget, name)
        return opened.ledger, opened.account, opened.admit
    classes = rule.classes
    secrets = sha256(repr((list(map(str, classes.predicates)), classes.moved)))
    where, account = open_account(secrets, classes.schema, ledger, budget, name)
    return where, account, alone(account.budget)


def _table_entry(rule: TableRule) -> Entry:
    """What the accountant keeps of a private table: its own guarantee alone (theorem 2b, accountant.md)."""
    drawn = "" if rule.law is None else f", made-up records from {rule.law.text}"
    return Entry(
        mechanism=PRIVATE_TABLE,
        text=f"private table ({rule.form}) of {len(rule.classes)} classes{drawn}",
        columns=frozenset(rule.classes.schema.columns),
        noise=None,
        scale=0.0,
        moved=math.inf,
        family="own law",
        epsilon=typed(rule.guarantee.epsilon),
        delta=typed(rule.guarantee.delta),
        kind=rule.guarantee.kind,
        alone="a private table",
    )


def _opened_again(rule: TableRule, receipt: Receipt, target: Path | None) -> PrivateTable:
    """Return the table that was made under a key, if its file is what was written."""
    from bnpriv.tables.private_table.private_table import PrivateTable

    assert receipt.answer is not None
    kept = receipt.answer.content
    if kept.get("sha256") is None:
        raise _not_here("one that no file was written of", "Use it in the process that made it.")
    if target is None or not target.is_file() or _file_hash(target) != kept["sha256"]:
        found = "no output" if target is None else "another file, or none"
        raise _not_here(found, f"Pass as output= the file that was written, unchanged. {LOST_TABLE}")
    noisy = tuple(cast("list[int]", kept["noisy"]))
    mark = mark_of(receipt, receipt.answer.hash)
    return PrivateTable(table=target, rule=rule, sizes=rule.sizes(noisy), noisy=noisy, mark=mark)


def charged_before(
    account: CountedAccount, asked: Calibration | TableRule, key: str, file: Path
) -> Release | PrivateTable:
    """Return what was released under a key, free of charge: from the ledger, and of a private table its file alone.

    The data are not read, and may be gone.

    Parameters
    ----------
    account : CountedAccount
    asked : Calibration or TableRule
        What was asked for.
    key : str
    file : Path
        Where a private table was written.

    Raises
    ------
    LedgerError
        If nothing was charged under the key, or something else, or its answer was not stored, or the file is not there.
    """
    if key not in account.ledger.book(account.account).keys:
        found = "none: it was not charged"
        raise LedgerError("a release is in the ledger once it is charged", found=found, remedy="Ask once more.")
    if isinstance(asked, Calibration):
        return _charged(asked, None, None, account, key)
    receipt = account.ledger.charge(account.account, _table_entry(asked).to_json(), admit=account.admit, key=key)
    return _opened_again(asked, receipt, file)


def _not_here(found: str, remedy: str) -> LedgerError:
    return LedgerError(
        "a private table that was charged under this key is opened again from its file", found=found, remedy=remedy
    )


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
