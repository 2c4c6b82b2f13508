"""Models and frameworks from other libraries and from files."""
