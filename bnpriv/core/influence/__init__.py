"""What columns tell about a protected attribute, and the Markov quilts that shield it."""
