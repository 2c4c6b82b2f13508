"""From a table of one's own to a framework."""
