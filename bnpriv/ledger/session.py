"""A session: many questions on one table, one budget that all processes share, and what is left of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from bnpriv import checks
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import rounded_up
from bnpriv.core.frameworks.question import Framework, asked_of, own_query, require_framework, require_query
from bnpriv.core.interrupts import NOTHING_CHARGED, noting
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.noise import Sampler
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.release import Release, release
from bnpriv.errors import LedgerError, ParameterError
from bnpriv.ledger.charged import require_releasable
from bnpriv.ledger.counted import CountedAccount, budget_text, spent_of
from bnpriv.ledger.external import DIFFERENTIAL_PRIVACY
from bnpriv.ledger.history import History, ReleaseCost, left, left_text
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.prices import AskedAccuracy, Chooser, NextCosts, Price, as_it_is, questions_text, questions_within
from bnpriv.ledger.split import BudgetSplit, split
from bnpriv.ledger.values import Account, Budget, Mark, Uncopied
from bnpriv.ledger.workload import Workload, WorkloadAnswer, workload
from bnpriv.paths import user_path
from bnpriv.progress import progress, tracked
from bnpriv.render.document import Code, Document, Fact, Facts, Paragraph, Section, fact
from bnpriv.render.outputs import require_writable
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import check_rows, require_answerable
from bnpriv.tables.files import is_database
from bnpriv.text import Json, name_text, shorten, upper_text, visible
from bnpriv.views.accountant import promised_lines, swaps_data
from bnpriv.views.calibration import guarantee_section
from bnpriv.views.cards import MOST_SAID, belief_fact

if TYPE_CHECKING:
    from bnpriv.ledger.external import ExternalRelease
    from bnpriv.tables.private_table.private_table import PrivateTable

# --------------------------------------------------------------------------------------------------
# The page of a session: what was asked, what it told about each protected attribute so far, what is left.
# --------------------------------------------------------------------------------------------------


def session_document(account: CountedAccount, history: History, accountant: Accountant) -> Document:
    """Return the page of a session.

    Parameters
    ----------
    account : CountedAccount
    history : History
        Its releases.
    accountant : Accountant
        What counted them.
    """
    asked = Section(title="What was asked", id="asked", blocks=(history.table,), explained=True)
    promised: list[Section] = []
    delta = float(account.budget.delta)
    if accountant.entries:
        promised.append(guarantee_section(accountant.guarantee(delta)))
    useful = tuple(_questions(account, history))
    told = [section for section in accountant.document.sections if "protected" in str(section.title)]
    return Document(
        kind="session",
        kicker=f"bnpriv session: account {account.account.name!r}",
        headline=history.headline,
        short=(
            *(promised_lines(accountant, delta) or _nothing(account)),
            *(f"Useful questions: {each.lines[0]}." for each in useful),
            "Next: session.ask(query, error=...) names a price, session.plan([...]) splits what is left.",
        ),
        number=history.remaining,
        answer=(history.bar,),
        facts=(*_facts(account, accountant), *useful, fact("Hash of the ledger's last row", (Code(account.head),))),
        sections=(*((asked,) if len(history) else ()), *told, *promised, _limits()),
        data={
            "account": account.account.name,
            "framework": account.account.framework,
            "table": account.account.data,
            "head": account.head,
            "budget": {"epsilon": float(account.budget.epsilon), "delta": float(account.budget.delta)},
            "spent": rounded_up(history.spent),
            "releases": [made.to_json() for made in history.releases],
            "attributes": [
                {
                    "protected": share.protected,
                    "epsilon": None if share.total is None else rounded_up(share.total),
                    "influence": share.influence.upper if math.isfinite(share.influence.upper) else None,
                    "near": sorted(share.near),
                }
                for share in accountant.shares
            ],
            "properties": swaps_data(accountant.records),
        },
    )


def _facts(account: CountedAccount, accountant: Accountant) -> Iterable[Fact]:
    for share in (*accountant.shares, *accountant.records):
        told = "without bound" if share.total is None else f"epsilon {upper_text(rounded_up(share.total), 6)}"
        yield fact(f"Told so far about {name_text(share.protected)}", told)
    if accountant.entries:
        yield belief_fact(accountant.guarantee(float(account.budget.delta)))


def _nothing(account: CountedAccount) -> tuple[str, ...]:
    """What is protected where nothing was released yet."""
    protected = "; ".join(map(str, account.framework.protected_secrets))
    return (
        f"Protected from anybody who sees the answers: {shorten(protected, MOST_SAID)}.",
        f"Strength: all releases together tell at most {budget_text(account.budget)}.",
        f"Under the model: {shorten(account.framework.source, MOST_SAID)}.",
    )


def _questions(account: CountedAccount, history: History) -> Iterable[Fact]:
    """Say how many useful answers the budget holds, of the last kind that was asked for, or of a usual one."""
    framework = account.framework
    asked = history.releases[-1].entry.query if history.releases else own_query(framework)
    query = asked or service("query.usual")(*next(iter(framework.schema.columns.items())))
    if not isinstance(query, GivenAnswer):
        budget, left = float(account.budget.epsilon), max(0.0, float(account.budget.epsilon - history.spent))
        said = questions_text(framework, query, budget, str(query), "the whole budget of ")
        number = questions_within(framework, query, left)[0] if history.releases and left else 0
        if history.releases and not math.isinf(number):
            said += f"; {f'about {number:,.0f} of them' if number else 'none'} in what is left"
        yield fact("Useful questions", said)


def _limits() -> Section:
    return Section(
        title="What the budget does not count",
        blocks=(
            Paragraph(
                "Releases of the same table from another ledger, under another name or with another framework are not "
                "counted here, and what they tell does not simply add to this. A charge counts whether or not its "
                "answer was shown. Keep the hash that a release prints: a ledger that lacks it was turned back."
            ),
        ),
    )


# --------------------------------------------------------------------------------------------------
# The page of a ledger: its accounts, what was charged to each, and the heads by which a copy is recognized.
# --------------------------------------------------------------------------------------------------


MOST_ACCOUNTS = 5
"""Accounts that are printed."""


@dataclass(frozen=True, kw_only=True)
class AccountHistory:
    """An account with its releases.

    Parameters
    ----------
    account : Account
    history : History
    head : str
        The last hash of its chain.
    unanswered : int
        Charges without a stored answer: it may have been seen all the same.
    """

    account: Account
    history: History
    head: str
    unanswered: int

    @property
    def section(self) -> Section:
        """Its releases, and its head."""
        history = self.history
        facts = Facts(
            (
                fact("Charged without a stored answer", f"{self.unanswered:,}"),
                fact("Framework", (Code(self.account.framework),)),
                fact("Hash of its last row", (Code(self.head),)),
            )
        )
        table = (history.table,) if len(history) else ()
        return Section(title=self.line, blocks=(history.bar, *table, facts), explained=True)

    @property
    def line(self) -> str:
        """Its name, and what is spent."""
        return f"Account {self.account.name!r}: {self.history.headline}"

    def to_json(self) -> Json:
        """Return it as plain values."""
        budget = self.account.budget
        return {
            "account": self.account.name,
            "framework": self.account.framework,
            "table": self.account.data,
            "head": self.head,
            "budget": {"epsilon": float(budget.epsilon), "delta": float(budget.delta)},
            "spent": rounded_up(self.history.spent),
            "unanswered": self.unanswered,
            "releases": [made.to_json() for made in self.history.releases],
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerPage(Shown):
    """What is in a ledger; answers are left out.

    Parameters
    ----------
    accounts : tuple of AccountHistory
    """

    accounts: tuple[AccountHistory, ...]

    @staticmethod
    def of(ledger: Ledger, name: str | None = None) -> LedgerPage:
        """Return the page of a ledger, or of one account of it.

        Parameters
        ----------
        ledger : Ledger
        name : str, optional

        Raises
        ------
        LedgerError
            If there is no such account, or the ledger is not whole.
        """
        accounts = ledger.accounts()
        chosen = [account for account in accounts if name is None or account.name == name]
        if name is not None and not chosen:
            raise LedgerError(
                f"an account must be one of {checks.listing(account.name for account in accounts)}",
                found=checks.cut(name),
                remedy=checks.spelling(name, [account.name for account in accounts]),
            )
        return LedgerPage(accounts=tuple(_history(ledger, account) for account in chosen))

    @property
    def document(self) -> Document:
        """Return the accounts, one after the other."""
        several = "1 account" if len(self.accounts) == 1 else f"{len(self.accounts):,} accounts"
        return Document(
            kind="ledger",
            kicker="bnpriv ledger",
            headline=f"A ledger of {several}",
            short=(
                *(each.line for each in self.accounts[:MOST_ACCOUNTS]),
                *(self.accounts[0].history.listed[-4:] if len(self.accounts) == 1 else ()),
                *((f"and {more:,} more",) if (more := len(self.accounts) - MOST_ACCOUNTS) > 0 else ()),
                "Every charge counts, whether or not its answer was shown. Next: --full or .explain() lists them.",
            ),
            answer=(Paragraph("Every charge counts, whether or not its answer was shown.", soft=True),),
            sections=tuple(each.section for each in self.accounts),
            data={"accounts": [each.to_json() for each in self.accounts]},
        )


def _history(ledger: Ledger, account: Account) -> AccountHistory:
    book = ledger.book(account)
    return AccountHistory(
        account=account,
        history=History.of(book.charges, account.budget),
        head=book.head,
        unanswered=sum(
            charge.sequence not in book.answers and charge.entry["mechanism"] != DIFFERENTIAL_PRIVACY
            for charge in book.charges
        ),
    )


# --------------------------------------------------------------------------------------------------
# A session: many questions on one table, one budget that all processes share, and what is left of it.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Session(Uncopied, Shown):
    """Many releases of one table, within one budget; every process that opens the same ledger shares it.

    What all releases together tell is counted by `Accountant`: what their columns tell about a secret is paid once, so
    the next query on the same columns is cheaper than the first. A release is charged in the ledger, for good, before
    its answer is computed.

    Parameters
    ----------
    framework : Framework
        Network, schema and secrets, the same for all releases.
    data : table, str or path
        As of `release`.
    budget : float or Budget, optional
        What all releases together may tell: epsilon, or ``bp.types.Budget(epsilon, delta)``. It is fixed when the
        account is opened; None for an account that is there.
    ledger : str or path
        A file, or the URL of a database; by default the file ledger.db in the working folder, wherever the program was
        started. With a budget, a ledger that is not there is made; its budget starts anew.
    name : str
        Names the table in the ledger: two tables need two names, one table needs one.
    new_name : bool
        Says that a name one slip from that of another account means another table; without it that is refused.

    Raises
    ------
    FrameworkError
        If `framework` is none.
    DataError, FileError
        If the data cannot be read or have not the declared number of records.
    LedgerError
        If the ledger cannot be used as it is, or the name stands for another framework, table or budget.
    ParameterError
        If the budget is out of range.

    Examples
    --------
    >>> import tempfile
    >>> import bnpriv as bp
    >>> framework, data = bp.example("clinic"), bp.example_data("clinic")
    >>> query = bp.linear({"liver_enzyme": 1, "infection": 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with bp.Session(framework, data, budget=2.0, ledger=f"{folder}/ledger.db") as session:
    ...         released = session.release(query, epsilon=0.7)
    ...         price = session.what_if(query, epsilon=0.7)
    >>> round(price.alone, 4), round(price.epsilon, 4), round(price.remaining, 4)
    (0.7, 0.1087, 1.1913)
    """

    framework: Framework
    data: object
    budget: float | Budget | None = None
    ledger: str | Path = "ledger.db"
    name: str = "data"
    new_name: bool = False
    _account: CountedAccount = field(init=False)
    _open: list[bool] = field(init=False, default_factory=lambda: [True])
    _tables: list[tuple[object, str | None, PrivateTable]] = field(init=False, default_factory=list[Any])

    def __post_init__(self) -> None:
        require_framework(self.framework, "")
        own = own_query(self.framework)
        columns = () if own is None else require_answerable(own, self.framework.schema)
        check_rows(columns, self.framework.schema, self.data)
        new_name = checks.flag("new_name", self.new_name)
        account = CountedAccount.opened(self.framework, self.ledger, self.budget, self.name, new_name=new_name)
        object.__setattr__(self, "_account", account)

    def release(
        self,
        query: Query | str | Calibration | Price | None = None,
        epsilon: float | None = None,
        *,
        error: float | None = None,
        probability: float = 0.95,
        delta: float = 0.0,
        mechanism: Mechanism | None = None,
        key: str | None = None,
        sampler: Sampler | None = None,
        even_if_useless: bool = False,
    ) -> Release:
        """Charge a question, and answer it.

        Parameters
        ----------
        query : Query, str, Calibration or Price
            What is asked. A calibration, or a price, is released as it is; what it costs is counted anew.
        epsilon : float, optional
            The guarantee of this release alone; what it adds to the total is often less.
        error : float, optional
            In place of epsilon: what no number of the answer is to miss by more. The least epsilon is taken.
        probability : float
            How often the error is to hold, over the noise.
        delta : float
            Failure probability of this release; 0 for a pure guarantee.
        mechanism : Mechanism, optional
            None takes the least error among those that add at most epsilon, or a tenth more, also once other releases
            follow.
        key : str, optional
            Names this release: called again with the same key, the stored answer comes back and nothing is charged.
        sampler : Sampler, optional
            Where the noise comes from; exact, unseeded noise unless a test says otherwise.
        even_if_useless : bool
            Charges and shows an answer that its own verdict calls useless; without it that is refused.

        Returns
        -------
        Release
            With its place in the ledger.

        Raises
        ------
        RefusedError
            If the budget does not allow it, or nothing counts it beside what was released, or its answer is useless;
            nothing is charged.
        ParameterError
            If not exactly one of epsilon and error is given, or one is out of range, or given with a calibration.
        DataError, FileError, LedgerError, QueryError, SchemaError
            As `bnpriv.release`.
        """
        self._require_open()
        with noting(lambda: NOTHING_CHARGED), progress("choosing a mechanism"):
            calibration = self._calibration(query, epsilon, error, probability, delta, mechanism, key)
        counted: Mapping[str, Any] = {"ledger": self._account, "key": key, "even_if_useless": even_if_useless}
        return release(calibration, self.data, sampler=sampler, **counted)

    def table(
        self,
        epsilon: float,
        delta: float = 0.0,
        form: str | None = None,
        *,
        records_may_be_seen: bool = False,
        output: str | Path | None = None,
        key: str | None = None,
        sampler: Sampler | None = None,
    ) -> PrivateTable:
        """Charge a private table once, and hand it on; asked again in the same way it is free.

        What is asked of it costs nothing: `PrivateTable.answer`, or anything at all with `PrivateTable.table`.

        Parameters
        ----------
        epsilon, delta, form, records_may_be_seen, output, sampler
            As of `bnpriv.private_table`.
        key : str, optional
            Names it: another process with the same key, and `output` as it was written, opens the same table again.

        Returns
        -------
        PrivateTable

        Raises
        ------
        RefusedError
            If the budget does not allow it, or nothing counts it beside what was released; nothing is charged.
        ParameterError, SecretError, FrameworkError, DataError, FileError, LedgerError
            As `bnpriv.private_table`.
        """
        from bnpriv.tables.private_table.private_table import parquet_file, private_table

        self._require_open()
        for asked, named, made in self._tables:
            if asked == (epsilon, delta, form) and key in (None, named):
                return made if output is None else self._written(made, parquet_file(output))
        counted: Mapping[str, Any] = {"ledger": self._account, "name": self._account.account.name, "key": key}
        options: Mapping[str, Any] = {"records_may_be_seen": records_may_be_seen, "output": output, "sampler": sampler}
        made = cast(
            "PrivateTable", private_table(self.framework, self.data, epsilon, delta, form, **options, **counted)
        )
        self._tables.append(((epsilon, delta, form), key, made))
        return made

    def record_external(self, release: ExternalRelease, key: str | None = None) -> Mark:
        """Charge what another tool releases of this table with differential privacy; it has no answer here.

        Record it before it goes out. What is out already and is refused here is not counted, though it was seen: then
        release nothing more of this table, since the budget no longer bounds what is told.

        Parameters
        ----------
        release : ExternalRelease
            Of `bnpriv.from_differential_privacy`.
        key : str, optional
            Names it: called again with the same key, nothing is charged.

        Returns
        -------
        Mark
            Its place in the ledger.

        Raises
        ------
        RefusedError
            If the budget does not allow it, or nothing counts it beside what was released; nothing is charged.
        ParameterError
            If it is none, or reads a column that is not declared.
        LedgerError
            If the ledger cannot be used as it is, or the key names another release.

        Examples
        --------
        >>> import tempfile
        >>> import bnpriv as bp
        >>> framework, data = bp.example("hospital"), bp.example_data("hospital")
        >>> other = bp.from_differential_privacy(0.1, columns=["ward"], name="Tumult")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with bp.Session(framework, data, budget=10.0, ledger=f"{folder}/ledger.db") as session:
        ...         session.record_external(other).number
        1
        """
        self._require_open()
        return self._account.record_external(release, key)

    def ask(
        self,
        query: Query | str | None,
        error: float,
        probability: float = 0.95,
        *,
        delta: float = 0.0,
        mechanism: Mechanism | None = None,
    ) -> Price:
        """Say what an answer of a given accuracy would cost; nothing is spent.

        Parameters
        ----------
        query : Query or str
            What is asked.
        error : float
            What no number of the answer is to miss by more, in its unit.
        probability : float
            How often that is to hold, over the noise: above 0 and below 1.
        delta : float
            Failure probability; 0 for a pure guarantee.
        mechanism : Mechanism, optional
            None takes the one after which the total is least.

        Returns
        -------
        Price
            Pass it to `release` to have the answer.

        Raises
        ------
        RefusedError
            If no epsilon that may be asked for is enough.
        ParameterError
            If error or probability is out of range.
        """
        with progress("looking for the least epsilon"):
            chooser = Chooser(accountant=self.accountant, budget=self._account.budget)
            return self._asked(chooser, query, _accuracy(error, probability), delta, mechanism)

    def what_if(
        self,
        query: Query | str | Calibration | Price | None,
        epsilon: float | None = None,
        *,
        delta: float = 0.0,
        mechanism: Mechanism | None = None,
        key: str | None = None,
    ) -> Price:
        """Say what a release would cost beside those that were made; nothing is spent.

        Parameters
        ----------
        query : Query, str, Calibration or Price
            What is asked. Of a price, what it has become since it was told.
        epsilon : float, optional
            The guarantee of this release alone; left out for a calibration or a price.
        delta : float
            Failure probability; 0 for a pure guarantee.
        mechanism : Mechanism, optional
            None takes what `release` takes.
        key : str, optional
            Of a release that was made: what it cost then.

        Returns
        -------
        Price

        Raises
        ------
        RefusedError
            If no mechanism supports the question.
        ParameterError
            If epsilon or delta is out of range, or given with a calibration.
        """
        chooser = Chooser(accountant=self._account.before(key), budget=self._account.budget)
        if isinstance(query, (Calibration, Price)):
            return Price(cost=chooser.cost(as_it_is(query, epsilon=epsilon, delta=delta, mechanism=mechanism)))
        if epsilon is None:
            raise ParameterError(
                "a price needs an epsilon", found="none", remedy="Pass epsilon, or use ask(error=...)."
            )
        with progress("choosing a mechanism"):
            return Price(cost=chooser.at_epsilon(asked_of(self.framework, query), epsilon, delta, mechanism))

    def plan(self, queries: Sequence[Query | str], budget: float | None = None) -> BudgetSplit:
        """Split a budget over many questions, so that the sum of their errors, as shares of their ranges, is least.

        What their columns tell is paid once for all of them, as by the accountant; nothing is spent.

        Parameters
        ----------
        queries : sequence of Query or str
        budget : float, optional
            What they may add to the total; by default all that is left.

        Returns
        -------
        BudgetSplit
            A calibration for each release, to be passed to `release`, and which questions to `stack`.

        Raises
        ------
        ParameterError
            If there is no list of queries, or the budget is out of range.
        RefusedError
            If a query needs more than the budget, whatever its noise.
        """
        with progress("splitting the budget"):
            return split(*self._left_for(queries, budget))

    def workload(self, queries: Sequence[Query | str], budget: float | None = None) -> Workload:
        """Choose what to ask in place of many questions, so that the sum of the errors of their answers is least.

        What overlaps is asked once: cross tables share their margins, counts of ranges the counts between their ends.
        The answers follow by least squares, and are consistent. Nothing is spent.

        Parameters
        ----------
        queries : sequence of Query or str
        budget : float, optional
            What they may add to the total; by default all that is left.

        Returns
        -------
        Workload
            To be passed to `release_workload`; never worse than `plan`.

        Raises
        ------
        ParameterError, RefusedError
            As `plan`.
        """
        with progress("choosing what to ask"):
            return workload(*self._left_for(queries, budget))

    def release_workload(
        self,
        chosen: Workload,
        *,
        key: str | None = None,
        sampler: Sampler | None = None,
        even_if_useless: bool = False,
    ) -> tuple[WorkloadAnswer, ...]:
        """Charge what a workload asks, and answer all of its questions.

        Parameters
        ----------
        chosen : Workload
            What `workload` returned.
        key : str, optional
            Names it: called again with the same key, what was released comes back and nothing is charged for it.
        sampler : Sampler, optional
        even_if_useless : bool
            As of `release`; of each number that is asked.

        Returns
        -------
        tuple of WorkloadAnswer
            In the order of the questions.

        Raises
        ------
        RefusedError
            If the budget does not allow all of it, or what is asked is useless; nothing is charged.
        ParameterError
            If it is no workload, or the key is none.
        DataError, FileError, LedgerError, QueryError, SchemaError
            As `release`.
        """
        self._require_open()
        if not isinstance(chosen, Workload):
            found, remedy = checks.type_text(chosen), "Pass what Session.workload(questions) returned."
            raise ParameterError("a workload is released", found=found, remedy=remedy)
        text = None if key is None else checks.text("key", key, error=ParameterError)
        keys = [None if text is None else f"{text} {k + 1}" for k in range(len(chosen.calibrations))]
        # all that can be refused is refused before the first is charged: no charge is without the answers
        with noting(lambda: NOTHING_CHARGED):
            waived = checks.flag("even_if_useless", even_if_useless)
            chosen.require_room(self._account.before(keys[0]), self._account.budget)
            for made, each in zip(tracked(chosen.calibrations, "questions to be released"), keys, strict=True):
                require_releasable(made, self.data, sampler, self._account, each, waived=waived)
        with progress("releasing"):
            released = [
                release(made, self.data, sampler=sampler, ledger=self._account, key=each, even_if_useless=True)
                for made, each in zip(tracked(chosen.calibrations, "answers"), keys, strict=True)
            ]
        return chosen.answers(released)

    def _left_for(
        self, queries: Sequence[Query | str], budget: float | None
    ) -> tuple[Accountant, Sequence[Query], Fraction, Budget]:
        """What was released, the questions, what all may tell together then, and the budget."""
        spent = self._spent(accountant := self.accountant)
        most = self._account.budget.epsilon - spent
        wanted = most if budget is None else Budget(budget).epsilon
        asked = [require_query(self.framework, query) for query in _several(queries)]
        return accountant, asked, spent + min(most, wanted), self._account.budget

    def next_costs(self, calibrations: Sequence[Calibration]) -> NextCosts:
        """Return what calibrations would cost as the next release; `bnpriv.plan` shows it.

        Parameters
        ----------
        calibrations : sequence of Calibration

        Returns
        -------
        NextCosts
        """
        return NextCosts.of(self.accountant, self._account.budget, calibrations)

    @property
    def accountant(self) -> Accountant:
        """The accountant of all releases of the account, also those of other processes."""
        return self._account.accountant

    @property
    def spent(self) -> float:
        """What all releases tell together, rounded up."""
        return rounded_up(self._spent(self.accountant))

    @property
    def remaining(self) -> float:
        """What is left of the budget, rounded down."""
        return max(0.0, left(self._account.budget, self._spent(self.accountant)))

    @property
    def history(self) -> History:
        """All releases of the account in order, with what each added."""
        return History.of(self._account.charges, self._account.budget)

    @property
    def answers(self) -> Mapping[int, tuple[float, ...]]:
        """The released numbers that the ledger keeps, by the number of their release; none of private tables."""
        return self._account.answers

    @property
    def head(self) -> str:
        """The last hash of the account in the ledger."""
        return self._account.head

    def transcript(self) -> str:
        """All that was charged, and what `bnpriv.verify` needs to recount it apart from this library, as JSON.

        It holds the ledger's rows of this account, with the answers that were stored, and no others.
        """
        return self._account.transcript()

    @property
    def document(self) -> Document:
        """Return what was asked, what it told about each protected attribute, and what is left."""
        return session_document(self._account, self.history, self.accountant)

    def statement(self, decided: Mapping[str, str] | None = None) -> Shown:
        """One page for a data-protection officer on all that was released, as `Release.statement`.

        Parameters
        ----------
        decided : mapping from str to str, optional
            Who decided what, and why; the rest is as the framework's file says.

        Raises
        ------
        ParameterError
            If nothing was released yet, or a decision has another name, or no text.
        RefusedError
            If nothing bounds what the releases tell together.
        """
        return statement_of(self._account, self.ledger, decided)

    def close(self) -> None:
        """Release nothing more; the ledger keeps what was charged."""
        self._open[0] = False

    def __enter__(self) -> Session:
        self._require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        budget = self._account.budget
        # a path from the working folder on is another file elsewhere, and its budget another one
        here = not is_database(self.ledger) and not user_path(self.ledger).is_absolute()
        place = f", ledger {str(self.ledger)!r} in the working folder" if here else ""
        spent = f"budget={float(budget.epsilon):g}, remaining={left_text(budget, self._spent(self.accountant), 6)}"
        return visible(f"Session({self.name!r}, {spent}{place})")

    def _written(self, made: PrivateTable, target: Path) -> PrivateTable:
        """A table that was made before, also written to a file."""
        from bnpriv.tables.private_table.rows import read_files

        if isinstance(made.table, Path) and made.table == target:
            return made
        require_writable(target, read_files(self.data, target))
        return replace(made, table=made.to_parquet(target))

    def _spent(self, accountant: Accountant) -> Fraction:
        return spent_of(accountant, self._account.budget)

    def _require_open(self) -> None:
        if not self._open[0]:
            raise ParameterError("a session must be open", found="one that was closed", remedy="Open another one.")

    def _calibration(
        self,
        query: Query | str | Calibration | Price | None,
        epsilon: float | None,
        error: float | None,
        probability: float,
        delta: float,
        mechanism: Mechanism | None,
        key: str | None,
    ) -> Calibration:
        if isinstance(query, (Calibration, Price)):
            return as_it_is(query, epsilon=epsilon, error=error, delta=delta, mechanism=mechanism)
        if (epsilon is None) == (error is None):
            found = "neither" if epsilon is None else "both"
            raise ParameterError(
                "a release needs either epsilon or error", found=found, remedy="Pass one, for example epsilon=0.5."
            )
        chooser = Chooser(accountant=self._account.before(key), budget=self._account.budget)
        if epsilon is not None:
            return chooser.at_epsilon(asked_of(self.framework, query), epsilon, delta, mechanism).calibration
        return self._asked(chooser, query, _accuracy(error, probability), delta, mechanism).calibration

    def _asked(
        self,
        chooser: Chooser,
        query: Query | str | None,
        accuracy: AskedAccuracy,
        delta: float,
        mechanism: Mechanism | None,
    ) -> Price:
        require_framework(self.framework, query)
        asked = require_query(self.framework, query)
        cost: ReleaseCost = chooser.at_error(asked, accuracy, delta, mechanism)
        return Price(cost=cost, accuracy=accuracy)


def statement_of(account: CountedAccount, ledger: str | Path, decided: Mapping[str, str] | None = None) -> Shown:
    """The statement on all that was released on an account, which needs no table; see `Session.statement`."""
    return service("session.statement")(account, History.of(account.charges, account.budget), str(ledger), decided)


def _several(queries: object) -> Sequence[Query | str]:
    """Return queries that were passed in a list."""
    listed = checks.listed(queries)
    if listed is not None:
        return cast("Sequence[Query | str]", listed)
    raise ParameterError(
        "questions must be in a list",
        found="one text" if isinstance(queries, str) else checks.type_text(queries),
        remedy='Pass for example ["mean(height)", "mean(weight)"].',
    )


def _accuracy(error: object, probability: object) -> AskedAccuracy:
    often = checks.number("probability", probability, remedy="Pass a number such as 0.95.")
    if not 0 < often < 1:
        raise ParameterError(
            "probability must be above 0 and below 1", found=f"{often:g}", remedy="Pass a number such as 0.95."
        )
    return AskedAccuracy(error=checks.positive("error", error), probability=often)
