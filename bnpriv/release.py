"""Release: the exact answer in any engine, then noise."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.release import Release as Release, release as release, release_many as release_many
    from bnpriv.tables.evaluate import (
        Answer as Answer,
        evaluate as evaluate,
        evaluate_many as evaluate_many,
        try_sensitivity as try_sensitivity,
    )


__getattr__, __dir__ = lazily(__name__)
