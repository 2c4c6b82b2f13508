"""A release on an account of a ledger: charged before the answer is worked out, and stored before it is shown."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from bnpriv.accounting.counted import CountedAccount
from bnpriv.accounting.interrupted import name_charge
from bnpriv.accounting.ledger_chain import canonical
from bnpriv.accounting.ledger_values import Budget
from bnpriv.mechanisms.base import Calibration
from bnpriv.noise.sampling import Sampler
from bnpriv.release.evaluate import answer_labels, require_answerable
from bnpriv.release.public import refuse_learned
from bnpriv.release.release import check, check_sampler, drawn, with_values
from bnpriv.release.result import Release
from bnpriv.release.rows import check_rows


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
    """Release an answer that a ledger counts: `bnpriv.release.release` with a ledger."""
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
