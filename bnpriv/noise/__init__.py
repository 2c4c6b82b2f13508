"""Noise: laws, and where its random numbers come from."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.noise.channel import Channel
    from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
    from bnpriv.noise.correlated import CorrelatedGaussian
    from bnpriv.noise.directional import DirectionalLaplace
    from bnpriv.noise.discrete import DiscreteLaplace

__all__ = [
    "Channel",
    "CorrelatedGaussian",
    "DirectionalLaplace",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "NoNoise",
    "Noise",
]

__getattr__, __dir__ = lazily(__name__)
