"""The benchmark cases with LAMMPS, on the same machine."""
