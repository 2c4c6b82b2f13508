"""A stored channel, checked against the laws of its framework: a solver may end at another one on another machine.

docs/claims/optimal.md. All that is said of it is computed again from its rows, and from the prices that are stored with
it. Only the value that the solver reported is taken as it stands, between the bound and the error.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import CertificateError, ParameterError
from bnpriv.mechanisms.optimal_repair import Constraints
from bnpriv.mechanisms.optimal_supports import Optimum, Prices, Question, finest, run_of
from bnpriv.mechanisms.stored import STORED_TOLERANCE, Record, field_of, inner
from bnpriv.noise.channel import Channel

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
        raise _refusal("the rows of a stored channel must keep the laws of its framework alike", "rows that tell more")
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
