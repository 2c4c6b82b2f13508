"""Queries: what is asked, its normal form, and how far columns can move the answer."""
