"""Benchmark cases with meshed walls: a hopper with periodic flow, and a bed on a million facets."""

from __future__ import annotations

import numpy as np

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh

RADIUS = 1e-3

_HEAD = """
[time]
step = 1.5e-5
end = 1.0
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.3
[interactions.grain-steel]
friction = 0.3
restitution = 0.3
[[walls]]
mesh = "given"
material = "steel"
[[particles]]
material = "grain"
radius = {radius!r}
velocity = {{random = 0.1, seed = 1}}
"""

_HOPPER = (
    _HEAD
    + """
fill = {{arrangement = "hexagonal", gap = 0.08, jitter = 1.0, count = {count}, shape = "cylinder", centre = [0.0, 0.0, {middle!r}], axis = [0.0, 0.0, 1.0], radius = {inside!r}, length = {length!r}}}
[domain]
lower = [{low!r}, {low!r}, 0.0]
upper = [{high!r}, {high!r}, {top!r}]
periodic = [false, false, true]
gravity = [0.0, 0.0, -9.81]
"""  # noqa: E501
)

_PLATE = (
    _HEAD
    + """
fill = {{arrangement = "hexagonal", count = 10000, gap = 0.08, jitter = 1.0, lower = [0.0, 0.0, {crest!r}], upper = [{width!r}, {width!r}, 0.1]}}
[domain]
lower = [0.0, 0.0, -0.01]
upper = [{width!r}, {width!r}, 0.1]
periodic = [true, true, false]
gravity = [0.0, 0.0, -9.81]
"""  # noqa: E501
)

_TUBE, _OUTLET = 20.0 * RADIUS, 6.0 * RADIUS
_FLARE, _NECK, _RIM, _TOP = 0.012, 0.036, 0.060, 0.15
_SIDES = 32
_GRAINS = 8000

_WIDTH, _WAVES, _CREST = 100.0 * RADIUS, 5, 1.0 * RADIUS
_BEYOND = 4.0 * RADIUS
_SQUARES = 708


def hopper() -> tuple[Case, Mesh]:
    """Return a tube with a neck, filled above the neck; grains that leave at the bottom enter again at the top.

    The tube extends beyond both periodic boundaries, so that no grain can leave the tube.
    """
    inside = _TUBE * np.cos(np.pi / _SIDES) - RADIUS
    case = _HOPPER.format(
        radius=RADIUS, count=_GRAINS, middle=0.5 * (_RIM + _TOP), inside=float(inside), length=_TOP - _RIM,
        low=-_TUBE - RADIUS, high=_TUBE + RADIUS, top=_TOP,
    )  # fmt: skip
    profile = (
        (_TUBE, -_BEYOND), (_TUBE, _FLARE), (_OUTLET, _NECK), (_TUBE, _RIM), (_TUBE, _TOP + _BEYOND),
    )  # fmt: skip
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    rings = [np.column_stack((r * np.cos(angles), r * np.sin(angles), np.full(_SIDES, z))) for r, z in profile]
    facets = [
        [ring * _SIDES + a, ring * _SIDES + b, (ring + 1) * _SIDES + b, (ring + 1) * _SIDES + a]
        for ring in range(len(profile) - 1)
        for a, b in ((side, (side + 1) % _SIDES) for side in range(_SIDES))
    ]
    return Case.from_text(case), Mesh(np.concatenate(rings), facets)


def mesh_of_a_million(squares: int = _SQUARES) -> tuple[Case, Mesh]:
    """Return spheres above a wavy plate of ``2 squares^2`` triangles, which are much smaller than the spheres."""
    case = Case.from_text(_PLATE.format(radius=RADIUS, crest=_CREST, width=_WIDTH))
    places = np.linspace(-_BEYOND, _WIDTH + _BEYOND, squares + 1)
    x, y = (one.ravel() for one in np.meshgrid(places, places, indexing="ij"))
    wave = 2.0 * np.pi * _WAVES / _WIDTH
    corner = (np.arange(squares)[:, None] * (squares + 1) + np.arange(squares)).ravel()
    across = corner + squares + 1
    triangles = [np.stack((corner, across, across + 1), 1), np.stack((corner, across + 1, corner + 1), 1)]
    heights = _CREST * np.sin(wave * x) * np.cos(wave * y)
    return case, Mesh(np.column_stack((x, y, heights)), np.concatenate(triangles))
