"""Detection methods for spheres of similar size: NBS, linked cells, sorting, screening, and brute force."""
