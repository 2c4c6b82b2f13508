"""Where plots are drawn: matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bnpriv.errors import MissingExtraError
from bnpriv.render.text import name_text
from bnpriv.render.two_curves import TwoCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes(ax: Axes | None = None) -> Any:  # the methods of Axes are typed in part only
    """Return `ax`, or the axes of a new figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "a plot needs matplotlib", found="no such package", remedy='Install it: pip install "bnpriv[plot]".'
        ) from None
    return pyplot.subplots()[1] if ax is None else ax


def label(text: str) -> str:
    r"""Return a name for a plot; a dollar sign in it starts no formula.

    Examples
    --------
    >>> print(label("$a"))
    \$a
    """
    return name_text(text).replace("$", r"\$")


def draw_curves(ax: Axes | None, plotted: TwoCurves, across: str) -> Axes:
    """Draw the law of one number given each of two secrets.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    drawing = axes(ax)
    sides = zip((plotted.first, plotted.second), plotted.names, ("#4a78b0", "#c0504d"), strict=True)
    for k, (heights, name, colour) in enumerate(sides):
        if plotted.finite:
            places = [place + 0.4 * k - 0.2 for place in range(len(heights))]
            drawing.bar(places, heights, width=0.4, color=colour, label=label(name))
        else:
            drawing.plot(plotted.values, heights, color=colour, label=label(name))
    if plotted.finite:
        drawing.set_xticks(range(len(plotted.ticks)), [label(tick) for tick in plotted.ticks])
    drawing.set_xlabel(label(across))
    drawing.set_ylabel("probability" if plotted.finite else "density")
    drawing.legend(title="given")
    return drawing
