"""Peers and planning: pdem beside LAMMPS and LIGGGHTS, and runs on many more ranks than there are here.

Not part of the installed package: `pdem bench --peer` and `pdem scaling plan`, `rehearse` and `proposal` find it in the
sources, where ``python -m benchmarks`` starts them as well.
"""
