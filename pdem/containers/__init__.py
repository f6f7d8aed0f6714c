"""Particles, contacts with their history, materials, meshes and size distributions."""
