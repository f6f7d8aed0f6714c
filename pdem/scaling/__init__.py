"""Scaling of runs: measured over ranks and threads, reported also beside a plan; batch scripts.

Goal: speed-up, phases and traffic between ranks of a real case, and scripts for batch systems.

Not here: predictions for more ranks (`benchmarks.planning` in the sources), and the division of space
(`decomposition`).
"""
