"""Meshes of papers that the examples of `pdem new` need, made when an example is written."""
