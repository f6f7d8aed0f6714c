"""Groups of particles of a case: initial and inserted particles, their sizes, shapes, files and positions."""
