"""A hash of everything that a calibration depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bnpriv.networks.base import Network


def fingerprint(facts: object, networks: Iterable[Network] = ()) -> str:
    """Return a hash of the representation of `facts` and of all that tells networks apart."""
    digest = hashlib.sha256(repr(facts).encode())
    for network in networks:
        digest.update(network.identity())
    return digest.hexdigest()
