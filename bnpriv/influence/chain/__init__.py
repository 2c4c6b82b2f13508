"""What single values of a Markov chain tell about each other, and the noise that hides any of them."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.influence.chain.search import ChainQuilt, ExactInfluence, chain_scale, together
    from bnpriv.influence.chain.spectral import SpectralBound, spectral_refusal

__all__ = ["ChainQuilt", "ExactInfluence", "SpectralBound", "chain_scale", "spectral_refusal", "together"]

__getattr__, __dir__ = lazily(__name__)
