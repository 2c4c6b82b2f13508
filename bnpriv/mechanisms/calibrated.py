"""What a calibration is to those who write about it: noise, guarantee and reasons, whatever computed them."""

from __future__ import annotations

from typing import ClassVar, Protocol

from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.guarantee import Guarantee
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.shape import Shape
from bnpriv.mechanisms.usefulness import Usefulness
from bnpriv.noise.channel import Averaged
from bnpriv.noise.continuous import Noise
from bnpriv.queries.base import Query


class Method(Protocol):
    """What a mechanism is to them: its text, its options, and whether its guarantee rests on a model."""

    needs_model: ClassVar[bool]
    """Whether what it promises holds only if the model does."""

    def options(self) -> dict[str, object]:
        """Return the constructor arguments."""
        ...


class Calibrated(Protocol):
    """Noise fitted to one query, with its guarantee and the reasons."""

    @property
    def mechanism(self) -> Method:
        """Return what fitted it."""
        ...

    @property
    def framework(self) -> Framework:
        """Return network, schema and secrets."""
        ...

    @property
    def query(self) -> Query:
        """Return what is to be released."""
        ...

    @property
    def epsilon(self) -> float:
        """Return the epsilon that was asked for."""
        ...

    @property
    def delta(self) -> float:
        """Return the delta that was asked for."""
        ...

    @property
    def noise(self) -> Noise:
        """Return what will be added to the answer."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """Return what the release promises."""
        ...

    @property
    def certificate(self) -> Certificate:
        """Return why."""
        ...

    @property
    def scale(self) -> float:
        """Return the scale of the noise in the answer's unit; 0.0 when none is needed."""
        ...

    @property
    def weighted_query(self) -> Query:
        """Return the query that was calibrated: each number of the answer times its weight."""
        ...

    @property
    def shape(self) -> Shape | None:
        """Return how the parts of the answer were weighed; None for an answer of one part."""
        ...

    @property
    def expected_error(self) -> float:
        """Return the mean 2-norm of the error."""
        ...

    @property
    def holds_for_draws_only(self) -> bool:
        """Return whether nothing is known about models that were not drawn, though others are known by draws."""
        ...

    @property
    def averaged_over(self) -> Averaged | None:
        """Return the exact answers over which it is averaged; None where it is the same for all."""
        ...

    @property
    def useful(self) -> Usefulness:
        """Return whether the answer still says something."""
        ...

    def quantile(self, p: float = 0.95) -> float:
        """Return the error that no number of the answer exceeds with probability `p`."""
        ...
