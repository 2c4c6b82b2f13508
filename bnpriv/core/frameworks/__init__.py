"""Notions of privacy: who must not learn what, over which model."""
