"""Benchmark cases with strongly polydisperse spheres: a dense gas, and a bed at rest under gravity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.particles.packings.packing import relax_overlaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = dict[str, NDArray[Any]]

RADIUS = 1e-3
"""Smallest radius [m]."""

_DOMAIN = """
[time]
step = "auto"
end = 1.0
[domain]
lower = [0.0, 0.0, {low!r}]
upper = [{width!r}, {width!r}, {high!r}]
periodic = [true, true, {periodic}]
gravity = [0.0, 0.0, {gravity!r}]
[materials.grain]
density = 2500.0
youngs_modulus = 2e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = {restitution!r}
[[particles]]
material = "grain"
radius = {{distribution = "power-law", exponent = {exponent!r}, min = {smallest!r}, max = {largest!r}}}
fill = {{volume_fraction = {fraction!r}, seed = 7, lower = [0.0, 0.0, 0.0], upper = [{width!r}, {width!r}, {width!r}]}}
velocity = {{random = {speed!r}, seed = 7}}
"""

_FLOOR = """
[materials.floor]
[interactions.grain-floor]
friction = 0.5
restitution = 0.3
[[walls]]
mesh = "floor"
material = "floor"
"""

_GAS, _BED = -3.0, -4.0
"""Exponents of the power laws for the number of spheres over the radius."""

COMPRESSION = 5.0
"""Initial rate of vertical compression of the bed [1/s]."""

FRACTION = 0.55
"""Initial volume fraction of the spheres."""

_PLACED = 0.4
"""Volume fraction up to which spheres are placed at random; then they grow, and overlaps are relaxed."""


def gas(ratio: float, count: int, *, is_first: bool) -> tuple[Case, list[Mesh], Columns | None]:
    """Return a gas of spheres: case, an empty list of meshes, and on the first rank the particles.

    Parameters
    ----------
    ratio : float
        Largest over smallest radius.
    count : int
        Approximate number of spheres.
    is_first : bool
        Whether this is the first rank.
    """
    return _gas_case(ratio, count), [], _placed(ratio, count) if is_first else None


def bed(ratio: float, count: int, *, is_first: bool) -> tuple[Case, list[Mesh], Columns | None]:
    """Return spheres above a floor with downward velocities proportional to height, as in a uniform compression.

    Parameters and result are the same as for `gas`; the floor is below the reach of any sphere. All sizes have the same
    volume in equal intervals of the logarithm of the radius: small spheres fill the voids between large ones and carry
    load.
    """
    low, width = -1.01 * ratio * RADIUS, width_of(ratio, count, _BED)
    text = _domain(
        ratio, 1.0, width, exponent=_BED, low=2.0 * low, high=2.0 * width, periodic="false", gravity=-9.81,
        restitution=0.3, speed=0.0,
    )  # fmt: skip
    first, last = -width, 2.0 * width
    corners = [[first, first, low], [last, first, low], [last, last, low], [first, last, low]]
    case = Case.from_text(text + _FLOOR)
    return case, [Mesh(corners, [[0, 1, 2, 3]])], _compressed(ratio, count) if is_first else None


def _compressed(ratio: float, count: int) -> Columns:
    particles = _placed(ratio, count, _BED)
    velocity = np.zeros_like(particles["velocity"])
    velocity[:, 2] = -COMPRESSION * particles["position"][:, 2]
    return {**particles, "velocity": velocity}


def width_of(ratio: float, count: int, exponent: float = _GAS) -> float:
    """Return the initial width [m] of the cube of spheres with a power-law distribution of radii."""

    def moment(power: float) -> float:
        return math.log(ratio) if power == -1.0 else (ratio ** (power + 1.0) - 1.0) / (power + 1.0)

    cube = moment(exponent + 3.0) / moment(exponent)
    return float((count * 4.0 / 3.0 * np.pi * cube / FRACTION) ** (1.0 / 3.0) * RADIUS)


def _domain(ratio: float, scale: float, width: float, **more: Any) -> str:
    return _DOMAIN.format(
        width=width, smallest=scale * RADIUS, largest=scale * ratio * RADIUS, fraction=scale**3 * FRACTION, **more
    )  # fmt: skip


def _gas_case(ratio: float, count: int, exponent: float = _GAS, scale: float = 1.0) -> Case:
    """Return a gas of spheres with radii scaled by a factor, in the box for full radii."""
    width = width_of(ratio, count, exponent)
    text = _domain(
        ratio, scale, width, exponent=exponent, low=0.0, high=width, periodic="true", gravity=0.0, restitution=0.8,
        speed=0.1,
    )  # fmt: skip
    return Case.from_text(text)


def _placed(ratio: float, count: int, exponent: float = _GAS) -> Columns:
    """Return the spheres of a gas: placed with smaller radii, then moved apart until no two spheres overlap."""
    scale = (_PLACED / FRACTION) ** (1.0 / 3.0)
    small = _gas_case(ratio, count, exponent, scale)
    particles = initial_particles(small, [])
    particles["radius"] = particles["radius"] / scale
    corners = np.array(small.domain.lower), np.array(small.domain.upper)
    particles["position"] = relax_overlaps(particles["position"], particles["radius"], *corners)
    return particles
