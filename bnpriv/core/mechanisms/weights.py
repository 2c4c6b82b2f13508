"""Weights of the parts of an answer, so that parts in different units do not share one scale.

The only place that chooses weights (docs/claims/shape.md): from the query, its schema and the calibrated noise, which
are public, never from data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.noise import DivisibleNoise, Noise, is_none, power_of_two
from bnpriv.core.queries.asked import AnswerPart, Weighted, parts_of
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range, sensitivity_of_numbers
from bnpriv.errors import Refusal, RefusedError, SizeError
from bnpriv.text import Json, and_text, number_text

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework

ShapeName = Literal["equal", "range", "balanced", "chosen"]

LARGEST_WEIGHT = 2.0**200
"""Largest ratio of weights: parts whose units differ by more are weighed as if they did not."""

LEAST_GAIN = 1e-9
"""Least relative gain for which other weights replace equal ones, so that rounding never decides."""


class Found(NamedTuple):
    """Noise that was found, its certificate, and the delta that the guarantee needs."""

    noise: Noise
    certificate: Certificate
    delta: float


RULES: dict[ShapeName, str] = {
    "equal": "equally",
    "range": "by one over their ranges",
    "balanced": "by one over the root of range times sensitivity",
    "chosen": "as chosen",
}


@dataclass(frozen=True, kw_only=True)
class PartWeights:
    """How the parts of an answer were weighed, and what equal weights would have given.

    Parameters
    ----------
    name : {"equal", "range", "balanced", "chosen"}
    parts : tuple of AnswerPart
    weights : tuple of float
        Powers of two, one for each part; the least is 1.
    ranges : tuple of float
        For each part the narrowest range of its numbers; infinite where none is declared.
    scales : tuple of float
        The scale of the noise of each part, in its unit.
    equal : tuple of float or None
        The same with equal weights; None where those were not tried.
    """

    name: ShapeName
    parts: tuple[AnswerPart, ...]
    weights: tuple[float, ...]
    ranges: tuple[float, ...]
    scales: tuple[float, ...]
    equal: tuple[float, ...] | None

    @property
    def is_equal(self) -> bool:
        """Whether all parts have the same weight."""
        return len(set(self.weights)) == 1

    @property
    def by_share(self) -> bool:
        """Whether parts have different ranges, so that errors are compared as shares of these."""
        return len({width for width in self.ranges if 0 < width < math.inf}) > 1

    def relative_error(self, noise: Noise) -> float:
        """The mean error of each part relative to its range, summed."""
        return relative_error(noise, self.parts, self.ranges)

    @property
    def number_weights(self) -> tuple[float, ...]:
        """The weight of each output."""
        return _of_numbers(self.parts, self.weights)

    def with_noise(self, noise: Noise) -> PartWeights:
        """The same weights with the scales of larger noise."""
        return replace(self, scales=_part_scales(noise, self.parts))

    def weighted(self, query: Query) -> Query:
        """The query with weighted outputs; the query itself where weights are equal."""
        return query if self.is_equal else Weighted(asked=query, weights=self.number_weights)

    @property
    def text(self) -> str:
        """The weights in a sentence or two; empty where all are equal."""
        if self.is_equal:
            return ""
        listed = and_text([f"{part.label} {number_text(w)}" for part, w in zip(self.parts, self.weights, strict=True)])
        said = (
            f"The parts are weighed {RULES[self.name]}: {listed}. Sensitivities and scales are those of the weighted "
            "answer; the noise of a part has the scale over its weight"
        )
        scales = and_text([number_text(scale) for scale in self.scales])
        if self.equal is None:
            return f"{said}: {scales}."
        equal = and_text([number_text(scale) for scale in dict.fromkeys(self.equal)])
        return f"{said}: {scales}, where equal weights would give {equal}."

    def to_json(self) -> Json:
        """The weights as plain values."""
        rows = zip(self.parts, self.weights, self.scales, self.equal or (None,) * len(self.parts), strict=True)
        return {
            "name": self.name,
            "parts": [
                {"part": part.label, "weight": weight, "scale": scale, "scale_with_equal_weights": equal}
                for part, weight, scale, equal in rows
            ],
        }


def weights_refusal(
    query: Query, framework: Framework, weights: Sequence[float] | None, *, fixed: bool
) -> Refusal | None:
    """Why the given weights do not fit the query or the mechanism; None if they do."""
    if weights is None:
        return None
    if fixed:
        return Refusal(
            required="this mechanism takes no weights: what it releases has a shape of its own",
            found="weights",
            remedy="Leave the weights out, or use another mechanism.",
        )
    parts = parts_of(query, framework.schema)
    if len(weights) == len(parts):
        return None
    return Refusal(
        required=f"one weight is needed for each of the {len(parts)} parts of the answer",
        found=f"{len(weights)}",
        remedy="Give a weight for every query of the stack, and for every number of moments; or leave weights out.",
    )


def shaped(
    calibrated: Callable[[Query], Found],
    framework: Framework,
    query: Query,
    chosen: Sequence[float] | None,
    *,
    fixed: bool = False,
) -> tuple[Found, PartWeights | None]:
    """Calibrate with the weights of least relative error, and tell which these are.

    Parameters
    ----------
    calibrated : callable
        From a query, weighted or not, to its noise.
    framework : Framework
    query : Query
    chosen : sequence of float, optional
        Weights of the parts; None for the best of three.
    fixed : bool
        Whether only equal weights are tried, as the noise has a shape of its own.

    Returns
    -------
    found : Found
        The noise is that of the answer itself.
    shape : Shape or None
        None for an answer of one part.

    Raises
    ------
    RefusedError, SizeError
        If no weights can be calibrated; as with the first ones.
    """
    parts = parts_of(query, framework.schema)
    if len(parts) == 1:
        return calibrated(query), None
    lower, upper = answer_range(query, framework.schema)
    widths = [float(width) for width in upper - lower]
    ranges = tuple(min((widths[k] for k in part.places if widths[k] > 0), default=0.0) for part in parts)
    # equal weights come first: others must be better by more than rounding
    names: dict[tuple[float, ...], ShapeName] = {(1.0,) * len(parts): "equal"}
    if chosen is not None:
        names = {_scaled(chosen): "chosen"}
    elif not fixed:
        names |= _candidates(query, framework, parts, ranges)
    made: dict[tuple[float, ...], Found] = {}
    refused: list[RefusedError | SizeError] = []
    for weights, asked in _queries(query, framework, parts, tuple(names)).items():
        try:
            found = calibrated(asked)
        except (RefusedError, SizeError) as error:
            refused.append(error)
            continue
        # the noise was found for the weighted answer: dividing it by the weights is post-processing
        if len(set(weights)) > 1:
            noise = cast(DivisibleNoise, found.noise).divided(_of_numbers(parts, weights))
            found = found._replace(noise=noise)
        made[weights] = found
        if is_none(found.noise):  # no weights can do better
            break
    if not made:
        raise refused[0]
    best = next(iter(made))
    errors = {weights: relative_error(each.noise, parts, ranges) for weights, each in made.items()}
    for weights, error in errors.items():
        if error < errors[best] * (1 - LEAST_GAIN):
            best = weights
    equal = made.get((1.0,) * len(parts))
    shape = PartWeights(
        name=names[best],
        parts=parts,
        weights=best,
        ranges=ranges,
        scales=_part_scales(made[best].noise, parts),
        equal=None if equal is None else _part_scales(equal.noise, parts),
    )
    return made[best], shape


def relative_error(noise: Noise, parts: Iterable[AnswerPart], ranges: Iterable[float]) -> float:
    """The mean error of each part's outputs over their range, summed over the parts that have a range."""
    sizes = noise.mean_sizes
    pairs = zip(parts, ranges, strict=True)
    return math.fsum(max(sizes[k] for k in part.places) / width for part, width in pairs if 0 < width < math.inf)


def _part_scales(noise: Noise, parts: Iterable[AnswerPart]) -> tuple[float, ...]:
    scales = noise.scales
    return tuple(max(scales[k] for k in part.places) for part in parts)


def _candidates(
    query: Query, framework: Framework, parts: Sequence[AnswerPart], ranges: Sequence[float]
) -> dict[tuple[float, ...], ShapeName]:
    """The unequal weights to be tried, each once, with the rule that gives them."""
    if not all(map(math.isfinite, ranges)) or not any(ranges):
        return {}
    # a single output moves through its range and no further
    moved = [
        width if len(part.places) == 1 else sensitivity_of_numbers(query, framework.schema, part.places)
        for part, width in zip(parts, ranges, strict=True)
    ]
    balanced = [math.sqrt(d) * math.sqrt(s) for d, s in zip(moved, ranges, strict=True)]
    found: dict[tuple[float, ...], ShapeName] = {}
    rules: tuple[tuple[ShapeName, Sequence[float]], ...] = (("range", ranges), ("balanced", balanced))
    for name, units in rules:
        weights = _scaled([1 / unit if unit > 0 else math.inf for unit in units])
        if len(set(weights)) > 1:
            found.setdefault(weights, name)
    return found


def _scaled(weights: Sequence[float]) -> tuple[float, ...]:
    """Weights rounded to powers of two, the least 1; parts that never move get the largest of the others."""
    known = [weight for weight in weights if weight < math.inf]
    least, most = min(known), max(known)
    return tuple(power_of_two(min(LARGEST_WEIGHT, min(weight, most) / least)) for weight in weights)


def _queries(
    query: Query, framework: Framework, parts: Sequence[AnswerPart], shapes: tuple[tuple[float, ...], ...]
) -> dict[tuple[float, ...], Query]:
    """The weighted queries; those of the last query are cached, so that mechanisms share them."""
    kept = framework.kept.table("weighted queries")
    if kept.get("query") is not query:
        kept.clear()
        kept["query"] = query
    for weights in shapes:
        if weights not in kept:
            plain = len(set(weights)) == 1
            kept[weights] = query if plain else Weighted(asked=query, weights=_of_numbers(parts, weights))
    return {weights: kept[weights] for weights in shapes}


def _of_numbers(parts: Iterable[AnswerPart], weights: Iterable[float]) -> tuple[float, ...]:
    return tuple(weight for part, weight in zip(parts, weights, strict=True) for _ in part.places)
