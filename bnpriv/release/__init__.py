"""Release: the exact answer in any engine, then noise."""

from bnpriv.release.evaluate import Answer, evaluate, try_sensitivity
from bnpriv.release.release import Release, release

__all__ = ["Answer", "Release", "evaluate", "release", "try_sensitivity"]
