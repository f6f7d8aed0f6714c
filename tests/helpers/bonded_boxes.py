"""Bonded lattices that fill a periodic box which deforms."""

from __future__ import annotations

import numpy as np

import pdem
from helpers.bonded_blocks import RADIUS

SPACING = 2.0 * RADIUS
SIMPLE, FACES = np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
"""Sites of the cells of a simple cubic and of a face-centred lattice."""

CASE = """
[time]
step = {step}
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [{sides[0]}, {sides[1]}, {sides[2]}]
periodic = [true, true, true]
{deformation}
[materials.rock]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.rock-rock]
friction = 0.5
restitution = 0.5
[bonds.cement]
between = "rock-rock"
gap = {gap}
youngs_modulus = 1e7
poisson_ratio = 0.3
{more}
[output]
folder = "unused"
"""


def boxed_case(deformation, more="", *, sides, step=1e-6, gap=1e-5):
    """Return a case of bonded spheres in a box; `deformation` has sections, and `more` further keys of the bonds."""
    return pdem.Case.from_text(CASE.format(deformation=deformation, more=more, sides=sides, step=step, gap=gap))


def lattice_in_box(cells, sites=SIMPLE, *, seed=0, shake=0.0, speed=0.0):
    """Return spheres on a lattice with equal distances of neighbours, and the sides of the box that it fills [m].

    Ids are in any order; positions and velocities get random parts.
    """
    rng = np.random.default_rng(seed)
    cell = SPACING if len(sites) == 1 else np.sqrt(2.0) * SPACING
    corners = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    position = cell * (corners + sites + 0.1).reshape(-1, 3)
    count = len(position)
    velocity = rng.normal(0.0, 1.0, (count, 3))
    particles = {
        "id": rng.permutation(count), "material": np.zeros(count, np.int32), "radius": np.full(count, RADIUS),
        "position": position + rng.uniform(-shake, shake, (count, 3)),
        "velocity": speed * (velocity - velocity.mean(axis=0)), "angular_velocity": np.zeros((count, 3)),
    }  # fmt: skip
    return particles, cell * np.array(cells)


def table_of(run):
    """Return the table of bonds of a run."""
    (feature,) = (one for one in run.system.features if one.name == "bonds")
    return feature.evaluation.table


def stress_of_bonds(run):
    """Return the sum of force times branch over the volume (3, 3) [Pa] of a run on one rank; pressure is positive."""
    columns = table_of(run).columns
    volume = run.system.box.moving.volume(run.step, 3)
    return np.einsum("ni,nj->ij", columns["force"], columns["branch"]) / volume
