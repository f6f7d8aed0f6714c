"""The same cases with LAMMPS, on the same machine."""
