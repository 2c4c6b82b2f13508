"""What more draws, and a delta, would buy where laws were learned from draws (docs/claims/draws.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import starmap

import numpy as np

from bnpriv.core.distributions import Atoms
from bnpriv.core.draws import missed
from bnpriv.core.evidence.constraints import LawPair, plain_laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.law_decision import CALIBRATIONS, DELTA_MARGIN
from bnpriv.core.mechanisms.tight import foretold_scale
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal
from bnpriv.kinds.density.network import MOST_DRAWS
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.render.document import Items, Section, Table
from bnpriv.text import Json, full_text, number_text, upper_percent

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
        return math.ceil(TABLES_BEYOND / self.asked.delta - 1e-6) if self.asked.delta > 0 else 0

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
    """The number of draws of each law until what they may have missed is below `delta`.

    Examples
    --------
    >>> needed = draws_needed(0.01, 0.05)
    >>> missed(needed, 0.05) < 0.01 <= missed(needed - 1, 0.05)
    True
    """
    high = 1
    while not missed(high, miss, ratio) < delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if missed(middle, miss, ratio) < delta:
            high = middle
        else:
            low = middle
    return high


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
