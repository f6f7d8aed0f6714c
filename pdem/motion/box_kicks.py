"""Velocity changes of particles when the rates of a deforming box change, and the kinetic stress of particles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers


@inlined_geometry
def _write_kinetic(
    k: int, mass: float, position: Floats, velocity: Floats, centre: Floats, flow: Floats, ways: Integers, rows: Floats
) -> None:  # fmt: skip
    x, y, z = position[k, 0] - centre[0], position[k, 1] - centre[1], position[k, 2] - centre[2]
    count = len(ways)
    rows[count, k] = mass
    for axis in range(3):
        carried = flow[axis, 0] * x + flow[axis, 1] * y + flow[axis, 2] * z
        rows[count + 1 + axis, k] = mass * (velocity[k, axis] - carried)
    for way in range(count):
        along, across = ways[way, 0], ways[way, 1]
        carried = flow[across, 0] * x + flow[across, 1] * y + flow[across, 2] * z
        rows[way, k] = rows[count + 1 + along, k] * (velocity[k, across] - carried)


@inlined_geometry
def _kick(p: int, position: Floats, velocity: Floats, centre: Floats, gained: Floats) -> None:
    x, y, z = position[p, 0] - centre[0], position[p, 1] - centre[1], position[p, 2] - centre[2]
    for axis in range(3):
        velocity[p, axis] += gained[axis, 0] * x + gained[axis, 1] * y + gained[axis, 2] * z


@kernel
def write_kinetic(
    mass: Floats, position: Floats, velocity: Floats, centre: Floats, flow: Floats, ways: Integers, rows: Floats
) -> None:
    """Write the kinetic part of the stress: momentum carried by bodies that move relative to a deforming box.

    Parameters
    ----------
    mass, position, velocity : (n,), (n, 3), (n, 3) arrays
        Masses, positions and velocities of the bodies [kg, m, m/s].
    centre, flow : (3,) and (3, 3) arrays
        The fixed point of the box [m], and the velocity gradient of the box [1/s].
    ways : (w, 2) int64 array
        For each component of the stress, the axis of the momentum and the axis of the velocity that carries it.
    rows : (w + 4, n) array
        Written: contributions to the kinetic stress times the volume, by component [J]; masses; momenta [kg m/s].
    """
    for k in range(len(mass)):
        _write_kinetic(k, mass[k], position, velocity, centre, flow, ways, rows)


@threaded_kernel
def kick_with_box(count: int, position: Floats, velocity: Floats, centre: Floats, gained: Floats) -> None:
    """Change the velocities of the first `count` particles by the change of the box velocity at their positions.

    Parameters
    ----------
    count : int
        Number of particles.
    position, velocity : (n, 3) arrays
        Positions [m], and velocities [m/s], which are updated.
    centre : (3,) array
        The fixed point of the box [m].
    gained : (3, 3) array
        Change of the velocity gradient of the box [1/s].
    """
    for p in prange(count):
        _kick(p, position, velocity, centre, gained)
