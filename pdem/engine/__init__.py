"""The simulation on one rank: steps, detections, energies, and events between steps.

Goal: the order of a step, the state of a rank and its restart, the energy balance, and hooks by which features act
between steps.

Not here: features by name (`features`), MPI (`decomposition`, reached by `ranks` alone), files and the command line
(`run`, `cli`).
"""
