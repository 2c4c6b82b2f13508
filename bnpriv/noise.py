"""Noise: laws, and where its random numbers come from."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.core.noise import (
        DiscreteLaplace as DiscreteLaplace,
        Gaussian as Gaussian,
        Laplace as Laplace,
        Noise as Noise,
        NoNoise as NoNoise,
    )
    from bnpriv.mechanisms.directional import DirectionalLaplace as DirectionalLaplace
    from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian as CorrelatedGaussian
    from bnpriv.mechanisms.optimal.channel import Channel as Channel


__getattr__, __dir__ = lazily(__name__)
