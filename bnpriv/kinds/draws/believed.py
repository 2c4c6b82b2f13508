"""How far draws of a posterior carry the law of an answer given a secret (docs/claims/belief.md)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.networks.base import drivers
from bnpriv.core.secrets import Interval
from bnpriv.errors import NetworkError, Refusal
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.draws.answers import AnswerSampler, AnswerSource
from bnpriv.kinds.draws.conditions import Condition, SecretSide, side_words
from bnpriv.kinds.draws.parameter_draws import largest_shape, tail_shape
from bnpriv.text import and_text, number_text, some_text, upper_percent

LEAST_EFFECTIVE = 100
"""Independent draws that those of a posterior in a secret must be worth."""


def effective_of(
    source: AnswerSource, condition: Condition | None, side: SecretSide | None, share: float
) -> float | None:
    """Return how many independent draws of a posterior the law given a secret rests on; None if it rests on none.

    Where tables are drawn and those with the secret kept, of a property or of a parameter that has no draws and no
    density, `share` says how many were kept. A draw counts by its own weight times the share that is kept below it,
    which is at most 1: so all are worth at least the sum of these weights over the largest own one.
    """
    if not isinstance(source, AnswerSampler) or source.believed is None:
        return None
    drawn = source.believed
    read = frozenset(source.columns).union(() if condition is None else condition.columns)
    behind = _behind(source.network, drivers(source.network, read))
    # whether chains have never moved in a parameter that takes no value twice
    known = () if drawn.posterior.independent else (name for name in behind if name in drawn.values)
    if any(source.network.parameters[name].is_continuous and not np.ptp(drawn.values[name]) for name in known):
        return float(drawn.chains)
    if condition is not None and isinstance(side, Interval) and drawn.values.keys() & set(condition.parameters):
        return drawn.effective(condition.name, side.low, side.high, behind)
    correlated = min([1.0, drawn.weight_share, *(drawn.share(each) for each in behind.intersection(drawn.values))])
    rare = None if condition is None or side is None else source.rare(condition, side)
    if rare is not None:
        above = source.network.graph.ancestral(condition.parameters if condition is not None else ())
        return rare.size * min([correlated, *(drawn.share(each) for each in above.intersection(drawn.values))])
    every = drawn.size(np.arange(drawn.draws)) if condition is None else drawn.sum_of_weights * share
    return every * correlated


def _behind(network: DensityNetwork, driving: Iterable[str]) -> frozenset[str]:
    """Return the parameters that columns depend on, up to those that have draws."""
    known = frozenset[str]() if network.drawn is None else network.drawn.parameters
    found, todo = set[str](), list(driving)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += () if name in known else network.parameters[name].parents
    return frozenset(found)


def size_refusal(
    source: AnswerSource, condition: Condition | None, side: SecretSide | None, size: float | None
) -> Refusal | None:
    """Return why too few draws of a posterior lie in a secret, or None if there are enough."""
    if size is None or not isinstance(source, AnswerSampler) or source.believed is None:
        return None
    drawn, name = source.believed, "the model" if condition is None else condition.name
    own = condition is None or bool(drawn.values.keys() & set(condition.parameters))
    where = name if side is None else f"{name} in {side_words(side)}"
    if _is_number(source, condition, side) and own:
        return None  # a single value is refused for what it is
    if size < LEAST_EFFECTIVE:
        return Refusal(
            required=f"draws of the posterior in a secret must be worth {LEAST_EFFECTIVE} independent ones",
            found=f"{where}: {_worth(size)} of {drawn.draws:,}",
            remedy=_more(drawn.draws, size),
            headline=_headline(where, drawn.draws, size, LEAST_EFFECTIVE),
        )
    decided = _tail_refusal(source, condition, side, where)
    if decided is not None:
        return decided
    wanted, confidence = source.sampling.draws, source.sampling.confidence
    if confidence is not None and not own:
        return Refusal(
            required="with a confidence what is protected needs draws of its own",
            found=f"none of {name}, below draws of others",
            remedy="Leave out the confidence, for an estimate, or pass draws of it too.",
        )
    if confidence is not None and size < wanted:
        return Refusal(
            required="with a confidence every draw of the posterior is used once, so that tables are independent",
            found=f"{where}: {_worth(size)} for {wanted:,} tables",
            remedy=f"Draw fewer tables: network.with_sampling(draws={math.floor(size)}, confidence={confidence:g}). "
            f"{_more(drawn.draws, size, wanted)}",
            headline=_headline(where, drawn.draws, size, wanted),
        )
    return None


def _tail_refusal(
    source: AnswerSampler, condition: Condition | None, side: SecretSide | None, where: str
) -> Refusal | None:
    """Return why a few weights decide a law, or None if draws count alike or the largest do not."""
    for weights in _weights(source, condition, side):
        shape, most = tail_shape(weights), largest_shape(int(np.count_nonzero(weights)))
        if not shape <= most:
            return Refusal(
                required=f"the largest weights of draws must not decide: their Pareto shape must be at most {most:.2f}",
                found=f"{where}: {shape:.2f}, so that weights of draws that were not met may count for more",
                remedy="Pass draws of a distribution that is wider where the weights are large, or draws of the "
                "parameter that "
                "is protected, or choose an interval in which its density is bounded.",
            )
    return None


def _weights(source: AnswerSampler, condition: Condition | None, side: SecretSide | None) -> list[FloatArray]:
    """Return the weights that a law given a secret rests on; none where all draws count alike."""
    rare = None if condition is None or side is None else source.rare(condition, side)
    if rare is not None:
        return [rare.weights, rare.by_draw]
    drawn = source.believed
    if drawn is None or drawn.weights is None:
        return []
    if condition is not None and isinstance(side, Interval) and drawn.values.keys() & set(condition.parameters):
        return [drawn.weights[drawn.inside(condition.name, side.low, side.high)]]
    return [drawn.weights]


def _is_number(source: AnswerSampler, condition: Condition | None, side: SecretSide | None) -> bool:
    """Return whether a secret is one value of a parameter that may be any number."""
    if condition is None or not isinstance(side, Interval) or side.low < side.high:
        return False
    found = [source.network.parameters[name] for name in condition.parameters]
    return bool(found) and all(parameter.states is None for parameter in found)


def _worth(size: float) -> str:
    return f"draws worth {number_text(size)}"


def _headline(where: str, draws: int, size: float, wanted: int) -> str:
    few = f"{math.floor(size):,} useful draw{'s' * (math.floor(size) != 1)}" if size else "No draw"
    take = f"take {_take(draws, size, wanted):,} of the posterior" if size else "choose a more probable secret"
    return f"{few} of {where} where {wanted:,} are needed: {take}"


def _take(draws: int, size: float, wanted: int = LEAST_EFFECTIVE) -> int:
    """Return of how many draws so many of a secret would be useful, where of `draws` there are `size`."""
    return math.ceil(draws * wanted / size)


def _more(draws: int, size: float, wanted: int = LEAST_EFFECTIVE) -> str:
    if size == 0:
        return (
            "No draw lies in it: choose a wider or a more probable interval, or pass draws of a distribution that is "
            "wider there with log_weights=."
        )
    return (
        f"Take about {_take(draws, size, wanted):,} draws of the posterior, choose a wider interval, or pass "
        "draws of a distribution that is wider there with log_weights=."
    )


def draws_needed(network: DensityNetwork, name: str, low: float, high: float) -> int:
    """Return how many draws of the posterior, such as there are, a secret takes: that a parameter is in a range.

    Raises
    ------
    NetworkError
        If it is not read as a belief from draws of that parameter, or none of them is in the range.
    """
    drawn = network.drawn
    believed = drawn is not None and drawn.reading == "belief" and name in drawn.values
    size = drawn.effective(name, low, high, _behind(network, _driving(network))) if drawn and believed else 0.0
    if drawn is None or not size:
        raise NetworkError(
            "draws are counted in a range of a parameter of a belief that has some there",
            found=f"none of {name!r} from {low:g} to {high:g}",
            remedy="Choose a wider range." if believed else 'Read the model with reading="belief" and draws of it.',
        )
    return _take(drawn.draws, size)


MOST_FORETOLD = 100
"""Parameters of which it is foretold how much of the posterior a secret must hold: chains are long."""


def foretold(network: DensityNetwork) -> str:
    """Return how much of a posterior must lie in a secret, about, for its draws to be enough; empty without a belief.

    A secret holds a share of the draws, of which as many are independent as of the parameter, and of those that drive
    the columns, which are asked about.
    """
    drawn = network.drawn
    if drawn is None or drawn.reading == "models":
        return ""
    names = [name for name in network.attributes if name in drawn.values][:MOST_FORETOLD]
    behind = [name for name in names if name in _behind(network, _driving(network))]
    every = drawn.size(np.arange(drawn.draws)) * min([1.0, drawn.weight_share, *map(drawn.share, behind)])
    worth = {name: min(every, drawn.draws * drawn.share(name)) for name in names}
    shares: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: -worth[name]):
        enough = worth[name] >= LEAST_EFFECTIVE
        share = f"about {upper_percent(LEAST_EFFECTIVE / worth[name])}" if enough else "more than all"
        shares.setdefault(share, []).append(name)
    told = [f"{share} ({some_text(members, 2)})" for share, members in shares.items()]
    shown = and_text(told if len(told) < 4 else [*told[:2], told[-1]])
    return (
        f"{LEAST_EFFECTIVE} useful draws, that is of these {drawn.draws:,} {shown}. "
        "network.draws_needed(name, low, high) counts how many yours takes."
    )


def _driving(network: DensityNetwork) -> frozenset[str]:
    return drivers(network, network.reading.columns)


def shared_refusal(sources: Iterable[AnswerSource]) -> Refusal | None:
    """Return why the laws of two models carry no confidence together: both lie below the same draws."""
    believed = [source.believed for source in sources if source.sampling.confidence is not None]
    drawn = [each for each in believed if each is not None]
    if not any(first.shares(second) for first, second in itertools.combinations(drawn, 2)):
        return None
    return Refusal(
        required="with a confidence the two models of a pair need draws of their own",
        found="the same draws of a posterior below both",
        remedy="Give every model other draws, each used once, or leave out the confidence, for an estimate.",
    )


def confidence_refusal(network: DensityNetwork) -> Refusal | None:
    """Return why laws from draws of a posterior carry no confidence, or None if they do."""
    drawn = network.drawn
    if drawn is None or drawn.reading == "models" or network.sampling.confidence is None:
        return None
    if drawn.log_weights is not None:
        return Refusal(
            required="a confidence needs draws of the posterior itself",
            found="weighted draws of another distribution",
            remedy="Leave out the confidence, for an estimate.",
        )
    if drawn.posterior.independent:
        return None
    return Refusal(
        required="a confidence needs independent draws of the posterior",
        found="draws of Markov chains, which depend on each other",
        remedy="Leave out the confidence, for an estimate, or pass draws of a conjugate posterior with "
        "independent=True.",
    )
