"""Shapes made of spheres: files of shapes, spheres that fill a mesh, mass properties, orientations."""
