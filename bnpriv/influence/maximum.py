"""How much a set of attributes can tell about a protected one, in a network of any kind."""

from __future__ import annotations

from collections.abc import Iterable

from bnpriv.errors import NetworkError, SecretError
from bnpriv.influence.base import Influence, influence_of
from bnpriv.networks.base import Network
from bnpriv.networks.foreign import require_network
from bnpriv.secrets.declared import Declared, pairs_of


def max_influence(network: Network, columns: Iterable[str], protected: str, pairs: Declared | None = None) -> Influence:
    """Return how much a set of attributes can tell about a protected one.

    Parameters
    ----------
    network : network
        Of any kind: one or several models, or all within intervals.
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    pairs : SecretPairs, Apart or IntervalPairs, optional
        The pairs of secrets: ``bnpriv.pairs(...)`` of states, where all pairs are the default; ``bnpriv.apart(...)``
        or ``bnpriv.intervals(...)`` where the attribute may be any number.

    Returns
    -------
    Influence
        The largest log ratio P(columns = q | a) / P(columns = q | b) over assignments, pairs and models, with the
        whole law of that ratio (`Influence.delta`) where it is known.

    Raises
    ------
    NetworkError
        If a name is unknown, `protected` is among `columns`, or a density that is needed is missing.
    SecretError
        If the secrets do not fit, or all have probability zero.
    SizeError
        If a table would pass the limit and no cheaper bound holds.

    Notes
    -----
    Definition of max-influence: Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD
    2017), definition 4.1; see docs/claims/max_influence.md for the frontier and the independent parts, and
    intervals.md, gaussian_network.md, quadrature.md and markov_chain.md there for other kinds of networks.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> influence = max_influence(network, {"sat"}, "income")
    >>> round(float(influence), 6)
    1.386294
    >>> str(influence.pair), dict(influence.assignment)
    ('low against high', {'sat': 'low'})

    In a linear-Gaussian network no factor bounds the odds, but a large factor is improbable:

    >>> linear = bp.types.GaussianNetwork.linear(
    ...     {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
    ... )
    >>> told = max_influence(linear, {"sat"}, "income", bp.apart(at_most=5))
    >>> float(told), round(told.mu, 6), round(told.delta(0.5), 6)
    (inf, 0.1, 0.0)
    """
    require_network(network)
    network.require(protected)
    influence = influence_of(network, columns, protected, pairs_of(network, protected, pairs))
    if influence.pair is None:
        raise impossible_secrets(protected)
    if influence.unknown is not None:
        why = influence.unknown
        raise NetworkError(why.required, found=why.found, remedy=why.remedy)
    return influence


def impossible_secrets(protected: str) -> SecretError:
    """Return the refusal of secrets all of whose pairs are impossible under every model."""
    return SecretError(
        f"some pair of secrets of {protected!r} must have positive probability",
        found="none in any model",
        remedy="Correct the table of the protected attribute, or choose other secrets.",
    )
