"""What columns tell about a parameter of a network of densities, by quadrature over its graph."""
