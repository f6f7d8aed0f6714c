"""Continuum fields: grids of cells, and the distribution of particles and contacts over their cells."""
