"""What is protected about one attribute, in words: the secret, and which pairs of its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from bnpriv.core.networks.base import Network
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Count, Difference, Linear, Mean, Proportion
from bnpriv.core.queries.predicates import Comparison, Predicate
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import (
    Apart,
    ContinuousPair,
    IntervalPair,
    Pair,
    Secret,
    SecretPair,
    ValuesApart,
    of_states,
    of_values,
)
from bnpriv.kind import kind_of
from bnpriv.text import Json, and_text, full_text, name_text, visible

MOST_NAMED_PAIRS = 6
"""The most pairs of secrets that are named."""

ALL_PAIRS = "all pairs"

MOST_NAMED_VALUES = 6
"""The most values that are named."""


@dataclass(frozen=True, kw_only=True)
class ProtectedSecret:
    """What is protected about one attribute.

    Parameters
    ----------
    attribute : str
        The protected attribute.
    secret : str
        What must not be learned, as a noun: "the number of records with ill = yes in this table".
    pairs : str
        Which pairs of its values are protected: "all pairs", "values at most 1 apart", "low against high".
    distance : float, optional
        In the secret's unit, how far apart the two values of a protected pair may be at most, where the pairs are
        chosen by their distance.
    bounds_belief : bool
        Whether the odds of every secret against all other values are bounded, and so the belief in it. So it is where
        all pairs are protected; where only some are, a belief in one value against all others may move further.
    """

    attribute: str
    secret: str
    pairs: str
    distance: float | None = None
    bounds_belief: bool = False

    def __str__(self) -> str:
        return f"{self.secret} ({self.pairs})"

    @property
    def sentence(self) -> str:
        """What is protected, as a line of its own."""
        return f"{self.secret[:1].upper()}{self.secret[1:]} ({self.pairs})."

    def to_json(self) -> Json:
        """The facts as plain values."""
        return {
            "attribute": self.attribute,
            "secret": self.secret,
            "pairs": self.pairs,
            "distance": self.distance,
            "bounds_belief": self.bounds_belief,
        }


def pairs_secret(network: Network, attribute: str, secret: str, pairs: Sequence[Pair]) -> ProtectedSecret:
    """What is protected about an attribute, in the words of the network's kind."""
    return kind_of(network).protected_secret(network, attribute, secret, pairs)


def secret_by_states(network: Network, attribute: str, secret: str, pairs: Sequence[Pair]) -> ProtectedSecret:
    """What is protected about an attribute: pairs of its states, or of values where it is continuous."""
    states = network.states.get(attribute)
    if states is None:
        return interval_secret(attribute, secret, of_values(pairs), ())
    return state_secret(attribute, secret, of_states(pairs), states)


def state_secret(attribute: str, secret: str, pairs: Sequence[SecretPair], states: Sequence[object]) -> ProtectedSecret:
    """What is protected about an attribute with finitely many states."""
    whole = len(pairs) == len(states) * (len(states) - 1) and all(pair.is_point for pair in pairs)
    return ProtectedSecret(
        attribute=attribute,
        secret=secret,
        pairs=_all_text(states) if whole else chosen_text(pairs),
        bounds_belief=whole or bounds_belief(pairs, states),
    )


def _all_text(states: Sequence[object]) -> str:
    if len(states) > MOST_NAMED_VALUES:
        return f"{ALL_PAIRS} of its {len(states)} values"
    shown = [name_text(str(state)) for state in states]
    return " against ".join(shown) if len(shown) == 2 else f"{ALL_PAIRS} of {and_text(shown)}"


def chosen_text(pairs: Iterable[Pair]) -> str:
    """Chosen pairs of secrets in words, each in one direction."""
    reverse: set[Pair] = set()
    named: list[str] = []
    for pair in pairs:
        if pair not in reverse:
            named.append(visible(str(pair)))
            reverse.add(pair.reverse)
    more = [f"{len(named) - MOST_NAMED_PAIRS} more pairs"] if len(named) > MOST_NAMED_PAIRS else []
    return and_text([*named[:MOST_NAMED_PAIRS], *more])


def bounds_belief(pairs: Iterable[SecretPair], states: Iterable[object]) -> bool:
    """Whether for every secret its complement is a union of secrets that it is paired with.

    Then the odds of the secret against its complement are an average of odds that are bounded.
    """
    every = frozenset(states)
    partners: dict[frozenset[object], set[frozenset[object]]] = {}
    for pair in pairs:
        partners.setdefault(frozenset(pair.first), set()).add(frozenset(pair.second))
    return bool(partners) and all(_made_up(every - side, found) for side, found in partners.items())


def _made_up(rest: frozenset[object], parts: set[frozenset[object]]) -> bool:
    """Whether a set is one of `parts`, or the disjoint union of those of them that contain no other."""
    least = [part for part in parts if not any(other < part for other in parts)]
    return rest in parts or (sum(map(len, least)) == len(rest) and frozenset().union(*least) == rest)


def interval_secret(
    attribute: str, secret: str, pairs: Sequence[ContinuousPair], states: Sequence[float]
) -> ProtectedSecret:
    """What is protected about a parameter that is continuous, or has finitely many numeric `states`."""
    first = pairs[0]
    if isinstance(first, ValuesApart):
        return ProtectedSecret(
            attribute=attribute,
            secret=secret,
            pairs=f"values at most {full_text(first.farthest)} apart",
            distance=first.farthest,
        )
    points = {frozenset((pair.first.low, pair.second.low)) for pair in pairs if not isinstance(pair, ValuesApart)}
    every = {frozenset(pair) for pair in combinations(states, 2)}
    whole = bool(every) and all(pair.is_point for pair in pairs) and every <= points
    chosen = _all_text([f"{state:g}" for state in states]) if whole else chosen_text(pairs)
    return ProtectedSecret(attribute=attribute, secret=secret, pairs=chosen, bounds_belief=whole)


def property_secret(secret: Secret, schema: Schema, *, bounded: bool = True) -> ProtectedSecret:
    """What is protected about a property of the table; not `bounded` where its values may be any number."""
    noun = f"{property_text(secret.property)} in this table"
    if secret.of_cells:
        cells = and_text([name_text(name) for name in sorted(secret.property.columns)])
        some = f"at most {int(min(secret.pairs.at_most, schema.records)):,}" if isinstance(secret.pairs, Apart) else ""
        return ProtectedSecret(
            attribute=secret.column,
            secret=f"how many records of this table fall into each cell of {cells}",
            pairs=f"{some} records in other cells" if some else f"{ALL_PAIRS} of values",
            bounds_belief=not some,
        )
    if secret.pairs is None:
        return ProtectedSecret(attribute=secret.column, secret=noun, pairs=f"{ALL_PAIRS} of values", bounds_belief=True)
    if isinstance(secret.pairs, Apart):
        return ProtectedSecret(
            attribute=secret.column,
            secret=noun,
            pairs=f"values at most {full_text(secret.pairs.at_most)} apart",
            distance=secret.pairs.at_most,
            bounds_belief=bounded and secret.pairs.at_most >= _span(secret, schema),
        )
    chosen = secret.pairs.chosen
    values = {value for side in _sides(chosen) for value in side}
    every = range(schema.records + 1) if isinstance(secret.property, Count) else range(0)
    both = [way for pair in chosen if isinstance(pair, SecretPair) for way in (pair, pair.reverse)]
    return ProtectedSecret(
        attribute=secret.column,
        secret=noun,
        pairs=chosen_text(chosen),
        bounds_belief=len(values) == len(every) and values == set(every) and bounds_belief(both, every),
    )


def _sides(chosen: Iterable[SecretPair | IntervalPair]) -> list[frozenset[object]]:
    """The sides of chosen pairs that are sets of values."""
    return [frozenset(side) for pair in chosen if isinstance(pair, SecretPair) for side in (pair.first, pair.second)]


def property_text(query: Query) -> str:
    """A property of the table as a noun phrase."""
    if isinstance(query, (Count, Proportion)):
        what = "number" if isinstance(query, Count) else "share"
        return f"the {what} of records with {predicate_text(query.predicate)}"
    if isinstance(query, Difference):
        first, second = (predicate_text(part.predicate) for part in query.parts)
        if isinstance(query.parts[0], Count):
            return f"how many more records have {first} than {second}"
        return f"how much larger the share of records with {first} is than that with {second}"
    if isinstance(query, Linear):
        return f"the weighted mean {visible(str(query))}"
    what = "mean" if isinstance(query, Mean) else "total"
    return f"the {what} of {and_text([name_text(name) for name in sorted(query.columns)])}"


def predicate_text(predicate: Predicate) -> str:
    """A condition in words.

    Examples
    --------
    >>> from bnpriv.core.queries.predicates import col
    >>> predicate_text(col("ill") == "yes"), predicate_text(col("age") > 3)
    ('ill = yes', 'age > 3')
    """
    if isinstance(predicate, Comparison) and predicate.operator == "==":
        return f"{name_text(predicate.column)} = {name_text(str(predicate.value))}"
    return visible(str(predicate))


def _span(secret: Secret, schema: Schema) -> float:
    """The largest distance between two values of a property."""
    lower, upper = answer_range(secret.property, schema)
    return float(upper[0] - lower[0])
