"""Motion of particles, walls, servos, rigid bodies and rigid clusters.

Goal: integration of particles and bodies in time, prescribed motions of walls, walls that follow their load, the
state of a box that deforms.

Not here: the origin of forces (`contact`, `features.external_forces`), and the keys of motions
(`case.sections.motions`).
"""
