"""A private table that stays inside: asked with record-level differential privacy, it protects single persons too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.private_table.rule import TableRule

if TYPE_CHECKING:
    from bnpriv.render.document import Document


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HiddenTable(Shown):
    """A private table that nobody sees."""

    table: Any = field(repr=False)
    rule: TableRule
    sizes: tuple[int, ...]

    @property
    def document(self) -> Document:
        """How it was made, and what its answers promise."""
        return service("table.hidden_document")(self)
