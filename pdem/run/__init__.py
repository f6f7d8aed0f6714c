"""Runs: from a case to its output, the public `Simulation`, and results read again.

Goal: the loop of a run with its outputs, stops and observers, kernels compiled in advance, restarts, and `Results`
for scripts.

Not here: the physics of a step (`engine`), formats of files (`output`), and work with several runs (`replays`,
`sweeps`).
"""
