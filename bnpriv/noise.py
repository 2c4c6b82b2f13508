"""Noise: laws, and where its random numbers come from."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise
    from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
    from bnpriv.mechanisms.optimal.channel import Channel
    from bnpriv.mechanisms.translations.noise import DirectionalLaplace

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
