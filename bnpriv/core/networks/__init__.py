"""Networks with finitely many states, and what every network has."""
