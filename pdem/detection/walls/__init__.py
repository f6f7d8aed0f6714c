"""Which facets of the walls may touch which spheres."""
