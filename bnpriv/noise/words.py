"""Noise in words: of which kind it is, and what its size is called."""

from __future__ import annotations

from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Noise, unit_name
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.noise.discrete import DiscreteLaplace

NOISE_NAMES: dict[type[Noise], str] = {
    Channel: "table of outputs",
    CorrelatedGaussian: "correlated Gaussian",
    DirectionalLaplace: "directional Laplace",
    DiscreteLaplace: "discrete Laplace",
}
"""What kinds of noise are called, where that is not the name of their class."""


def noise_name(noise: Noise) -> str:
    """Return the kind of noise, as it is said in the middle of a sentence.

    Examples
    --------
    >>> from bnpriv.noise import CorrelatedGaussian, Laplace
    >>> noise_name(Laplace(2.0)), noise_name(CorrelatedGaussian([[2.0, 1.0], [1.0, 1.0]]))
    ('Laplace', 'correlated Gaussian')
    """
    return NOISE_NAMES.get(type(noise), type(noise).__name__)


def sized_noise(noise: Noise, size: str) -> str:
    """Return the kind of noise and its size, to begin a sentence.

    Examples
    --------
    >>> from bnpriv.noise import Gaussian
    >>> sized_noise(Gaussian(2.0), "2")
    'Gaussian noise of standard deviation 2'
    """
    name = noise_name(noise)
    if isinstance(noise, Channel):
        count = len(noise.outputs)
        return f"A draw from a table of {count:,} outputs" if count > 1 else "One and the same output"
    unit = unit_name(gaussian=isinstance(noise, (Gaussian, CorrelatedGaussian)))
    return f"{name[0].upper()}{name[1:]} noise of {unit} {size}"
