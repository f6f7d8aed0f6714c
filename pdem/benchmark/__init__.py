"""Speed of this machine: fixed cases, limits of the machine, results of earlier versions.

Goal: repeatable measurements of each phase of a step, beside the memory bandwidth and the arithmetic of the machine.

Not here: other codes (`benchmarks` in the sources), scaling over ranks (`scaling`), and correctness (`verification`).
"""
