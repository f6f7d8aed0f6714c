"""Groups of particles of a case: those it begins with, those that come, their sizes, shapes, files and places."""
