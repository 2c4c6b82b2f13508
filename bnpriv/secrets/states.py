"""Secrets of a protected attribute and the pairs of them that must not be told apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import permutations
from typing import final

from bnpriv.checks import listing, spelling, type_text
from bnpriv.errors import SecretError
from bnpriv.secrets.pair import Pair
from bnpriv.tables.schema import State

Side = State | Collection[State]

BETWEEN = " against "

AMBIGUOUS = frozenset("{},[]'\"")
"""What may be part of a state's name or of the text of a pair."""


@final
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
        """Largest distance of a state in the first from one in the second; inf where they are no numbers."""
        both = (*self.first, *self.second)
        if any(isinstance(state, (str, bool)) for state in both):
            return math.inf
        try:
            return max(abs(float(a) - float(b)) for a in self.first for b in self.second)
        except OverflowError:  # whole numbers that no double holds
            return math.inf

    @property
    def identity(self) -> str:
        """The pair so that no other has the same text, for hashes."""
        states = (*self.first, *self.second)
        if all(isinstance(state, str) and BETWEEN not in state and AMBIGUOUS.isdisjoint(state) for state in states):
            return str(self)
        return repr([sorted(map(repr, side)) for side in (self.first, self.second)])

    @property
    def reverse(self) -> SecretPair:
        """Return the pair the other way round."""
        return SecretPair(self.second, self.first)

    @property
    def is_point(self) -> bool:
        """Return whether both secrets are single states."""
        return len(self.first) == len(self.second) == 1

    def __str__(self) -> str:
        return BETWEEN.join(self.sides)


@final
@dataclass(frozen=True)
class SecretPairs:
    """The pairs of secrets that were chosen for one attribute; made by `pairs`."""

    chosen: tuple[SecretPair, ...]

    def ordered(self, attribute: str, states: Iterable[State]) -> tuple[SecretPair, ...]:
        """Return every chosen pair in both directions, each once.

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
    """Return every ordered pair of two single states."""
    return tuple(SecretPair(frozenset({a}), frozenset({b})) for a, b in permutations(states, 2))


def of_states(pairs: Iterable[Pair]) -> tuple[SecretPair, ...]:
    """Return pairs of secrets that must be sets of states.

    Raises
    ------
    SecretError
        If one is not.
    """
    found = tuple(pair for pair in pairs if isinstance(pair, SecretPair))
    other = [pair for pair in pairs if not isinstance(pair, SecretPair)]
    if other:
        raise SecretError(
            "this needs an attribute with finitely many states", found=str(other[0]), remedy="Declare it in steps."
        )
    return found


def state_pairs(name: str, states: Iterable[State], chosen: object) -> tuple[SecretPair, ...]:
    """Return the ordered pairs of secrets of an attribute with finitely many states; all pairs by default.

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
    """Return a secret in words: the state, or the states between braces."""
    names = sorted(map(str, side))
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _side(side: Side) -> frozenset[State]:
    return frozenset({side}) if isinstance(side, (str, int, float, bool)) else frozenset(side)
