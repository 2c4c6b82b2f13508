"""Secrets (states, values, properties of a table) and the pairs of them that must not be told apart."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Protocol, TypeVar, cast

from bnpriv import checks
from bnpriv.checks import listing, member, spelling, type_text
from bnpriv.core.columns import State
from bnpriv.core.networks.base import Network
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Count, CountBy, Crosstab, Difference, Histogram, Linear, Mean, Proportion, Total
from bnpriv.errors import SecretError
from bnpriv.kind import kind_of
from bnpriv.services import service

# --------------------------------------------------------------------------------------------------
# The interface of a pair of secrets, whether these are states, values, or whole distributions.
# --------------------------------------------------------------------------------------------------


class Pair(Protocol):
    """Two secrets of one attribute that must not be told apart; hashable, and compared by value.

    ``str(pair)`` is the pair in words, with few digits.
    """

    @property
    def first(self) -> object:
        """The first secret: a set of states, an interval of values, a distribution."""
        ...

    @property
    def second(self) -> object:
        """The second secret, of the same form."""
        ...

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        ...

    @property
    def is_point(self) -> bool:
        """Whether both secrets are single states or values."""
        ...

    @property
    def farthest(self) -> float:
        """The largest distance between values of the two secrets; inf where they are no numbers."""
        ...

    @property
    def reverse(self) -> Pair:
        """The pair in the other direction."""
        ...

    @property
    def identity(self) -> str:
        """The pair with all digits of its numbers, for hashes."""
        ...

    def __hash__(self) -> int:
        """A hash of both secrets."""
        ...


# --------------------------------------------------------------------------------------------------
# Secrets that are any two values within a distance.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Apart:
    """All pairs of values of a property that are at most this far apart; made by `apart`."""

    at_most: float


def apart(*, at_most: float) -> Apart:
    """Choose all pairs of values of a property that are at most so far apart.

    Parameters
    ----------
    at_most : float
        In the property's own unit, above 0.

    Returns
    -------
    Apart

    Raises
    ------
    ParameterError
        If it is not a finite number above 0.

    Examples
    --------
    >>> apart(at_most=50)
    Apart(at_most=50.0)
    """
    return Apart(checks.positive("at_most", at_most))


# --------------------------------------------------------------------------------------------------
# Pairs of secrets that are sets of states.
# --------------------------------------------------------------------------------------------------

Side = State | Collection[State]

Some = TypeVar("Some")

BETWEEN = " against "

AMBIGUOUS = frozenset("{},[]'\"")
"""Characters that may be part of a state's name or of the text of a pair."""


@dataclass(frozen=True)
class SecretPair:
    """An ordered pair of disjoint secrets, each a set of states of one protected attribute.

    Parameters
    ----------
    first, second : frozenset of states
        "The attribute is in `first`" against "the attribute is in `second`".

    Raises
    ------
    SecretError
        If a side is empty or the two overlap.
    """

    first: frozenset[State]
    second: frozenset[State]

    def __post_init__(self) -> None:
        if not self.first or not self.second:
            raise SecretError("a secret needs a state", found="an empty set", remedy="Name at least one state a side.")
        both = self.first & self.second
        if both:
            raise SecretError(
                "the two secrets of a pair must be disjoint",
                found=f"{listing(sorted(map(str, both)))} in both",
                remedy="Put each state on one side only.",
            )

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        return side_text(self.first), side_text(self.second)

    @property
    def farthest(self) -> float:
        """The largest distance between states of the two secrets; inf where they are no numbers."""
        both = (*self.first, *self.second)
        if any(isinstance(state, (str, bool)) for state in both):
            return math.inf
        try:
            return max(abs(float(a) - float(b)) for a in self.first for b in self.second)
        except OverflowError:  # integers too large for a double
            return math.inf

    @property
    def identity(self) -> str:
        """A text of the pair that no other pair has, for hashes."""
        states = (*self.first, *self.second)
        if all(isinstance(state, str) and BETWEEN not in state and AMBIGUOUS.isdisjoint(state) for state in states):
            return str(self)
        return repr([sorted(map(repr, side)) for side in (self.first, self.second)])

    @property
    def reverse(self) -> SecretPair:
        """The pair in the other direction."""
        return SecretPair(self.second, self.first)

    @property
    def is_point(self) -> bool:
        """Whether both secrets are single states."""
        return len(self.first) == len(self.second) == 1

    def __str__(self) -> str:
        return BETWEEN.join(self.sides)


@dataclass(frozen=True)
class SecretPairs:
    """The pairs of secrets that were chosen for one attribute; made by `pairs`."""

    chosen: tuple[SecretPair, ...]

    def ordered(self, attribute: str, states: Iterable[State]) -> tuple[SecretPair, ...]:
        """Every chosen pair in both directions, each once.

        Raises
        ------
        SecretError
            If a pair names a state that the attribute does not have.
        """
        known = tuple(states)
        for pair in self.chosen:
            unknown = [state for state in (*pair.first, *pair.second) if state not in known]
            if unknown:
                raise SecretError(
                    f"the secrets of {attribute!r} must be among its states {listing(known)}",
                    found=listing(map(repr, unknown)),
                    remedy=spelling(unknown[0], known),
                )
        return tuple(dict.fromkeys(way for pair in self.chosen for way in (pair, pair.reverse)))


def pairs(*chosen: tuple[Side, Side]) -> SecretPairs:
    """Choose which pairs of secrets must not be told apart; both directions always count.

    Parameters
    ----------
    *chosen : tuple of two sides
        A side is a state, or a frozenset (or list) of states that together are one secret.

    Returns
    -------
    SecretPairs

    Raises
    ------
    SecretError
        If there is no pair, a side is empty, or the sides of a pair overlap.

    Examples
    --------
    >>> chosen = pairs(("low", "high"), ("low", frozenset({"middle", "high"})))
    >>> [str(pair) for pair in chosen.chosen]
    ['low against high', 'low against {high, middle}']
    """
    if not chosen:
        raise SecretError("at least one pair of secrets is needed", found="none", remedy="Give pairs, or protect all.")
    for pair in chosen:
        if isinstance(pair, str) or len(pair) != 2:
            raise SecretError("a pair has two sides", found=repr(pair), remedy='Write pairs(("low", "high")).')
    return SecretPairs(tuple(SecretPair(_side(first), _side(second)) for first, second in chosen))


def all_pairs(states: Iterable[State]) -> tuple[SecretPair, ...]:
    """Every ordered pair of two single states."""
    return tuple(SecretPair(frozenset({a}), frozenset({b})) for a, b in permutations(states, 2))


def of_states(pairs: Iterable[Pair]) -> tuple[SecretPair, ...]:
    """Pairs of secrets, checked to be sets of states.

    Raises
    ------
    SecretError
        If one is not.
    """
    return _all_of(pairs, (SecretPair,), "this needs an attribute with finitely many states", "Declare it in steps.")


def _all_of(pairs: Iterable[Pair], kinds: tuple[type[Some], ...], required: str, remedy: str) -> tuple[Some, ...]:
    found: list[Some] = []
    for pair in pairs:
        if not isinstance(pair, kinds):
            raise SecretError(required, found=str(pair), remedy=remedy)
        found.append(pair)
    return tuple(found)


def state_pairs(name: str, states: Iterable[State], chosen: object) -> tuple[SecretPair, ...]:
    """The ordered pairs of secrets of an attribute with finitely many states; all pairs by default.

    Raises
    ------
    SecretError
        If what was chosen are no pairs of states, or a pair names a state that the attribute does not have.
    """
    if chosen is None:
        return all_pairs(states)
    if not isinstance(chosen, SecretPairs):
        raise SecretError(
            f"the secrets of {name!r} must be pairs of its states, or None for all pairs",
            found=type_text(chosen),
            remedy='Write pairs(("low", "high")).',
        )
    return chosen.ordered(name, states)


def side_text(side: frozenset[State]) -> str:
    """A secret in words: the state, or the states between braces."""
    names = sorted(map(str, side))
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _side(side: Side) -> frozenset[State]:
    return frozenset({side}) if isinstance(side, (str, int, float, bool)) else frozenset(side)


# --------------------------------------------------------------------------------------------------
# Secrets of a continuous parameter: values within a distance, or chosen intervals.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """The secret that a parameter lies in a closed interval.

    Parameters
    ----------
    low, high : float
        Equal for a single value; one of them infinite for an interval without an end.
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"[{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class IntervalPair:
    """Two intervals that must not be told apart; both directions count.

    Parameters
    ----------
    first, second : Interval
        Disjoint, but for one end that they may have in common where the parameter is continuous.
    """

    first: Interval
    second: Interval

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        return str(self.first), str(self.second)

    @property
    def reverse(self) -> IntervalPair:
        """The pair in the other direction."""
        return IntervalPair(self.second, self.first)

    @property
    def identity(self) -> str:
        """The pair with all digits of its numbers, for hashes."""
        return repr(self)

    @property
    def farthest(self) -> float:
        """The largest distance between values of the two intervals."""
        return max(self.first.high - self.second.low, self.second.high - self.first.low)

    @property
    def is_point(self) -> bool:
        """Whether both intervals are single values."""
        return self.first.low == self.first.high and self.second.low == self.second.high

    @property
    def touches(self) -> bool:
        """Whether the two intervals share an end, and nothing else."""
        wide = self.first.low < self.first.high and self.second.low < self.second.high
        return wide and (self.first.high == self.second.low or self.second.high == self.first.low)

    def __str__(self) -> str:
        return " against ".join(self.sides)


@dataclass(frozen=True)
class ValuesApart:
    """Any two values that are at most this far apart.

    Parameters
    ----------
    farthest : float
        Above 0; infinite for any two values.
    """

    farthest: float
    is_point = True

    first = "a value"
    """Any value."""

    @property
    def second(self) -> str:
        """Any other value within the distance."""
        return "another" if math.isinf(self.farthest) else f"another at most {self.farthest:g} away"

    @property
    def sides(self) -> tuple[str, str]:
        """Both secrets in words."""
        return self.first, self.second

    @property
    def reverse(self) -> ValuesApart:
        """The same pair: the order of two such values does not matter."""
        return self

    @property
    def identity(self) -> str:
        """The pair with all digits of its distance, for hashes."""
        return repr(self)

    def __str__(self) -> str:
        return "any two values" if math.isinf(self.farthest) else f"two values at most {self.farthest:g} apart"


ContinuousPair = ValuesApart | IntervalPair
"""A pair of secrets of a continuous parameter."""


@dataclass(frozen=True)
class IntervalPairs:
    """The pairs of intervals that were chosen for one parameter; made by `intervals`."""

    chosen: tuple[IntervalPair, ...]


Bounds = tuple[float, float] | float


def intervals(*chosen: tuple[Bounds, Bounds]) -> IntervalPairs:
    """Choose which pairs of intervals of a continuous parameter must not be told apart; both directions count.

    Parameters
    ----------
    *chosen : tuple of two sides
        A side is ``(low, high)``, one of which may be infinite, or a single value.

    Returns
    -------
    IntervalPairs

    Raises
    ------
    SecretError
        If there is no pair, a side is no interval or the whole line, or the sides of a pair meet.

    Notes
    -----
    Two intervals may have one end in common, as ``((0, 0.3), (0.3, 1))``: a continuous parameter takes that value with
    probability zero. For a parameter, or a property of a table, that may take it with more a framework refuses them.

    Examples
    --------
    >>> [str(pair) for pair in intervals(((30, 40), (50, 60)), (35, 55)).chosen]
    ['[30, 40] against [50, 60]', '35 against 55']
    """
    if not chosen:
        raise SecretError("at least one pair of secrets is needed", found="none", remedy="Give pairs of intervals.")
    return IntervalPairs(tuple(interval_pair(pair) for pair in chosen))


def of_values(pairs: Iterable[Pair]) -> tuple[ContinuousPair, ...]:
    """Pairs of secrets, checked to be values or intervals.

    Raises
    ------
    SecretError
        If one is not.
    """
    return _all_of(
        pairs, (ValuesApart, IntervalPair), "this needs a parameter that may be any number", "Protect values."
    )


def value_pairs(name: str, given: object) -> tuple[ContinuousPair, ...]:
    """The pairs of secrets of a continuous parameter.

    Raises
    ------
    SecretError
        If it has neither a distance nor intervals.
    """
    if isinstance(given, Apart):
        return (ValuesApart(given.at_most),)
    found = chosen_intervals(given)
    if found is not None:
        return found
    raise SecretError(
        f"the secrets of the continuous parameter {name!r} need a distance: any two of its values cannot be hidden",
        found="none" if given is None else checks.type_text(given),
        remedy=f"Protect {{{name!r}: bnpriv.apart(at_most=5)}}, bnpriv.pairs((30, 50)), or "
        "bnpriv.intervals(((30, 40), (50, 60))).",
    )


def chosen_intervals(given: object) -> tuple[IntervalPair, ...] | None:
    """The chosen pairs of intervals or of single values; None if neither was chosen."""
    if isinstance(given, IntervalPairs):
        return tuple(dict.fromkeys(given.chosen))
    if isinstance(given, SecretPairs) and all(pair.is_point and _of_numbers(pair) for pair in given.chosen):
        single = (cast("tuple[float, float]", (*pair.first, *pair.second)) for pair in given.chosen)
        return tuple(dict.fromkeys(intervals(*single).chosen))
    return None


def _of_numbers(pair: SecretPair) -> bool:
    return all(isinstance(state, (int, float)) for state in pair.first | pair.second)


def interval_pair(given: object) -> IntervalPair:
    """Two intervals or numbers as a pair of secrets."""
    sides = list(cast("Iterable[object]", given)) if isinstance(given, (tuple, list)) else []
    if len(sides) != 2:
        raise SecretError(
            "a pair has two sides", found="another number", remedy="Write intervals(((30, 40), (50, 60)))."
        )
    first, second = (_interval(side) for side in sides)
    pair = IntervalPair(first, second)
    if first.low <= second.high and second.low <= first.high and not pair.touches:
        raise SecretError(
            "the two secrets of a pair must be disjoint", found=f"{first} and {second}", remedy="Choose others."
        )
    return pair


def _interval(given: object) -> Interval:
    ends = list(cast("Iterable[object]", given)) if isinstance(given, (tuple, list)) else [given, given]
    if len(ends) != 2:
        raise SecretError("an interval has two ends", found=str(len(ends)), remedy="Write (30, 40).")
    # one end may be infinite, in its own direction
    finite = [end for end, way in zip(ends, (-math.inf, math.inf), strict=True) if end != way] or ends
    for end in finite:
        checks.number("an end", end, error=SecretError)
    low, high = (float(cast(float, end)) for end in ends)
    if not low <= high or (len(finite) == 2 and math.isinf(high - low)):
        raise SecretError("an interval needs low <= high", found=f"{low:g} and {high:g}", remedy="Turn it round.")
    return Interval(low, high)


# --------------------------------------------------------------------------------------------------
# Secrets of the table itself: a count, proportion, total or (weighted) mean of a protected column.
# --------------------------------------------------------------------------------------------------

NEAR = Fraction(1, 10**9)
"""Relative distance at which a number still counts as the value of a property it was written for."""


@dataclass(frozen=True)
class Secret:
    """A property of a protected column of the table, and which pairs of its values must not be told apart.

    Parameters
    ----------
    property : Query or str
        A `count`, `proportion`, `total` or `mean`, the difference of two counts or shares, or a `linear`, whose first
        column is the protected one; or the text of one. Also a `histogram`, a `crosstab` or counts by groups: all of
        its counts together, which are at most `k` apart where `k` records in other cells make the one of the other.
    pairs : SecretPairs, IntervalPairs or Apart, optional
        All pairs of values by default; ``bnpriv.apart(at_most=k)`` for values at most `k` apart,
        ``bnpriv.pairs((40, 50), ...)`` for chosen ones, or ``bnpriv.intervals(((30, 40), (50, 60)), ...)`` for chosen
        ranges of them.

    Raises
    ------
    SecretError
        If the property is another query, or pairs are chosen of several counts at once.

    Notes
    -----
    Dataset attribute privacy: definition 3 of Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022).

    Examples
    --------
    >>> import bnpriv as bp
    >>> str(Secret(bp.count(bp.col("income") == "high"), pairs=bp.apart(at_most=50)))
    'count(income == "high"), values at most 50 apart'
    >>> print(Secret(bp.count(bp.col("race") == "A") - bp.count(bp.col("race") == "B"), pairs=bp.apart(at_most=9)))
    count(race == "A") - count(race == "B"), values at most 9 apart
    """

    property: Query
    pairs: SecretPairs | IntervalPairs | Apart | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "property", as_query(self.property))
        if not self.of_cells and not isinstance(self.property, (Count, Proportion, Difference, Total, Mean, Linear)):
            raise SecretError(
                "a secret is a count or proportion, the difference of two, a total, mean or linear, or all counts of a "
                "histogram, a crosstab or groups",
                found=str(self.property),
                remedy='Write Secret(count(col("income") == "high")).',
            )
        if self.pairs is not None and not isinstance(self.pairs, (SecretPairs, IntervalPairs, Apart)):
            raise SecretError(
                "the pairs of a secret are made by apart, pairs or intervals, or left out",
                found=checks.type_text(self.pairs),
                remedy="Write pairs=apart(at_most=50), or pairs=pairs((40, 50)).",
            )
        if self.of_cells and not isinstance(self.pairs, Apart | None):
            raise SecretError(
                "several counts at once are hidden by one distance: how many records lie in other cells",
                found="chosen pairs",
                remedy="Write pairs=apart(at_most=50).",
            )

    @functools.cached_property
    def column(self) -> str:
        """The protected column; of a `linear` or a `crosstab` the one named first, else of several the first by name.

        Whoever declares a framework may name any of several.
        """
        if isinstance(self.property, Linear):
            return self.property.weights[0][0]
        return self.property.axes[0][0] if isinstance(self.property, Crosstab) else min(self.property.columns)

    def is_of(self, name: str) -> bool:
        """Whether it is about a column; of a linear about the first one alone."""
        return name == self.column or (name in self.property.columns and not isinstance(self.property, Linear))

    @functools.cached_property
    def of_cells(self) -> bool:
        """Whether it is several counts at once: how many records are in each of some cells."""
        return isinstance(self.property, (Histogram, Crosstab, CountBy))

    @functools.cached_property
    def touching(self) -> IntervalPair | None:
        """A chosen pair of intervals that share an end, or None."""
        chosen = self.pairs.chosen if isinstance(self.pairs, IntervalPairs) else ()
        return next((pair for pair in chosen if pair.touches), None)

    @functools.cached_property
    def near(self) -> SecretPair | None:
        """A chosen pair of numbers so close that one value may stand for both, or None."""
        chosen = self.pairs.chosen if isinstance(self.pairs, SecretPairs) else ()
        return next((pair for pair in chosen if _meet(pair)), None)

    def __str__(self) -> str:
        if self.pairs is None:
            return f"{self.property}, all pairs of values"
        if isinstance(self.pairs, Apart):
            return f"{self.property}, values at most {self.pairs.at_most:g} apart"
        return f"{self.property}, {checks.listing(self.pairs.chosen)}"


def _meet(pair: SecretPair) -> bool:
    first, second = ([x for x in side if not isinstance(x, (str, bool))] for side in (pair.first, pair.second))
    # a number stands for the values near it, so that one value may be near both
    return any(abs(a - b) <= 2 * float(NEAR) * max(1.0, abs(a), abs(b)) for a in first for b in second)


# --------------------------------------------------------------------------------------------------
# From what users declare about secrets to pairs of secrets.
# --------------------------------------------------------------------------------------------------

Declared = SecretPairs | Apart | IntervalPairs
"""What a user may declare about the secrets of one attribute."""

Protect = str | Iterable[str] | Mapping[str, SecretPairs | Apart | IntervalPairs | None]
"""A protected attribute, several, or several with what must not be told apart."""


def pairs_of(network: Network, attribute: str, given: object) -> tuple[Pair, ...]:
    """The pairs of secrets of an attribute, in the way of the network's kind.

    Parameters
    ----------
    network : network
    attribute : str
    given : SecretPairs, Apart, IntervalPairs or None
        What the user declared.

    Raises
    ------
    SecretError
        If what was declared does not fit the attribute.
    """
    return kind_of(network).pairs(network, attribute, given)


def pairs_by_states(network: Network, attribute: str, given: object) -> tuple[Pair, ...]:
    """Pairs of the states of an attribute, all ordered ones by default; without states it is continuous."""
    states = network.states.get(attribute)
    if states is None:
        return value_pairs(attribute, given)
    return state_pairs(attribute, states, _by_states(attribute, states, given))


def _by_states(attribute: str, states: tuple[State, ...], given: object) -> object:
    """Pairs of intervals turned into pairs of the numeric states inside; anything else unchanged."""
    if not isinstance(given, IntervalPairs) or any(isinstance(state, str) for state in states):
        return given
    sides = [
        tuple(frozenset(s for s in states if side.low <= float(s) <= side.high) for side in (pair.first, pair.second))
        for pair in given.chosen
    ]
    if any(not states_inside for pair in sides for states_inside in pair):
        raise SecretError(
            f"an interval must hold a state of {attribute!r}",
            found="one without a state",
            remedy=f"Its states are {listing(states)}.",
        )
    return pairs(*cast("list[tuple[frozenset[State], frozenset[State]]]", sides))


def usual_pairs(network: Network, attribute: str) -> tuple[Pair, ...]:
    """The pairs that stand for the secrets of an attribute for which none are declared.

    Parameters
    ----------
    network : network
    attribute : str

    Returns
    -------
    tuple of Pair
        All pairs of its states; of an attribute that may be any number nothing by default, in a linear-Gaussian network
        two values as far apart as its largest standard deviation under any model.
    """
    return kind_of(network).usual_pairs(network, attribute)


def protected_names(network: Network, protect: object) -> frozenset[object]:
    """What is protected, by the names of a network.

    Raises
    ------
    SecretError
        If nothing is, or something is named twice.
    """
    return frozenset(_wanted(network, protect))


def secrets_of(network: Network, protect: object) -> dict[str, tuple[Pair, ...]]:
    """The protected attributes with their pairs of secrets.

    Parameters
    ----------
    network : network
    protect : str, iterable of str, or mapping from str to SecretPairs, Apart, IntervalPairs or None
        The protected attributes, with what must not be told apart.

    Raises
    ------
    SecretError
        If nothing is protected, an attribute is unknown, comes twice or has one state, or secrets do not fit.
    """
    wanted = _wanted(network, protect)
    found: dict[str, tuple[Pair, ...]] = {}
    for name, given in wanted.items():
        if name not in network.attributes:
            service("secrets.unknown")(network, name)
        member("a protected attribute", name, network.attributes, error=SecretError)
        found[name] = pairs_of(network, name, given)
        if not found[name]:
            raise SecretError(
                f"the protected attribute {name!r} needs at least two states",
                found="one",
                remedy="Protect another attribute: one state has nothing to hide.",
            )
    return found


def by_own_names(network: Network, query: Query, declared: Collection[str] = ()) -> Query:
    """A query that names columns as a network does; what has no text stays as it is, and what is `declared`."""
    return service("query.renamed")(network.reading, query, declared) if network.reading.axes else query


def _wanted(network: Network, protect: object) -> Mapping[str, object]:
    """The protected attributes by their own names, with what was declared for each, None where nothing was."""
    if not isinstance(protect, (str, Iterable)):
        raise SecretError(
            "protect is a name, a list of names, or a mapping from names to secrets",
            found=type_text(protect),
            remedy='Write protect="income", or protect={"income": pairs(("low", "high"))}.',
        )
    if not protect:
        raise SecretError("something must be protected", found="nothing", remedy="Name a protected attribute.")
    given = dict.fromkeys([protect] if isinstance(protect, str) else cast("Iterable[str]", protect))
    if isinstance(protect, Mapping):
        given = dict(cast("Mapping[str, object]", protect))
    wanted = {network.reading.own_name(name): declared for name, declared in given.items()}
    if len(wanted) < len(given):
        raise SecretError(
            "every protected attribute must come once",
            found=f"two names of one among {listing(given)}",
            remedy="Leave one of them out.",
        )
    return wanted
