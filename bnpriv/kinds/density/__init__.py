"""Networks of densities: continuous parameters, by quadrature and by draws."""
