"""Runs: from a case to its output, the public Simulation, kernels that are compiled before, and results read again."""
