"""The independent checker: replays a stored calibration, and imports nothing of the rest of bnpriv; docs/verify.md."""

from bnpriv.verify.check import Verdict, verify

__all__ = ["Verdict", "verify"]
