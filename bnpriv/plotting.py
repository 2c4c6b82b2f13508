"""Where plots are drawn: matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bnpriv.errors import MissingExtraError
from bnpriv.render.text import name_text

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
