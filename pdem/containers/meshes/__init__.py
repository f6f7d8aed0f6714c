"""Wall meshes: facets and how they hang together, repairs, reports, and the surface and solid they describe."""
