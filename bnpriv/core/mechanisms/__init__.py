"""The mechanisms of the kernel: quilt, column, Wasserstein, tight."""
