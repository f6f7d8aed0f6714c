"""Initial beds of particles: lattices, random positions without overlap, dense packings.

Goal: positions for given numbers, volume fractions, masses or pressures, in boxes, regions and between meshes, the
same on any number of ranks; shapes of clusters.

Not here: the case file (`case.groups` translates it into requests), and the motion of particles.
"""
