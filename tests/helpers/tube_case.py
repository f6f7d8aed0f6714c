"""A case with a wavy, turning tube, closed at one end: meshes as fine as is wanted."""

from __future__ import annotations

import numpy as np

from pdem.containers.meshes.mesh import Mesh

CASE = """
[time]
step = 5e-5
end = 1.0
[domain]
lower = [-0.18, -0.135, -0.135]
upper = [0.18, 0.135, 0.135]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[interactions.grain-steel]
friction = 0.75
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.01
velocity = {random = 1.0, seed = 1}
[particles.fill]
arrangement = "hexagonal"
count = 300
gap = 0.05
shape = "cylinder"
centre = [0, 0, 0]
axis = [1, 0, 0]
radius = 0.12
length = 0.33
[[walls]]
name = "tube"
mesh = "tube.ply"
material = "steel"
rotation = {rate = 12.0, axis = [1.0, 0.0, 0.0]}
[[walls]]
name = "end"
mesh = "end.ply"
material = "steel"
[output]
folder = "unused"
"""


def grid(points, rows, columns, closed):
    """Return triangles between rows of points; the last column meets the first if it is closed."""
    row, column = (one.ravel() for one in np.mgrid[: rows - 1, : columns if closed else columns - 1])
    ahead = (column + 1) % columns
    a, b = row * columns + column, row * columns + ahead
    corners = [(a, b, b + columns), (a, b + columns, a + columns)]
    return Mesh(points, np.concatenate([np.stack(one, axis=1) for one in corners]))


def tube(rows, columns):
    """A wavy tube around the x axis."""
    x, angle = (one.ravel() for one in np.mgrid[:rows, :columns].astype(float))
    x, angle = -0.17 + 0.34 * x / (rows - 1), 2.0 * np.pi * angle / columns
    radius = 0.1225 + 0.002 * np.sin(40.0 * x) * np.cos(5.0 * angle)
    return grid(np.column_stack((x, radius * np.cos(angle), radius * np.sin(angle))), rows, columns, True)


def end(count):
    """A square across the tube."""
    y, z = (0.3 * one.ravel() / (count - 1) - 0.15 for one in np.mgrid[:count, :count].astype(float))
    return grid(np.column_stack((np.full(len(y), 0.172), y, z)), count, count, False)
