"""A channel: for every exact answer a law over a finite list of outputs, with whole numbers for probabilities."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, IntArray, Kind, down, up
from bnpriv.core.mechanisms.law_decision import LEANS_ON
from bnpriv.core.noise import Sampler, norm_of, probability, sized
from bnpriv.errors import ParameterError
from bnpriv.render.document import Section, Table
from bnpriv.text import Json, lower_text, number_text, percent_text, upper_text

LARGEST_DENOMINATOR = 2**62
"""Rows are kept as 64-bit integers, and add up without a carry."""

SAME_CHANCES = 1e-9
"""By how much all probabilities together may differ of what is the same but for rounding."""

TAKE_IT_WHOLE = "Take the channel that OptimalMechanism calibrated."


@dataclass(frozen=True, eq=False)
class Averaged:
    """What a mean error is averaged over: exact answers with their probabilities.

    Parameters
    ----------
    answers : tuple of float
    chances : array of the same length
        At least 0, with a sum of 1.
    """

    answers: tuple[float, ...]
    chances: FloatArray

    def alike(self, other: Averaged) -> bool:
        """Return whether both say how probable each answer is alike, but for rounding."""
        chances = dict(zip(self.answers, self.chances.tolist(), strict=True))
        for answer, chance in zip(other.answers, other.chances.tolist(), strict=True):
            chances[answer] = chances.get(answer, 0.0) - chance
        return math.fsum(map(abs, chances.values())) <= SAME_CHANCES


def comparable(one: Averaged | None, other: Averaged | None) -> bool:
    """Return whether mean errors may be compared: of added noise, told by None, they are the same over any answers."""
    return one is None or other is None or one.alike(other)


@dataclass(frozen=True, eq=False, repr=False)
class Channel:
    """A random answer drawn from a row of a table: the row of the input that is nearest to the exact answer.

    Unlike added noise it says nothing that is not in its list of outputs.

    Parameters
    ----------
    inputs : sequence of float, length K
        The exact answers that are expected, strictly increasing. Any other exact answer takes the row of the nearest
        input, of the lower one where two are as near: a map that is fixed before any data are seen.
    outputs : sequence of float, length M
        What may be released, strictly increasing.
    numerators : int64 array of shape (K, M)
        ``numerators[x, w] / denominator`` is the probability of output w for input x; at least 0.
    denominator : int
        Sum of every row, at most 2^62.
    prior : array of shape (K,)
        How likely each input is where errors and quantiles are averaged: at least 0, with a sum of 1 up to 1e-9. It
        has no part in what is released.

    Raises
    ------
    ParameterError
        If the numbers are not of this form.

    Examples
    --------
    >>> channel = Channel([0, 1, 2], [0, 2], [[4, 0], [2, 2], [0, 4]], 4, [0.25, 0.5, 0.25])
    >>> channel.dimension, round(float(channel.error()), 9), channel.place(0.9)
    (1, 0.5, 1)
    """

    sampler_method: ClassVar[str] = "below"
    """The method of a sampler that draws it."""

    inputs: tuple[float, ...]
    outputs: tuple[float, ...]
    numerators: IntArray
    denominator: int
    prior: FloatArray

    def __init__(
        self,
        inputs: Sequence[float],
        outputs: Sequence[float],
        numerators: ArrayLike,
        denominator: int,
        prior: ArrayLike,
    ) -> None:
        vars(self).update(inputs=_increasing("inputs", inputs), outputs=_increasing("outputs", outputs))
        below = checks.whole("the denominator", denominator)
        if below > LARGEST_DENOMINATOR:
            raise _malformed("the denominator must be at most 2^62", checks.shown(below))
        object.__setattr__(self, "denominator", below)
        object.__setattr__(self, "numerators", _rows(numerators, (len(self.inputs), len(self.outputs)), below))
        object.__setattr__(self, "prior", _prior(prior, len(self.inputs)))

    dimension = 1
    """One: a channel is for an answer of one number."""

    @property
    def is_constant(self) -> bool:
        """Return whether all rows are equal, so that what is released tells nothing about the exact answer."""
        return bool(np.all(self.numerators == self.numerators[0]))

    @property
    def is_exact(self) -> bool:
        """Return whether every input is released as it is, with certainty."""
        return self.inputs == self.outputs and bool(np.all(np.diag(self.numerators) == self.denominator))

    def place(self, value: float) -> int:
        """Return the index of the input whose row an exact answer takes; any double has one."""
        after = bisect_left(self.inputs, value)
        if after == 0 or after == len(self.inputs):
            return min(after, len(self.inputs) - 1)
        if math.isinf(value):
            return after - 1
        low, high = (Fraction(self.inputs[k]) for k in (after - 1, after))
        return after - 1 if Fraction(value) - low <= high - Fraction(value) else after

    def sample(self, value: Sequence[float], sampler: Sampler) -> tuple[float, ...]:
        """Return one output, drawn from the row of an exact answer.

        Parameters
        ----------
        value : sequence of float
            The exact answer, of length 1.
        sampler : Sampler
            Where the random whole number below `denominator` comes from.

        Raises
        ------
        ParameterError
            If `value` has another length.
        """
        (exact,) = sized(value, 1)
        drawn = sampler.below(self.denominator)
        ends = self._ends[self.place(exact)]
        return (self.outputs[int(np.searchsorted(ends, drawn, side="right"))],)

    @property
    def averaged_over(self) -> Averaged:
        """Return what errors and quantiles are averaged over: the prior."""
        return Averaged(self.inputs, self.prior)

    def error(self, norm: float = 2) -> Bound:
        """Return the mean absolute error under the prior; of one number every norm is its size."""
        norm_of(norm)
        mean = float(self.prior @ self._averaged(self._errors))
        steps = 16 + 2 * self._errors.size.bit_length()
        return Bound(max(0.0, down(mean, steps)), up(mean, steps))

    def quantile(self, p: float) -> float:
        """Return the error that is not exceeded with probability `p`, averaged over the prior.

        Raises
        ------
        ParameterError
            If `p` is not above 0 and below 1.
        """
        chances = self.prior[:, np.newaxis] * (self.numerators / self.denominator)
        return _least(self._errors.ravel(), chances.ravel(), probability(p))

    def quantiles(self, p: float) -> tuple[float, ...]:
        """Return the same: there is one number."""
        return (self.quantile(p),)

    def interval(self, output: float, level: float) -> tuple[float, float]:
        """Return the hull of all inputs for which `output` is not surprising.

        Whatever the exact answer is among the inputs, it lies inside with probability `level` or more. Each input x
        has a reach: with probability `level` its output is no farther from x. The interval holds the inputs that have
        `output` within their reach.

        Parameters
        ----------
        output : float
            What was released; one of the outputs, or what became of one by clamping or rounding.
        level : float
            Above 0 and below 1.

        Raises
        ------
        ParameterError
            If `level` is out of range.
        """
        wanted = probability(level)
        reaches = [_least(self._errors[k], row / self.denominator, wanted) for k, row in enumerate(self.numerators)]
        within = [x for x, reach in zip(self.inputs, reaches, strict=True) if abs(output - x) <= reach]
        return (min(within), max(within)) if within else (output, output)

    @property
    def mean_sizes(self) -> tuple[float, ...]:
        """The mean absolute error of each number of the answer."""
        return self.scales

    @property
    def scales(self) -> tuple[float, ...]:
        """Return the mean absolute error, which for Laplace noise is its scale."""
        return (self.error().upper,)

    @property
    def covariance(self) -> FloatArray:
        """Return the mean square of the error under the prior, shape (1, 1)."""
        return np.array([[float(self.prior @ self._averaged(self._errors**2))]])

    @property
    def free_numbers(self) -> int:
        """Return how many probabilities make the rows."""
        return self.numerators.size

    def accounted_noise(self) -> None:
        """Return None: no accountant can charge for a channel, which is private for its own laws only."""
        return

    def to_json(self) -> dict[str, object]:
        """Return the channel as plain values: doubles in hexadecimal, of every row the outputs that it may give.

        A row is a list of pairs, the index of an output and the numerator in decimal digits; what is not listed has
        probability 0.
        """
        return {
            "kind": "channel",
            "inputs": [x.hex() for x in self.inputs],
            "outputs": [w.hex() for w in self.outputs],
            "numerators": [[[int(w), str(row[w])] for w in np.flatnonzero(row).tolist()] for row in self.numerators],
            "denominator": str(self.denominator),
            "prior": [float(mass).hex() for mass in self.prior],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Channel:
        """Return the channel that `to_json` wrote.

        Raises
        ------
        ParameterError
            If it is none.
        """
        written = cast("Mapping[str, Any]", record)
        try:
            inputs, outputs, prior = (list(map(float.fromhex, written[k])) for k in ("inputs", "outputs", "prior"))
            rows = np.zeros((len(inputs), len(outputs)), dtype=np.int64)
            for row, listed in zip(rows, written["numerators"], strict=True):
                places = [checks.whole("the index of an output", w, least=0) for w, _ in listed]
                if any(not a < b for a, b in pairwise(places)):
                    raise ValueError("an output twice")
                row[places] = [_digits(numerator) for _, numerator in listed]
            denominator = _digits(written["denominator"])
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError, MemoryError) as error:
            raise _malformed("a stored channel has inputs, outputs, rows and a prior", "something else") from error
        return cls(inputs, outputs, rows, denominator, prior)

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum(self.numerators, axis=1)

    @cached_property
    def _errors(self) -> FloatArray:
        return np.abs(np.subtract.outer(np.array(self.inputs), np.array(self.outputs)))

    def _averaged(self, losses: FloatArray) -> FloatArray:
        """Return the mean loss of every input, of shape (K,)."""
        return np.sum(losses * (self.numerators / self.denominator), axis=1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.denominator, self.numerators.tobytes(), self.prior.tobytes()))

    def __repr__(self) -> str:
        return f"Channel(inputs={len(self.inputs)}, outputs={len(self.outputs)})"


def _digits(written: object) -> int:
    """Return a whole number that is written in decimal digits, and in no other way."""
    if not isinstance(written, str) or not written.isdecimal() or not written.isascii():
        raise ValueError("no decimal digits")
    return int(written)


def _malformed(required: str, found: str) -> ParameterError:
    return ParameterError(required, found=found, remedy=TAKE_IT_WHOLE)


def _increasing(what: str, values: Sequence[float]) -> tuple[float, ...]:
    found = tuple(0.0 + checks.number(f"one of the {what}", value, remedy=TAKE_IT_WHOLE) for value in values)
    if not found or any(not a < b for a, b in pairwise(found)):
        raise _malformed(f"the {what} of a channel must increase", "none" if not found else "others")
    return found


def _rows(given: ArrayLike, shape: tuple[int, int], denominator: int) -> IntArray:
    raw = np.asarray(given)
    if raw.shape != shape or raw.dtype.kind not in "iuO":
        raise _malformed(f"numerators must be whole numbers of shape {shape}", f"shape {raw.shape}, {raw.dtype}")
    rows: list[list[int]] = raw.tolist()
    if any(type(each) is not int or each < 0 for row in rows for each in row):
        raise _malformed("numerators must be whole numbers of at least 0", "another one")
    if any(sum(row) != denominator for row in rows):
        raise _malformed("every row must add up to the denominator", "a row that does not")
    kept = np.array(rows, dtype=np.int64)
    kept.flags.writeable = False
    return kept


def _prior(given: ArrayLike, size: int) -> FloatArray:
    masses = np.array(given, dtype=np.float64)
    if masses.shape != (size,):
        raise _malformed(f"a prior has {size} probabilities, one for each input", f"shape {masses.shape}")
    if not np.all(masses >= 0) or not abs(float(np.sum(masses)) - 1) <= 1e-9:
        raise _malformed("a prior has probabilities of at least 0 that add up to 1", "others")
    masses.flags.writeable = False
    return masses


def _least(errors: FloatArray, chances: FloatArray, p: float) -> float:
    """Return the least error up to which the chances add up to `p`, rounded towards a larger one."""
    order = np.argsort(errors, kind="stable")
    reached = np.cumsum(chances[order]) >= min(p * (1 + 1e-12), float(np.sum(chances)) * (1 - 1e-12))
    return float(errors[order[int(np.argmax(reached))]])


# --------------------------------------------------------------------------------------------------
# What is known of a channel: how near it is to the least error that there is, and what each of its outputs tells.
# --------------------------------------------------------------------------------------------------

MOST_MEANINGS = 40
"""Outputs of which a document says what they tell: of more, those that are likeliest."""

SMALL_GAP = 0.01
"""A larger share of the error says little where the error itself is as small as what a solver tells apart."""

AT_THE_LIMIT = 1e-4
"""Relative gap up to which a channel is said to have the least error: so many digits are shown."""

OVER_ALL = "averaged over the distributions under both secrets of every pair"
"""Over what errors are averaged where nothing else was asked for."""

ALONE = "The guarantee is for this one release: it cannot be added up with those of other releases."

LOSSES = {
    "absolute": "mean absolute error",
    "squared": "mean squared error",
    "zero-one": "probability of another answer than the exact one",
}


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What one output tells about the pair of secrets that it tells most about.

    Parameters
    ----------
    output : float
    chance : float
        How often it comes out, under the prior.
    pair : str
        The two secrets.
    factor : float
        By how much it multiplies the odds of the first against the second; infinite if it rules the second out.
    """

    output: float
    chance: float
    pair: str
    factor: float

    @property
    def factor_text(self) -> str:
        """Return by how much the odds of the first secret grow, or shrink."""
        if self.factor == 1:
            return "unchanged"
        if self.factor in (0.0, math.inf):
            return f"the {'second' if self.factor else 'first'} is ruled out"
        return f"times {number_text(self.factor)}" if self.factor > 1 else f"divided by {number_text(1 / self.factor)}"


@dataclass(frozen=True, kw_only=True)
class ChannelFacts:
    """What is known of a channel.

    Parameters
    ----------
    loss : {"absolute", "squared", "zero-one"}
    prior : str
        Over what the error is averaged, in words.
    value : float
        What the solver found, before its solution was made exact; never outside `bound` and `error`.
    error : float
        That of the rows that are drawn from, rounded up.
    bound : float
        No channel with outputs on the answers has a smaller error: proved from prices of the constraints, rounded down.
    answers, runs : int
        How many exact answers there are, and how many of them are told apart.
    meanings : tuple of Meaning
        What the likeliest outputs tell, in the order of the outputs.
    outputs : int
        How many outputs there are.
    prices : dict
        What proves the bound, as it is stored.
    kind : {"exact", "certified", "estimate"}
        How well the laws are known.
    """

    loss: str
    prior: str
    value: float
    error: float
    bound: float
    answers: int
    runs: int
    meanings: tuple[Meaning, ...]
    outputs: int
    prices: Json
    kind: Kind

    @property
    def gap(self) -> float:
        """Return by which share of itself the error may be above the least one."""
        return 0.0 if self.error <= self.bound else (self.error - self.bound) / self.error

    @property
    def _left(self) -> str:
        """Return by how much less it may be; where that is a large share of the error, what it is of the answer too."""
        if self.gap <= SMALL_GAP:
            return f"{percent_text(self.gap)} less"
        return f"{upper_text(self.error - self.bound)} less, {percent_text(self.gap)} of it"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return why there is a table, how good it is, and what it leans on, in sentences."""
        why = (
            "It keeps the distributions of what is released alike under all secrets, with the least "
            f"{LOSSES[self.loss]}; it leans on these distributions more than added noise does."
        )
        merged = (
            f"Of {self.answers:,} possible answers {self.runs:,} runs are told apart: the program is too large for all."
        )
        return (why, self._least, *((merged,) if self.runs < self.answers else ()), LEANS_ON, ALONE)

    @property
    def _least(self) -> str:
        """Return how near the channel is to the least error that there is."""
        any_other = "any mechanism can have that sees the data only through this answer"
        if self.loss == "squared":  # other outputs than answers might have a smaller one
            any_other += " and releases one of its values"
        found = f"The {LOSSES[self.loss]}, {self.prior}, is"
        if self.kind == "estimate":
            any_other += ", if the distributions, which are an estimate, are right"
        if self.gap <= AT_THE_LIMIT:
            return f"{found} {number_text(self.error)}: the least that {any_other}."
        return (
            f"{found} {upper_text(self.error)}; the least that {any_other} is at least {lower_text(self.bound)} "
            f"({self._left})."
        )

    @property
    def section(self) -> Section:
        """Return what each output tells: the likeliest ones, in their order."""
        pairs = list(dict.fromkeys(each.pair for each in self.meanings))
        one = len(pairs) == 1
        told = f"how far it moves the odds of {pairs[0]}" if one else "the two secrets whose odds it moves most"
        rows = [
            (number_text(each.output), percent_text(each.chance), *(() if one else (each.pair,)), each.factor_text)
            for each in self.meanings
        ]
        left = self.outputs - len(rows)
        table = Table(
            caption=f"What an answer tells: {told}",
            header=("answer", "how often", *(() if one else ("secrets",)), "odds of the first"),
            rows=rows,
            numbers=(0, 1),
            more=f"{left:,} more outputs, each of them rarer." if left > 0 else "",
        )
        return Section(title="What an answer tells", id="meaning", blocks=(table,), folded=True)

    def to_json(self) -> Json:
        """Return the facts as plain values."""
        return {
            "loss": self.loss,
            "prior": self.prior,
            "value": self.value,
            "error": self.error,
            "bound": self.bound,
            "answers": self.answers,
            "runs": self.runs,
            "outputs": self.outputs,
            "meanings": [
                {**asdict(each), "factor": each.factor if math.isfinite(each.factor) else None}
                for each in self.meanings
            ],
            "prices": self.prices,
        }
