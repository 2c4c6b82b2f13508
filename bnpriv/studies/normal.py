"""Made-up tables of jointly normal records, and of columns that are normal about jointly normal parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import Refusal, SecretError
from bnpriv.evidence.normal import LinearForm
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.studies.parameters import Assumed
from bnpriv.tables.schema import Schema


def normal_records(
    network: GaussianNetwork,
    schema: Schema,
    properties: Mapping[str, Query],
    secret: Assumed,
    model: int,
    random: np.random.Generator,
) -> tuple[dict[str, FloatArray], float | None]:
    """Draw records of a joint normal law, given a value of a linear property of their table.

    Parameters
    ----------
    network : GaussianNetwork
    schema : Schema
        Its number of records is that of the table.
    properties : mapping from str to Query
        Of every protected column.
    secret : mapping from str to a number or the two ends of an interval
        The value of one of the properties, or nothing.
    model : int
    random : numpy.random.Generator

    Returns
    -------
    columns : dict from str to ndarray of shape (records,)
        Before they are clamped.
    probability : float or None
        Of the interval; None for a single value, and for nothing.

    Notes
    -----
    A table with another value of the property is moved to the one that is wanted, every record by the same vector.
    """
    drawn = (
        network.mean[model] + random.standard_normal((schema.records, network.root.shape[2])) @ network.root[model].T
    )
    if not secret:
        return dict(zip(network.attributes, drawn.T, strict=True)), None
    ((name, known),) = secret.items()
    linear = LinearForm.of(normal_form(properties[name], schema))
    if isinstance(linear, Refusal):
        raise linear.error()
    named = dict(zip(linear.columns, linear.weights[0], strict=True))
    weights = np.array([float(named.get(attribute, 0)) for attribute in network.attributes])
    low, high = ends_of(name, known)
    carried = weights @ network.covariance[model]
    centre = float(weights @ network.mean[model]) + float(linear.constant[0])
    value, share = _between(low, high, centre, math.sqrt(carried @ weights / schema.records), random)
    moved = carried / (carried @ weights) * (value - float(weights @ drawn.mean(axis=0)) - float(linear.constant[0]))
    return dict(zip(network.attributes, (drawn + moved).T, strict=True)), share


def normal_parameters(
    network: GaussianNetwork, secret: Assumed, model: int, random: np.random.Generator
) -> tuple[dict[str, float], float | None]:
    """Draw the parameters of a linear-Gaussian network given the value of one of them, or where it lies.

    Parameters
    ----------
    network : GaussianNetwork
    secret : mapping from str to a number or the two ends of an interval
        Of one parameter, or nothing.
    model : int
    random : numpy.random.Generator

    Returns
    -------
    parameters : dict from str to float
    probability : float or None
        Of the interval; None for a single value, and for nothing.
    """
    numbers = random.standard_normal((1, network.root.shape[2]))
    drawn: FloatArray = network.mean[model] + (numbers @ network.root[model].T)[0]
    share = None
    for name, known in secret.items():
        place = network.attributes.index(checks.member("an attribute", name, network.attributes, error=SecretError))
        low, high = ends_of(name, known)
        carried = network.covariance[model][place]
        value, share = _between(low, high, float(network.mean[model][place]), math.sqrt(carried[place]), random)
        drawn = drawn + carried / float(carried[place]) * (value - float(drawn[place]))
    return {each: float(drawn[k]) for k, each in enumerate(network.attributes)}, share


def ends_of(name: str, known: object) -> tuple[float, float]:
    """Return the ends of what is assumed of a number.

    Raises
    ------
    SecretError
        If it is no number and no interval.
    """
    ends = list(cast("Sequence[object]", known)) if isinstance(known, (list, tuple)) else [known, known]
    numbers = [checks.number(f"the secret about {name!r}", end, error=SecretError) for end in ends]
    if len(numbers) != 2 or not numbers[0] <= numbers[1]:
        raise SecretError(
            f"the secret about {name!r} must be a number, or the two ends of an interval",
            found=listing(numbers),
            remedy=f'Write secret={{"{name}": (30, 40)}}.',
        )
    return numbers[0], numbers[1]


def _between(
    low: float, high: float, centre: float, deviation: float, random: np.random.Generator
) -> tuple[float, float | None]:
    """Draw a normal number given that it lies between two others; return it and how probable that is."""
    if low == high:
        return low, None
    from scipy.special import ndtr, ndtri

    ends: NDArray[np.float64] = (np.array([low, high]) - centre) / deviation
    flip = -1.0 if ends[0] > 0 else 1.0  # the lower tail keeps its digits
    below, above = sorted(float(tail) for tail in ndtr(flip * ends))
    if not above > below:
        raise SecretError(
            "the secret must have positive probability",
            found="an interval out of reach of the model",
            remedy="Choose values that the model allows.",
        )
    drawn = centre + deviation * flip * float(ndtri(random.uniform(below, above)))
    return min(max(drawn, low), high), above - below
