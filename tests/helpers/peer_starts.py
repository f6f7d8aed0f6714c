"""Starts of runs beside other codes, for tests: three spheres above a floor."""

from __future__ import annotations

import numpy as np

from pdem.benchmark.cases import Start
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh

TEXT = """
[time]
step = 1e-6
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.1, 0.1, 0.1]
periodic = [true, true, false]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 2500.0
youngs_modulus = 2e7
poisson_ratio = 0.25
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.7
rolling_friction = 0.0
[interactions.grain-steel]
friction = 0.3
restitution = 0.7
"""
FLOOR = '[[walls]]\nmesh = "floor"\nmaterial = "steel"\n'
SQUARE = Mesh([[-1, -1, 0.0], [1, -1, 0.0], [1, 1, 0.0], [-1, 1, 0.0]], [[0, 1, 2, 3]])


def start(text=TEXT, meshes=()):
    zeros = np.zeros((3, 3))
    particles = {
        "id": np.arange(3),
        "material": np.zeros(3, np.int32),
        "radius": np.array([1e-3, 2e-3, 8e-3]),
        "position": np.array([[0.01, 0.01, 0.01], [0.03, 0.03, 0.01], [0.06, 0.06, 0.05]]),
        "velocity": zeros + 0.1,
        "angular_velocity": zeros,
    }
    return Start(Case.from_text(text), list(meshes), particles)
