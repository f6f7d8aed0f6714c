"""Rigid clusters of spheres: how they move, and where their members are."""
