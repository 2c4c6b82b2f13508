"""Law evidence that is learned from draws: which answers are drawn under which secrets, once they are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from bnpriv.errors import BnprivError, Refusal
from bnpriv.evidence.answer_source import AnswerSource
from bnpriv.evidence.believed import effective_of, size_refusal
from bnpriv.evidence.conditions import Condition, SecretSide
from bnpriv.evidence.constraints import Constraint, DrawFacts, LawPair
from bnpriv.evidence.forward import AnswerSampler
from bnpriv.evidence.pace import DrawTime, paced
from bnpriv.evidence.sums import rounding_of
from bnpriv.laws.draws import Draws, gathered
from bnpriv.networks.density import Sampling
from bnpriv.networks.parameter_draws import ParameterDraws
from bnpriv.queries.normal_form import NormalForm
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair
from bnpriv.secrets.values import IntervalPair


@final
@dataclass(frozen=True, kw_only=True)
class SampledSide:
    """What answers are drawn from for one secret.

    Parameters
    ----------
    sampler : AnswerSource
    condition : Condition or None
        What has a value of the secret; None where all tables of the sampler count.
    side : secret or None
    """

    sampler: AnswerSource
    condition: Condition | None = None
    side: SecretSide | None = None

    def effective(self, share: float) -> float | None:
        """Return how many draws of a posterior the law rests on; `share` says which share of the tables was kept."""
        return effective_of(self.sampler, self.condition, self.side, share)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledPair:
    """A pair of secrets, what decisions call it, and what answers are drawn from under each of the two."""

    pair: Pair
    label: str
    first: SampledSide
    second: SampledSide


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledConstraint:
    """The pairs of one protected attribute under one model, or why they are not drawn."""

    protected: str
    model: int
    pairs: Sequence[SampledPair] | Refusal


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledLaws:
    """The laws of an answer under pairs of secrets, learned from forward draws once they are asked for.

    Parameters
    ----------
    form : NormalForm
        The query.
    sampling : Sampling
        How the laws are learned.
    asked : tuple of SampledConstraint
    assumptions : tuple of str
        What must hold outside the library.
    dropped : tuple of str
        The pairs that are no constraint because a secret has probability zero.
    drawn : ParameterDraws, optional
        The draws of a posterior that parameters are taken from.
    """

    form: NormalForm
    sampling: Sampling
    asked: tuple[SampledConstraint, ...]
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    drawn: ParameterDraws | None = None

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return len(self.form.rows)

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        return rounding_of(self.form)

    @property
    def closed_form(self) -> bool:
        """The laws are learned from draws."""
        return False

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per protected attribute and model; the first call draws."""
        return self._constraints

    @cached_property
    def _constraints(self) -> tuple[Constraint, ...]:
        known: dict[SampledSide, Draws] = {}
        found: list[Constraint] = []
        with paced(self._expected()) as advance:
            for each in self.asked:
                before = len(known)
                pairs = self._laws(each.pairs, known)
                found.append(Constraint(protected=each.protected, model=each.model, record=None, pairs=pairs))
                advance((len(known) - before) * self.sampling.draws)
        return tuple(found)

    def _expected(self) -> DrawTime:
        """Return how long drawing takes for all models together, where every draw of a posterior is one."""
        pairs = [pair for each in self.asked if not isinstance(each.pairs, Refusal) for pair in each.pairs]
        sides = dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second))
        first = next(iter(sides), None)
        if first is None or not isinstance(first.sampler, AnswerSampler) or first.sampler.row is None:
            return DrawTime(tables=0, seconds=0.0)
        try:
            return first.sampler.time(first.condition, len(sides))
        except BnprivError:  # drawing will say why it cannot be done
            return DrawTime(tables=0, seconds=0.0)

    def _laws(
        self, pairs: Sequence[SampledPair] | Refusal, known: dict[SampledSide, Draws]
    ) -> tuple[LawPair, ...] | Refusal:
        if isinstance(pairs, Refusal):
            return pairs
        sides = list(dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second)))
        refusal = _sizes_refusal(dict.fromkeys(sides, 1.0))  # at best; drawn tables tell how many are kept
        if refusal is not None:
            return refusal
        try:
            _draw(sides, known)
        except BnprivError as error:
            return Refusal.of(error)
        refusal = _sizes_refusal({side: known[side].share for side in sides})
        return refusal or tuple(self._pair(pair, known[pair.first], known[pair.second]) for pair in pairs)

    def _pair(self, pair: SampledPair, first: Draws, second: Draws) -> LawPair:
        sampling = self.sampling
        laws = gathered(first, second, sampling.told_apart(first.dimension))
        sizes = (side.effective(draws.share) for side, draws in ((pair.first, first), (pair.second, second)))
        return LawPair(
            pair=pair.label,
            first=laws.first,
            second=laws.second,
            rounding=0.0,  # answers are drawn as the doubles that are released
            kind="estimate" if sampling.confidence is None else "certified",
            sampled=DrawFacts(
                draws=sampling.draws,
                confidence=sampling.confidence,
                moved=laws.moved,
                variance=laws.variance,
                drift=laws.drift,
                share=min(first.share, second.share),
                effective=min((size for size in sizes if size is not None), default=None),
            ),
        )


def _sizes_refusal(shares: Mapping[SampledSide, float]) -> Refusal | None:
    """Return why too few draws of a posterior lie in one of some secrets, by how often each comes up."""
    sizes = {side: side.effective(share) for side, share in shares.items()}
    for side in sorted(sizes, key=lambda side: math.inf if sizes[side] is None else sizes[side] or 0.0):
        refusal = size_refusal(side.sampler, side.condition, side.side, sizes[side])
        if refusal is not None:
            return refusal
    return None


def _draw(sides: Iterable[SampledSide], known: dict[SampledSide, Draws]) -> None:
    """Draw for all secrets that are not known yet, for all secrets about one number at once."""
    groups: dict[tuple[AnswerSource, Condition | None], list[SampledSide]] = {}
    for side in dict.fromkeys(sides):
        if side not in known:
            groups.setdefault((side.sampler, side.condition), []).append(side)
    for (sampler, condition), members in groups.items():
        drawn = sampler.answers(condition, [member.side for member in members])
        known.update({member: drawn[member.side] for member in members})


def conditioned(
    sampler: AnswerSource, condition: Condition, pair: IntervalPair | SecretPair, declared: Pair | None = None
) -> SampledPair:
    """Return a pair of secrets about one number, drawn by one sampler, and called as it was declared."""
    first, second = (SampledSide(sampler=sampler, condition=condition, side=side) for side in (pair.first, pair.second))
    called = pair if declared is None else declared
    return SampledPair(pair=called, label=str(called), first=first, second=second)
