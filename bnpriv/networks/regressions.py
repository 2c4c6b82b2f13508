"""Linear regressions of attributes on their parents, as they were declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from bnpriv.bound import FloatArray


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Regressions:
    """The linear regression of every attribute on its parents, for one model or several.

    Parameters
    ----------
    intercepts, deviations : mapping from str to ndarray of shape (models,)
    coefficients : mapping from str to mapping from str to ndarray of shape (models,)
        One entry for each attribute, empty if it has no parents.
    """

    intercepts: Mapping[str, FloatArray]
    deviations: Mapping[str, FloatArray]
    coefficients: Mapping[str, Mapping[str, FloatArray]]

    @property
    def named(self) -> dict[str, FloatArray]:
        """All numbers, with what each is."""
        found = {f"intercept {name}": value for name, value in self.intercepts.items()}
        found |= {f"deviation {name}": value for name, value in self.deviations.items()}
        return found | {
            f"{name} given {parent}": value
            for name, above in self.coefficients.items()
            for parent, value in above.items()
        }
