"""The accountant: what all releases on one framework tell together, in exact numbers; a pure value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from bnpriv import checks
from bnpriv.bound import Kind, up, weakest
from bnpriv.core.accounting.total import (
    ADDED,
    JOINTLY,
    DeltaCosts,
    Entry,
    FixedSets,
    NoiseCosts,
    Share,
    epsilon_with_delta,
    fixed_sets,
    rounded_up,
    shares_of,
    typed,
)
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import Framework, require_framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import guarantee_for, total_beyond_text
from bnpriv.digest import first_digest
from bnpriv.errors import ParameterError, Refusal
from bnpriv.kind import notion_of
from bnpriv.services import service
from bnpriv.shown import Shown

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Running sums over releases: the next release takes the same work however many there are.
# --------------------------------------------------------------------------------------------------


@runtime_checkable
class Counted(Protocol):
    """What is counted beside calibrations although another tool released it."""

    def entry_for(self, framework: Any) -> Entry:
        """What an accountant keeps of it."""
        ...


LARGEST_EXPONENT = 700
"""A sum of epsilons above this counts as having an infinite exponential."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunningCost:
    """The sums over releases that need no model.

    Parameters
    ----------
    count : int
        How many there are.
    epsilon, delta : Fraction
        The sums over the releases of `ColumnMechanism`.
    before : Fraction
        The part of `epsilon` that was spent before any release that counts by the model.
    modelled : tuple of Entry
        The releases that count by the model.
    followed : bool
        Whether anything came after the first of them.
    has_delta : bool
        Whether any release has a delta.
    apart : tuple of Entry
        One release of every sort that decides what it is added to.
    """

    count: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    before: Fraction = Fraction(0)
    modelled: tuple[Entry, ...] = ()
    followed: bool = False
    has_delta: bool = False
    apart: tuple[Entry, ...] = ()

    def plus(self, entry: Entry) -> RunningCost | Refusal:
        """The sums with one more release, or why it is not counted beside the others."""
        # two answers that are each independent of a secret may reveal it together: only what a theorem adds is added
        for earlier in self.apart:
            if frozenset({earlier.family, entry.family}) not in ADDED:
                own = entry if entry.family == "own law" else earlier
                return Refusal(
                    required="releases are counted together only where a theorem says how",
                    found=f"a release that counts by its own distribution alone ({own.alone})",
                    remedy=JOINTLY,
                )
        column = entry.family == "column"
        # what was seen would pick the next release, and the laws that this one compares would no longer hold
        if not column and not self.modelled and self.delta:
            return DELTA_FIRST
        known = any((each.family, each.delta > 0) == (entry.family, entry.delta > 0) for each in self.apart)
        epsilon = self.epsilon + entry.epsilon if column else self.epsilon
        return replace(
            self,
            count=self.count + 1,
            epsilon=epsilon,
            delta=self.delta + entry.delta if column else self.delta,
            before=self.before if self.modelled else epsilon,
            modelled=self.modelled if column else (*self.modelled, entry),
            followed=bool(self.modelled),
            has_delta=self.has_delta or entry.delta > 0,
            apart=self.apart if known else (*self.apart, entry),
        )

    @property
    def growth(self) -> Fraction | None:
        """The factor by which the delta of modelled releases grows, rounded up; None if it is infinite."""
        if not self.before:
            return Fraction(1)
        if self.before > LARGEST_EXPONENT:
            return None
        return Fraction(up(math.exp(up(float(self.before)))))


DELTA_FIRST = Refusal(
    required="a release of ColumnMechanism before one that counts by the model must have delta 0",
    found="one with delta above 0",
    remedy='Release what counts by the model first, or take ColumnMechanism(noise="laplace").',
)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counted:
    """What is known of the releases that count by quilts."""

    terms: NoiseCosts
    shares: tuple[Share, ...]
    fixed: FixedSets
    first: DeltaCosts
    delta: DeltaCosts


@dataclass(frozen=True, eq=False, repr=False)
class Accountant(Shown):
    """What all releases on one framework tell together; `record` returns a new one.

    Only sums that are theorems are made (docs/claims/accountant.md): releases whose noise is added to an answer share
    what their columns tell about a secret, which is paid once; of independent records they count by what all answers
    together tell of one record; releases of `ColumnMechanism` add to anything; all else is refused beside another
    release.

    Parameters
    ----------
    framework : Framework
        The framework of all releases.
    columns : iterable of str, optional
        The columns that may be queried where delta is above 0; those of the first release by default.
    entries : tuple of Entry
        What was recorded; `record` fills it.

    Raises
    ------
    FrameworkError
        If it is no framework.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> query = bp.mean("sat")
    >>> one = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
    >>> accountant = Accountant(framework).record(one)
    >>> round(accountant.epsilon, 9), round(accountant.record(one).epsilon, 9)
    (1.0, 1.791759469)
    """

    framework: Framework
    columns: Iterable[str] | None = None
    entries: tuple[Entry, ...] = field(default=(), kw_only=True)
    _counted: _Counted | None = field(default=None, kw_only=True)
    _tally: RunningCost = field(default_factory=RunningCost, kw_only=True)

    def __post_init__(self) -> None:
        require_framework(self.framework, None)
        if self.columns is not None:
            object.__setattr__(
                self,
                "columns",
                checks.subset("columns", self.columns, self.framework.schema.columns, error=ParameterError),
            )
        if self._tally.count != len(self.entries):
            # count entries that were passed in, not recorded
            counted = Accountant(self.framework, self.columns)
            for entry in self.entries:
                found = counted.with_entry(entry)
                if isinstance(found, Refusal):
                    raise found.error()
                counted = found
            vars(self).update(_counted=counted._counted, _tally=counted._tally)

    def refusal(self, calibration: Calibration | Counted) -> Refusal | None:
        """Why a release cannot be counted beside those recorded; None if it can.

        Parameters
        ----------
        calibration : Calibration or Counted

        Returns
        -------
        Refusal or None

        Raises
        ------
        ParameterError
            If it is no calibration.
        """
        found = self._recorded(calibration)
        return found if isinstance(found, Refusal) else None

    def record(self, calibration: Calibration | Counted) -> Accountant:
        """A new accountant that has counted one more release.

        Parameters
        ----------
        calibration : Calibration or Counted
            A calibration, or what another tool released: `bnpriv.from_differential_privacy`.

        Returns
        -------
        Accountant

        Raises
        ------
        ParameterError
            If it is no calibration.
        RefusedError
            If no theorem counts it beside what was recorded.
        """
        found = self._recorded(calibration)
        if isinstance(found, Refusal):
            raise found.error()
        return found

    def _recorded(self, calibration: Calibration | Counted) -> Accountant | Refusal:
        if isinstance(calibration, Counted):
            return self.with_entry(calibration.entry_for(self.framework))
        if not isinstance(calibration, Calibration):
            raise ParameterError(
                "what is recorded is a calibration",
                found=checks.type_text(calibration),
                remedy="Pass what a mechanism's calibrate(...) returned.",
            )
        return self.foreign(calibration) or self.with_entry(Entry.of(calibration))

    def foreign(self, calibration: Calibration) -> Refusal | None:
        """Why a calibration is not for this accountant's framework; None if it is.

        Parameters
        ----------
        calibration : Calibration
        """
        if not calibration.changed() and first_digest(calibration.framework) == first_digest(self.framework):
            return None
        return Refusal(
            required="all releases of an accountant have its framework",
            found="a calibration of another framework, or one that was changed",
            remedy="Calibrate with the framework of the accountant.",
        )

    def with_entry(self, entry: Entry) -> Accountant | Refusal:
        """A new accountant that has counted one more release, from the facts that were kept of it.

        Parameters
        ----------
        entry : Entry
            Of a calibration for the framework of this accountant; nothing checks that here.

        Returns
        -------
        Accountant or Refusal
        """
        tally = self._tally.plus(entry)
        if isinstance(tally, Refusal):
            return tally
        together = notion_of(self.framework).together(self.framework) if entry.family == "records" else None
        if isinstance(together, Refusal):
            return together
        counted = self._with(entry) if entry.family == "quilt" else self._counted
        found = replace(self, entries=(*self.entries, entry), _counted=counted, _tally=tally)
        # an estimate is never added to another release that counts by the model
        return ESTIMATED if len(found.modelled) > 1 and found.kind == "estimate" else found

    def _with(self, entry: Entry) -> _Counted:
        before = self._counted
        evidence = cast(Influences, influences(self.framework))
        if before is None:
            columns = entry.columns | frozenset(self.columns or ())
            terms = NoiseCosts(evidence=evidence).plus(entry)
            first = DeltaCosts(laplace=NoiseCosts(evidence=evidence)).plus(entry)
            return _Counted(
                terms=terms,
                shares=shares_of(terms),
                fixed=fixed_sets(evidence, entry, columns),
                first=first,
                delta=first,
            )
        terms = before.terms.plus(entry)
        return replace(before, terms=terms, shares=shares_of(terms, before.shares), delta=before.delta.plus(entry))

    @property
    def modelled(self) -> tuple[Entry, ...]:
        """The releases that count by the model: all but those of `ColumnMechanism`."""
        return self._tally.modelled

    @property
    def shares(self) -> tuple[Share, ...]:
        """What the releases tell about each protected attribute, most first; empty where none counts by quilts."""
        return () if self._counted is None else self._counted.shares

    @property
    def records(self) -> tuple[Any, ...]:
        """What the releases tell about each protected property of independent records, most first; else empty."""
        return () if self._by_records is None else self._by_records.shares

    @cached_property
    def _by_records(self) -> Any:
        """What all releases tell of one record (theorem 4), with delta 0; None where they do not count so."""
        return self._of_records(Fraction(0))

    def _of_records(self, delta: Fraction, *, first: bool = False) -> Any:
        """What all releases, or the first that counts by the model, tell by theorems 4 and 5."""
        if not self.modelled or self.modelled[0].family != "records":
            return None
        together = notion_of(self.framework).together(self.framework)
        return together.total(self.modelled[:1] if first else self.modelled, delta, frozenset(self.columns or ()))

    @property
    def composed(self) -> Fraction | None:
        """What the releases that count by the model tell by the theorem for several; None where nothing bounds it."""
        if self._by_records is not None:
            return self._by_records.epsilon
        return self.shares[0].total if self.shares else None

    @property
    def _alone(self) -> tuple[Entry, ...]:
        """The release that counts by the model and has a theorem of its own, if there is exactly one."""
        return self.modelled if len(self.modelled) == 1 and self.modelled[0].record is None else ()

    @property
    def kind(self) -> Kind:
        """How well the total is known."""
        kinds: list[Kind] = [entry.kind for entry in self._alone]
        kinds += [] if self._by_records is None else [self._by_records.kind]
        return weakest([*kinds, *(share.kind for share in self.shares)])

    @property
    def total(self) -> Fraction | None:
        """The total epsilon with delta 0, as an exact number; None where nothing bounds it."""
        if self._tally.has_delta:
            return None
        found = [self.composed, *(entry.epsilon for entry in self._alone)]
        bounded = [each for each in found if each is not None]
        if self.modelled and not bounded:
            return None
        # several bounds hold at once: the least is one as well
        return self._tally.epsilon + min(bounded, default=Fraction(0))

    @property
    def epsilon(self) -> float:
        """The total epsilon with delta 0, rounded up; infinite where nothing bounds it, or a release has a delta."""
        total = self.total
        return math.inf if total is None else rounded_up(total)

    def epsilon_at(self, delta: float = 0.0) -> float:
        """The total epsilon at a total delta, rounded up; infinite where nothing bounds it.

        Parameters
        ----------
        delta : float
            At least 0 and below 1.

        Raises
        ------
        ParameterError
            If delta is out of range.
        """
        checks.delta(delta)
        total = self.total_at(typed(delta))
        return math.inf if total is None else rounded_up(total)

    def total_at(self, delta: Fraction) -> Fraction | None:
        """The total epsilon at a total delta, as an exact number; None where nothing bounds it.

        Parameters
        ----------
        delta : Fraction
            At least 0 and below 1.
        """
        tally, found = self._tally, [] if self.total is None else [self.total]
        room = delta - tally.delta
        if room >= 0 and not self.modelled:
            found.append(tally.epsilon)
        if room >= 0 and self.modelled:
            together = math.inf
            # column releases made before multiply the delta of what follows by exp(their epsilons): divide by that
            if self._counted is not None and tally.growth is not None and self._by_theorem(delta):
                together = self._with_sets(self._known.delta, delta / tally.growth, room / tally.growth)
            found += [] if math.isinf(together) else [Fraction(together) + tally.epsilon]
            found += [tally.epsilon + entry.epsilon for entry in self._alone if self._counts_alone(entry, delta)]
            # theorem 5 is proved without column releases beside it
            if not tally.epsilon and not tally.delta and self._by_theorem(delta):
                found += [each.epsilon for each in [self._of_records(delta)] if each and each.epsilon is not None]
        return min(found, default=None)

    def _counts_alone(self, entry: Entry, delta: Fraction) -> bool:
        """Whether the own guarantee of the only release that counts by the model may be used.

        Later releases may depend on its answer: where theorem 3 or 5 counts them, it must count this one as well.
        """
        tally = self._tally
        if entry.delta and (tally.growth is None or tally.growth * entry.delta + tally.delta > delta):
            return False
        return not tally.followed or not tally.has_delta or not self._by_theorem(delta)

    def _by_theorem(self, delta: Fraction) -> bool:
        """Whether theorem 3 or 5 counts what follows the first release that counts by the model, at this delta.

        It does if the columns were declared, or if it counts this release by not much more than its own guarantee.
        """
        growth = self._tally.growth
        if not delta or not self.modelled or growth is None:
            return False
        first, by_records = self.modelled[0], self._of_records(delta, first=True)
        if by_records is not None:
            alone = math.inf if by_records.epsilon is None else float(by_records.epsilon)
        elif self._counted is not None:
            alone = self._with_sets(self._counted.first, delta / growth, delta / growth)
        else:
            return False
        # what another tool released has no guarantee of its own
        free = self.columns is not None or first.record is not None
        return alone < math.inf and (free or alone <= WORTH_SETS * float(first.epsilon))

    def fixed_at(self, delta: Fraction) -> tuple[frozenset[str], FixedSets | None, Fraction] | None:
        """The columns, near sets and part of a delta that the first release fixes; None where it fixes none."""
        if not self._by_theorem(delta):
            return None
        if self._counted is None:
            return self.modelled[0].columns.union(self.columns or ()), None, Fraction(0)
        fixed = self._counted.fixed
        return fixed.columns, fixed, fixed.told(delta / (self._tally.growth or 1))

    def transcript(self, delta: float = 0.0) -> str:
        """All that `bnpriv.verify` needs to recount the total at a delta, as JSON.

        Parameters
        ----------
        delta : float
            At least 0 and below 1.
        """
        checks.delta(delta)
        return service("accountant.transcript")(self, typed(delta))

    @property
    def _known(self) -> _Counted:
        return cast(_Counted, self._counted)

    def _with_sets(self, costs: DeltaCosts, delta: Fraction, room: Fraction) -> float:
        """The epsilon by theorem 3 at a delta, of which the releases of `ColumnMechanism` have left `room`."""
        fixed = self._known.fixed
        told = fixed.told(delta)
        return epsilon_with_delta(costs, fixed, told, room - told)

    def guarantee(self, delta: float = 0.0) -> Guarantee:
        """What all releases together promise.

        Parameters
        ----------
        delta : float
            At least 0 and below 1.

        Returns
        -------
        Guarantee

        Raises
        ------
        ParameterError
            If delta is out of range, or nothing was recorded.
        RefusedError
            If nothing bounds what the releases tell together at this delta.
        """
        epsilon = self.epsilon_at(delta)
        if not self.entries:
            raise ParameterError("a guarantee is of releases", found="none", remedy="Record a calibration first.")
        if math.isinf(epsilon):
            raise Refusal(
                required="something must bound what the releases tell together",
                found=f"nothing at delta {delta:g}",
                remedy="Ask for a larger delta: at least the sum of those of the releases.",
            ).error()
        confidence = next((entry.confidence for entry in self._alone if self.kind != "estimate"), None)
        return guarantee_for(
            self.framework,
            epsilon=epsilon,
            delta=delta,
            kind=self.kind,
            beyond_text=total_beyond_text(self.framework),
            confidence=confidence,
            answers=len(self.entries),
        )

    @property
    def document(self) -> Document:
        """What was counted, as a document."""
        return service("accountant.document")(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles count the same entries again."""
        return _counted_again, (self.framework, self.columns, self.entries)

    def __repr__(self) -> str:
        return f"Accountant(releases={len(self.entries)}, epsilon={self.epsilon:.6g})"


def _counted_again(framework: Framework, columns: Iterable[str] | None, entries: tuple[Entry, ...]) -> Accountant:
    return Accountant(framework, columns, entries=entries)


WORTH_SETS = 2
"""Theorem 3 or 5 may cost this many times the first release's own guarantee, where no columns were declared."""

ESTIMATED = Refusal(
    required="only what is proved is added to other releases",
    found="influences that are estimates",
    remedy=JOINTLY,
)
