"""Noise for laws that are translations of one another."""
