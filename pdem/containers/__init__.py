"""Particles, clusters, contact records, meshes and size distributions.

Goal: columns of particles and clusters, records of contacts, meshes with their checks and files, distributions of
radii, and `exchange`, the interface through which a step asks for data of other ranks.

Not here: forces, motion and search (`contact`, `motion`, `detection`), the implementation of `exchange` on several
ranks (`decomposition`), and keys of the case file (`case`).
"""
