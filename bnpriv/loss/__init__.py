"""The privacy loss of two laws, in every view."""
