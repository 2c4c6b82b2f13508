"""Where randomness comes from: exact discrete noise from the operating system, behind a small protocol."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, final

from bnpriv import checks
from bnpriv.errors import ParameterError

NoiseLaw = Literal["laplace", "gaussian", "discrete_laplace"]


class Sampler(Protocol):
    """Adds independent noise to every coordinate of a vector.

    The protocol exists so that tests can put a recorded sampler in its place; releases use `SecureSampler`.
    """

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus Laplace noise of density proportional to ``exp(-|x| / scale)``."""
        ...

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus normal noise of standard deviation `scale`."""
        ...

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return whole `values` plus whole-number noise of probability proportional to ``exp(-|k| / scale)``."""
        ...

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to ``limit - 1``, each with the same probability."""
        ...


@final
@dataclass(frozen=True)
class SecureSampler:
    """Exact discrete Laplace and Gaussian noise (OpenDP), and whole numbers, with randomness of the operating system.

    There is no seed. The noise is drawn exactly on the whole multiples of 2^-1074, added without rounding, and only
    the sum is rounded to the nearest double, so that the set of possible outputs is the same for every true value.

    Notes
    -----
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020), algorithms 1 to 3. The
    attack that this prevents: Mironov, "On significance of the least significant bits for differential privacy" (CCS
    2012).

    Examples
    --------
    >>> len(SecureSampler().laplace([1.0, 2.0], scale=3.0))
    2
    """

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus independent Laplace noise.

        Parameters
        ----------
        values : sequence of float
            Exact answers; finite.
        scale : float
            Scale in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not finite or the scale is not finite and above 0.
        """
        return _noisy("laplace", values, scale)

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus independent normal noise.

        Parameters
        ----------
        values : sequence of float
            Exact answers; finite.
        scale : float
            Standard deviation in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not finite or the scale is not finite and above 0.
        """
        return _noisy("gaussian", values, scale)

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return whole `values` plus independent whole-number noise.

        Parameters
        ----------
        values : sequence of float
            Exact answers; whole and below 2^53 in size.
        scale : float
            Scale in the answers' unit; finite and above 0.

        Returns
        -------
        tuple of float, shape (len(values),)

        Raises
        ------
        ParameterError
            If a value is not whole or the scale is not finite and above 0.
        """
        return _noisy("discrete_laplace", values, scale)

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to ``limit - 1``, each with exactly the same probability.

        Parameters
        ----------
        limit : int
            At least 1.

        Returns
        -------
        int

        Raises
        ------
        ParameterError
            If the limit is not a whole number of at least 1.

        Notes
        -----
        `secrets.randbelow` draws as many random bits of the operating system as the limit has, and draws again where
        they make a number that is too large.
        """
        return secrets.randbelow(checks.whole("the limit of a random number", limit))


def _noisy(law: NoiseLaw, values: Sequence[float], scale: float) -> tuple[float, ...]:
    from opendp import domains, measurements, metrics
    from opendp.mod import enable_features

    scale = checks.positive("the scale of the noise", scale)
    exact = [float(value) for value in values]
    # OpenDP turns NaN into a finite number and clamps infinities without a word
    if not all(math.isfinite(value) for value in exact):
        raise ParameterError(
            "every value must be finite before noise is added",
            found="a value that is not",
            remedy="Report the query that led here: its answer overflowed.",
        )
    enable_features("contrib")
    # its functions carry partial types only
    domain, measure, metric = cast(Any, domains), cast(Any, measurements), cast(Any, metrics)
    if law == "discrete_laplace":
        whole = [int(value) for value in exact]
        counts = domain.vector_domain(domain.atom_domain(T="i64"))
        return tuple(float(k) for k in measure.make_laplace(counts, metric.l1_distance(T="i64"), scale=scale)(whole))
    numbers = domain.vector_domain(domain.atom_domain(T=float, nan=False))
    if law == "laplace":
        measurement = measure.make_laplace(numbers, metric.l1_distance(T=float), scale=scale)
    else:
        measurement = measure.make_gaussian(numbers, metric.l2_distance(T=float), scale=scale)
    return tuple(float(value) for value in measurement(exact))
