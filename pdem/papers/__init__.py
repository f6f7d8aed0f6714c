"""Geometry of the papers whose results are repeated: meshes of walls."""
