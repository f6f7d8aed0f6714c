"""Continuum fields: grids of cells, and how particles and contacts are shared among their cells."""
