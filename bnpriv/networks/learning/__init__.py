"""Model classes learned from public tables: draws from conjugate posteriors."""
