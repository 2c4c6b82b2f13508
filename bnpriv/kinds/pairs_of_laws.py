"""Law evidence of distribution privacy: the laws are given, or follow from record networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, weakest
from bnpriv.core.distributions import FUNCTION_ERROR, Atoms, Normal, check_parts, log_mixture, magnitude
from bnpriv.core.evidence.constraints import Constraint, LawPair, Laws
from bnpriv.core.evidence.laws import CUSTOM, RECORDS_FROM_MODEL, network_record_law, too_many_numbers
from bnpriv.core.evidence.records import record_pair, released, rounding_of, too_large
from bnpriv.core.evidence.structural import numbers_in_bins
from bnpriv.core.frameworks.pairs import DISTRIBUTION, DistributionPair, DistributionPrivacy, draws_tables
from bnpriv.core.networks.base import Network, forward_of
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.base import GivenAnswer, NormalForm, Query, normal_form
from bnpriv.core.queries.builtin import Custom
from bnpriv.core.whole_numbers import LARGEST_WHOLE, WholeArray, WholeLaw, nearest_doubles, summed
from bnpriv.errors import BnprivError, LawError, Refusal
from bnpriv.kinds.density.network import Sampling
from bnpriv.kinds.draws.answers import AnswerSampler, AnswerSource, ExactSampler
from bnpriv.kinds.draws.laws import (
    AS_UNKNOWN,
    WHOLE_TABLES,
    SampledConstraint,
    SampledLaws,
    SampledPair,
    SampledSide,
    columns_refusal,
    confidence_refusal,
    shared_refusal,
)

NETWORKS_NEED_A_QUERY = Refusal(required="networks need a query", found="none", remedy="Pass the query to be released.")


@dataclass(frozen=True, eq=False)
class GivenLaws:
    """Constraints that were declared pair by pair."""

    found: tuple[Constraint, ...]
    dimension: int
    rounding: float
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()

    @property
    def closed_form(self) -> bool:
        """The laws are worked out value by value."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per pair."""
        return self.found


def given_laws(framework: DistributionPrivacy, query: Query | None) -> GivenLaws | SampledLaws | Refusal:
    """Return the laws, or why they cannot be computed."""
    if framework.sampling is not None:
        return _drawn(framework, query or framework.query, framework.sampling)
    if framework.of_records:
        return _of_records(framework, query or framework.query)
    if query is not None and query != framework.query and not isinstance(query, GivenAnswer):
        return Refusal(
            required="the distributions describe the answer of the framework's own query",
            found="another query" if framework.query is not None else "a query, but the framework has none",
            remedy="Pass query=... to DistributionPrivacy, or declare record networks, which serve any query.",
        )
    found: list[Constraint] = []
    dimension = 1
    rounding = 0.0
    if framework.query is not None:
        rounding = rounding_of(normal_form(framework.query, framework.schema))
    for k, (first, second) in enumerate(framework.pairs):
        assert isinstance(first, (Atoms, Normal))
        assert isinstance(second, (Atoms, Normal))
        dimension = first.dimension
        # declared atoms of fractions need not be the very doubles that are released
        kind = weakest(side.kind for side in (first, second) if isinstance(side, Normal))
        pair = LawPair(pair=_label(framework, k), first=first, second=second, rounding=rounding, kind=kind)
        found.append(Constraint(protected=DISTRIBUTION, model=k, record=None, pairs=(pair,)))
    return GivenLaws(tuple(found), dimension, rounding, ("The declared distributions are those of the answer.",))


def _label(framework: DistributionPrivacy, k: int) -> str:
    (declared,) = framework.secrets.values()
    return str(declared[k]).replace("distribution ", "")


def _of_records(framework: DistributionPrivacy, query: Query | None) -> GivenLaws | Refusal:
    if query is None or isinstance(query, GivenAnswer):
        return NETWORKS_NEED_A_QUERY
    form = normal_form(query, framework.schema)
    found: list[Constraint] = []
    for k, pair in enumerate(framework.pairs):
        first, second = cast("tuple[DiscreteNetwork, DiscreteNetwork]", pair)
        refusal = _missing(query, first, second)
        if refusal is not None:
            return refusal
        try:
            laws = [network_record_law(network, framework.schema, query) for network in (first, second)]
        except LawError as error:
            return Refusal.of(error)
        label = _label(framework, k)
        record = record_pair(form, label, (laws[0], laws[1]), (framework.schema.records,), "exact")
        exact = _exact(label, laws, form)
        found.append(Constraint(protected=DISTRIBUTION, model=k, record=record, pairs=exact))
    assumptions = (RECORDS_FROM_MODEL, *numbers_in_bins(framework.schema, query.columns))
    return GivenLaws(tuple(found), len(form.rows), rounding_of(form), assumptions)


def _missing(query: Query, *networks: DiscreteNetwork) -> Refusal | None:
    missing = frozenset(name for network in networks for name in query.columns.difference(network.attributes))
    if not missing:
        return None
    return Refusal(
        required="every queried column must be a node of both record networks",
        found=", ".join(sorted(missing)),
        remedy="Add it to the networks.",
    )


def _drawn(framework: DistributionPrivacy, query: Query | None, sampling: Sampling) -> SampledLaws | Refusal:
    """Return laws of which some are learned from draws of whole tables (docs/claims/conditional_draws.md)."""
    if query is None or isinstance(query, GivenAnswer):
        return NETWORKS_NEED_A_QUERY
    (declared,) = framework.secrets.values()
    form = normal_form(query, framework.schema)
    known: dict[int, AnswerSource] = {}
    asked: list[SampledConstraint] = []
    for k, pair in enumerate(cast("Sequence[DistributionPair]", declared)):
        for side, place in zip((pair.first, pair.second), pair.places, strict=True):
            if place not in known:
                found = _source(cast(Network, side), place, query, form, sampling)
                if isinstance(found, Refusal):
                    return found
                known[place] = found
        refusal = shared_refusal(known[place] for place in pair.places)
        if refusal is not None:
            return refusal
        first, second = (SampledSide(sampler=known[place]) for place in pair.places)
        drawn = SampledPair(pair=pair, label=_label(framework, k), first=first, second=second)
        asked.append(SampledConstraint(protected=DISTRIBUTION, model=k, pairs=(drawn,)))
    drawn = (source.believed for source in known.values())
    return SampledLaws(
        form=form,
        sampling=sampling,
        asked=tuple(asked),
        assumptions=(WHOLE_TABLES, AS_UNKNOWN),
        drawn=next((each for each in drawn if each is not None), None),
    )


def _source(network: Network, place: int, query: Query, form: NormalForm, sampling: Sampling) -> AnswerSource | Refusal:
    """Return what draws answers from one distribution: whole tables, or the exact law of independent records."""
    forward = forward_of(network) if draws_tables(network) else None
    if forward is not None:
        refusal = columns_refusal(forward, form.schema, query.columns) or confidence_refusal(forward)
        columns = tuple(sorted(query.columns))
        return refusal or AnswerSampler(
            network=forward, form=form, columns=columns, independent={}, sampling=sampling, place=place
        )
    exact = cast(DiscreteNetwork, network)  # as `DistributionPrivacy` demands of what draws no tables
    refusal = _missing(query, exact)
    if refusal is not None:
        return refusal
    law = _answer(network_record_law(exact, form.schema, query), form)
    return law if isinstance(law, Refusal) else ExactSampler(law=law, sampling=sampling, place=place)


def _exact(label: str, sides: Sequence[WholeLaw], form: NormalForm) -> tuple[LawPair, ...] | Refusal:
    first, second = (_answer(law, form) for law in sides)
    if isinstance(first, Refusal):
        return first
    return second if isinstance(second, Refusal) else (LawPair(pair=label, first=first, second=second, rounding=0.0),)


def _answer(law: WholeLaw, form: NormalForm) -> Atoms | Refusal:
    """Return the law of the answer from that of what one record adds, or why it is not computed."""
    n = form.schema.records
    refusal = too_large([law], n)
    if refusal is not None:
        return refusal
    try:
        return released(form, summed((law, n)))
    except BnprivError as error:
        return Refusal.of(error)


def laws_of_pairs(framework: DistributionPrivacy, query: Query | None) -> Laws | Refusal:
    """The declared laws of an answer, or those that follow from the declared networks."""
    if isinstance(query, Custom):
        return CUSTOM
    refusal = too_many_numbers(query, framework.schema) if framework.of_records and query is not None else None
    return refusal or given_laws(framework, query)


# --------------------------------------------------------------------------------------------------
# The laws of a count over n records, given how many of them are of one of two kinds: for all such numbers at once.
# --------------------------------------------------------------------------------------------------

MOST_DRAWS_IN_DOUBLES = 900
"""The most records for which 2^-n is far above the least double."""


def laws_by_count(form: NormalForm, first: WholeLaw, second: WholeLaw) -> list[Atoms] | None:
    """The laws of the released answer given that s records follow `first` and the others `second`, for every s.

    None where the two laws are not of two atoms that they share, or the records too many.

    With rho the ratio of the odds p1 / q1 to p0 / q0, at least 1 or else the atoms are swapped, c = min(s, k) and

        M(s, k) = sum_i C(s, i) C(n-s, k-i) rho^(i-c),

    the answer is k with probability p1^c q1^(s-c) p0^(k-c) q0^(n-max(s,k)) M(s, k). For k >= s, M(s, k) is at least 1
    and, but for a factor of s alone, the convolution of a binomial law of odds rho with one of odds 1; at least 2^-n,
    it loses nothing to underflow. For k < s it is M(n-s, n-k).
    """
    n, shared = form.schema.records, first.size == second.size == 2 and first.dimension == 1
    if not shared or n > MOST_DRAWS_IN_DOUBLES or not np.array_equal(first.columns[0], second.columns[0]):
        return None
    low, high = (int(value) for value in first.columns[0])
    (q1, p1), (q0, p0) = first.logs.tolist(), second.logs.tolist()
    swapped = p1 - q1 < p0 - q0
    if swapped:
        q1, p1, q0, p0 = p1, q1, p0, q0
    rise = (p1 - q1) - (p0 - q0)
    logs, factor_error = _log_factors(n, rise)
    s, k = np.arange(n + 1.0)[:, np.newaxis], np.arange(n + 1.0)
    c = np.minimum(s, k)
    logs += c * p1 + (s - c) * q1 + (k - c) * p0 + (n - np.maximum(s, k)) * q0
    logs = logs[:, ::-1] if swapped else logs
    # products of one sign and their sum: four roundings of at most |log P| and log M together; then the last sum
    steps = 4 * 0.7 * n + 5 * magnitude(logs) + n * (abs(p1 - q1) + abs(p0 - q0) + rise)
    error = factor_error + UNIT_ROUNDOFF * steps + n * max(first.error, second.error)
    values = n * low + (high - low) * np.arange(n + 1, dtype=object)
    law = released(form, WholeLaw(columns=(values,), logs=logs[0], error=error))
    return [law.with_logs(row, error) for row in logs] if law.size == n + 1 else None


def _log_factors(n: int, rise: float) -> tuple[FloatArray, float]:
    """The logs of M(s, k) for all s and k, and their error if `rise` is exactly log rho."""
    ratio = math.exp(-rise)
    p = 1 / (1 + ratio)
    even, risen = _binomials(n, 0.5, 0.5), _binomials(n, p, ratio * p)
    rows = [np.convolve(risen[s, : s + 1], even[n - s, : n - s + 1]) for s in range(n + 1)]
    s = np.arange(n + 1.0)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack(rows)) + ((n - s) * math.log(2) - s * math.log(p))
    # Each draw: the ratio of p and q by FUNCTION_ERROR and one, then a product and a sum; the terms of a convolution,
    # at most n / 2 + 1; the logs of p and of the sum, each at most .7 n in total, with four roundings of that size.
    steps = (FUNCTION_ERROR + 3) * n + n / 2 + (2 * FUNCTION_ERROR + 1 + 8) * 0.7 * n + 64
    upper = np.arange(n + 1) >= np.arange(n + 1)[:, np.newaxis]
    return np.where(upper, logs, logs[::-1, ::-1]), UNIT_ROUNDOFF * steps


def _binomials(n: int, p: float, q: float) -> FloatArray:
    """The masses of binomial laws of 0 to n draws, a row each; what underflows is off by less than the least double."""
    rows = np.zeros((n + 1, n + 1))
    rows[0, 0] = 1.0
    for s in range(n):
        rows[s + 1, : s + 1] = q * rows[s, : s + 1]
        rows[s + 1, 1 : s + 2] += p * rows[s, : s + 1]
    return rows


# --------------------------------------------------------------------------------------------------
# Mixtures, and sums of independent draws, of laws that are given.
# --------------------------------------------------------------------------------------------------

MOST_DENOMINATOR = 10**6
"""Coordinates that are doubles are read as fractions up to this denominator."""


def mixture(weights: ArrayLike, laws: Sequence[Atoms]) -> Atoms:
    """The mixture of `laws` with probabilities `weights`.

    Parameters
    ----------
    weights : array of shape (len(laws),)
        At least 0, with a sum of 1 to within 1e-9.
    laws : sequence of Atoms
        All of one dimension.

    Returns
    -------
    Atoms

    Raises
    ------
    LawError
        If the weights are no probabilities or the laws do not fit together.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, mixture
    >>> mixture([0.5, 0.5], [Atoms([0, 1], [0.5, 0.5]), Atoms([1], [1.0])]).probabilities.round(12)
    array([0.25, 0.75])
    """
    check_parts(laws)
    chosen = Atoms(np.arange(len(laws)), weights)  # checks the weights, and drops those of 0
    return log_mixture(chosen.logs, [laws[int(k)] for k in chosen.support], chosen.error)


def n_fold(law: Atoms, n: int) -> Atoms:
    """The law of the sum of `n` independent draws from `law`.

    Parameters
    ----------
    law : Atoms
        Its coordinates are read as fractions with a denominator of at most 10^6 where those round to them (so 0.1 is
        one tenth), otherwise as the shortest decimals that do. Sums are those of the fractions: where answers are
        computed in another way, two of them that are different doubles may be one atom here.
    n : int
        At least 1.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`, however far out it lies.

    Raises
    ------
    LawError
        If `n` is no whole number of at least 1.
    SizeError
        If there are too many sums; found out before they are allocated.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, n_fold
    >>> two = n_fold(Atoms([0.1, 0.2], [0.5, 0.5]), 2)
    >>> two.support, two.probabilities.round(12)
    (array([0.2, 0.3, 0.4]), array([0.25, 0.5 , 0.25]))
    """
    n = checks.whole("n", n, error=LawError)
    (whole,), denominators = _read(law)
    return _written(summed((whole, n)), denominators)


def add(f: Atoms, g: Atoms) -> Atoms:
    """The law of the sum of two independent draws, one from each law.

    Parameters
    ----------
    f, g : Atoms
        Of one dimension, with coordinates read as in `n_fold`.

    Returns
    -------
    Atoms
        Every mass has a small *relative* error, `error`.

    Raises
    ------
    SizeError
        If there are too many sums; found out before they are allocated.

    Examples
    --------
    >>> from bnpriv.laws import Atoms, add
    >>> add(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 2], [0.5, 0.5])).support
    array([0., 1., 2., 3.])
    """
    (first, second), denominators = _read(f, g)
    return _written(summed((first, 1), (second, 1)), denominators)


def _read(*laws: Atoms) -> tuple[list[WholeLaw], list[int]]:
    """Laws as numerators over a common denominator for each coordinate."""
    columns: list[WholeArray] = []
    denominators: list[int] = []
    for column in np.concatenate([law.points for law in laws]).T:
        exact = _fractions(column)
        denominators.append(math.lcm(*(value.denominator for value in exact)))
        whole = [value.numerator * (denominators[-1] // value.denominator) for value in exact]
        columns.append(np.array(whole, dtype=np.int64 if max(map(abs, whole)) < LARGEST_WHOLE else object))
    ends = np.cumsum([law.size for law in laws]).tolist()
    found = [
        WholeLaw(columns=tuple(column[end - law.size : end] for column in columns), logs=law.logs, error=law.error)
        for law, end in zip(laws, ends, strict=True)
    ]
    return found, denominators


def _written(law: WholeLaw, denominators: Sequence[int]) -> Atoms:
    columns = [nearest_doubles(*each) for each in zip(law.columns, denominators, strict=True)]
    return Atoms.from_logs(np.stack(columns, axis=1), law.logs, law.error)


def _fractions(column: FloatArray) -> list[Fraction]:
    # values such as .1 were meant as decimals: sums of the fractions meet where sums of doubles would not
    numbers = [float(value) for value in column]
    simple = [Fraction(value).limit_denominator(MOST_DENOMINATOR) for value in numbers]
    if all(float(near) == value for near, value in zip(simple, numbers, strict=True)):
        return simple
    return [Fraction(repr(value)) for value in numbers]
