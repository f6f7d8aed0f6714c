"""Cases with bonds between the spheres of a block or of a chain, given as particles."""

from __future__ import annotations

import numpy as np

import pdem

RADIUS = 1e-3

CASE = """
[time]
step = {step}
end = 1.0
[domain]
lower = [-0.02, -0.02, -0.02]
upper = [0.02, 0.02, 0.02]
outside = "keep"
periodic = [{periodic}, false, false]
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


def bonded_case(more="", *, step=1e-6, gap=2e-4, periodic="false"):
    """Return a case whose spheres are joined where they nearly touch; more keys of its bonds, and other sections."""
    return pdem.Case.from_text(CASE.format(step=step, gap=gap, more=more, periodic=periodic))


def lattice(shape, *, spacing=2.0 * RADIUS, seed=0, shake=0.0):
    """Return equal spheres on a simple cubic lattice about the origin, with ids in any order."""
    rng = np.random.default_rng(seed)
    places = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)
    position = spacing * (places - 0.5 * (np.array(shape) - 1)) + rng.uniform(-shake, shake, places.shape)
    count = len(position)
    return {
        "id": rng.permutation(count), "material": np.zeros(count, np.int32), "radius": np.full(count, RADIUS),
        "position": position, "velocity": np.zeros((count, 3)), "angular_velocity": np.zeros((count, 3)),
    }  # fmt: skip
