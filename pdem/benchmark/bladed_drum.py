"""Benchmark case with a fast-moving wall: a drum with helical blades that throw its grains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

RADIUS = 5e-4
"""Radius of the spheres [m]."""
COUNT = 30000

DRUM_RADIUS, LENGTH = 0.025, 0.04
RATE = 6.0 * math.pi
"""Angular velocity of the drum [rad/s], 180 turns per minute: centripetal acceleration of 0.9 g at its wall."""

BLADES, TWIST = 4, 0.5 * math.pi
"""Number of blades, and the twist angle of each blade from one end of the drum to the other."""
_TIP, _HUB = 0.8, 0.4
"""Radii relative to the radius of the drum: of the tips of the blades, and of a ring in the end plates."""
_SIDES, _ROWS = 60, 12


def bladed_drum() -> tuple[Case, Mesh]:
    """Return a closed drum about the x axis, a third full, with blades along its wall: 2,472 triangles."""
    side = 1.01 * DRUM_RADIUS
    document: dict[str, Any] = {
        "time": {"step": 7.5e-6, "end": 1.0},
        "domain": {
            "lower": [-RADIUS, -side, -side], "upper": [LENGTH + RADIUS, side, side],
            "gravity": [0.0, 0.0, -9.81],
        },
        "materials": {"grain": {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}, "steel": {}},
        "interactions": {"default": {"law": "hertz-mindlin", "friction": 0.5, "restitution": 0.3}},
        "particles": [{
            "material": "grain", "radius": RADIUS, "velocity": {"random": 0.1, "seed": 1},
            "fill": {
                "arrangement": "hexagonal", "gap": 0.08, "jitter": 1.0, "count": COUNT, "shape": "cylinder",
                "axis": [1.0, 0.0, 0.0], "centre": [0.5 * LENGTH, 0.0, 0.0],
                "radius": _TIP * DRUM_RADIUS - RADIUS, "length": LENGTH - 2.0 * RADIUS,
            },
        }],
        "motions": {"drum": {"rotation": {"rate": RATE, "axis": [1.0, 0.0, 0.0]}}},
        "walls": [{"mesh": "drum", "material": "steel", "on": "drum"}],
    }  # fmt: skip
    return Case.from_text(tomli_w.dumps(document)), _mesh()


def _mesh() -> Mesh:
    """Return the mesh of the drum, its two ends and its blades, with shared vertices where parts meet."""
    radii = DRUM_RADIUS * np.array([1.0, 0.5 * (1.0 + _TIP), _TIP])
    shells = np.array([_helices(radius) for radius in radii])
    blades = shells[:, :: _SIDES // BLADES]
    parts = [_triangles(_closed(shells[0]))]
    parts += [_triangles(blades[:, blade]) for blade in range(BLADES)]
    for end in (0, -1):
        rings = [*shells[:, :, end], *(_ring(share, shells[0, :, end]) for share in (_HUB, 0.0))]
        parts.append(_triangles(_closed(np.stack(rings, axis=1))))
    corners = np.concatenate(parts)
    sides = corners[:, 1:] - corners[:, :1]
    corners = corners[np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) > 0.0]  # drop degenerate triangles
    vertices, facets = np.unique(np.round(corners.reshape(-1, 3), 12), axis=0, return_inverse=True)
    return Mesh(vertices, facets.reshape(-1, 3))


def _helices(radius: float) -> Floats:
    """Return points (sides, rows + 1, 3) at a radius [m], along helices parallel to the blades."""
    along = np.arange(_ROWS + 1) / _ROWS
    angle = 2.0 * math.pi * np.arange(_SIDES)[:, None] / _SIDES + TWIST * along
    place = np.broadcast_to(LENGTH * along, angle.shape)
    return np.stack((place, radius * np.cos(angle), radius * np.sin(angle)), axis=2)


def _ring(share: float, outer: Floats) -> Floats:
    """Return a ring (sides, 3) in the plane of an outer ring, with a share of its radius."""
    return outer * np.array((1.0, share, share))


def _closed(points: Floats) -> Floats:
    return np.concatenate((points, points[:1]))


def _triangles(grid: Floats) -> Floats:
    """Return the vertices (k, 3, 3) of two triangles for each cell of a grid of points (m, n, 3)."""
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    halves = [np.stack(corners, axis=2).reshape(-1, 3, 3) for corners in ((a, b, c), (a, c, d))]
    return np.concatenate(halves)
