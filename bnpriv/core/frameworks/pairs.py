"""Distribution privacy: hide which of two distributions the table comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

from bnpriv import checks
from bnpriv.core.columns import Categorical
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.frameworks.base import FrameworkFacts, WrittenAsFile, fingerprint, require_columns
from bnpriv.core.frameworks.protected import ALL_PAIRS, ProtectedSecret
from bnpriv.core.frozen import Cache
from bnpriv.core.networks.base import Network, forward_of, require_network
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Schema, require_schema
from bnpriv.core.secrets import Pair
from bnpriv.errors import FileError, FrameworkError
from bnpriv.kind import kind_of

DISTRIBUTION = "the distribution"
"""The name of what is protected, in place of an attribute."""

PairLaw = Atoms | Normal | Network

NO_TABLE = Schema(records=1, columns={"answer": Categorical(["known by its laws alone"])})
"""The placeholder for the table where laws of an answer are declared without one."""


@dataclass(frozen=True)
class DistributionPair:
    """Two distributions that must not be told apart.

    Parameters
    ----------
    first, second : Atoms, Normal or Network
    places : tuple of two int
        Which of the declared distributions they are, counted from 1.
    """

    first: PairLaw
    second: PairLaw
    places: tuple[int, int]

    is_point = True
    farthest = math.inf

    @property
    def sides(self) -> tuple[str, str]:
        """Both distributions in words."""
        first, second = (f"distribution {place}" for place in self.places)
        return first, second

    @property
    def reverse(self) -> DistributionPair:
        """The pair in the other direction."""
        return DistributionPair(self.second, self.first, (self.places[1], self.places[0]))

    @property
    def identity(self) -> str:
        """Both distributions with all digits, for hashes."""
        return f"{_identity(self.first)} against {_identity(self.second)}"

    def __hash__(self) -> int:
        return hash(self.identity)

    def __str__(self) -> str:
        return " against ".join(self.sides)


@dataclass(frozen=True)
class DistributionPrivacy(FrameworkFacts, WrittenAsFile):
    """Hide which of two distributions the table was drawn from, for every declared pair.

    Parameters
    ----------
    pairs : sequence of (law, law) or (network, network)
        Either laws of one query's answer, or record networks (level "records", one model each), from which the law of
        any query's answer follows, or models that draw whole tables, as `bnpriv.from_pymc` reads them, from whose
        draws it is learned; one side of a pair may be a record network, the other such a model.
    query : Query or str, optional
        The query whose answer the laws describe; without it the framework can be analysed, not released.
    schema : Schema, optional
        Needed for networks, and to release.
    source : str
        Where the distributions come from; printed in every certificate.

    Raises
    ------
    FrameworkError
        If there is no pair, the two sides of a pair are not both laws or both networks, networks come without a schema,
        or models that draw tables do it in different ways.

    Notes
    -----
    Definition 2.2 of Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms"
    (AISTATS 2023).

    Examples
    --------
    >>> pair = (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))
    >>> DistributionPrivacy([pair], source="a textbook").models
    1
    """

    network: ClassVar[None] = None
    """Its pairs have networks of their own, if any."""

    pairs: Sequence[tuple[PairLaw, PairLaw]]
    query: Query | None = None
    schema: Schema = NO_TABLE
    source: str = field(kw_only=True)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    notion = "distribution privacy"
    kind = "bnpriv.kinds.notions:DISTRIBUTION_NOTION"
    pairs_name_models = True

    def __post_init__(self) -> None:
        checks.text("source", self.source, error=FrameworkError)
        if self.query is not None:
            object.__setattr__(self, "query", as_query(self.query))
        require_schema(self.schema)
        object.__setattr__(self, "pairs", _sides(self.pairs))
        if not self.pairs:
            raise FrameworkError(
                "a pair of distributions is needed", found="none", remedy="Give pairs of distributions."
            )
        for first, second in self.pairs:
            _check_pair(first, second)
        if len({_dimension(first) for first, _ in self.pairs}) > 1:
            raise FrameworkError(
                "all pairs must be distributions of one answer, or all must be networks",
                found="some of each, or several dimensions",
                remedy="Declare a framework for each answer.",
            )
        if (self.of_records or self.query is not None) and self.schema is NO_TABLE:
            raise FrameworkError(
                "networks, and a query, need a schema",
                found="none",
                remedy="Pass schema=Schema(records=..., columns=...).",
            )

        for network in (side for pair in self.pairs for side in pair if self.of_records):
            require_columns(network, self.schema)
        found = _samplings(self.pairs)
        if len(found) > 1:
            raise FrameworkError(
                "all models that draw tables must do it in the same way",
                found=" and ".join(str(each) for each in found[:2]),
                remedy="Give all of them the same with_sampling(draws=..., seed=..., confidence=...).",
            )

    @property
    def of_records(self) -> bool:
        """Whether the pairs are networks, from which tables are drawn, rather than laws of an answer."""
        return _dimension(self.pairs[0][0]) is None

    @property
    def answer_laws(self) -> Sequence[tuple[Atoms | Normal, Atoms | Normal]]:
        """The declared pairs, where these are laws of the exact answer rather than networks."""
        return () if self.of_records else cast("Sequence[tuple[Atoms | Normal, Atoms | Normal]]", self.pairs)

    @property
    def sampling(self) -> Any:
        """How laws of answers are learned, where some models draw whole tables; else None."""
        return next(iter(_samplings(self.pairs)), None)

    @property
    def from_draws(self) -> bool:
        """Whether some of the models draw whole tables."""
        return self.sampling is not None

    @property
    def dimension(self) -> int:
        """The dimension of the declared laws; 1 for networks."""
        return _dimension(self.pairs[0][0]) or 1

    @property
    def protected(self) -> tuple[str, ...]:
        """What is protected, in words."""
        return (DISTRIBUTION,)

    @cached_property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """The declared pairs of distributions, each in its declared direction only."""
        places: dict[str, int] = {}
        for side in (side for pair in self.pairs for side in pair):
            places.setdefault(_identity(side), len(places) + 1)
        return {
            self.protected[0]: tuple(
                DistributionPair(first, second, (places[_identity(first)], places[_identity(second)]))
                for first, second in self.pairs
            )
        }

    @property
    def protected_secrets(self) -> tuple[ProtectedSecret, ...]:
        """The protected fact, in words: which of the declared distributions holds."""
        known = {frozenset(map(_identity, pair)) for pair in self.pairs}
        different = {identity for pair in known for identity in pair}
        whole = sum(len(pair) == 2 for pair in known) == len(different) * (len(different) - 1) // 2
        return (
            ProtectedSecret(
                attribute=self.protected[0],
                secret=f"which of {self._declared(len(different))}",
                pairs=self._pairs_text(len(different), whole=whole),
                bounds_belief=whole,
            ),
        )

    @property
    def models_text(self) -> str:
        """What the adversary may believe."""
        different = len({_identity(side) for pair in self.pairs for side in pair})
        return f"that it is one of {self._declared(different)}"

    def _pairs_text(self, different: int, *, whole: bool) -> str:
        if whole:
            return "one against the other" if different == 2 else ALL_PAIRS
        return f"{len(self.pairs)} of their pairs"

    def _declared(self, different: int) -> str:
        if self.schema is NO_TABLE:
            return f"the {different} declared distributions the answer has"
        return f"the {different} declared distributions the table was drawn from"

    @property
    def models(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    def file_parts(self) -> object:
        """Refuse: pairs of distributions are declared in Python.

        Raises
        ------
        FileError
            Always.
        """
        raise FileError(
            "framework files hold a network and what it must hide", found=self.notion, remedy="Keep it in Python."
        )

    def fingerprint(self) -> str:
        """A hash of everything that a calibration depends on."""
        sides = [side for pair in self.pairs for side in pair]
        networks = [side for side in sides if not isinstance(side, (Atoms, Normal))]
        laws = [_facts(side) for side in sides if isinstance(side, (Atoms, Normal))]
        return fingerprint((self.notion, self.source, str(self.query), self.schema, laws), networks)

    def __hash__(self) -> int:
        return hash(self.fingerprint())


def _sides(pairs: object) -> tuple[tuple[PairLaw, PairLaw], ...]:
    """The declared pairs, each checked to have two sides."""
    listed = list(cast("Iterable[object]", pairs)) if isinstance(pairs, (list, tuple)) else [pairs]
    for pair in listed:
        if not isinstance(pair, (list, tuple)) or len(cast("Sequence[object]", pair)) != 2:
            raise FrameworkError(
                "distribution privacy needs a list of pairs of distributions",
                found=f"{checks.type_text(cast(object, pair))} for a pair",
                remedy="Write DistributionPrivacy([(first, second)], ...).",
            )
    return tuple((first, second) for first, second in cast("Sequence[tuple[PairLaw, PairLaw]]", listed))


def _identity(side: PairLaw) -> str:
    return repr(_facts(side)) if isinstance(side, (Atoms, Normal)) else fingerprint((), (side,))


def _facts(law: Atoms | Normal) -> object:
    if isinstance(law, Atoms):
        return ("atoms", law.support.tolist(), law.logs.tolist(), law.error)
    return ("normal", law.mean.tolist(), law.covariance.tolist(), law.kind)


def _dimension(side: PairLaw) -> int | None:
    return side.dimension if isinstance(side, (Atoms, Normal)) else None


def _check_pair(first: PairLaw, second: PairLaw) -> None:
    networks = [side for side in (first, second) if not isinstance(side, (Atoms, Normal))]
    if len(networks) == 1 or (not networks and type(first) is not type(second)):
        raise FrameworkError(
            "the two sides of a pair must both be Atoms, both Normal, or both networks",
            found=f"{type(first).__name__} and {type(second).__name__}",
            remedy="Give two distributions of one query's answer, or two networks.",
        )
    for network in networks:
        require_network(network)
        drawn = network.posterior_draws
        if network.models > 1 and drawn is not None:
            raise FrameworkError(
                "a pair has one model on each side: which of several goes with which, the same draw or any two, is for "
                "its author to say, and the noise follows from it",
                found=f"{network.models:,} draws of a posterior on a side, each of them a model",
                remedy='Read the posterior itself as the distribution, reading="belief", or list the pairs that count, '
                "each "
                "of models of one draw: from_pymc(model, posterior=idata.posterior.isel(chain=[0], draw=[k])).",
            )
        is_record = kind_of(network).exact_tables and network.level == "records"
        if network.models != 1 or not (is_record or draws_tables(network)):
            raise FrameworkError(
                "a distribution is a network of tables of level 'records' with one model, or a model that draws tables",
                found=f"{network.kind_text} of level {network.level!r}, number of models {network.models:,}",
                remedy="Give one pair per model; PyMC models with columns are read by bnpriv.from_pymc.",
            )
    if _dimension(first) != _dimension(second):
        raise FrameworkError(
            "the two distributions of a pair must have one dimension",
            found=f"{_dimension(first)} and {_dimension(second)}",
            remedy="Give distributions of one query's answer.",
        )


def draws_tables(side: PairLaw) -> bool:
    """Whether a side is a model of parameters and columns that draws whole tables."""
    return not isinstance(side, (Atoms, Normal)) and side.level == "parameters" and forward_of(side) is not None


def _samplings(pairs: Iterable[tuple[PairLaw, PairLaw]]) -> list[Any]:
    """The different ways in which the models draw tables."""
    drawn = (forward_of(side) for pair in pairs for side in pair if draws_tables(side))
    return list(dict.fromkeys(each.sampling for each in drawn if each is not None))
