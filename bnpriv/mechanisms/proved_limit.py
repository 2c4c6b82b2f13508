"""The least expected error that any mechanism can have that sees the data only through the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind, down, up, weakest
from bnpriv.core.evidence.laws import Counts, law_of_one_record
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import is_none
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import Apart, Secret, pairs
from bnpriv.core.whole_numbers import sums_bound
from bnpriv.errors import BnprivError, Refusal
from bnpriv.mechanisms.optimal.channel import AT_THE_LIMIT, Averaged
from bnpriv.mechanisms.optimal.program import Constraints, LawTable, law_table
from bnpriv.text import Json, lower_text, number_text

if TYPE_CHECKING:
    from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy

# --------------------------------------------------------------------------------------------------
# A framework that hides fewer pairs of secrets than another: no mechanism that hides more errs by less.
# --------------------------------------------------------------------------------------------------

VALUES = 5
"""Values of a property that are left, neighbours as far apart as any that must not be told apart."""

MOST_ANSWER_SUMS = 50_000
"""Sums over records, at most, that the law of an answer then has: a fraction of a second for all laws together."""


class FewPairs(NamedTuple):
    """A framework with a few pairs of secrets, and which these are, in words."""

    framework: DatasetAttributePrivacy
    text: str


def few_pairs(framework: Framework, query: Query) -> FewPairs | None:
    """Return a framework that hides a few likely values of a property that counts; None where there is none.

    The property of the first protected column is taken, around what it is on average under the first model.
    """
    if not framework.properties:
        return None
    framework = cast("DatasetAttributePrivacy", framework)  # the only notion that hides such properties
    name, secret = next(iter(framework.properties.items()))
    if not isinstance(secret.pairs, Apart | None):
        return None
    try:
        values = _likely(framework, secret, query)
        if len(values) < 2:
            return None
        chosen = pairs(*pairwise(values))
        fewer = replace(framework, protect={name: Secret(secret.property, pairs=chosen)})
    except BnprivError:
        return None
    return FewPairs(
        fewer, f"{len(values)} likely values of the secret, {number_text(values[0])} to {number_text(values[-1])}"
    )


def _likely(framework: DatasetAttributePrivacy, secret: Secret, query: Query) -> list[float]:
    """Return likely values of a property that counts records; none where laws would be large, or it does not count."""
    # where there are public records, the first of their models: it has what the network has, and more
    schema, model = framework.schema, framework.network.models % framework.models
    one, answer = (law_of_one_record(framework, each, model) for each in (secret.property, query))
    sides = np.unique(one.columns[0])
    if secret.of_cells or len(sides) != 2 or sums_bound([answer], schema.records) > MOST_ANSWER_SUMS:
        return []
    counts = Counts.of(secret, schema, *map(int, sides))
    chance = math.exp(one.log_mass(map(int, sides[1:])))
    spread = 2 * math.ceil(math.sqrt(schema.records * chance * (1 - chance)))
    step = counts.apart(secret, None)[0][-1] if isinstance(secret.pairs, Apart) else spread
    middle = round(schema.records * chance)
    places = [middle + (k - VALUES // 2) * step for k in range(VALUES)]
    return [float(counts.low + k * counts.unit) for k in places if 0 <= k <= schema.records]


# --------------------------------------------------------------------------------------------------
# The least expected error that any mechanism can have that sees the data only through the answer.
#
# It is the value of a linear program over all channels (docs/claims/limit.md). Here it is bounded from below by its
# dual: whatever the dual variables are, as long as they are at least 0, they prove a bound. Good ones come from a
# program in which neighbouring atoms are taken together, so that large laws take no longer than small ones.
# --------------------------------------------------------------------------------------------------

MOST_GROUPS = 60
"""Groups of atoms in the program whose dual is taken."""

MOST_PROGRAM_CELLS = 40_000
"""Groups squared, times ordered pairs of laws, in that program, or atoms squared without groups: about a second."""

FEWEST_GROUPS = 12
"""With fewer groups the bound would say little: rather leave out pairs of laws."""

MOST_SOLVER_STEPS = 5_000
"""Steps of the solver after which it stops; then no bound is shown. Not a time: a plan says the same everywhere."""

TINIEST_MASS = 5e-324
"""What stands for masses below the range of doubles, where a bound needs them large."""

ANSWERS_AT_ONCE = 2**14
"""Exact answers that are looked at together."""

SEES = "that sees the data only through this answer"

BOTH_OF_ALL = "both secrets of every pair"
"""Under which secrets errors are averaged, where no pairs were left out: one that is in many pairs counts as often."""

MAY_BE_LARGER = "That is a lower bound: the least error itself may be larger."

REACHED = 1e-6
"""Relative gap up to which the bound is called exact."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The least expected absolute error of any mechanism that sees the data only through the answer.

    Parameters
    ----------
    least : float or None
        A proved lower bound, in the unit of the answer; None where none is known.
    kind : {"exact", "certified", "estimate"}
        "exact": it is reached, up to rounding; "certified": no mechanism is below it, but the least may be above;
        "estimate": it is that of laws which are estimates, and proves nothing of the true ones.
    reason : str
        Why no bound is shown; empty where one is.
    secrets : str
        The secrets under which errors are averaged, in words, if they are not those of all pairs; privacy for others
        costs no less.
    unchanged : bool
        Whether the answer may be released as it is.
    averaged_over : Averaged or None
        The exact answers over which the least error is averaged; None where it is 0, whatever the answer is, or not
        known.
    """

    least: float | None = None
    kind: Kind = "certified"
    reason: str = ""
    secrets: str = ""
    unchanged: bool = False
    averaged_over: Averaged | None = field(default=None, compare=False)

    def over(self, calibration: Calibration) -> float | None:
        """Return how many times the least error that of a calibration is at most.

        None where that is not known, or the two are averaged over different answers.
        """
        own = calibration.averaged_over
        if own is not None and (self.averaged_over is None or not own.alike(self.averaged_over)):
            return None
        if calibration.expected_error == 0:
            return 1.0
        if not self.least:
            return None
        over = up(calibration.expected_error / self.least)
        return over if over > 1 + (AT_THE_LIMIT if self.kind == "exact" else 0.0) else 1.0

    @property
    def text(self) -> str:
        """Return the limit in a sentence."""
        if self.least is None:
            return f"The least error of any mechanism is not shown: {self.reason}."
        if self.least == 0 and self.unchanged:
            certain = "" if self.kind != "estimate" else ", as far as distributions that are estimates tell"
            return f"The answer may be released as it is{certain}."
        if self.least == 0:
            return "The least error of any mechanism is not shown: nothing above 0 is proved."
        averaged = f"averaged over the distributions of the answer under {self.secrets or BOTH_OF_ALL}"
        if self.kind == "exact":
            return f"The best mechanism {SEES} errs by {number_text(self.least)}, {averaged}."
        if self.kind == "estimate":
            averaged += "; an estimate, as these distributions are"
        return f"No mechanism {SEES} errs by less than {lower_text(self.least)}, {averaged}. {MAY_BE_LARGER}"

    def __str__(self) -> str:
        return self.text

    def to_json(self, calibrations: Sequence[Calibration]) -> Json:
        """Return the limit, and how many times it the error of each calibration is at most, as plain values."""
        over = [{"mechanism": str(each.mechanism), "times_the_least": self.over(each)} for each in calibrations]
        return {
            "least_error": self.least,
            "kind": self.kind,
            "reason": self.reason,
            "secrets": self.secrets,
            "mechanisms": over,
        }


def reached_limit(calibration: Calibration) -> Limit | None:
    """Return the limit where a calibrated channel reaches it, of absolute errors averaged over all laws; else None."""
    facts = calibration.certificate.channel
    options = calibration.mechanism.options()
    if facts is None or facts.loss != "absolute" or options.get("prior") is not None or options.get("worst_case"):
        return None
    kind = weakest(("exact", calibration.certificate.kind))
    if facts.gap > AT_THE_LIMIT:
        return None
    return Limit(least=facts.bound, kind=kind, averaged_over=calibration.averaged_over)


def zero_limit(calibration: Calibration) -> Limit:
    """Return the limit where a calibration has no error: it releases the answer as it is, or changes what never is."""
    kind = weakest(("exact", calibration.certificate.kind))
    unchanged = is_none(calibration.noise)
    return Limit(least=0.0, kind=kind, unchanged=unchanged, averaged_over=calibration.averaged_over)


def limit_of(framework: Framework, query: Query, epsilon: float, delta: float) -> Limit:
    """Return the least expected error of any mechanism, or a proved bound that takes about a second."""
    table = law_table(framework, query)
    if not isinstance(table, Refusal):
        return proved_limit(table, epsilon, delta)
    fewer = few_pairs(framework, query)
    few = table if fewer is None else law_table(fewer.framework, query)
    if fewer is None or isinstance(few, Refusal):
        return Limit(reason=f"{table.required}; found {table.found}")
    found = proved_limit(few, epsilon, delta)
    return replace(found, kind=weakest(("certified", found.kind)), secrets=fewer.text)


def proved_limit(table: LawTable, epsilon: float, delta: float = 0.0, groups: int | None = None) -> Limit:
    """Return a proved lower bound of the mean absolute error of any mechanism, under the mean of the laws.

    Parameters
    ----------
    table : LawTable
        The laws that must be alike.
    epsilon, delta : float
        The guarantee.
    groups : int, optional
        Groups of atoms in the program whose dual is taken; by default as many as take about a second.

    Returns
    -------
    Limit
        "exact" where no atoms were taken together, and a channel that meets all constraints reaches the bound.

    Notes
    -----
    docs/claims/limit.md.
    """
    program = _Program.of(table, epsilon, delta, groups)
    solved = program.solved()
    if solved is None:
        return Limit(reason="the linear program took too long")
    reached, multipliers = solved
    averaged = Averaged(tuple(table.points.tolist()), table.mean)
    least = max(0.0, down(program.bound(multipliers) - table.rounding))
    if least == 0:
        # that a solver finds no error is no proof that there may be none: it overlooks what is rare
        unchanged = program.whole and Constraints(table, epsilon, delta).hold_unchanged()
        kind = weakest((table.kind, "exact" if unchanged else "certified"))
        return Limit(least=0.0, kind=kind, unchanged=unchanged, averaged_over=averaged)
    exact = program.whole and reached - least <= REACHED * reached
    kind = weakest((table.kind, "exact" if exact else "certified"))
    return Limit(least=least, kind=kind, averaged_over=averaged)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Program:
    """The least expected error of a channel on groups of atoms, and what its dual proves for the atoms themselves.

    Parameters
    ----------
    atoms, prior : ndarray of shape (K,)
    first, second : ndarray of shape (D, K)
        Masses under the two laws of every ordered pair: the first at most `ratio` times the second, but for delta.
    error : float
        Relative error of a mass.
    ratio, delta : float
    starts : ndarray of shape (G,)
        The first atom of every group.
    outputs : ndarray of shape (W,)
        The atoms that may be released, the outer ones among them.
    whole : bool
        Whether every atom is a group, and no pair was left out.
    """

    atoms: FloatArray
    prior: FloatArray
    first: FloatArray
    second: FloatArray
    error: float
    ratio: float
    delta: float
    starts: NDArray[np.intp]
    outputs: NDArray[np.intp]
    whole: bool

    @classmethod
    def of(cls, table: LawTable, epsilon: float, delta: float, groups: int | None) -> _Program:
        masses, ratio, size = table.masses, up(math.exp(epsilon)), table.size
        ordered = table.ways[table.ways[:, 0] != table.ways[:, 1]]
        if groups is None and size**2 * len(ordered) <= MOST_PROGRAM_CELLS:
            groups = size
        most = max(1, MOST_PROGRAM_CELLS // min(size, FEWEST_GROUPS) ** 2)
        kept = ordered
        if groups is None and len(ordered) > most:  # with fewer constraints the least error is no larger
            excess = [float(np.sum(np.maximum(0.0, masses[a] - ratio * masses[b]))) for a, b in ordered]
            kept = ordered[np.argsort(excess, kind="stable")[::-1][:most]]
        if groups is None:
            groups = min(MOST_GROUPS, math.isqrt(MOST_PROGRAM_CELLS // max(1, len(kept))))
        # how finely each atom should be looked at: by its mass, what tells secrets apart, and what moves far
        prior, reached = table.mean, np.cumsum(table.mean)
        middle = table.points[np.searchsorted(reached, reached[-1] / 2)]
        apart = np.zeros(len(prior))
        for first, second in ordered:
            apart += np.maximum(0.0, table.masses[first] - table.masses[second])
        parts = (prior, apart, prior * np.abs(table.points - middle))
        starts, outputs = _grouped(np.sum([part / max(float(np.sum(part)), 1e-300) for part in parts], axis=0), groups)
        return cls(
            atoms=table.points,
            prior=table.mean,
            first=masses[kept[:, 0]],
            second=np.maximum(masses[kept[:, 1]], TINIEST_MASS),
            error=float(np.max(table.errors)) + 64 * UNIT_ROUNDOFF,
            ratio=ratio,
            delta=delta,
            starts=starts,
            outputs=outputs,
            whole=len(kept) == len(ordered) and len(starts) == size,
        )

    def solved(self) -> tuple[float, FloatArray] | None:
        """Return an error that is reached and the dual variables, of shape (D, W); None if the solver gives up."""
        from scipy import sparse
        from scipy.optimize import linprog

        gaps = np.add.reduceat(self.first, self.starts, axis=1) - self.ratio * np.add.reduceat(
            self.second, self.starts, axis=1
        )
        size = np.max(np.abs(gaps), axis=1, keepdims=True, initial=1e-300)
        groups, outputs, pairs = len(self.starts), len(self.outputs), len(gaps)
        errors = (np.abs(self.atoms - place) for place in self.atoms[self.outputs])
        costs = np.stack([np.add.reduceat(self.prior * each, self.starts) for each in errors], axis=1).ravel()
        scipy = cast(Any, sparse)
        alike = scipy.kron(gaps / size, scipy.identity(outputs), format="csr")
        laws = scipy.kron(scipy.identity(groups), np.ones((1, outputs)), format="csr")
        bounds = np.zeros(pairs * outputs)
        if self.delta > 0:  # one more variable for the excess of every pair and output; they add up to delta
            excess = scipy.vstack(
                [-scipy.identity(pairs * outputs), scipy.kron(scipy.identity(pairs), np.ones((1, outputs)))]
            )
            alike = scipy.vstack([alike, scipy.csr_matrix((pairs, groups * outputs))])
            alike = scipy.hstack([alike, excess], format="csr")
            laws = scipy.hstack([laws, scipy.csr_matrix((groups, pairs * outputs))], format="csr")
            bounds = np.concatenate([bounds, self.delta / size[:, 0]])
            costs = np.concatenate([costs, np.zeros(pairs * outputs)])
        found = cast(Any, linprog)(
            costs,
            A_ub=alike if pairs else None,
            b_ub=bounds if pairs else None,
            A_eq=laws,
            b_eq=np.ones(groups),
            method="highs-ds",
            options={"maxiter": MOST_SOLVER_STEPS},
        )
        if found.status != 0:
            return None
        dual = -np.asarray(found.ineqlin.marginals, dtype=np.float64)[: pairs * outputs].reshape(pairs, outputs)
        channel = np.asarray(found.x, dtype=np.float64)[: groups * outputs].reshape(groups, outputs)
        return self._reached(np.maximum(channel, 0.0)), np.clip(dual, 0.0, None) / size

    def _reached(self, channel: FloatArray) -> float:
        """Return the error of a solver's channel on the groups, once it is mended as `OptimalMechanism` mends it."""
        channel = channel / np.sum(channel, axis=1, keepdims=True)
        first, second = (np.add.reduceat(laws, self.starts, axis=1) for laws in (self.first, self.second))
        missed = np.maximum(0.0, first @ channel - self.ratio * (second @ channel))
        total = np.sum(missed, axis=1, keepdims=True)
        share = np.where(total > self.delta, self.delta / np.maximum(total, self.delta or 1.0), 1.0)
        added = np.max((1 - share) * missed, axis=0, initial=0.0) / (self.ratio - 1)
        errors = np.abs(np.subtract.outer(self.atoms, self.atoms[self.outputs]))
        costs = np.add.reduceat(self.prior[:, np.newaxis] * errors, self.starts)
        return float(np.sum(costs * channel) + added @ np.sum(costs, axis=0))

    def bound(self, multipliers: FloatArray) -> float:
        """Return the lower bound that dual variables of at least 0 prove, rounded down.

        Between two outputs the variables are taken linear, so that outputs of any size are covered: for one exact
        answer the term is then linear on either side of it, and least at an output or at the answer itself.
        """
        blocks = range(0, len(self.atoms), ANSWERS_AT_ONCE)
        low = math.fsum(
            x for start in blocks for x in self._least_terms(multipliers, slice(start, start + ANSWERS_AT_ONCE))
        )
        charged = self.delta * float(np.sum(np.max(multipliers, axis=1, initial=0.0)))
        return down(low - up(charged, 4 + 2 * len(multipliers)))

    def _least_terms(self, multipliers: FloatArray, block: slice) -> FloatArray:
        """Return for some exact answers what they add to the bound: the least over all outputs, rounded down."""
        places, atoms, prior = self.atoms[self.outputs], self.atoms[block], self.prior[block]
        first, second = self.first[:, block], self.ratio * self.second[:, block]
        slack = self.error + 4 * (len(first) + 8) * UNIT_ROUNDOFF
        told = multipliers.T @ (first - second) - slack * (multipliers.T @ (first + second))
        least = np.min((1 - slack) * prior * np.abs(atoms - places[:, np.newaxis]) + told, axis=0)
        if len(places) == 1:
            return least
        below = np.clip(np.searchsorted(places, atoms, side="right") - 1, 0, len(places) - 2)
        share, every = (atoms - places[below]) / (places[below + 1] - places[below]), np.arange(len(atoms))
        one, other = told[below, every], told[below + 1, every]
        between = one * (1 - share) + other * share - 8 * UNIT_ROUNDOFF * (np.abs(one) + np.abs(other))
        return np.minimum(least, between)


def _grouped(importance: FloatArray, groups: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first atom of each group, all of about one importance, and the outputs: their medians and the ends."""
    size = len(importance)
    if groups >= size:
        return np.arange(size), np.arange(size)
    mass = np.cumsum(importance)
    wanted: FloatArray = mass[-1] * np.arange(groups) / groups
    starts = np.unique(np.append(np.searchsorted(mass, wanted), [0, size - 1]))
    before = np.concatenate([[0.0], mass])[starts]
    after = np.concatenate([mass[starts[1:] - 1], mass[-1:]])
    middles = np.searchsorted(mass, (before + after) / 2)
    return starts, np.unique(np.append(np.minimum(middles, size - 1), [0, size - 1]))
