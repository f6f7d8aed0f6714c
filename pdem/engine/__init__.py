"""The engine: physics of the particles of this rank, on any number of ranks."""
