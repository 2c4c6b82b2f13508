"""Schemas, laws of columns, and the one reader of every table and file."""
