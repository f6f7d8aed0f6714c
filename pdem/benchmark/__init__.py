"""Benchmarks of this machine: fixed cases, limits of the machine, comparison with results of earlier versions."""
