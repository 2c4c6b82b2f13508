"""What frameworks, queries, schemas, networks and guarantees say of themselves."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from bnpriv.bound import Kind
from bnpriv.core.columns import NOT_COUNTED, Binned, Categorical, Category
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.guarantee import Guarantee, percent_of
from bnpriv.core.frameworks.protected import ProtectedSecret
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.graph import Graph
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Column, Schema, fill_of, has_gaps
from bnpriv.kind import kind_of, notion_of
from bnpriv.render import document as doc
from bnpriv.render.as_text import LINES_PRINTED, PRINTED_WIDTH
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html
from bnpriv.text import (
    SPELLED,
    and_text,
    clipped,
    factor_text,
    full_text,
    name_text,
    percent_text,
    rounded_up,
    shorten,
    some_text,
    upper_chance,
    upper_text,
    visible,
    width,
    wrapped,
)
from bnpriv.views.words import edge_shares

# --------------------------------------------------------------------------------------------------
# What a framework declares, as a document: who is kept from learning what, over which network and columns.
# --------------------------------------------------------------------------------------------------


def framework_document(framework: Framework) -> doc.Document:
    """Return what a framework declares."""
    notion, source, secrets, network = (
        framework.notion,
        framework.source,
        framework.protected_secrets,
        framework.network,
    )
    independent = sorted(notion_of(framework).independent(framework) or ())
    names = tuple(secret.attribute for secret in secrets)
    facts = [protected_fact(secrets)]
    if network is not None:
        facts.append(doc.fact("Model", f"{network_text(network)}."))
    facts.append(doc.fact("Source of the model", source))
    if independent:
        facts.append(doc.fact("Declared independent", (doc.Names(tuple(independent)),)))
    table = framework.schema.document
    return doc.Document(
        kind="framework",
        kicker=f"bnpriv framework · {notion}",
        headline=(f"{notion[0].upper()}{notion[1:]} for ", doc.Names(names)),
        facts=tuple(facts),
        beside=() if network is None else network_drawing(network, names),
        sections=(doc.Section(title=table.headline, blocks=table.answer, folded=True),),
        data={
            "notion": notion,
            "source": source,
            "protected": [secret.to_json() for secret in secrets],
            "schema": table.data,
        },
    )


def graph_nodes(graph: Graph, names: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes that stand for some attributes: themselves, or the arrays whose entries they are."""
    arrays = (name if name in graph.parents else name.partition("[")[0] for name in names)
    return tuple(dict.fromkeys(name for name in arrays if name in graph.parents))


def network_drawing(network: Network, protected: Sequence[str]) -> tuple[doc.Block, ...]:
    """Return the network with what is protected marked; nothing where it is one node, or too large to be read."""
    return graph_drawing(model_graph(network), shown_edges(network), network_text(network), protected)


def graph_drawing(
    graph: Graph, shares: Mapping[tuple[str, str], str], text: str, protected: Sequence[str] = ()
) -> tuple[doc.Block, ...]:
    """Return edges, each with its share of the models, drawn between the nodes of a graph; nothing where too large."""
    if not 1 < len(graph.nodes) <= MOST_DRAWN:
        return ()
    roles = dict.fromkeys(graph_nodes(graph, protected), "protected")
    told = "Protected attributes have a double border." if roles else ""
    drawing = Drawing(
        nodes=graph.nodes,
        edges=tuple(shares),
        shares=shares,
        roles=roles,
        title="The network",
        desc=f"{text}. {told}".strip(),
    )
    return (doc.Figure(graph_html(drawing), told),)


def model_graph(network: Network) -> Graph:
    """Return the graph that is shown: the model's own where the network's says only that all depends on all."""
    return Graph(network.reading.own_graph) if network.reading.own_graph else network.graph


def shown_edges(network: Network) -> Mapping[tuple[str, str], str]:
    """Return the edges that are shown, each with the share of the models that have it where some have not."""
    return dict.fromkeys(model_graph(network).edges, "") if network.reading.own_graph else edge_shares(network)


def network_document(network: Network) -> doc.Document:
    """Return what a network is, drawn where it is small enough to be read."""
    text, graph = network_text(network), model_graph(network)
    kind, _, size = text.partition(": ")
    shares = shown_edges(network)
    some = {edge: share for edge, share in shares.items() if share}
    table = doc.Table(
        caption="Edges that some models have and others have not",
        header=("edge", "models"),
        rows=[(f"{above} - {below}", share) for (above, below), share in some.items()],
    )
    drawn = graph_drawing(graph, shares, text)
    foretold = kind_of(network).foretold(network)
    facts = [doc.fact("Attributes", (doc.Names(network.attributes),))] if not drawn else []
    facts += [doc.fact("Read", *network.reading.notes)] if network.reading.notes else []
    facts += [doc.fact("What a secret needs", foretold)] if foretold else []
    return doc.Document(
        kind="network",
        headline=kind,
        lead=f"{size[0].upper()}{size[1:]}.",
        answer=(*drawn, *((table,) if some else ())),
        facts=tuple(facts),
        data={"kind": kind, "attributes": list(network.attributes), "models": network.models, "level": network.level},
    )


# --------------------------------------------------------------------------------------------------
# What a query says of itself.
# --------------------------------------------------------------------------------------------------


def query_document(query: Query) -> doc.Document:
    """The text of a query, what it reads, and what must be believed of it."""
    facts = [doc.fact("Reads", (doc.Names(tuple(query.columns)),))]
    if query.assumptions:
        facts.append(doc.fact("Must be believed", *query.assumptions))
    return doc.Document(
        kind="query",
        headline=(doc.Code(str(query)),),
        facts=tuple(facts),
        data={"query": str(query), "columns": sorted(query.columns), "assumptions": list(query.assumptions)},
    )


# --------------------------------------------------------------------------------------------------
# What a schema says of itself: its columns with what each may hold.
# --------------------------------------------------------------------------------------------------

MOST_LISTED = 12
"""Categories of a column that are named where it is shown."""


def network_text(network: Network) -> str:
    """Return the network in one line: its kind and its size."""
    kind = network.kind_text.partition(" ")[2]
    models = "one model" if network.models == 1 else f"{network.models:,} models"
    graph, word = model_graph(network), "variable" if network.reading.own_graph else "attribute"
    attributes, edges = (
        f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
        for number, word in ((len(graph.nodes), word), (len(shown_edges(network)), "edge"))
    )
    return f"{kind[0].upper()}{kind[1:]}: {attributes}, {edges}, {models}, level {network.level}"


def schema_document(schema: Schema) -> doc.Document:
    """The columns with what each may hold."""
    described = {name: _described(column) for name, column in schema.columns.items()}
    columns = "1 column" if len(described) == 1 else f"{len(described):,} columns"
    table = doc.Table(
        caption="What each column may hold, and what a missing value counts as",
        header=("column", "type", "values", "missing counts as"),
        rows=[((doc.Name(name),), *each) for name, each in described.items()],
    )
    data = {name: dict(zip(("type", "values", "missing"), each, strict=True)) for name, each in described.items()}
    first = dict([*described.items()][: LINES_PRINTED - 1])
    return doc.Document(
        kind="schema",
        headline=f"{schema.records:,} records of {columns}",
        short=tuple(
            f"{name_text(name, 24)}: {kind}, {clipped(values, 36)}; gaps: {shorten(missing, 16)}"
            for name, (kind, values, missing) in first.items()
        ),
        answer=(table,),
        data={"records": schema.records, "columns": data},
    )


def _described(column: Column) -> tuple[str, str, str]:
    kind = type(column).__name__
    if not isinstance(column, Categorical):
        values = f"{column.lower:,.10g} to {column.upper:,.10g}"
        values += f" in bins {_cut(column.labels)}" if isinstance(column, Binned) else ""
        return kind, values, NOT_COUNTED if has_gaps(column) else f"{fill_of(column):,.10g}"
    raw = sum(map(len, column.coarsen.values()))
    coarser = f", which {raw:,} more labels count as" if raw else ""
    return kind, _cut(column.categories) + coarser, str(column.missing)


def column_words(column: Column, *, dates: bool = False, codes: Sequence[float] = ()) -> tuple[str, str]:
    """What a column may hold, and what a gap, or a code of one, counts as: in words for everybody.

    Parameters
    ----------
    column : Column
    dates : bool
        Whether its numbers are days since 1970-01-01.
    codes : sequence of float
        Numbers that stand for a missing value.

    Examples
    --------
    >>> column_words(Binned((0, 18, 65, 90), within="whole numbers"), codes=(99,))
    ('whole numbers 0 to 90, in 3 bins cut at 18 and 65', 'A gap, or 99, counts as 45')
    """
    coded = [_end(code, dates) for code in codes]
    gap = f"A gap, or {and_text(coded).replace(' and ', ' or ')}," if coded else "A gap"
    if isinstance(column, Categorical):
        gap, filled = "A gap, or a label that is not listed,", visible(str(column.missing))
        listed = _cut([shorten(visible(str(each)), 24) for each in column.categories])
        what = f"{len(column.categories):,} labels: {listed}"
    else:
        filled = _end(fill_of(column), dates)
        kind = "dates" if dates else "whole numbers" if column.whole else "numbers"
        what = f"{kind} {_end(column.lower, dates)} to {_end(column.upper, dates)}"
        if isinstance(column, Binned):
            cuts = [_end(each, dates) for each in column.edges[1:-1]]
            what += f", in {len(cuts) + 1} bins cut at {and_text(cuts)}" if cuts else ", in one bin"
    return what, f"{gap} meets no condition" if has_gaps(column) else f"{gap} counts as {filled}"


def _end(number: float, dates: bool) -> str:
    day = datetime.date(1970, 1, 1).toordinal() + number
    known = dates and 1 <= day <= datetime.date.max.toordinal()
    return datetime.date.fromordinal(int(day)).isoformat() if known else f"{number:,.10g}"


def _cut(labels: Sequence[Category]) -> str:
    shown = ", ".join(map(str, labels[:MOST_LISTED]))
    left = len(labels) - MOST_LISTED
    return f"{shown} and {left} more" if left > 0 else shown


# --------------------------------------------------------------------------------------------------
# What a guarantee says of itself: what is protected, from whom, how far beliefs can move.
# --------------------------------------------------------------------------------------------------


def guarantee_document(guarantee: Guarantee) -> doc.Document:
    """Who cannot learn what, how far a belief can move, and the sentence that says it."""
    return doc.Document(
        kind="guarantee",
        headline=f"Guarantee of {budget_text(guarantee)} for {and_text([*map(name_text, guarantee.protected)])}",
        short=short_guarantee(guarantee),
        answer=(doc.Quote(guarantee.sentence),),
        facts=(
            protected_fact(guarantee.secrets),
            observer_fact(guarantee.observer),
            belief_fact(guarantee),
            doc.fact("Source of the model", guarantee.source),
        ),
        sections=(belief_section(guarantee),),
        data=guarantee.to_json(),
    )


MOST_SAID = 175
"""Letters of what is printed in two lines, whose words leave some room at their ends."""

WRITTEN_DIGITS = 8
"""Letters of an epsilon that somebody wrote; what has more was computed."""

HOW_SURE: dict[Kind, str] = {
    "exact": "worked out exactly",
    "certified": "a proved bound",
    "estimate": "an estimate, not proved",
}
"""How well the noise is known to be enough."""


def short_guarantee(guarantee: Guarantee, sees: str = "the answer", undrawn: str = "") -> tuple[doc.Kept, ...]:
    """What is protected from whom, at what strength, and under which model: at most five lines of what is printed."""
    lines = short_protected(guarantee, sees), _strength(guarantee), _model(guarantee, undrawn)
    return tuple(map(doc.Kept, lines))


def short_protected(guarantee: Guarantee, sees: str = "the answer") -> str:
    """What is protected from whom, and that single records are not where they are not."""
    records = "" if guarantee.single_values or guarantee.baseline_text else "; single records are not"
    return fitted(f"Protected from anybody who sees {sees}: ", guarantee.secrets, f"{records}.")


def fitted(opened: str, secrets: Sequence[ProtectedSecret], end: str = ".") -> str:
    """What is protected, in two lines: of one secret its middle goes, of several all but the columns."""
    named = f"{'; '.join(each.secret for each in secrets)} (the pairs that .explain() names)"
    counted = [f"{len(secrets)} secrets, of {some_text([each.attribute for each in secrets], few)}" for few in (3, 1)]
    (only, *others), room = secrets, MOST_SAID - len(opened + end) - 40
    shorter = [f"{shorten(only.secret, most)} ({shorten(only.pairs, 36)})" for most in (room, 30, 16)]
    said = "; ".join(map(str, secrets)), *([named, *counted] if others else shorter)
    return _in_two_lines(f"{opened}{each}{end}" for each in said)


def _in_two_lines(texts: Iterable[str]) -> str:
    """The first text that is printed in two lines, else the last."""
    text = ""
    for text in texts:
        if len(wrapped(text, PRINTED_WIDTH)) <= 2:
            break
    return text


def _strength(guarantee: Guarantee) -> str:
    """How far odds, and beliefs where they are bounded, can move, how often further, and how sure that is."""
    sure = "" if guarantee.confidence is None else f", with confidence {percent_of(guarantee.confidence)} %"
    promised = f"({budget_text(guarantee)}{sure})"
    if math.isinf(guarantee.nats):
        return f"Strength: no factor bounds the odds {promised}."
    some = some_text(guarantee.with_belief, 2)
    of = "" if guarantee.with_belief == guarantee.protected else f" in a secret of {some}"
    belief = f", a belief of 10 %{of} to at most {guarantee.moved_text()}" if guarantee.with_belief else ""
    # with a delta only one way is bounded: down they may move further a little more often
    rare = f", except with probability {upper_chance(guarantee.failure)} if one of the two is true"
    rise, rare = ("rise", rare) if guarantee.failure else ("move", "")
    moved = f"Strength: odds {rise} by at most {factor_text(guarantee.nats)} times"
    return _in_two_lines(f"{moved}{each}{rare} {promised}." for each in (belief, ""))


def budget_text(guarantee: Guarantee) -> str:
    """Epsilon and, where it is above 0, delta, rounded up where they are computed numbers."""
    asked, delta = full_text(guarantee.epsilon), full_text(guarantee.delta)
    epsilon = asked if len(asked) <= WRITTEN_DIGITS else upper_text(guarantee.epsilon)
    delta = delta if len(delta) <= 2 * WRITTEN_DIGITS else full_text(rounded_up(guarantee.delta))
    return f"epsilon {epsilon}" + (f", delta {delta}" if guarantee.delta else "")


def _model(guarantee: Guarantee, undrawn: str) -> str:
    """The model in a line: what may be believed where that is not one model, where it is from, and how sure it is."""
    sure = HOW_SURE[guarantee.kind]
    return model_line(guarantee.observer, guarantee.source, f"{sure}; {undrawn}" if undrawn else sure)


IN_BRACKETS = re.compile(r" \([^()]*\)")


def model_line(observer: str, source: str | None, sure: str = "") -> str:
    """The model in a line: what may be believed where that is not one model, where it is from, and how sure it is."""
    believed = "" if observer == "the declared model" else f"{observer}; "
    known = f"; {sure}" if sure else ""
    told, room = visible(believed + (source or "source not stated")), PRINTED_WIDTH - 18 - len(known)
    told = told if width(told) <= room else IN_BRACKETS.sub("", told)
    said = f"Under the model: {clipped(told, room)}{known}"
    return said if said.endswith("...") else f"{said}."


def protected_fact(secrets: Iterable[ProtectedSecret]) -> doc.Fact:
    """Return what is protected, one line for every attribute."""
    return doc.fact("What is protected", *(secret.sentence for secret in secrets))


def observer_fact(observer: str, sees: str = "the answer") -> doc.Fact:
    """Return who must not learn the secrets."""
    return doc.fact("From whom", f"Anybody who sees {sees} and believes {observer}, whatever they do with it.")


def sureness_fact(guarantee: Guarantee) -> doc.Fact:
    """Return how well the noise is known to be enough: by finite sums, by a proved bound, or by an estimate."""
    if guarantee.kind == "estimate":
        known: doc.Text = doc.Strong("An estimate"), ", learned from draws or on grids, and not proved to be enough."
    elif guarantee.confidence is not None:
        sure = percent_of(guarantee.confidence)
        known = doc.Strong("Certified"), f", with confidence {sure} % over draws from the model."
    elif guarantee.kind == "certified":
        known = doc.Strong("Certified"), " by a proved bound, and perhaps more than enough."
    else:
        known = doc.Strong("Exact"), ", worked out by formulas and finite sums, without draws."
    return doc.fact("How sure that is", known)


def belief_fact(guarantee: Guarantee) -> doc.Fact:
    """Return in one number how far an answer can move a belief, or odds where no belief is bounded."""
    rare = f", except with probability at most {upper_chance(guarantee.failure)}" if 0 < guarantee.failure < 1 else ""
    if guarantee.with_belief:
        moved = f"A belief of 10 % in a secret becomes at most {guarantee.moved_text()}"
    else:
        moved = even_text(guarantee.nats)
    return doc.fact("What it can change", f"{moved}{rare}.")


def belief_section(guarantee: Guarantee) -> doc.Section:
    """How far beliefs in a secret can move, or the odds where no belief is bounded."""
    return doc.Section(title="Beliefs before and after", id="beliefs", blocks=(belief_table(guarantee),), folded=True)


def belief_table(guarantee: Guarantee) -> doc.Block:
    """Beliefs before and after the answer; a sentence on odds where no belief is bounded."""
    if not guarantee.with_belief:
        return doc.Paragraph(guarantee.odds_text)
    names = " or of ".join(map(name_text, guarantee.with_belief))
    rare = f", except with probability {upper_chance(guarantee.failure)}" if guarantee.delta else ""
    answers = guarantee.answers
    one = f"{guarantee.seen or 'the answer'} and at most after it"
    told = one if answers == 1 else f"all {answers:,} answers and at most after them"
    caption = f"A belief in one secret of {names}, before {told}{rare}"
    rows = [(percent_text(prior), odds.belief_text(prior, guarantee.nats)) for prior in odds.PRIORS]
    return doc.Table(caption=caption, header=("before", "at most after"), rows=rows, numbers=(1,))


def even_text(nats: float) -> str:
    """Return what becomes of even odds between the two secrets of a pair, as a sentence without its full stop.

    Examples
    --------
    >>> even_text(1.0)
    'Even odds between the two secrets of a pair become at most 2.72 to 1, that is 73.2 % for one of them'
    """
    between, factor = "Even odds between the two secrets of a pair", factor_text(nats)
    if math.isinf(nats):
        return f"{between} can become certainty"
    if nats > SPELLED:
        return f"{between} can become as good as certainty, {factor} to 1"
    return f"{between} become at most {factor} to 1, that is {odds.belief_text(0.5, nats)} for one of them"
