"""The ledger of what was charged, and sessions within one budget."""
