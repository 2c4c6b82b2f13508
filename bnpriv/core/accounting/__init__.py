"""What several releases tell together, exactly and without any data."""
