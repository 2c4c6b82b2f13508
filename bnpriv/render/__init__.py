"""Documents, and what draws them: text, cards, pages, Markdown, JSON and figures; knows nothing of the domain."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.render.document import Document
    from bnpriv.render.shown import HasCard, Shown
    from bnpriv.render.text import Json, number_text, set_text, table_text

__all__ = ["Document", "HasCard", "Json", "Shown", "number_text", "set_text", "table_text"]

__getattr__, __dir__ = lazily(__name__)
