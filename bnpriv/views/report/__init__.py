"""The influence report."""
