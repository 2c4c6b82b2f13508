"""What columns tell about a protected attribute, and which sets of columns tell all of it."""
