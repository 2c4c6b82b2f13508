"""What one asks beside a calibration: leaks, comparisons, trade-offs, rehearsals, made-up tables, checks of a model."""
