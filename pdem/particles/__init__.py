"""Beds of particles: lattices, random positions without overlap, dense packings; independent of case files."""
