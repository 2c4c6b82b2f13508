"""Models of PyMC."""
