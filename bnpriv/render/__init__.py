"""Text, HTML, SVG and Markdown in which no name does harm; knows nothing of the domain."""

from bnpriv.render.text import Json, number_text, set_text, table_text

__all__ = ["Json", "number_text", "set_text", "table_text"]
