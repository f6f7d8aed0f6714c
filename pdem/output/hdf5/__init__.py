"""HDF5 files that ranks write together, that grow, and that a full disk cannot damage."""
