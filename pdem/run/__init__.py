"""Runs: from a case to its output, the public Simulation, compilation of kernels, and reading of results."""
