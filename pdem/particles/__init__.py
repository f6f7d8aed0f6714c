"""Beds of particles: lattices, random places without overlap, dense packings. Nothing here knows a case file."""
