"""From what a user declared about the secrets of attributes to pairs of secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from bnpriv.checks import listing, member, type_text
from bnpriv.errors import SecretError
from bnpriv.kind import kind_of
from bnpriv.networks.base import Network
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPairs, pairs, state_pairs
from bnpriv.secrets.values import IntervalPairs, value_pairs
from bnpriv.tables.schema import State

Declared = SecretPairs | Apart | IntervalPairs
"""What a user may declare about the secrets of one attribute."""

Protect = str | Iterable[str] | Mapping[str, SecretPairs | Apart | IntervalPairs | None]
"""A protected attribute, several, or several with what must not be told apart."""


def pairs_of(network: Network, attribute: str, given: object) -> tuple[Pair, ...]:
    """The pairs of secrets of an attribute, as the kind of the network counts them.

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
    """Pairs of the states of an attribute, all ordered ones by default; where it has none it may be any number."""
    states = network.states.get(attribute)
    if states is None:
        return value_pairs(attribute, given)
    return state_pairs(attribute, states, _by_states(attribute, states, given))


def _by_states(attribute: str, states: tuple[State, ...], given: object) -> object:
    """Return pairs of intervals as pairs of the states in them, where states are numbers; all else as it is."""
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
    """The pairs that stand for the secrets of an attribute of which none are declared.

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


def protected_names(protect: object) -> frozenset[object]:
    """Return what is protected, by name.

    Raises
    ------
    SecretError
        If nothing is.
    """
    return frozenset(_wanted(protect))


def secrets_of(network: Network, protect: object) -> dict[str, tuple[Pair, ...]]:
    """Return the protected attributes with their pairs of secrets.

    Parameters
    ----------
    network : network
    protect : str, iterable of str, or mapping from str to SecretPairs, Apart, IntervalPairs or None
        The protected attributes, with what must not be told apart.

    Raises
    ------
    SecretError
        If nothing is protected, an attribute is unknown or has one state, or secrets do not fit.
    """
    wanted = _wanted(protect)
    found: dict[str, tuple[Pair, ...]] = {}
    for name, given in wanted.items():
        _refuse_function(network, name)
        _refuse_fixed(network, name)
        _refuse_vector(network, name)
        member("a protected attribute", name, network.attributes, error=SecretError)
        found[name] = pairs_of(network, name, given)
        if not found[name]:
            raise SecretError(
                f"the protected attribute {name!r} needs at least two states",
                found="one",
                remedy="Protect another attribute: one state has nothing to hide.",
            )
    return found


def _refuse_function(network: Network, name: object) -> None:
    """Refuse a function of parameters that the model has a name for: the law of an answer given it needs draws."""
    functions = network.reading.functions
    if isinstance(name, str) and name not in network.attributes and functions & {name, name.partition("[")[0]}:
        raise SecretError(
            "a function of parameters can be protected where there are draws of it, read as a belief",
            found=f"the Deterministic {name!r} of a model that is read otherwise",
            remedy='Read the model by from_pymc(model, posterior=idata, reading="belief"), where idata holds draws of '
            f"{name!r}; under the priors, by posterior=pymc.sample_prior_predictive(4000, model=model).prior with "
            f'reading="belief", independent=True. Or protect a parameter: {listing(network.attributes, 6)}.',
        )


def _refuse_vector(network: Network, name: object) -> None:
    """Refuse a vector as a whole: its entries are protected one by one."""
    entries = [each for each in network.attributes if each.startswith(f"{name}[")]
    if isinstance(name, str) and entries and name not in network.attributes:
        raise SecretError(
            "of a vector single entries can be protected",
            found=f"{name!r}, which has the entries {listing(entries, 6)}",
            remedy=f"Name an entry, for example {entries[0]!r}, or several, each with its secrets.",
        )


def _refuse_fixed(network: Network, name: object) -> None:
    """Refuse a parameter that the user had fixed to draws of a posterior."""
    fixed = {node.name.partition("[")[0] for node in network.reading.nodes if node.role == "fixed"}
    if isinstance(name, str) and name not in network.attributes and name.partition("[")[0] in fixed:
        raise SecretError(
            "what is protected must not be fixed to draws of a posterior",
            found=f"{name!r}, which is in this network",
            remedy="Read the model by from_pymc(model, posterior=idata) without fix=, or without it among the names, "
            "and protect it in DistributionalAttributePrivacy.",
        )


def _wanted(protect: object) -> Mapping[str, object]:
    """Return the protected attributes with what was declared for each, None where nothing was."""
    if not isinstance(protect, (str, Iterable)):
        raise SecretError(
            "protect is a name, a list of names, or a mapping from names to secrets",
            found=type_text(protect),
            remedy='Write protect="income", or protect={"income": pairs(("low", "high"))}.',
        )
    if not protect:
        raise SecretError("something must be protected", found="nothing", remedy="Name a protected attribute.")
    if isinstance(protect, Mapping):
        return cast("Mapping[str, object]", protect)
    return dict.fromkeys([protect] if isinstance(protect, str) else cast("Iterable[str]", protect))
