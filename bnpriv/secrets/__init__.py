"""Secrets and the pairs of them that must not be told apart: states, values of a parameter, properties of a table."""
