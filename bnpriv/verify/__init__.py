"""The independent checker: replays a stored calibration, and imports nothing of the rest of bnpriv; docs/verify.md."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.verify.check import Verdict, verify

__all__ = ["Verdict", "verify"]

__getattr__, __dir__ = lazily(__name__)
