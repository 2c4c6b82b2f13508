"""The kernel: from what is declared to a released number and its cost (reading order: docs/architecture.md)."""
