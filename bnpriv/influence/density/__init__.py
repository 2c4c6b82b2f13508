"""What columns tell about a parameter of a network of densities, by quadrature over its graph."""

from bnpriv.influence.density.influence import (
    DensityInfluence,
    density_influence,
    density_influence_of,
    unknown_because,
    unknown_influence,
)

__all__ = ["DensityInfluence", "density_influence", "density_influence_of", "unknown_because", "unknown_influence"]
