"""Law evidence of distribution privacy: the laws are given, or follow from record networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.bound import weakest
from bnpriv.errors import BnprivError, Refusal
from bnpriv.evidence.constraints import Constraint, LawPair
from bnpriv.evidence.dataset import RECORDS_FROM_MODEL, network_record_law
from bnpriv.evidence.sums import record_pair, released, rounding_of, too_large
from bnpriv.frameworks import DistributionPrivacy
from bnpriv.frameworks.pairs import DISTRIBUTION
from bnpriv.laws import Atoms, Normal, WholeLaw, summed
from bnpriv.networks import DiscreteNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.normal_form import NormalForm, normal_form


@final
@dataclass(frozen=True, eq=False)
class GivenLaws:
    """Constraints that were declared pair by pair."""

    found: tuple[Constraint, ...]
    dimension: int
    rounding: float
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per pair."""
        return self.found


def given_laws(framework: DistributionPrivacy, query: Query | None) -> GivenLaws | Refusal:
    """Return the laws, or why they cannot be computed."""
    if framework.of_records:
        return _of_records(framework, query or framework.query)
    if query is not None and query != framework.query and not isinstance(query, GivenAnswer):
        return Refusal(
            required="the laws describe the answer of the framework's own query",
            found="another query" if framework.query is not None else "a query, but the framework has none",
            remedy="Pass query=... to DistributionPrivacy, or declare record networks, which serve any query.",
        )
    found: list[Constraint] = []
    dimension = 1
    rounding = 0.0
    if framework.query is not None:
        rounding = rounding_of(normal_form(framework.query, framework.schema))
    for k, (first, second) in enumerate(framework.pairs):
        assert isinstance(first, (Atoms, Normal))
        assert isinstance(second, (Atoms, Normal))
        dimension = first.dimension
        # declared atoms of fractions need not be the very doubles that are released
        kind = weakest(side.kind for side in (first, second) if isinstance(side, Normal))
        pair = LawPair(pair=_label(framework, k), first=first, second=second, rounding=rounding, kind=kind)
        found.append(Constraint(protected=DISTRIBUTION, model=k, record=None, pairs=(pair,)))
    return GivenLaws(tuple(found), dimension, rounding, ("The declared laws are those of the answer.",))


def _label(framework: DistributionPrivacy, k: int) -> str:
    (declared,) = framework.secrets.values()
    return str(declared[k]).replace("distribution ", "")


def _of_records(framework: DistributionPrivacy, query: Query | None) -> GivenLaws | Refusal:
    if query is None or isinstance(query, GivenAnswer):
        return Refusal(required="record networks need a query", found="none", remedy="Pass the query to be released.")
    form = normal_form(query, framework.schema)
    found: list[Constraint] = []
    for k, (first, second) in enumerate(framework.pairs):
        assert isinstance(first, DiscreteNetwork)
        assert isinstance(second, DiscreteNetwork)
        missing = query.columns.difference(first.attributes, ()) | query.columns.difference(second.attributes)
        if missing:
            return Refusal(
                required="every queried column must be a node of both record networks",
                found=", ".join(sorted(missing)),
                remedy="Add it to the networks.",
            )
        laws = [network_record_law(network, framework.schema, query) for network in (first, second)]
        label = _label(framework, k)
        record = record_pair(form, label, (laws[0], laws[1]), (framework.schema.records,), "exact")
        exact = _exact(label, laws, form)
        found.append(Constraint(protected=DISTRIBUTION, model=k, record=record, pairs=exact))
    return GivenLaws(tuple(found), len(form.rows), rounding_of(form), (RECORDS_FROM_MODEL,))


def _exact(label: str, sides: Sequence[WholeLaw], form: NormalForm) -> tuple[LawPair, ...] | Refusal:
    n = form.schema.records
    for law in sides:
        refusal = too_large([law], n)
        if refusal is not None:
            return refusal
    try:
        first, second = (released(form, summed((law, n))) for law in sides)
        return (LawPair(pair=label, first=first, second=second, rounding=0.0),)
    except BnprivError as error:
        return Refusal.of(error)
