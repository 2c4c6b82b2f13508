"""The channel with the least expected error that any mechanism on an answer can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import LawPair, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Mechanism, Search
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.law_decision import LEANS_ON, sampling_of
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import NoNoise
from bnpriv.core.queries.base import Query
from bnpriv.errors import CertificateError, ParameterError, Refusal
from bnpriv.mechanisms.optimal.channel import MOST_MEANINGS, OVER_ALL, Channel, ChannelFacts, Meaning
from bnpriv.mechanisms.optimal.program import (
    Constraints,
    LawTable,
    Loss,
    Optimum,
    Prices,
    Question,
    finest,
    optimum,
    run_of,
)
from bnpriv.mechanisms.stored import STORED_TOLERANCE, Record, field_of, inner

# --------------------------------------------------------------------------------------------------
# A stored channel, checked against the laws of its framework: a solver may end at another one on another machine.
#
# docs/claims/optimal.md. All that is said of it is computed again from its rows, and from the prices that are stored
# with it. Only the value that the solver reported is taken as it stands, between the bound and the error.
# --------------------------------------------------------------------------------------------------

ONE_ROUNDING = 1.0
"""The rounding that is taken off a stored bound: once is proof enough."""


def stored_optimum(question: Question, record: Record) -> Optimum:
    """Return a stored channel, with what is known of it.

    Parameters
    ----------
    question : Question
        What its framework asks.
    record : dict
        The stored calibration.

    Raises
    ------
    CertificateError
        If its rows do not keep the laws of the framework alike, or do not have the error or the bound that is stored.
    """
    table = question.table
    channel, starts = _channel(question, inner(record, "noise")), finest(question)
    runs = run_of(starts, table.size)
    if not np.array_equal(channel.numerators, channel.numerators[starts][runs]):
        raise _refusal("a stored channel must have one row for answers that are not told apart", "several")
    constraints = Constraints(table, question.epsilon, question.delta)
    if not constraints.hold(channel.numerators.astype(object), channel.denominator):
        raise _refusal(
            "the rows of a stored channel must keep the distributions of its framework alike", "rows that tell more"
        )
    means = question.means(np.array(channel.outputs), channel.numerators / channel.denominator)
    likely = np.flatnonzero(means >= float(np.max(means)) * (1 - STORED_TOLERANCE))
    if not any(_alike(channel.prior, question.normalized(place)) for place in likely.tolist()):
        raise _refusal("a stored channel must have the prior that its framework yields", "another one")
    facts = inner(inner(record, "certificate"), "channel")
    error = question.rounded_up(float(np.max(means)))
    prices = _prices(question, facts.get("prices"))
    bound, value = field_of(facts, "bound", float), field_of(facts, "value", float)
    if not 0 <= bound <= _proved(question, prices):
        raise _refusal("stored prices must prove the bound of a stored channel", "a larger one")
    if not bound <= value <= error * (1 + STORED_TOLERANCE):
        raise _refusal("the program's value must lie between bound and error", "another one")
    bound = min(bound, error)
    return Optimum(channel=channel, value=min(value, error), error=error, bound=bound, prices=prices, runs=len(starts))


def _channel(question: Question, noise: Record) -> Channel:
    """Return the channel of a stored calibration, whose answers must be those of the question."""
    stored, points = inner(noise, "channel"), question.table.points.tolist()
    sizes = [checks.listed(stored.get(name)) or () for name in ("inputs", "outputs")]
    if len(sizes[0]) == len(points) and len(sizes[1]) <= len(points):
        try:
            found = Channel.from_json(stored)
        except ParameterError as error:
            raise CertificateError(error.required, found=error.found, remedy=error.remedy) from error
        if list(found.inputs) == points and set(found.outputs).issubset(points):
            return found
    raise _refusal("a stored channel must be from the answers of its framework to some of them", "others")


def _prices(question: Question, stored: object) -> Prices:
    """Return stored prices; whatever they are they prove something, if they have the shape of prices."""
    try:
        return _read_prices(question, cast("dict[str, Any]", stored))
    except (LookupError, TypeError, ValueError, OverflowError, ParameterError):
        pass
    raise _refusal("a stored channel must come with prices that prove its bound", "something else")


def _read_prices(question: Question, written: dict[str, Any]) -> Prices:
    outputs = [checks.whole("a place", place, least=0) for place in written["outputs"]]
    shares = np.array([float.fromhex(share) for share in written["shares"]])
    prices = np.zeros((len(question.table.ways), len(outputs)))
    for way, k, price in written["prices"]:
        prices[checks.whole("a pair", way, least=0), checks.whole("an output", k, least=0)] = float.fromhex(price)
    increasing = all(low < high for low, high in pairwise(outputs))
    if not increasing or outputs[-1] >= question.table.size or shares.shape != question.priors.shape[:1]:
        raise ValueError("another shape")
    if not all(np.all((numbers >= 0) & (numbers < np.inf)) for numbers in (prices, shares)):
        raise ValueError("no prices")
    return Prices(outputs=np.array(outputs, dtype=np.int64), prices=prices, shares=shares)


def _proved(question: Question, prices: Prices) -> float:
    """Return the bound that prices prove; what is too large for doubles proves nothing."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return prices.bound(question, ONE_ROUNDING)
    except (OverflowError, ValueError):  # of exact sums
        return 0.0


def _alike(stored: FloatArray, fresh: FloatArray) -> bool:
    return bool(np.allclose(stored, fresh, rtol=STORED_TOLERANCE, atol=1e-300))


def _refusal(required: str, found: str) -> CertificateError:
    remedy = "Calibrate again from the framework; do not edit stored calibrations."
    return CertificateError(required, found=found, remedy=remedy)


AnswerPrior = tuple[tuple[float, float], ...]

MOST_ANSWERS = 4_000
"""Exact answers over which a channel is sought."""

MOST_CELLS = 2**21
"""Pairs of laws times answers."""

MOST_PLANNED_WORK = 800
"""Answers times ordered pairs of laws for which a plan seeks a channel: some seconds at most."""

MOST_LAW_ERROR = 1e-3
"""Laws whose masses may be off by more than this share of themselves are refused."""

CHANCE_DIGITS = 9
SAME_LOG = 1e-9
"""Chances, and logs of odds, that differ by less count as equal: their last digits depend on the machine."""

THEOREM = "The channel with the least expected error, its constraints checked in whole numbers"


def checked_prior(name: str, given: object) -> AnswerPrior:
    """Return a prior as pairs of an answer and its probability; raise ParameterError if it is none."""
    listed = checks.listed(given)
    if isinstance(given, Atoms) and given.dimension == 1:
        listed = tuple(zip(given.support.tolist(), given.probabilities.tolist(), strict=True))
    elif isinstance(given, Mapping):
        listed = tuple(cast("Mapping[object, object]", given).items())
    pairs = [checks.listed(each) for each in listed or ()]
    if not pairs or any(pair is None or len(pair) != 2 for pair in pairs):
        raise _no_prior(f"{checks.type_text(cast(object, given))}{'' if listed is None else ' of other things'}")
    found = tuple(
        (checks.number("an answer of a prior", answer), checks.not_negative("a probability of a prior", chance))
        for answer, chance in cast("list[tuple[object, object]]", pairs)
    )
    total = math.fsum(chance for _, chance in found)
    if len({answer for answer, _ in found}) < len(found) or not abs(total - 1) <= 1e-9:
        raise _no_prior(f"a sum of {total:.12g}, or an answer twice")
    return found


def _no_prior(found: str) -> ParameterError:
    return ParameterError(
        "a prior gives answers their probabilities, with a sum of 1: {answer: probability, ...}, a list of pairs, or "
        "bnpriv.laws.Atoms of one number",
        found=found,
        remedy="Leave it out: errors are then averaged over the distributions of the answer.",
    )


@dataclass(frozen=True, kw_only=True)
class OptimalMechanism(Mechanism):
    """The table of output probabilities with the least expected error, for the declared laws of one number.

    Parameters
    ----------
    error : {"absolute", "squared", "zero-one"}
        What is least: the expected absolute error, its square, or the probability of another answer than the exact one.
    prior : mapping from float to float, sequence of (float, float), or Atoms, optional
        Answers and their probabilities, over which the error is averaged; the mean of all laws by default. It decides
        how good the answer is, never how private.
    worst_case : bool
        Make the largest of the expected errors under any one secret least, instead of their average.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Not taken: there is one number.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/optimal.md. The answer is not changed by adding noise: rare answers are merged into likely ones, so that
    every output is about as likely under either secret. It leans on the declared laws more than added noise does.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.5, 0.5, 0.0]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> calibration = bp.mechanisms.OptimalMechanism().calibrate(framework, epsilon=0.5)
    >>> calibration.noise, round(calibration.expected_error, 3)
    (Channel(inputs=3, outputs=2), 0.202)
    """

    error: Loss = "absolute"
    prior: Mapping[float, float] | Sequence[Sequence[float]] | Atoms | None = None
    worst_case: bool = False
    large_delta: bool = False
    claim: ClassVar[str] = "optimal.md"
    compares_laws: ClassVar[bool] = True
    least_of_all: ClassVar[bool] = True
    fixed_shape: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"error": ("absolute", "squared", "zero-one")}
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {"prior": checked_prior}

    def too_slow(self, framework: Framework, query: Query, epsilon: float) -> Refusal | None:
        """Return why the program takes longer than a plan may; None if it does not, or there is none.

        Parameters
        ----------
        framework : Framework
        query : Query
        epsilon : float

        Returns
        -------
        Refusal or None
        """
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal) or laws_refusal(evidence) is not None:
            return None
        table = LawTable.of(pairs_of(evidence))
        work = table.size * len(table.ways)
        if work <= MOST_PLANNED_WORK:
            return None
        return Refusal(
            required=f"a plan seeks the best channel for at most {MOST_PLANNED_WORK:,} answers times ordered pairs of "
            "laws",
            found=f"{work:,} ({table.size:,} answers, {len(table.ways):,} ordered pairs)",
            remedy="Calibrate it by hand, which may take a while: "
            f"bp.mechanisms.OptimalMechanism().calibrate(framework, query, epsilon={epsilon:g}).",
        )

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal):
            return evidence
        refusal = noise_refusal("laplace", framework, delta, large_delta=self.large_delta) or laws_refusal(evidence)
        return refusal or partial(self._search, evidence, framework, query, epsilon, delta)

    def _search(
        self,
        evidence: Laws,
        framework: Framework,
        query: Query,
        epsilon: float,
        delta: float,
        record: Record | None = None,
    ) -> Found:
        pairs = pairs_of(evidence)
        table = LawTable.of(pairs)
        certificate = Certificate(
            theorem=THEOREM,
            claim=self.claim,
            decisions=(),
            sensitivity=Bound(0.0, 0.0, table.kind),
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=evidence.dropped,
        )
        free = record is None and delta > 0 and all(pair.free for pair in pairs)
        if free and Constraints(table, epsilon, delta).hold_unchanged():
            reason = (
                "The distributions of the answer are alike enough without noise, but for answers that delta covers."
            )
            certificate = replace(certificate, zero_noise_reason=reason, notes=(reason, LEANS_ON))
            return Found(NoNoise(1), certificate, delta)
        priors = table.masses if self.worst_case else table.prior(cast("AnswerPrior | None", self.prior))[np.newaxis]
        question = Question(table=table, error=self.error, priors=priors, epsilon=epsilon, delta=delta)
        found = optimum(question) if record is None else stored_optimum(question, record)
        rows = found.channel.numerators.astype(object)
        spends = delta > 0 and not Constraints(table, epsilon, 0.0).hold(rows, found.channel.denominator)
        meanings = meanings_of(found.channel, table, pairs, math.inf if spends else epsilon)
        facts = self._facts(found, table, meanings)
        return Found(found.channel, replace(certificate, channel=facts, notes=facts.notes), delta if spends else 0.0)

    def _restored(
        self, framework: Framework, query: Query, epsilon: float, delta: float, record: Record
    ) -> Found | None:
        if field_of(inner(record, "noise"), "law", str) != Channel.__name__:
            return None
        evidence = cast(Laws, laws(framework, query))  # known, as it was decided before
        return self._search(evidence, framework, query, epsilon, delta, record)

    def _facts(self, found: Optimum, table: LawTable, meanings: Sequence[Meaning]) -> ChannelFacts:
        by = "averaged over the given prior" if self.prior is not None else OVER_ALL
        likely = sorted(meanings, key=lambda each: (-round(each.chance, CHANCE_DIGITS), each.output))[:MOST_MEANINGS]
        return ChannelFacts(
            loss=self.error,
            prior="under the secret where it is largest" if self.worst_case else by,
            value=found.value,
            error=found.error,
            bound=found.bound,
            answers=table.size,
            runs=found.runs,
            meanings=tuple(sorted(likely, key=lambda each: each.output)),
            outputs=len(meanings),
            prices=found.prices.to_json(),
            kind=table.kind,
        )


def pairs_of(evidence: Laws) -> list[LawPair]:
    """Return all pairs of laws of evidence that `laws_refusal` has not refused."""
    return [pair for each in evidence.constraints() for pair in cast("Sequence[LawPair]", each.pairs)]


def laws_refusal(evidence: Laws) -> Refusal | None:
    """Return why no channel is sought for the laws of an answer, or None if one is."""
    if evidence.dimension > 1:
        return Refusal(
            required="a table of outputs is made for one number",
            found=f"{evidence.dimension} numbers",
            remedy="Ask for one number, or use WassersteinMechanism.",
        )
    if sampling_of(evidence) is not None:
        return Refusal(
            required="a table of outputs needs the distributions of the answer themselves",
            found="distributions that are learned from draws",
            remedy="Use TightMechanism or WassersteinMechanism, whose noise blurs what draws may have missed.",
        )
    ways, points, known = 0, 0, set[int]()
    for each in evidence.constraints():
        if isinstance(each.pairs, Refusal):
            return each.pairs
        for pair in each.pairs:
            ways += 2
            for law in (pair.first, pair.second):
                if not isinstance(law, Atoms):
                    return Refusal(
                        required="a table of outputs needs distributions with finitely many values",
                        found="a normal distribution",
                        remedy="Use TightMechanism, or declare the distribution on a grid: bnpriv.laws.Atoms.",
                    )
                if id(law) not in known:
                    known.add(id(law))
                    points = max(points, law.size)
                if not 2 * law.error <= MOST_LAW_ERROR:
                    return Refusal(
                        required=f"probabilities must be known to {MOST_LAW_ERROR:g} of themselves",
                        found=f"to {law.error:.3g}",
                        remedy="Use TightMechanism with delta above 0.",
                    )
    if points > MOST_ANSWERS or ways * points > MOST_CELLS:
        return Refusal(
            required=f"a table of outputs is sought over at most {MOST_ANSWERS:,} answers, and {MOST_CELLS:,} pairs "
            "of distributions times answers",
            found=f"{points:,} answers, {ways:,} pairs",
            remedy="Use TightMechanism, or protect fewer pairs of secrets.",
        )
    return None


def meanings_of(channel: Channel, table: LawTable, pairs: Sequence[LawPair], most: float) -> list[Meaning]:
    """Return for every output the pair of secrets that it tells most about, and by how much it moves their odds.

    Logs of odds move by at most `most`: what passes that is the rounding of masses below the range of doubles.
    """
    rows = channel.numerators / channel.denominator
    chances = table.masses @ rows
    named = {(table.order[id(pair.first)], table.order[id(pair.second)]): pair.pair for pair in pairs}
    first, second = np.array(list(named)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.nan_to_num(np.log(chances[first]) - np.log(chances[second]), nan=0.0, posinf=np.inf, neginf=-np.inf)
    logs = np.clip(logs, -most, most)
    # of pairs that tell alike the first one, however the sums were rounded
    told = np.abs(logs)
    strongest = np.argmax(told >= np.max(told, axis=0) - SAME_LOG, axis=0)
    texts, often = list(named.values()), channel.prior @ rows
    with np.errstate(over="ignore"):
        factors = np.exp(logs[strongest, np.arange(len(strongest))])
    return [
        Meaning(output=output, chance=float(often[w]), pair=texts[int(strongest[w])], factor=float(factors[w]))
        for w, output in enumerate(channel.outputs)
    ]
