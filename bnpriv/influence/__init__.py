"""How much sets of columns tell about protected attributes, for every kind of network."""
