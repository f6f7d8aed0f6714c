"""Rigid clusters of spheres: their motion, and the positions of their members."""
