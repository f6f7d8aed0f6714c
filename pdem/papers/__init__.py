"""Meshes of the walls in papers whose results are repeated."""
