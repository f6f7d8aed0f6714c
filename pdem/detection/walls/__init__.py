"""Detection of facets of the walls that spheres may touch."""
