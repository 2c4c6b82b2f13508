"""The local page: from a table to a statement by hand. It calls what the shell calls."""
