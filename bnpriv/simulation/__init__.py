"""Made-up tables and made-up answers: what the model says, without any data. Nothing here is private or protected."""

from bnpriv.simulation.rehearsal import Rehearsal, rehearse
from bnpriv.simulation.tables import draw_parameters, simulate

__all__ = ["Rehearsal", "draw_parameters", "rehearse", "simulate"]
