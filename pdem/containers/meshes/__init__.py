"""Wall meshes: facets and their adjacency, repairs, reports, and the surface and solid that a mesh describes."""
