"""Kinds of networks and notions of privacy: one object each, in one file each; see `bnpriv.kind`."""
