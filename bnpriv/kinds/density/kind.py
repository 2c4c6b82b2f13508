"""Networks of densities: parameters with any law, and columns that are drawn given them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.protected import ProtectedSecret, interval_secret
from bnpriv.core.networks.base import Forward, Network
from bnpriv.core.queries.builtin import Count, Difference, Proportion
from bnpriv.core.queries.contribution import answers
from bnpriv.core.queries.normal_form import normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Apart, IntervalPair, Pair, Secret, chosen_intervals, interval_pair, of_values
from bnpriv.errors import BnprivError, NetworkError, SecretError
from bnpriv.kind import NetworkKind
from bnpriv.kinds.density.network import DensityNetwork, Parameter

SUGGESTED_FROM = 2000
"""Draws of a parameter from which intervals are suggested."""

SUGGESTED_TABLES, MOST_SUGGESTED_NUMBERS = 500, 2**20
"""Number of tables from which ranges of a property are suggested, and the numbers they may hold in all."""

LEAST_SUGGESTED = 0.02
"""Least frequency of a suggested interval among the values."""

MOST_PAIRS = 4


def neighbours_text(values: FloatArray, distance: float, *, touching: bool) -> str:
    """A declaration of pairs of adjacent intervals, each as long as a given distance.

    Parameters
    ----------
    values : ndarray of shape (draws,)
        As they are drawn; intervals that are rare among them are left out.
    distance : float
    touching : bool
        Whether intervals may have an end in common; otherwise there is a small gap, of one where values are whole.

    Returns
    -------
    str
        Empty if no two intervals next to each other come up often enough.

    Examples
    --------
    >>> neighbours_text(np.linspace(0, 3, 1000), 1.0, touching=True)
    'bnpriv.intervals(((0, 1), (1, 2)), ((1, 2), (2, 3)))'
    >>> neighbours_text(np.arange(100.0), 20.0, touching=False)[:46]
    'bnpriv.intervals(((0, 19), (20, 39)), ((20, 39'
    """
    finite = values[np.isfinite(values) & (np.abs(values) < distance * 2.0**50)]
    cells, counts = np.unique(np.floor(finite / distance), return_counts=True)
    often = {int(cell) for cell, count in zip(cells, counts, strict=True) if count >= LEAST_SUGGESTED * len(values)}
    middle = float(np.median(finite)) / distance if len(finite) else 0.0
    pairs = sorted((cell for cell in often if cell + 1 in often), key=lambda cell: abs(cell + 1 - middle))
    whole = bool((values == np.round(values)).all()) and distance >= 2 and distance == round(distance)
    gap = 0.0 if touching else 1.0 if whole else distance / 1000

    def interval(cell: int) -> str:
        # the two sides must be disjoint where the property takes single values
        return f"({cell * distance:.9g}, {(cell + 1) * distance - gap:.9g})"

    chosen = (f"({interval(cell)}, {interval(cell + 1)})" for cell in sorted(pairs[:MOST_PAIRS]))
    listed = ", ".join(chosen)
    return f"bnpriv.intervals({listed})" if listed else ""


def suggested_ranges(secret: Secret, schema: Schema, forward: Forward) -> str:
    """Adjacent ranges of a given length that occur in drawn tables; empty if none are known.

    Parameters
    ----------
    secret : Secret
        Whose values are to be so far apart that pairs could not be listed.
    schema : Schema
    forward : Forward
        The model that draws tables.
    """
    names = tuple(sorted(secret.property.columns))
    tables = min(SUGGESTED_TABLES, MOST_SUGGESTED_NUMBERS // (schema.records * len(names)))
    columns = [schema[name] for name in names]
    in_words = any(isinstance(each, Categorical) and str in map(type, each.categories) for each in columns)
    if not isinstance(secret.pairs, Apart) or not tables or in_words:  # the columns of a model are drawn as numbers
        return ""
    try:
        drawn = forward.simulate(names, tables, seed=0, given={}, records=schema.records)
        values = answers(normal_form(secret.property, schema), {name: drawn[name] for name in names})
    except BnprivError:  # what cannot be drawn is refused where draws are needed
        return ""
    return neighbours_text(values.reshape(-1), secret.pairs.at_most, touching=False)


def refuse_unknown(network: Network, name: object) -> None:
    """Refuse what cannot be protected although a model knows it: as an unknown name the remedy would not help.

    Raises
    ------
    SecretError
        If it is a function of parameters, a parameter that is fixed to draws, or a vector as a whole.
    """
    if not isinstance(name, str):
        return
    stem, entries = name.partition("[")[0], [each for each in network.attributes if each.startswith(f"{name}[")]
    if network.reading.functions & {name, stem}:
        raise SecretError(
            "a function of parameters can be protected where there are draws of it, read as a belief",
            found=f"the Deterministic {name!r} of a model that is read otherwise",
            remedy='Read the model by from_pymc(model, posterior=idata, reading="belief"), where idata holds draws of '
            f"{name!r}; under the priors, by posterior=pymc.sample_prior_predictive(4000, model=model).prior with "
            f'reading="belief", independent=True. Or protect a parameter: {listing(network.attributes, 6)}.',
        )
    if stem in {node.name.partition("[")[0] for node in network.reading.nodes if node.role == "fixed"}:
        raise SecretError(
            "what is protected must not be fixed to draws of a posterior",
            found=f"{name!r}, which is in this network",
            remedy="Read the model by from_pymc(model, posterior=idata) without fix=, or without it among the names, "
            "and protect it in DistributionalAttributePrivacy.",
        )
    if entries:
        raise SecretError(
            "of a vector single entries can be protected",
            found=f"{name!r}, which has the entries {listing(entries, 6)}",
            remedy=f"Name an entry, for example {entries[0]!r}, or several, each with its secrets.",
        )


def require_property(name: str, secret: Secret, schema: Schema, forward: Forward | None) -> None:
    """Refuse a property of a table whose law is not known: of normal columns, or where a model draws whole tables.

    Raises
    ------
    SecretError
        If it is no number of a normal law, or draws could not be collected for each secret of a pair.
    """
    if secret.of_cells:
        raise SecretError(
            "several counts at once are hidden where every record is in one of finitely many cells, by itself",
            found=f"{secret.property} over a network that is none of records with states",
            remedy="Hand on a private table, which needs no model: private_table(secret, data, epsilon, delta, "
            "schema=schema).",
        )
    if forward is None and isinstance(secret.property, (Count, Proportion, Difference)):
        raise SecretError(
            f"the secret of {name!r}, whose law is normal, must be a mean, a total or a linear",
            found=str(secret.property),
            remedy=f"Write Secret(mean({name!r}), pairs=apart(at_most=5)).",
        )
    if forward is None and secret.pairs is None:
        raise SecretError(
            f"the secret of {name!r} needs a distance: any two values of a normal number cannot be hidden",
            found="all pairs of values",
            remedy="Pass pairs=apart(at_most=5), or pairs=intervals(((30, 40), (50, 60))).",
        )
    if forward is not None and isinstance(secret.pairs, Apart | None):
        text = suggested_ranges(secret, schema, forward)
        raise SecretError(
            f"the pairs of {name!r}, a property of drawn tables, must be chosen one by one: the law of an answer is "
            "learned from tables that have a value, and such pairs hold values that come up in no table",
            found=str(secret),
            remedy=f"Choose ranges that come up often enough, pairs={text or 'intervals(((30, 40), (50, 60)))'}, or "
            "values, pairs=pairs((40, 50)).",
        )
    if not isinstance(secret.pairs, Apart | None) and any(math.isinf(pair.farthest) for pair in secret.pairs.chosen):
        raise SecretError(
            "values of a property are numbers", found="something else among the chosen ones", remedy="Give numbers."
        )


def _pairs(network: DensityNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    if isinstance(given, Apart):
        raise _no_distance(network, attribute, given)
    # under a model that a draw is, what is protected has its law in the model, not that of the draws
    believed = network.drawn is not None and network.drawn.reading == "belief"
    drawn = network.drawn.values.get(attribute) if network.drawn is not None and believed else None
    return _interval_pairs(network.parameters[attribute], given, drawn)


def _interval_pairs(parameter: Parameter, given: object, drawn: FloatArray | None = None) -> tuple[IntervalPair, ...]:
    """The pairs of secrets of a parameter of a network of densities: as declared, or all pairs of its states.

    Intervals may share an end where the parameter takes every single value with probability zero, or is known by draws
    alone and none of them is that end: it can then be dropped from one of the two without any change.

    Raises
    ------
    SecretError
        If it has no pairs of intervals or states.
    """
    states = parameter.states or ()
    found = chosen_intervals(given)
    if found is not None:
        touching = next((pair for pair in found if pair.touches and _may_be_shared(parameter, pair, drawn)), None)
        if touching is not None:
            raise SecretError(
                f"the secrets of a pair must be disjoint where a value may be taken often, as by {parameter.name!r}",
                found=f"{touching}, which have the end {_shared(touching):g} in common",
                remedy=f"Leave that end out of one of them, as in {_apart_text(touching)}.",
            )
        return found
    if given is None and len(states) > 1:
        return tuple(interval_pair(pair) for pair in itertools.combinations(states, 2))
    raise SecretError(
        f"the secrets of the parameter {parameter.name!r} of a network of densities must be intervals or values",
        found="none" if given is None else checks.type_text(given),
        remedy=f"Protect {{{parameter.name!r}: bnpriv.intervals(((30, 40), (50, 60)))}} for two ranges, with your "
        "own numbers, or bnpriv.intervals((35, 55)) for two values.",
    )


def _shared(pair: IntervalPair) -> float:
    """The end that the intervals of a pair share."""
    return pair.first.high if pair.first.high == pair.second.low else pair.first.low


def _may_be_shared(parameter: Parameter, pair: IntervalPair, drawn: FloatArray | None) -> bool:
    """Whether the shared end of a pair may be a value that occurs."""
    if parameter.is_continuous:
        return False
    return drawn is None or parameter.states is not None or bool(np.any(drawn == _shared(pair)))


def _apart_text(pair: IntervalPair) -> str:
    """The pair written so that the shared end is in one interval only."""
    low, high = sorted((pair.first, pair.second), key=lambda side: side.low)
    end = low.high - 1e-6 * (low.high - low.low)
    return f"bnpriv.intervals((({low.low:g}, {end:.10g}), ({high.low:g}, {high.high:g})))"


def _no_distance(network: DensityNetwork, attribute: str, given: Apart) -> SecretError:
    """Why values so far apart are refused where laws are learned from draws, with intervals to declare."""
    parameter = network.parameters[attribute]
    try:
        drawn = network.simulate((attribute,), SUGGESTED_FROM, seed=0, given={}, records=1)[attribute]
        text = neighbours_text(drawn, given.at_most, touching=parameter.is_continuous)
    except NetworkError:  # what cannot be drawn is refused where draws are needed
        text = ""
    ranges = (
        f"intervals next to each other, for example protect={{{attribute!r}: {text}}}"
        if text
        else "intervals that come up often, or a larger distance"
    )
    return SecretError(
        f"the secrets of {attribute!r} must be intervals: the law of an answer is learned from draws in a secret, and "
        "no two of them have one value",
        found=f"any two values at most {given.at_most:g} apart, infinitely many pairs",
        remedy=f"Declare {ranges}. What is protected is then in which interval it lies, not where in it.",
    )


def _usual_pairs(network: DensityNetwork, attribute: str) -> tuple[Pair, ...]:
    """All pairs of the values of a parameter that has finitely many; nothing for others."""
    parameter = network.parameters[attribute]
    return _interval_pairs(parameter, None) if len(parameter.states or ()) > 1 else ()


def _protected_secret(network: DensityNetwork, attribute: str, secret: str, pairs: Sequence[Pair]) -> ProtectedSecret:
    return interval_secret(attribute, secret, of_values(pairs), network.parameters[attribute].states or ())


DENSITY_KIND = NetworkKind(
    forward=attrgetter("forward"),
    alike=DensityNetwork.alike,
    influence="bnpriv.kinds.density.influence:density_influence",
    losses="bnpriv.kinds.density.influence:density_losses",
    explain="bnpriv.kinds.density.influence:explain_refinement",
    conditional="bnpriv.kinds.density.influence:density_conditional",
    budgeted="bnpriv.kinds.density.influence:unlimited_influence",
    unsupported=DensityNetwork.refusal,
    pairs=_pairs,
    usual_pairs=_usual_pairs,
    protected_secret=_protected_secret,
    laws_of_parameters="bnpriv.kinds.draws.laws:laws_of_densities",
    sampler="bnpriv.lab.sampling.drawn:DensitySampler",
)
