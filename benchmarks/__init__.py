"""Comparison of pdem with LAMMPS and LIGGGHTS, and planning of runs on more ranks than this machine has.

Not part of the installed package: `pdem bench --peer` and `pdem scaling plan`, `rehearse` and `proposal` find this
folder in the sources, where ``python -m benchmarks`` starts them as well.
"""
