"""The contact law: coefficients of pairs of materials, forces, restitution, and dissipated energies."""
