"""Release: the exact answer in any engine, then noise."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.release.evaluate import Answer, evaluate, evaluate_many, try_sensitivity
    from bnpriv.release.release import release, release_many
    from bnpriv.release.result import Release

__all__ = ["Answer", "Release", "evaluate", "evaluate_many", "release", "release_many", "try_sensitivity"]

__getattr__, __dir__ = lazily(__name__)
