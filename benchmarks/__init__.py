"""Other codes and plans: pdem beside LAMMPS and LIGGGHTS, and runs on more ranks than this machine has.

Goal: fair comparisons from the same start with the same law, and predictions of time and memory on many ranks. `pdem
bench --peer` and `pdem scaling plan`, `rehearse` and `proposal` import this folder; ``python -m benchmarks`` starts
them as well.

Not here: anything that a run needs. The folder is not part of the installed package.
"""
