"""Contact geometry of spheres with meshes: the double hierarchy, and the signed contact sum."""
