"""Stress, fabric and coordination of all particles in the series."""
