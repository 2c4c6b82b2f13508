"""Every mechanism that supports a question, least expected error first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bnpriv import checks
from bnpriv.bound import least_whole
from bnpriv.core.distributions import Atoms, missed
from bnpriv.core.evidence.constraints import LawPair, plain_laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework, require_framework, require_query
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.column import ColumnMechanism, large_delta_refusal
from bnpriv.core.mechanisms.law_decision import CALIBRATIONS, DELTA_MARGIN, LawDecision
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism, foretold_scale
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.networks.base import Network
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal, RefusedError, SizeError
from bnpriv.kinds.density.network import MOST_DRAWS
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.mechanisms.chain import MarkovChainMechanism
from bnpriv.mechanisms.directional import DirectionalMechanism
from bnpriv.mechanisms.gaussian.mechanisms import (
    AttributeGaussianMechanism,
    DirectionalUncertaintyMechanism,
    OptimalGaussianMechanism,
)
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from bnpriv.mechanisms.proved_limit import Limit, limit_of, reached_limit, zero_limit
from bnpriv.progress import progress
from bnpriv.render.document import Document, Items, Section, Table
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import Json, and_text, full_text, number_text, upper_percent

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# What more draws, and a delta, would buy where laws were learned from draws (docs/claims/draws.md).
# --------------------------------------------------------------------------------------------------

SUGGESTED_CONFIDENCE = 0.95
"""That of the guarantees that are suggested."""

BETTER = 4
"""So many times the least number of draws is suggested: with the least alone hardly any delta is left."""

DECADES = 3
"""Deltas that are tried: powers of ten below one over the number of records."""

TABLES_BEYOND = 100
"""Tables that should be more extreme than delta allows for: they decide an estimate."""

RESAMPLED = 12
"""Times that draws are drawn again from themselves, to see how far the scale rests on chance."""

MOST_FORETOLD_EPSILON = 20.0
"""Above it no number of draws carries a confidence."""

LEAST_SAVING = 0.999
"""A scale that is not smaller by this factor is no gain."""


OTHER_DRAWS = (
    "Whoever chooses a delta here has looked at noise. With a confidence take other draws for it: another seed, "
    "with_sampling(draws=..., seed=...), and other draws of a posterior where one is the observer's distribution."
)
"""What keeps a confidence of a delta that was chosen among several."""


@dataclass(frozen=True, kw_only=True)
class DrawsStep:
    """A delta and a number of draws that go together.

    Parameters
    ----------
    delta : float
    draws : int
        Under each secret.
    confidence : float or None
        None for an estimate.
    scale : float
        Of Laplace noise, foretold from the draws that there are.
    """

    delta: float
    draws: int
    confidence: float | None
    scale: float


@dataclass(frozen=True, kw_only=True)
class DrawsAdvice:
    """What more draws, and a delta, would buy.

    Parameters
    ----------
    asked : DrawsStep
        What there is.
    steps : tuple of DrawsStep
        What else there could be, the smallest delta first; none needs more noise than one with a smaller delta.
    spread : float
        Standard deviation of the scale from such draws, as a share of it.
    posterior : str
        What draws of the posterior would have to be added; empty where parameters are not taken from draws.
    """

    asked: DrawsStep
    steps: tuple[DrawsStep, ...]
    spread: float
    posterior: str = ""

    @property
    def section(self) -> Section:
        """Return it as a section of a document."""
        rows = [
            (
                full_text(step.delta),
                f"{step.draws:,}",
                "an estimate" if step.confidence is None else f"a confidence of {100 * step.confidence:g} %",
                number_text(step.scale),
            )
            for step in (self.asked, *self.steps)
        ]
        kind = "known" if self.asked.confidence is not None else "estimated"
        known = (
            f"From other draws, as many, the {kind} scale would differ by about {upper_percent(self.spread)}; from "
            "four times as many by half of that."
        )
        return Section(
            title="What more draws, or another delta, would buy",
            id="more-draws",
            blocks=(
                Table(
                    caption="Laplace noise, foretold from the draws that there are; the first row is what there is",
                    header=("delta", "draws under each secret", "rests on", "scale"),
                    rows=rows,
                    numbers=(0, 1, 3),
                ),
                Items(
                    tuple(text for text in (known, self.few, self.posterior, OTHER_DRAWS if self.steps else "") if text)
                ),
            ),
        )

    @property
    def few(self) -> str:
        """Return by how many tables an estimate is decided if they are few; empty otherwise."""
        asked = self.asked
        beyond = asked.delta * asked.draws
        if asked.confidence is not None or not 0 < beyond < TABLES_BEYOND:
            return ""
        return (
            f"At this delta about {number_text(beyond)} of {asked.draws:,} tables under a secret decide, "
            f"and the scale is too large more often than too small; with_sampling(draws={self.wanted}) "
            f"makes it {TABLES_BEYOND}."
        )

    @property
    def wanted(self) -> int:
        """Return how many tables an estimate at this delta should rest on; 0 without a delta."""
        return math.ceil(TABLES_BEYOND / max(self.asked.delta, 1e-300) - 1e-6) if self.asked.delta > 0 else 0

    def to_json(self) -> Json:
        """Return it as plain values."""
        steps = [asdict(step) for step in (self.asked, *self.steps)]
        return {"steps": steps, "spread": self.spread, "posterior": self.posterior}


def draws_advice(
    framework: Framework, query: Query, epsilon: float, delta: float, worst: tuple[str, int]
) -> DrawsAdvice | None:
    """Return what more draws, and a delta, would buy; None where laws are not learned from draws.

    Parameters
    ----------
    framework : Framework
    query : Query
    epsilon, delta : float
    worst : tuple of str and int
        The protected attribute and the model that need the most noise.
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return None
    plain = plain_laws(evidence)
    if not isinstance(plain, SampledLaws) or evidence.dimension > 1:
        return None
    found = [each for each in evidence.constraints() if (each.protected, each.model) == worst]
    if not found or isinstance(found[0].pairs, Refusal):
        return None
    constraint, pairs = found[0], found[0].pairs

    def scale(pairs: Iterable[LawPair], delta: float) -> float:
        changed = replace(constraint, pairs=tuple(pairs))
        return foretold_scale(changed, epsilon=epsilon, delta=delta, rounding=evidence.rounding)

    def step(delta: float, draws: int, confidence: float | None) -> DrawsStep:
        """What there would be with so many draws, foretold from the laws that there are."""
        foretold = (
            replace(pair, sampled=pair.sampled and replace(pair.sampled, draws=draws, confidence=confidence))
            for pair in pairs
        )
        return DrawsStep(delta=delta, draws=draws, confidence=confidence, scale=scale(foretold, delta))

    asked = step(delta, plain.sampling.draws, plain.sampling.confidence)
    steps = tuple(_gains(asked, starmap(step, _questions(plain, epsilon, delta))))
    random, spread = np.random.default_rng(0), 0.0
    if 0 < asked.scale < math.inf:
        again = [scale([_again(pair, random) for pair in pairs], delta) for _ in range(RESAMPLED)]
        spread = float(np.std([each for each in again if math.isfinite(each)] or [0.0]) / asked.scale)
    posterior = _posterior_text(plain, pairs, steps)
    return DrawsAdvice(asked=asked, steps=steps, spread=spread, posterior=posterior)


def _gains(asked: DrawsStep, steps: Iterable[DrawsStep]) -> Iterator[DrawsStep]:
    """Yield steps, of the same kind those only that need less noise than those before: more delta must buy some."""
    least: dict[bool, float] = {asked.confidence is None: asked.scale}
    for step in steps:
        kind = step.confidence is None
        before = least.get(kind, math.inf)
        more_delta = step.delta > asked.delta or not kind
        if math.isfinite(step.scale) and more_delta and step.scale < LEAST_SAVING * before:
            least[kind] = step.scale
            yield step


def _questions(evidence: SampledLaws, epsilon: float, delta: float) -> Iterator[tuple[float, int, float | None]]:
    """Deltas, draws and confidences to try: estimates, and guarantees with a confidence where draws can carry one."""
    drawn, known, records = evidence.drawn, evidence.sampling, evidence.form.schema.records
    top = math.ceil(math.log10(1 / records)) - 1
    tried = [10.0**power for power in range(top - DECADES + 1, top + 1)]
    deltas = sorted({*tried, delta} if delta > 0 else tried)
    if known.confidence is None:
        yield from ((each, known.draws, None) for each in deltas if each < 1 / records)
    chains = drawn is not None and drawn.reading == "belief" and not drawn.posterior.independent
    if chains or epsilon > MOST_FORETOLD_EPSILON:
        return
    share = (1 - SUGGESTED_CONFIDENCE) / CALIBRATIONS
    for each in deltas:
        draws = max(BETTER * draws_needed(each / (1 + DELTA_MARGIN), share, math.exp(epsilon)), known.draws)
        if draws <= MOST_DRAWS:
            yield each, draws, SUGGESTED_CONFIDENCE


def draws_needed(delta: float, miss: float, ratio: float = 1.0) -> int:
    """The number of draws of each law until what they may have missed is below `delta`; at most 2^1000, for doubles.

    Examples
    --------
    >>> needed = draws_needed(0.01, 0.05)
    >>> missed(needed, 0.05) < 0.01 <= missed(needed - 1, 0.05)
    True
    """
    high = 1
    while high < 2**1000 and not missed(high, miss, ratio) < delta:
        high *= 2
    return least_whole(high // 2, high, lambda draws: missed(draws, miss, ratio) < delta)


def _again(pair: LawPair, random: np.random.Generator) -> LawPair:
    """Return a pair whose laws are drawn again from themselves, as often as they rest on independent draws."""
    known = pair.sampled
    assert known is not None
    count = int(min(known.draws, math.inf if known.effective is None else known.effective))
    sides: list[Atoms] = []
    for law in (pair.first, pair.second):
        assert isinstance(law, Atoms)
        masses = law.probabilities / law.probabilities.sum()
        met = random.multinomial(max(1, count), masses) / max(1, count)
        sides.append(Atoms(law.points[met > 0], met[met > 0]))
    return replace(pair, first=sides[0], second=sides[1])


def _posterior_text(evidence: SampledLaws, pairs: Sequence[LawPair], steps: Sequence[DrawsStep]) -> str:
    """Return how many draws of the posterior it takes for what there is, and for the steps with a confidence."""
    drawn = evidence.drawn
    facts = [pair.sampled for pair in pairs if pair.sampled is not None]
    sizes = [fact.effective for fact in facts if fact.effective is not None]
    if drawn is None or not sizes:
        return ""
    tables = max([evidence.sampling.draws, *(step.draws for step in steps)])
    few = f"The draws of the posterior in the rarest secret are worth {number_text(min(sizes))} independent ones"
    if min(sizes) >= tables:
        return f"{few}, no fewer than {tables:,} tables under each secret."
    return (
        f"{few}, fewer than {tables:,} tables under each secret: more tables alone buy little, about "
        f"{math.ceil(drawn.draws * tables / min(sizes)):,} draws of the posterior would match them."
    )


# --------------------------------------------------------------------------------------------------
# The mechanisms that a plan tries.
# --------------------------------------------------------------------------------------------------

STANDARD: tuple[Mechanism, ...] = (
    MarkovQuiltMechanism(),
    MarkovQuiltMechanism(noise="gaussian"),
    TightMechanism(),
    TightMechanism(noise="gaussian"),
    OptimalMechanism(),
    WassersteinMechanism(),
    WassersteinMechanism(noise="gaussian"),
    AttributeGaussianMechanism(),
    MarkovChainMechanism(),
    MarkovChainMechanism(influence="spectral"),
    DirectionalMechanism(),
    DirectionalUncertaintyMechanism(),
    OptimalGaussianMechanism(),
    ColumnMechanism(),
    ColumnMechanism(noise="gaussian"),
)
"""What `plan` tries."""


class SessionCosts(Protocol):
    """What calibrations cost as the next release of a session."""

    @property
    def section(self) -> Section:
        """Return a table of them."""
        ...

    def to_json(self) -> list[Json]:
        """Return them as plain values, one for each calibration."""
        ...


@runtime_checkable
class CountsReleases(Protocol):
    """A session: it knows what was released before; `bnpriv.Session` is one."""

    def next_costs(self, calibrations: Sequence[Calibration]) -> SessionCosts:
        """Return what calibrations would cost as the next release."""
        ...


def _no_advice() -> None:
    """Return that no other number of draws is advised."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Shown):
    """What each mechanism would do for one query.

    Parameters
    ----------
    calibrations : tuple of Calibration
        Least expected error first.
    refusals : tuple of (Mechanism, Refusal)
        The mechanisms that do not support the question, with the reason.
    baselines : tuple of Calibration
        Those that were passed for comparison only, in their order; none is ever the best.
    session : SessionCosts or None
        What each calibration costs as the next release of a session; None without one.
    public : PublicComparison or None
        What a public table says of the model for the query; None without one.
    held_out : tuple of HeldOut
        For every calibration for how many models that were not drawn it may fail; empty without held-out draws.
    advise : callable
        Works out `draws`.
    """

    calibrations: tuple[Calibration, ...]
    refusals: tuple[tuple[Mechanism, Refusal], ...]
    baselines: tuple[Calibration, ...] = ()
    session: SessionCosts | None = None
    public: Any = None
    held_out: tuple[Any, ...] = ()
    advise: Callable[[], DrawsAdvice | None] = field(default=_no_advice, compare=False)

    @cached_property
    def draws(self) -> DrawsAdvice | None:
        """What more draws, and another delta, would buy; None where no law was learned from draws."""
        return self.advise()

    @property
    def best(self) -> Calibration:
        """Return the calibration with the least expected error.

        Raises
        ------
        RefusedError
            If no mechanism supports the question.
        """
        if not self.calibrations:
            raise self.refusals[0][1].error()
        return self.calibrations[0]

    @property
    def too_few(self) -> str:
        """How many draws lack for the mechanisms that compare distributions; empty where none lack, or need be told."""
        if self.calibrations and self.calibrations[0].expected_error == 0:
            return ""
        return next((why.headline for _, why in self.refusals if why.headline), "")

    def __iter__(self) -> Iterator[Calibration]:
        """Iterate over the calibrations, least expected error first; `to_pandas` has a row for each."""
        return iter(self.calibrations)

    def __len__(self) -> int:
        """Return how many mechanisms support the question."""
        return len(self.calibrations)

    def __bool__(self) -> bool:
        """Return True: a plan without a calibration still says why."""
        return True

    def __getitem__(self, place: int) -> Calibration:
        """Return the calibration at a place, 0 for the best.

        Raises
        ------
        ParameterError
            If there is none at that place.
        """
        try:
            return self.calibrations[place]
        except (IndexError, TypeError):
            raise ParameterError(
                f"a plan of {len(self)} calibrations has places from 0 on",
                found=repr(place) if isinstance(place, int) else checks.type_text(place),
                remedy="Write plan[0] for the best, or plan.of(name) for a mechanism.",
            ) from None

    def of(self, mechanism: str) -> Calibration:
        """Return the calibration of a mechanism that is named; of several kinds of its noise that which errs least.

        Parameters
        ----------
        mechanism : str
            Its name, "TightMechanism", or its text, "TightMechanism(noise='gaussian')".

        Raises
        ------
        RefusedError
            If that mechanism does not support the question.
        ParameterError
            If the plan has no mechanism of that name.
        """
        rows = (*self.calibrations, *self.baselines)
        for calibration in rows:
            if _is_called(calibration.mechanism, mechanism):
                return calibration
        for refused, why in self.refusals:
            if _is_called(refused, mechanism):
                raise why.error()
        tried = (*(each.mechanism for each in rows), *(refused for refused, _ in self.refusals))
        known = list(dict.fromkeys(type(each).__name__ for each in tried))
        raise ParameterError(
            f"a plan has the mechanisms {and_text(known)}",
            found=checks.cut(mechanism),
            remedy=checks.spelling(mechanism, known),
        )

    @cached_property
    def limit(self) -> Limit:
        """Return the least expected error that any mechanism can have that sees the data only through the answer."""
        if not self.calibrations:
            return Limit(reason="no mechanism supports the query")
        best = self.calibrations[0]
        if best.expected_error == 0:
            return zero_limit(best)
        reached = (reached_limit(calibration) for calibration in self.calibrations)
        return next(filter(None, reached), None) or limit_of(best.framework, best.query, best.epsilon, best.delta)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per mechanism that supports the question, baselines last."""
        import pandas as pd

        rows = (*self.calibrations, *self.baselines)
        return pd.DataFrame(
            {
                "mechanism": [str(c.mechanism) for c in rows],
                "noise": [type(c.noise).__name__ for c in rows],
                "scale": [c.scale for c in rows],
                "expected_error": [c.expected_error for c in rows],
                "times_the_least": [self.limit.over(c) for c in rows],
                "verdict": [c.useful.verdict for c in rows],
            }
        )

    @cached_property
    def closer(self) -> Any:
        """What closer secrets would gain where the best answer is useless (a `CloserSecrets`): a weaker promise."""
        if not self.calibrations or self.calibrations[0].useful.verdict != "useless":
            return None
        return service("plan.closer")(self.calibrations)

    @cached_property
    def table(self) -> Any:
        """The private table of the same strength as the best release (a `TableBeside`); None where there is none."""
        return service("plan.table")(self.calibrations[0]) if self.calibrations else None

    @property
    def document(self) -> Document:
        """The mechanisms compared, and all about the best of them."""
        return service("plan.document")(self)

    def __repr__(self) -> str:
        names = ", ".join(str(calibration.mechanism) for calibration in self.calibrations)
        return f"Plan({names or 'no mechanism'})"


def plan(
    framework: Framework,
    query: Query | str | None,
    epsilon: float,
    delta: float = 0.0,
    *,
    baselines: Sequence[Mechanism] = (),
    session: CountsReleases | None = None,
    public: object = None,
    despite_public: bool = False,
    held_out: Network | None = None,
) -> Plan:
    """Calibrate every mechanism that supports a question and rank them.

    Parameters
    ----------
    framework : Framework
        Network, schema and secrets.
    query : Query or str or None
        What is to be released; None where the framework has a query of its own.
    epsilon, delta : float
        The guarantee that is asked for. Mechanisms that refuse a delta of one over the number of records or more are
        calibrated for the largest one below that.
    baselines : sequence of Mechanism
        Mechanisms to compare that are never the best, for example ``mechanisms.RecordPrivacyMechanism()``.
    session : Session, optional
        What was released before: the plan then says what each mechanism adds to it, and how little noise adds as much
        as the release alone would cost.
    public : table, str or path, optional
        A public table: a query for which it contradicts the model is refused; see `bnpriv.compare_with_public`.
    despite_public : bool
        Waives that refusal.
    held_out : Network, optional
        Independent draws of the same posterior that the framework has not seen, as of `bnpriv.networks.halves`: for how
        many models that were not drawn each calibration may fail is then told, whichever is taken.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        If epsilon or delta is out of range, or `session` is none.
    RefusedError
        If the public table contradicts the model, or cannot be compared with it.
    QueryError, SchemaError
        If the query does not fit the schema.

    Examples
    --------
    >>> import bnpriv as bp
    >>> chosen = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0).best
    >>> str(chosen.mechanism), chosen.scale
    ('MarkovQuiltMechanism()', 0.0)
    """
    require_framework(framework, query)
    if not (session is None or isinstance(session, CountsReleases)):
        raise ParameterError(
            "session must be a session",
            found=checks.type_text(session),
            remedy="Open one: bp.Session(framework, data).",
        )
    asked = require_query(framework, query)
    with progress("calibrating every mechanism"):
        tried = _calibrated((each for each in STANDARD if each.concerns(framework)), framework, asked, epsilon, delta)
        compared = _calibrated(baselines, framework, asked, epsilon, delta)
        ranked = tuple(sorted(tried[0], key=lambda calibration: calibration.rank))
        comparison = None
        if public is not None:
            comparison = service("plan.compared")(framework, public, asked, next(iter(ranked), None))
            comparison.require(despite=despite_public)
        return Plan(
            advise=partial(_draws, tuple(tried[0]), framework, asked, epsilon, delta),
            calibrations=ranked,
            session=None if session is None else session.next_costs(ranked),
            refusals=(*tried[1], *compared[1]),
            baselines=tuple(compared[0]),
            public=comparison,
            held_out=() if held_out is None else service("plan.held_out")(ranked, held_out),
        )


def _is_called(mechanism: Mechanism, name: str) -> bool:
    """Return whether a name is that of a mechanism, or of it with its options."""
    return name in (type(mechanism).__name__, str(mechanism))


def _draws(
    calibrations: Iterable[Calibration], framework: Framework, query: Query, epsilon: float, delta: float
) -> DrawsAdvice | None:
    """Return what more draws would buy, where laws of the answer were learned from draws."""
    learned = (
        decision
        for calibration in calibrations
        for decision in calibration.certificate.decisions[:1]
        if isinstance(decision, LawDecision) and decision.draws and decision.noise == "laplace"
    )
    worst = next(learned, None)
    return None if worst is None else draws_advice(framework, query, epsilon, delta, (worst.protected, worst.model))


def _calibrated(
    mechanisms: Iterable[Mechanism], framework: Framework, query: Query, epsilon: float, delta: float
) -> tuple[list[Calibration], list[tuple[Mechanism, Refusal]]]:
    """Return the calibrations of the mechanisms that support a question, and why the others do not."""
    calibrations: list[Calibration] = []
    refusals: list[tuple[Mechanism, Refusal]] = []
    for mechanism in mechanisms:
        found = mechanism.too_slow(framework, query, epsilon)
        found = found or _calibration(mechanism, framework, query, epsilon, delta)
        if isinstance(found, Calibration):
            calibrations.append(found)
        else:
            refusals.append((mechanism, found))
    return calibrations, refusals


def _calibration(
    mechanism: Mechanism, framework: Framework, query: Query, epsilon: float, delta: float
) -> Calibration | Refusal:
    """Return a calibration for delta, or for the largest delta that is not refused as too large; else why not."""
    try:
        # calibrate refuses what supports refuses, and what only the search for noise finds out
        return mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
    except (RefusedError, SizeError) as refused:
        if large_delta_refusal(framework, delta) is None:
            return Refusal.of(refused)
    return _calibration(mechanism, framework, query, epsilon, math.nextafter(1 / framework.schema.records, 0.0))
