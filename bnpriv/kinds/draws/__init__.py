"""Models that are known by draws: answers, laws and bounds that are learned from them."""
