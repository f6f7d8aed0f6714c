"""Beds of particles: lattices, random positions without overlap, dense packings. Nothing here knows a case file."""
