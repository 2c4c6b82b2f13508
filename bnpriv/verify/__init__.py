"""The independent checker, which imports nothing of the rest."""
