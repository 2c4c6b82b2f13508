"""Documents, pages and every word that a user reads."""
