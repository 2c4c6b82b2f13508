"""Release: the exact answer in any engine, then noise."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.release import Release, release, release_many
    from bnpriv.tables.evaluate import Answer, evaluate, evaluate_many, try_sensitivity

__all__ = ["Answer", "Release", "evaluate", "evaluate_many", "release", "release_many", "try_sensitivity"]

__getattr__, __dir__ = lazily(__name__)
