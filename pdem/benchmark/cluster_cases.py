"""Benchmark cases of rigid clusters: rotating drums with compact clusters of a few overlapping spheres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh

RADIUS = 1e-3
"""Radius of the spheres [m]."""

CLUSTERS = 20000
SPACING = 1.2 * RADIUS
"""Distance between adjacent spheres of a cluster [m]."""

DRUM_RADIUS = 0.06
RATE = 10.0
"""Angular velocity of the drum [rad/s]: grains roll down the surface of the bed."""

_SIDES = 64
_SHARE = 0.4
"""Initial share of the drum's volume occupied by circumscribed balls of the clusters on a lattice."""

_LATTICE = math.pi / math.sqrt(18.0)
_GAP = 0.01

_CORNERS = {
    1: [[0, 0, 0]],
    2: [[0, 0, 0], [1, 0, 0]],
    4: [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    8: [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)],
}
"""Positions of the spheres of a cluster in arbitrary units: single, pair, tetrahedron, cube."""

SIZES = tuple(count for count in _CORNERS if count > 1)
"""Numbers of spheres per cluster of the benchmark cases."""


def spheres_of(members: int) -> list[list[float]]:
    """Return x, y, z and radius [m] of the spheres of a cluster with 1, 2, 4 or 8 members."""
    corners = np.array(_CORNERS[members], np.float64)
    corners -= corners.mean(axis=0)
    unit = 1.0 if members < 2 else SPACING / float(np.linalg.norm(corners[0] - corners[1]))
    return [[*place, RADIUS] for place in (unit * corners).tolist()]


def drum_of_clusters(members: int, clusters: int = CLUSTERS) -> tuple[Case, Mesh]:
    """Return clusters in the lower part of a rotating drum that is periodic along its axis x.

    Parameters
    ----------
    members : int
        Number of spheres per cluster: 1, 2, 4 or 8.
    clusters : int
        Number of clusters; the length of the drum follows from it.
    """
    spheres = np.array(spheres_of(members))
    reach = float((np.linalg.norm(spheres[:, :3], axis=1) + spheres[:, 3]).max())
    balls = clusters * 4.0 / 3.0 * math.pi * (reach * (1.0 + _GAP)) ** 3 / _LATTICE
    length = balls / (_SHARE * math.pi * DRUM_RADIUS**2)
    inside = DRUM_RADIUS * math.cos(math.pi / _SIDES)
    side = 1.01 * DRUM_RADIUS
    document: dict[str, Any] = {
        "time": {"step": 1.2e-5, "end": 1.0},
        "domain": {
            "lower": [0.0, -side, -side], "upper": [length, side, side], "periodic": [True, False, False],
            "gravity": [0.0, 0.0, -9.81],
        },
        "materials": {"grain": {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.25}, "steel": {}},
        "interactions": {"default": {"law": "hertz-mindlin", "friction": 0.5, "restitution": 0.3}},
        "shapes": {"cluster": {"spheres": spheres.tolist()}},
        "particles": [{
            "material": "grain", "shape": "cluster", "orientation": "random",
            "velocity": {"random": 0.1, "seed": 1},
            "fill": {
                "arrangement": "hexagonal", "gap": _GAP, "count": clusters, "shape": "cylinder",
                "axis": [1.0, 0.0, 0.0], "centre": [0.5 * length, 0.0, 0.0], "radius": inside,
                "length": length,
            },
        }],
        "motions": {"drum": {"rotation": {"rate": RATE, "axis": [1.0, 0.0, 0.0]}}},
        "walls": [{"mesh": "drum", "material": "steel", "on": "drum"}],
    }  # fmt: skip
    return Case.from_text(tomli_w.dumps(document)), _tube(length)


def _tube(length: float) -> Mesh:
    """Return the drum, longer than the box by a tenth of its radius at each end, because walls are not periodic."""
    angle = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    ring = DRUM_RADIUS * np.column_stack((np.zeros(_SIDES), np.cos(angle), np.sin(angle)))
    beyond = 0.1 * DRUM_RADIUS
    ends = [ring + np.array((x, 0.0, 0.0)) for x in (-beyond, length + beyond)]
    follows = [(side + 1) % _SIDES for side in range(_SIDES)]
    facets = [[side, after, _SIDES + after, _SIDES + side] for side, after in enumerate(follows)]
    return Mesh(np.concatenate(ends), facets)
