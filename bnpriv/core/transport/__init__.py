"""How far mass must move to turn one law into another: the infinity-Wasserstein distance."""
