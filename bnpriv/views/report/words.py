"""The sentences of a report, the same in every form."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bnpriv import text as texts
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.guarantee import observer_text
from bnpriv.core.influence.base import Influence, tells, told_text
from bnpriv.core.networks.base import Network
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal
from bnpriv.kind import kind_of
from bnpriv.kinds.draws.estimated_influence import EstimatedInfluence
from bnpriv.render.as_text import inline
from bnpriv.render.document import Name, Paragraph, Text
from bnpriv.views.calibration import headline as calibration_headline, points_text, query_text, share_text
from bnpriv.views.cards import model_graph, shown_edges
from bnpriv.views.report.analysis import rare
from bnpriv.views.report.values import Analysis, AttributeReport, LikelyInfluence


def but_for(likely: LikelyInfluence) -> str:
    """Return the chance that is left out, in words."""
    return f"but for 1 record in {int(1 / likely.chance):,}"


def rarely_text(row: AttributeReport | None) -> str:
    """Return the same as the end of a caption; an empty text where numbers are at worst."""
    return "" if row is None or row.asked_likely is None else f", {but_for(row.asked_likely)}"


def likely_text(likely: LikelyInfluence) -> str:
    """Return how much is told but for a chance."""
    return f"{texts.times_text(likely.nats)} {but_for(likely)}"


def unseen_text(likely: LikelyInfluence) -> str:
    """Return that public records show no dependence, and what the draws from the posterior leave open."""
    left = f"odds that move {texts.by_times(likely.at_95)} in 95 % of the draws"
    return f"no dependence seen in {likely.records:,} public records; {left}"


def spoken(network: Network | None, name: str) -> str:
    """Return the name of an attribute in words: an entry of an array by the names of its dimensions."""
    return name if network is None else texts.element_text(name, network.reading.axes)


def but_for_delta(delta: float) -> str:
    """Return the chance that an estimate leaves out, in words."""
    return f"but for delta {texts.full_text(delta)}"


def estimate_text(found: EstimatedInfluence | None) -> str:
    """Return what is estimated from draws, or how much at least where they set no upper end."""
    if found is None or found.rank < 0:
        return "not known"
    if found.unknown is not None:
        least = f"{texts.lower_text(math.exp(found.low), 3)} times ({texts.lower_text(found.low)} nats)"
        return f"not known, but at least {least}"
    return f"about {texts.times_text(found.nats)}" if found.nats else "not seen to move"


def interval_text(found: EstimatedInfluence) -> str:
    """Return the interval of an estimate, as factors."""
    most = "not known" if math.isnan(found.high) else texts.factor_text(found.high)
    return f"{texts.lower_text(math.exp(found.low), 3)} to {most}"


def estimate_sentence(what: str, about: str, found: EstimatedInfluence) -> str:
    """Return what is estimated, with its interval, as a sentence without its full stop."""
    if found.unknown is not None:
        least = estimate_text(found).removeprefix("not known")
        return f"How far {what} moves the odds about {about} is not known{least}: {found.unknown.found}"
    moved = f"moves the odds about {about} by {estimate_text(found)}" if found.nats else f"{SILENT} about {about}"
    interval = f"95 % interval {interval_text(found)} times"
    return f"{what} {moved}, {but_for_delta(found.delta)}; {interval} (estimate from draws)"


SILENT = "is not seen to move the odds"


def headline(report: Analysis) -> Text:
    """Return the finding as a sentence, without a full stop."""
    if report.best is not None:
        return calibration_headline(report.best)
    if report.worst is None:
        found = report.laws
        if found is None or isinstance(found, Refusal) or found.distance is None:
            return "It is declared which distributions must not be told apart"
        return (
            "The answers of two declared distributions can be told apart: from one to the other the distribution of "
            f"the answer moves by up to {texts.upper_text(found.distance.upper)}"
        )
    if report.query is not None:
        return _asked_headline(report, report.query)
    return _columns_headline(report)


def _asked_headline(report: Analysis, query: Query) -> Text:
    read = sorted(texts.name_text(row.protected) for row in report.attributes if row.is_queried and row.answer is None)
    if read:
        return f"The queried columns are driven by {texts.and_text(read)} directly, and {_without_bound(report)}"
    most = report.worst
    assert most is not None
    name = texts.name_text(most.protected)
    subject = query_text(query)
    told = most.told
    if math.isnan(told):
        about = texts.name_text(spoken(report.network, most.protected))
        if most.answer is None:
            return "How far ", *subject, f" moves the odds about {about} is not known"
        return estimate_sentence(inline(subject), about, most.answer)
    assert most.asked is not None
    if told == 0:
        return *subject, f" tells nothing about {_protected(report)}"
    if math.isinf(told):
        return *subject, f" {endless_text(most.asked)}"
    guess = " (estimate)" if most.asked.kind == "estimate" else ""
    moved = f": {move_text(most.told_first, bounds_belief=True)}" if most.bounds_belief else ""
    if most.asked_likely is not None:
        moved = f"{moved}; {most.asked_likely.worst} {texts.times_text(told)}"
    return (
        *subject,
        f" moves the odds about {name} by up to {texts.times_text(most.told_first)}{rarely_text(most)}{moved}{guess}",
    )


def _without_bound(report: Analysis) -> str:
    """Return what happens to an attribute that is read itself."""
    row = next(row for row in report.attributes if row.is_queried)
    if report.network is not None and report.network.states.get(row.protected):
        return f"can rule out a secret of {texts.name_text(row.protected)} altogether"
    return "tell about it without bound"


def endless_text(influence: Influence, verb: str = "tells") -> str:
    """Return what an infinite influence means: with how much probability more than a factor e is told."""
    name = texts.name_text(influence.protected)
    if influence.unknown is not None:
        return f"may tell anything about {name}: how much is not known"
    if of_states(influence):
        return f"can rule out a secret of {name} altogether"
    delta = rare(influence)
    rarity = "" if delta is None else f", by more than 2.72 times with delta {texts.upper_chance(delta)}"
    guess = " (estimate)" if influence.kind == "estimate" else ""
    return f"{verb} about {name} without bound{rarity}{guess}"


def of_states(influence: Influence) -> bool:
    """Return whether the secrets are states, of which one can be ruled out, and no numbers."""
    return influence.pair is not None and math.isinf(influence.pair.farthest)


def _columns_headline(report: Analysis) -> Text:
    most = report.worst
    assert most is not None
    finding = next((made.finding for made in report.further if made.finding), "")
    if not most.columns and finding:
        return finding
    if not most.columns and most.asked is None:
        return Name(most.protected), " is the only attribute of the network"
    if most.told == 0 and most.most <= 0:
        return f"No other column tells anything by itself about {_protected(report)}"
    known = [each for each in most.columns if each.unknown is None]
    told = known[0] if known else most.columns[0] if most.columns else most.asked
    assert told is not None
    among = "Of all columns " if len(known) in (0, len(most.columns)) else "Of the columns of which it is known "
    (column,) = texts.in_order(told.columns)[:1]
    about = texts.name_text(most.protected)
    if told.unknown is not None:
        return _estimated_headline(report, most, told)
    moved, likely = move_text(most.shown(told), bounds_belief=most.bounds_belief), most.likely.get(told.columns)
    if likely is not None and likely.dependence is False:
        return "Of all columns ", Name(column), f" may tell most about {about}: {unseen_text(likely)}"
    if likely is not None:
        moved = f"{but_for(likely)} {moved}; {likely.worst} {texts.times_text(float(told))}"
        if likely.dependence:
            return f"Of the columns seen to depend on {about}, ", Name(column), f" tells most: {moved}"
    if told.too_large:
        bound = "by a bound, because its tables are too large"
        return Name(column), f" may tell most about {about}, {bound}: {moved} at most"
    if math.isinf(float(told)) and not of_states(told):
        return among, Name(column), f" tells most: it {endless_text(told)}"
    return among, Name(column), f" tells most about {about}: {moved}"


def _estimated_headline(report: Analysis, row: AttributeReport, told: Influence) -> Text:
    """Return which column tells most by draws, or that nothing is known."""
    about, found = texts.name_text(spoken(report.network, row.protected)), row.estimated.get(told.columns)
    if found is None or found.rank < 0:
        why = "" if found is None or found.unknown is None else f": {found.unknown.found}"
        return f"What other columns tell about {about} is not known{why}"
    (column,) = texts.in_order(told.columns)[:1]
    said = f"{but_for_delta(found.delta)} (estimate from draws)"
    if found.nats == 0:
        return f"No other column is seen to tell by itself about {about}, {said}"
    moved = "it moves the odds by" if found.unknown is None else "how far it moves the odds is"
    column_said = Name(spoken(report.network, column))
    return "Of all parameters ", column_said, f" tells most about {about}: {moved} {estimate_text(found)}, {said}"


def _protected(report: Analysis) -> str:
    return texts.and_text([texts.name_text(row.protected) for row in report.attributes])


def lead(report: Analysis) -> str:
    """Return what stands behind the headline, in a sentence or two."""
    if report.best is not None:
        return share_text(report.best)
    if report.plan is not None:
        return "No mechanism supports this query."
    if report.query is not None:
        return "Give an epsilon to learn what noise the answer needs."
    likely = None if report.worst is None else report.worst.asked_likely
    how = "at worst" if likely is None else f"first {but_for(likely)}, then at worst"
    guesses = [] if report.worst is None else [*report.worst.estimated.values()]
    how = f"{but_for_delta(guesses[0].delta)}, as far as draws show it" if guesses else how
    return (
        "A statistic that never reads a protected column can still tell about it, because columns depend on each "
        f"other. This report says how much, {how}."
    )


def move_text(nats: float, *, bounds_belief: bool) -> str:
    """Return what an influence does to a belief, or to odds where it bounds no belief."""
    if math.isinf(nats):
        return "it can rule a secret out altogether"
    if not bounds_belief:
        return f"it can move the odds between two protected secrets by {texts.factor_text(nats)} times"
    return f"it can turn a belief of 10 % into {odds.belief_text(odds.PRIOR, nats)}"


def influence_text(influence: Influence) -> str:
    """Return an influence in words."""
    told = texts.some_text(influence.columns)
    if math.isinf(float(influence)):
        return f"{told} {endless_text(influence, tells(influence.columns))}"
    return f"{told} {told_text(influence)}"


def not_worked_out(refusal: Refusal) -> Paragraph:
    """Return why something is missing, as a sentence."""
    return Paragraph(f"Not worked out: {refusal}")


def witness_text(influence: Influence) -> str:
    """Return the assignment, the pair of secrets and the model that attain an influence, or how else it was found."""
    if influence.too_large:
        return f"a bound; too large: {influence.too_large}"
    if influence.pair is None or not influence.assignment:
        return "" if influence.how == "exact" else influence.how
    seen = ", ".join(f"{name} = {state}" for name, state in influence.assignment.items())
    return f"{seen} for {influence.pair}" + (f", model {influence.model}" if influence.values.shape[0] > 1 else "")


def setting_text(report: Analysis) -> str:
    """Return the size of the model."""
    records = "" if report.records is None else f"{report.records:,} records, "
    if report.network is None:
        count = 0 if report.framework is None else report.framework.models
        return f"{records}{count} {'pair' if count == 1 else 'pairs'} of distributions"
    network = report.network
    graph = model_graph(network)
    count = len(shown_edges(network))
    edges = "1 edge" if count == 1 else f"{count} edges"
    nodes, word = len(graph.nodes), "variable" if network.reading.own_graph else "attribute"
    attributes = f"1 {word}" if nodes == 1 else f"{nodes} {word}s"
    size = f"{attributes}, {edges}, " if nodes > 1 else ""
    return f"{records}{size}{models_text(network)}"


def models_text(network: Network) -> str:
    """Return how many models there are, and where they come from."""
    drawn = network.posterior_draws
    if drawn is not None and drawn.belief:
        return f"the distribution of {drawn.draws:,} draws from a posterior"
    if drawn is not None:
        models = "1 model" if network.models == 1 else f"{network.models:,} models"
        if drawn.graphs is not None:
            return f"{models} of {drawn.graphs:,} resamples of a public table"
        return f"{models} drawn from a posterior"
    return network.kind_text if network.models == 1 else f"{network.models:,} models, {network.kind_text}"


def draws_text(influence: Influence | None) -> str:
    """Return what half, 95 % and all of the draws tell at most; an empty text if the models are no draws."""
    if influence is None or influence.over_draws is None:
        return ""
    about = f"{texts.some_text(influence.columns)} about {texts.name_text(influence.protected)}"
    return f"{about}: {points_text(influence.values)}"


def node_text(network: Network) -> str:
    """Return what a node of the network means."""
    if network.reading.own_graph:
        return (
            "A node stands for a variable of the model or a named function of some. Given the data every parameter "
            "depends on all others, so that no edge that is missing from the drawing shields anything."
        )
    if network.level == "parameters":
        return (
            "A node stands for what a column is like as a whole (the parameter that governs it), not for the value of "
            "a single record. What a node tells is all that its column can tell, however many records there are."
        )
    return "A node stands for the value of a column in one record."


def path_text(edges: Iterable[tuple[str, str]]) -> str:
    """Return edges in words."""
    return ", ".join(f"{texts.name_text(a)} -> {texts.name_text(b)}" for a, b in edges)


def asked_text(report: Analysis, row: AttributeReport) -> str:
    """Return which columns the tables of edges and beliefs speak of."""
    if row.answer is not None:
        return "the answer without noise"
    if row.asked is None:
        return ""
    several = "columns" if len(row.asked.columns) > 1 else "column"
    what = f"the queried {several}" if report.query is not None else f"the most telling {several}"
    return f"{what} {texts.some_text(row.asked.columns)}"


def observed_text(network: Network) -> str:
    """Return which models somebody who must not learn the secrets may believe."""
    if network.posterior_draws is not None:
        return network.posterior_draws.models_text
    return observer_text(network.models, models_text=kind_of(network).models_text(network))


def model_assumptions(network: Network) -> tuple[str, ...]:
    """Return what every number of a report leans on."""
    drawn = network.posterior_draws
    beyond = () if drawn is None else (drawn.sentence,)
    return (
        f"The observer's beliefs are those of {observed_text(network)}; somebody who knows more, for example the state "
        "of another attribute, holds another model.",
        "No dependence is missing from the network: an edge too many costs accuracy, an edge too few costs privacy.",
        "The network was not learned from the table that is to be protected.",
        *beyond,
    )
