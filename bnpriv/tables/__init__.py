"""Tables of any engine: reading them, and the exact answer to a query."""
