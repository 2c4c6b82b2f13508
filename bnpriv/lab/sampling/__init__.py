"""Made-up tables and answers given a secret: one sampler a notion, one a kind of network."""
