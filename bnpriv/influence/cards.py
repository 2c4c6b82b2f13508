"""An influence as a card and as drawings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence, draw_points, plain_text
from bnpriv.render import plotting
from bnpriv.render.document import Document, Items

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def influence_document(influence: Influence) -> Document:
    """How much is told, how well that is known, and how it is told."""
    said, nats = plain_text(influence), float(influence)
    first, *lines = influence.explain().splitlines()
    if first == said:  # which is the headline
        first, *lines = lines or [""]
    return Document(
        kind="influence",
        kicker=f"bnpriv influence, {influence.kind}",
        headline=said[:-1],
        lead=first,
        answer=(Items(tuple(lines)),) if lines else (),
        data={
            "columns": sorted(influence.columns),
            "protected": influence.protected,
            "nats": "inf" if math.isinf(nats) else None if math.isnan(nats) else nats,
            "kind": influence.kind,
            "pair": None if influence.pair is None else str(influence.pair),
            "model": influence.model,
        },
    )


def plot_secrets(influence: Influence, column: str | None, ax: Axes | None) -> Axes:
    """Draw the law of a column given each of the two secrets: `Influence.plot_secrets`."""
    curves = influence.conditional(column)
    if isinstance(curves, Refusal):
        raise curves.error()
    return plotting.draw_curves(ax, curves, column or influence.frontier[0])


def plot_draws(influence: Influence, ax: Axes | None) -> Axes:
    """Draw how many of the models tell how much: `Influence.plot_draws`."""
    drawing = plotting.axes(ax)
    told = np.maximum(influence.values.max(axis=1), 0.0)
    drawing.hist(told[np.isfinite(told)], bins=40, color="#4a78b0")
    for share, point in zip((50, 95, 100), draw_points(influence.values), strict=True):
        if np.isfinite(point):
            drawing.axvline(point, color="black", linewidth=1, linestyle=":" if share < 100 else "-")
            drawing.annotate(f"{share} %", (point, 0.97), xycoords=("data", "axes fraction"), rotation=90, va="top")
    names = ", ".join(plotting.label(name) for name in sorted(influence.columns))
    drawing.set_xlabel(f"what {names} tells about {plotting.label(influence.protected)}, in nats")
    drawing.set_ylabel("models")
    return drawing
