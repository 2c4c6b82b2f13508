"""Studies on made-up data: leaks, comparisons, rehearsals, attacks."""
