"""What only the owner of a table may see: how it differs from what is declared. No release may depend on it."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.private_checks.data_check import DataCheck, Finding, check_data

__all__ = ["DataCheck", "Finding", "check_data"]

__getattr__, __dir__ = lazily(__name__)
