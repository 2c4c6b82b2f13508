"""The channel with the least expected error."""
