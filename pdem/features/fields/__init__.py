"""Continuum fields: means over time of density, velocity and stress on a grid of cells."""
