"""Whole matrices of influences of finite networks, from one pass over a junction tree."""
