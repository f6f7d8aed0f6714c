"""Shapes made of spheres: files of them, spheres that fill a mesh, mass properties, orientations."""
