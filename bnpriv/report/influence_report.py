"""The max-influence report: which columns tell what about a protected attribute, and what noise a query needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, final, overload

from bnpriv import checks
from bnpriv.errors import ParameterError
from bnpriv.evidence import impossibility, require_possible
from bnpriv.frameworks import DistributionalAttributePrivacy, ValuePrivacy, of_parameters, require_framework
from bnpriv.influence.base import Influence
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.networks import (
    DensityNetwork,
    DiscreteNetwork,
    GaussianNetwork,
    IntervalNetwork,
    Network,
)
from bnpriv.queries import Query, as_query
from bnpriv.render import Json
from bnpriv.render.html import write
from bnpriv.render.text import csv_text
from bnpriv.report.analysis import (
    Question,
    attribute_report,
    beliefs,
    dropped_pairs,
    model_assumptions,
    query_influences,
    record_influences,
)
from bnpriv.report.chain_report import ChainReport, chain_report
from bnpriv.report.curves import Curve, noise_curves
from bnpriv.report.density_report import DensityReport, density_report
from bnpriv.report.gaussian_report import GaussianReport, gaussian_report
from bnpriv.report.html_report import report_fragment, report_page
from bnpriv.report.json_report import report_dict
from bnpriv.report.markdown_report import report_markdown
from bnpriv.report.text_report import report_text
from bnpriv.report.values import AttributeReport, Belief, quilt_calibration
from bnpriv.report.words import witness_text
from bnpriv.secrets.declared import Protect, secrets_of
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import of_states
from bnpriv.secrets.values import IntervalPair, of_values

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class InfluenceReport:
    """What leaks about each protected attribute and, for a query, what noise it needs and why.

    Print it for plain text; a notebook shows it by itself.

    Parameters
    ----------
    network : DiscreteNetwork or IntervalNetwork
    source : str or None
        Where the model comes from.
    attributes : tuple of AttributeReport
        One per protected attribute.
    beliefs : tuple of Belief
        How far beliefs in a secret can move.
    assumptions : tuple of str
        What must hold outside the library.
    records : int or None
        The number of records of the table; None for a network alone.
    query : Query or None
    epsilon : float or None
    plan : Plan or None
        Every mechanism for the query at the given epsilon.
    curves : tuple of Curve or None
        The noise of the Markov quilt mechanism at other epsilons; None without a query, or when they are too many.

    Examples
    --------
    >>> import bnpriv as bp
    >>> report = bp.influence_report(bp.example("student"))
    >>> sorted(report.attributes[0].columns[0].columns)
    ['sat']
    """

    network: Network
    source: str | None
    attributes: tuple[AttributeReport, ...]
    beliefs: tuple[Belief, ...]
    assumptions: tuple[str, ...]
    records: int | None = None
    query: Query | None = None
    epsilon: float | None = None
    plan: Plan | None = None
    curves: tuple[Curve, ...] | None = None

    @property
    def text(self) -> str:
        """Return the whole report as plain text."""
        return report_text(self)

    def __repr__(self) -> str:
        names = ", ".join(report.protected for report in self.attributes)
        return f"InfluenceReport({names})"

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> Json:
        """Return the report as plain values; docs/report-schema.md names every field."""
        return report_dict(self)

    def to_json(self) -> str:
        """Return the report as JSON; docs/report-schema.md names every field."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the report as Markdown, without the drawings."""
        return report_markdown(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as a page of its own, which loads nothing from anywhere.

        Parameters
        ----------
        path : str or Path, optional
            Also write it to this file.

        Examples
        --------
        >>> import bnpriv as bp
        >>> page = bp.influence_report(bp.example("student")).to_html()
        >>> page.startswith("<!doctype html>"), len(page) < 400_000
        (True, True)
        """
        return write(report_page(self), path)

    def to_pandas(self) -> pd.DataFrame:
        """Return what every single column tells about every protected attribute, one row each, in nats."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(_COLUMNS))

    def to_csv(self) -> str:
        """Return the rows of `to_pandas` as CSV in which no name is taken for a formula by a spreadsheet."""
        return csv_text(_COLUMNS, self._rows())

    def _repr_html_(self) -> str:
        return report_fragment(self)

    def _rows(self) -> list[list[str | float]]:
        return [
            [attribute.protected, *influence.columns, float(influence), influence.kind, witness_text(influence)]
            for attribute in self.attributes
            for influence in attribute.columns
        ]


_COLUMNS = ("protected", "column", "nats", "kind", "reached_at")


@overload
def influence_report(model: Network, *, protect: Protect | None = None, limit: int = 10) -> InfluenceReport: ...


@overload
def influence_report(model: GaussianNetwork, *, protect: Protect | None = None, limit: int = 10) -> GaussianReport: ...


@overload
def influence_report(model: DensityNetwork, *, protect: Protect | None = None, limit: int = 10) -> DensityReport: ...


@overload
def influence_report(
    model: DistributionalAttributePrivacy,
    query: Query | str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    limit: int = 10,
) -> InfluenceReport | GaussianReport | DensityReport: ...


@overload
def influence_report(
    model: ValuePrivacy,
    query: Query | str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    limit: int = 10,
) -> InfluenceReport | ChainReport: ...


def influence_report(
    model: Network | DistributionalAttributePrivacy | ValuePrivacy,
    query: Query | str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    protect: Protect | None = None,
    limit: int = 10,
) -> InfluenceReport | GaussianReport | DensityReport | ChainReport:
    """Report what leaks about the protected attributes and, with a query, what noise it needs and why.

    Parameters
    ----------
    model : Network, DistributionalAttributePrivacy or ValuePrivacy
        A network of any kind, with `protect`; or a framework, with an optional `query`, `epsilon` and `delta`.
    query : Query or str, optional
        What is to be released from a framework.
    epsilon : float, optional
        With a query: the guarantee that is asked for; all mechanisms are calibrated.
    delta : float
        With an epsilon: the failure probability; 0 for a pure guarantee.
    protect : str, iterable of str, or mapping from str to secrets
        The protected attributes of a network.
    limit : int
        Quilts shown per protected attribute.

    Returns
    -------
    InfluenceReport
        GaussianReport for a GaussianNetwork, DensityReport for a DensityNetwork, ChainReport for a MarkovChain.
        Print it, or see its methods.

    Raises
    ------
    BnprivError
        If names, secrets, query or epsilon do not fit, or all secrets of a protected attribute are impossible.

    Examples
    --------
    >>> import bnpriv as bp
    >>> print(bp.influence_report(bp.example("student"), limit=1))  # doctest: +ELLIPSIS
    Of all columns sat tells most about income: ...
    """
    limit = checks.whole("limit", limit)
    if isinstance(model, (DiscreteNetwork, IntervalNetwork, GaussianNetwork, DensityNetwork)):
        if protect is None or query is not None or epsilon is not None:
            raise ParameterError(
                "the report of a network takes protect=..., and a query needs a framework",
                found="no protect" if protect is None else "a query or an epsilon",
                remedy='Pass protect="name", or build a framework first.',
            )
        return _network_report(model, protect, limit)
    if not hasattr(model, "level"):
        require_framework(model, query)
    query = None if query is None else as_query(query)
    if protect is not None or (epsilon is not None and query is None):
        raise ParameterError(
            "the report of a framework takes a query, and an epsilon only with a query",
            found="protect" if protect is not None else "an epsilon alone",
            remedy="Pass influence_report(framework, query, epsilon).",
        )
    refusal = impossibility(model)
    if refusal is not None:
        raise refusal.error()
    if isinstance(model, ValuePrivacy):
        return _value_report(model, query, epsilon, delta, limit)
    return _parameters_report(of_parameters(model, "a report"), query, epsilon, delta, limit)


def _network_report(network: Network, protect: Protect, limit: int) -> InfluenceReport | GaussianReport | DensityReport:
    if isinstance(network, DensityNetwork):
        intervals = _intervals(secrets_of(network, protect))
        require_possible(network, intervals)
        return density_report(network, list(intervals.items()), limit=limit)
    if isinstance(network, GaussianNetwork):
        values = [(name, of_values(pairs)) for name, pairs in secrets_of(network, protect).items()]
        return gaussian_report(network, values, limit=limit)
    secrets = {name: of_states(pairs) for name, pairs in secrets_of(network, protect).items()}
    require_possible(network, secrets)
    found = tuple(attribute_report(network, name, pairs, limit, share=len(secrets)) for name, pairs in secrets.items())
    drawn = network.drawn if isinstance(network, DiscreteNetwork) else None
    return InfluenceReport(
        network=network,
        source=None if drawn is None else drawn.source,
        attributes=found,
        beliefs=beliefs(found, None),
        assumptions=(*model_assumptions(network), *dropped_pairs(found)),
    )


def _parameters_report(
    model: DistributionalAttributePrivacy, query: Query | None, epsilon: float | None, delta: float, limit: int
) -> InfluenceReport | GaussianReport | DensityReport:
    made = None if query is None or epsilon is None else plan(model, query, epsilon, delta)
    if isinstance(model.network, DensityNetwork):
        chosen = _intervals(model.secrets)
        return density_report(
            model.network, list(chosen.items()), source=model.source, query=query, plan=made, limit=limit
        )
    if not isinstance(model.network, GaussianNetwork):
        return _framework_report(model, query, epsilon, made, limit)
    secrets = [(name, of_values(pairs)) for name, pairs in model.secrets.items()]
    return gaussian_report(model.network, secrets, source=model.source, query=query, plan=made, limit=limit)


def _intervals(secrets: Mapping[str, tuple[Pair, ...]]) -> Mapping[str, tuple[IntervalPair, ...]]:
    return cast("Mapping[str, tuple[IntervalPair, ...]]", secrets)


def _value_report(
    framework: ValuePrivacy, query: Query | None, epsilon: float | None, delta: float, limit: int
) -> InfluenceReport | ChainReport:
    made = None if query is None or epsilon is None else plan(framework, query, epsilon, delta)
    if not isinstance(framework.model, DiscreteNetwork):
        return chain_report(framework, framework.model, query, made)
    secrets = {name: of_states(pairs) for name, pairs in framework.secrets.items()}
    asked: Mapping[str, Influence] = {} if query is None else record_influences(framework.model, secrets, query)
    found = tuple(
        replace(
            attribute_report(framework.model, name, pairs, limit, asked=asked.get(name), share=len(secrets)),
            is_queried=query is not None and name in query.columns,
        )
        for name, pairs in secrets.items()
    )
    certified = made.best.certificate.assumptions if made is not None and made.calibrations else ()
    return InfluenceReport(
        network=framework.model,
        source=framework.source,
        attributes=found,
        beliefs=beliefs(found, made),
        assumptions=tuple(dict.fromkeys((*model_assumptions(framework.model), *dropped_pairs(found), *certified))),
        records=framework.schema.records,
        query=query,
        epsilon=None if epsilon is None else checks.epsilon(epsilon),
        plan=made,
    )


def _framework_report(
    framework: DistributionalAttributePrivacy,
    query: Query | None,
    epsilon: float | None,
    made: Plan | None,
    limit: int,
) -> InfluenceReport:
    asked: Mapping[str, Influence] = {} if query is None else query_influences(framework, query)
    question = (
        None if query is None else Question(framework=framework, query=query, calibration=quilt_calibration(made))
    )
    found = tuple(
        attribute_report(
            framework.discrete, name, of_states(pairs), limit, question, asked.get(name), len(framework.secrets)
        )
        for name, pairs in framework.secrets.items()
    )
    certified = made.best.certificate.assumptions if made is not None and made.calibrations else ()
    return InfluenceReport(
        network=framework.discrete,
        source=framework.source,
        attributes=found,
        beliefs=beliefs(found, made),
        assumptions=tuple(dict.fromkeys((*model_assumptions(framework.discrete), *dropped_pairs(found), *certified))),
        records=framework.schema.records,
        query=query,
        epsilon=None if epsilon is None else checks.epsilon(epsilon),
        plan=made,
        curves=None if query is None or _approximate(made) else noise_curves(framework, query),
    )


def _approximate(made: Plan | None) -> bool:
    """Return whether the noise allows a failure probability: curves over epsilon are those of pure guarantees."""
    return made is not None and any(calibration.delta > 0 for calibration in made.calibrations)
