"""Exact laws of a few attributes of a network, and of a network without an edge."""

from bnpriv.inference.elimination import joint_law, joint_size
from bnpriv.inference.surgery import without_edge

__all__ = ["joint_law", "joint_size", "without_edge"]
