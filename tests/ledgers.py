"""What the tests of the ledger share: a plain accountant, and processes that are killed while they release."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from bnpriv.errors import BnprivError, BudgetError
from bnpriv.ledger import ledger as ledger_steps
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.values import Account, Budget, Receipt

TENTH: Mapping[str, object] = {"epsilon": "1/10", "delta": "0", "query": "mean(sat)"}


def summed(entries: Sequence[Mapping[str, object]], new: Mapping[str, object]) -> Fraction:
    """Return the exact sum of the epsilons: the total of releases that hide whole columns."""
    return sum((Fraction(str(each["epsilon"])) for each in (*entries, new)), Fraction(0))


def opened(where: str | Path, epsilon: float = 1.0, *, create: bool = True) -> tuple[Ledger, Account]:
    """Return a ledger with one account."""
    ledger = Ledger.open(where, create=create)
    return ledger, ledger.account("survey", framework="f1", data="d1", budget=Budget(epsilon))


def released(ledger: Ledger, account: Account, value: float = 17.25, *, key: str | None = None) -> Receipt:
    """Charge a tenth, store an answer, and return the receipt."""
    receipt = ledger.charge(account, TENTH, admit=summed, key=key)
    if receipt.answer is None:
        ledger.store(receipt, {"value": value})
    return receipt


@contextlib.contextmanager
def at_step(step: str, action: Callable[[], None]) -> Iterator[None]:
    """Do something each time that a step of a release is reached."""
    plain = ledger_steps.reached

    def reached(name: str) -> None:
        if name == step:
            action()

    ledger_steps.reached = reached
    try:
        yield
    finally:
        ledger_steps.reached = plain


def child(work: Callable[[], object]) -> int:
    """Run something in a fork of this process, which then ends without clearing up; return its number."""
    number = os.fork()
    if number == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        sys.stdout.flush()
        os._exit(code)
    return number


def ended(number: int) -> int:
    """Wait for a child, and return its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def release_until_spent(where: str | Path, shown: Path, epsilon: float = 1.0) -> None:
    """Release tenths, as one of several processes, until the budget holds no more; show each in a file."""
    ledger, account = opened(where, epsilon, create=False)
    with contextlib.suppress(BudgetError):
        while True:
            receipt = released(ledger, account)
            show(shown, receipt)


def show(shown: Path, receipt: Receipt) -> None:
    """Add a line to what the public has seen."""
    number = os.open(shown, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(number, f"{receipt.charge.sequence}\n".encode())
    os.close(number)


def seen(shown: Path) -> list[int]:
    """Return the charges of the answers that the public has seen."""
    return [int(line) for line in shown.read_text().split()] if shown.exists() else []


def check_against(ledger: Ledger, account: Account, shown: Path) -> int:
    """Check a ledger after crashes: every answer that was shown is stored and charged; return how many charges."""
    found = ledger.verify()
    book = ledger.book(account)
    assert found.charges == len(book.charges)
    public = seen(shown)
    assert len(public) == len(set(public))
    assert set(public) <= book.answers.keys() <= {charge.sequence for charge in book.charges}
    assert Fraction(len(book.charges), 10) <= account.budget.epsilon
    return len(book.charges)


def refused(work: Callable[[], object]) -> bool:
    """Say whether something is refused with one of our errors, and nothing else."""
    try:
        work()
    except BnprivError:
        return True
    return False
