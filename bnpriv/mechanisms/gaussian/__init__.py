"""Gaussian noise for answers with normal laws."""
