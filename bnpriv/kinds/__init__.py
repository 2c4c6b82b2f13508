"""Kinds of networks beside the finite ones, each with all that it needs."""
