"""What a framework declares, as a document: who is kept from learning what, over which network and columns."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.frameworks.guarantee_facts import protected_fact
from bnpriv.frameworks.protected import ProtectedSecret
from bnpriv.networks.base import Network, network_text
from bnpriv.render.document import Block, Document, Figure, Names, Section, fact
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html
from bnpriv.tables.schema import Schema


def framework_document(
    notion: str,
    source: str,
    schema: Schema,
    secrets: Sequence[ProtectedSecret],
    network: Network | None,
    independent: Sequence[str] = (),
) -> Document:
    """Return what a framework declares."""
    names = tuple(secret.attribute for secret in secrets)
    facts = [protected_fact(secrets)]
    if network is not None:
        facts.append(fact("Model", f"{network_text(network)}."))
    facts.append(fact("Source of the model", source))
    if independent:
        facts.append(fact("Declared independent", (Names(tuple(independent)),)))
    table = schema.document
    return Document(
        kind="framework",
        kicker=f"bnpriv framework · {notion}",
        headline=(f"{notion[0].upper()}{notion[1:]} for ", Names(names)),
        facts=tuple(facts),
        beside=() if network is None else network_drawing(network, names),
        sections=(Section(title=table.headline, blocks=table.answer, folded=True),),
        data={
            "notion": notion,
            "source": source,
            "protected": [secret.to_json() for secret in secrets],
            "schema": table.data,
        },
    )


def network_drawing(network: Network, protected: Sequence[str]) -> tuple[Block, ...]:
    """Return the network with what is protected marked; nothing where it is one node, or too large to be read."""
    if not 1 < len(network.attributes) <= MOST_DRAWN:
        return ()
    drawing = Drawing(
        nodes=network.attributes,
        edges=network.graph.edges,
        roles=dict.fromkeys(protected, "protected"),
        title="The network",
        desc=f"{network_text(network)}. Protected attributes have a double border.",
    )
    return (Figure(graph_html(drawing), "Protected attributes have a double border."),)


def network_document(network: Network) -> Document:
    """Return what a network is, drawn where it is small enough to be read."""
    text = network_text(network)
    kind, _, size = text.partition(": ")
    drawing = Drawing(nodes=network.attributes, edges=network.graph.edges, title="The network", desc=f"{text}.")
    drawn = (Figure(graph_html(drawing)),) if 1 < len(network.attributes) <= MOST_DRAWN else ()
    return Document(
        kind="network",
        kicker="bnpriv network",
        headline=kind,
        lead=f"{size[0].upper()}{size[1:]}.",
        answer=drawn,
        facts=(fact("Attributes", (Names(network.attributes),)),) if not drawn else (),
        data={"kind": kind, "attributes": list(network.attributes), "models": network.models, "level": network.level},
    )
