"""Places of fragments inside a sphere: little overlap between them, and the centre of mass at the centre.

Fragments begin at random places. In each sweep overlapping ones are pushed apart, the lighter one further; then all are
moved until their centre of mass is the centre, and fragments that reach out of the sphere are moved inside. Spheres
cannot fill a sphere, so that overlaps remain if the fragments have about its mass. Distances from the centre are at
most ``room - radius``. The centre of mass is corrected by shifts in proportion to these distances, so that one factor
for all places makes up for them at the end.

The loops run in a fixed order, without contraction: places have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.errors import InputError
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.portable.angles import sine_and_cosine
from pdem.numerics.portable.powers import power
from pdem.numerics.random import keyed_vectors

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

SWEEPS = 40
"""Number of sweeps. In the first half fragments drift to the surface, which gives the small ones more space, and all
together more moment of inertia."""

LARGEST_IN_ROOM = 0.95
"""Radius of a fragment over that of the room that leaves it some space; `fragment_places` accepts more."""

_LARGE_ONES = 32
"""Fragments that are compared with all others; smaller ones with those nearby along x."""

_PUSHES = 0.6, 0.3
"""Part of an overlap that is removed in a sweep of the first and of the second half: in crowds less is better."""

_DRIFTS = 0.1, 0.0
"""Growth of distances from the centre in a sweep of the first and of the second half."""

_CENTRINGS = 4
_STREAM = 0x0F4A6
_BITS = 2.0**52
_INSIDE = 1.0 - 4e-16
_THIRD = 1.0 / 3.0


class FragmentSpheres(NamedTuple):
    """Fragments that are placed, the largest first.

    Attributes
    ----------
    place : (n, 3) array
        Positions relative to the parent's centre [m]; written.
    radius : (n,) array
        Radii, falling [m].
    reach : (n,) array
        Largest distances from the centre [m].
    weight : (n,) array
        Masses over that of the largest one.
    order : (n,) array of int64
        Working space: smaller fragments in the order of x.
    """

    place: Floats
    radius: Floats
    reach: Floats
    weight: Floats
    order: Integers


def fragment_places(radii: Floats, room: float, uniform: float, axes: int = 3) -> Floats:
    """Return the positions of fragments inside a sphere, relative to its centre.

    Parameters
    ----------
    radii : ndarray, shape (n,)
        Radii of the fragments [m].
    room : float
        Radius of the sphere [m].
    uniform : float
        Random number from 0 to 1 that decides the arrangement and its orientation.
    axes : {3, 2}, optional
        With 2 all centres are in the plane z = 0, for a case of dimension 2.

    Returns
    -------
    ndarray, shape (n, 3)
        Positions [m]. Their mean with the cubes of the radii as weights is 0 to rounding, the distance from the centre
        plus the radius is at most the room, and no two are the same. The same bits on every machine.

    Raises
    ------
    InputError
        If a fragment is larger than the room, or has its size without being alone, so that all are concentric.
    """
    order = np.argsort(-radii, kind="stable")
    _require_room(radii[order], room)
    if len(radii) < 2:
        return np.zeros((len(radii), 3))
    numbers = keyed_vectors(int(uniform * _BITS), _STREAM, np.arange(len(radii)), 3)
    spheres = _spheres(radii[order], np.empty((len(radii), 3)), room)
    arrange_fragments(spheres, numbers, axes, SWEEPS)
    return _in_order(spheres, order)


def spread_fragments(radii: Floats, offsets: Floats, room: float, factor: float) -> Floats:
    """Return places further from the centre, for a larger moment of inertia; the centre of mass remains at the centre.

    Parameters
    ----------
    radii : ndarray, shape (n,)
        Radii of the fragments [m].
    offsets : ndarray, shape (n, 3)
        Their positions relative to the centre of the sphere [m], with the centre of mass at the centre.
    room : float
        Radius of the sphere in which they remain [m].
    factor : float
        Ratio of new and old distances from the centre, where the sphere permits it.

    Returns
    -------
    ndarray, shape (n, 3)
        Positions [m]. Where many fragments are at the surface, the moment of inertia may be no larger.

    Raises
    ------
    InputError
        If a fragment has no space in the room.
    """
    order = np.argsort(-radii, kind="stable")
    _require_room(radii[order], room)
    if len(radii) < 2:
        return np.zeros((len(radii), 3))
    spheres = _spheres(radii[order], offsets[order], room)
    spread_spheres(spheres, factor)
    return _in_order(spheres, order)


def _require_room(radius: Floats, room: float) -> None:
    if len(radius) == 1 and not float(radius[0]) <= room:
        raise InputError(f"a fragment of {radius[0]:g} m in a room of {room:g} m: give a larger room")
    if len(radius) > 1 and not float(radius[0]) < room:
        raise InputError(
            f"a fragment of {radius[0]:g} m beside {len(radius) - 1} more in a room of {room:g} m: give a larger room, "
            "in which they are not concentric"
        )


def _spheres(radius: Floats, place: Floats, room: float) -> FragmentSpheres:
    size = radius / radius[0]
    return FragmentSpheres(place, radius, room - radius, size * size * size, np.arange(len(radius)))


def _in_order(spheres: FragmentSpheres, order: Integers) -> Floats:
    """Return places in the order in which fragments were passed."""
    offsets = np.empty_like(spheres.place)
    offsets[order] = spheres.place
    return offsets


@inlined_geometry
def _scatter(spheres: FragmentSpheres, numbers: Floats, axes: int) -> None:
    """Write random places, uniform in the part of the sphere in which a fragment is inside."""
    for i in range(len(spheres.radius)):
        sine, cosine = sine_and_cosine(2.0 * math.pi * numbers[i, 0])
        height, distance = 2.0 * numbers[i, 1] - 1.0, spheres.reach[i]
        if axes == 2:
            height, distance = 0.0, distance * math.sqrt(numbers[i, 2])
        else:
            distance *= power(numbers[i, 2], _THIRD)
        across = distance * math.sqrt(1.0 - height * height)
        spheres.place[i, 0] = across * cosine
        spheres.place[i, 1] = across * sine
        spheres.place[i, 2] = distance * height


@inlined_geometry
def _part(spheres: FragmentSpheres, i: int, j: int, strength: float) -> None:
    """Push two fragments apart by a part of their overlap."""
    place, radius = spheres.place, spheres.radius
    x, y, z = place[j, 0] - place[i, 0], place[j, 1] - place[i, 1], place[j, 2] - place[i, 2]
    reach = radius[i] + radius[j]
    square = x * x + y * y + z * z
    if square >= reach * reach or square == 0.0:
        return
    distance = math.sqrt(square)
    push = strength * (reach - distance) / distance
    one, two = spheres.weight[i], spheres.weight[j]
    back, forth = push * two / (one + two), push * one / (one + two)
    place[i, 0] -= back * x
    place[i, 1] -= back * y
    place[i, 2] -= back * z
    place[j, 0] += forth * x
    place[j, 1] += forth * y
    place[j, 2] += forth * z


@inlined_geometry
def _part_all(spheres: FragmentSpheres, strength: float) -> None:
    """Push all overlapping fragments apart, in a fixed order."""
    count, place, order = len(spheres.radius), spheres.place, spheres.order
    large = min(count, _LARGE_ONES)
    for i in range(large):
        for j in range(i + 1, count):
            _part(spheres, i, j, strength)
    for k in range(large + 1, count):
        moved, at = order[k], k
        while at > large and place[order[at - 1], 0] > place[moved, 0]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = moved
    for k in range(large, count):
        i = order[k]
        for m in range(k + 1, count):
            j = order[m]
            if place[j, 0] - place[i, 0] > spheres.radius[i] + spheres.radius[large]:
                break
            _part(spheres, i, j, strength)


@inlined_geometry
def _centre(spheres: FragmentSpheres) -> None:
    """Move fragments, in proportion to their reach, until the centre of mass is the centre."""
    place, reach, weight = spheres.place, spheres.reach, spheres.weight
    for axis in range(3):
        moment = total = 0.0
        for i in range(len(reach) - 1, -1, -1):
            moment += weight[i] * place[i, axis]
            total += weight[i] * reach[i]
        for i in range(len(reach)):
            place[i, axis] -= moment / total * reach[i]


@inlined_geometry
def _excess(spheres: FragmentSpheres, i: int) -> float:
    """Return the distance of a fragment from the centre over its reach."""
    place, reach = spheres.place, spheres.reach[i]
    distance = math.sqrt(place[i, 0] * place[i, 0] + place[i, 1] * place[i, 1] + place[i, 2] * place[i, 2])
    return distance / reach


@inlined_geometry
def _enclose(spheres: FragmentSpheres, growth: float) -> None:
    """Multiply the distances of fragments from the centre by a factor, or by less to keep them inside the sphere."""
    for i in range(len(spheres.radius)):
        excess = _excess(spheres, i)
        factor = growth if growth * excess <= 1.0 else 1.0 / excess
        for axis in range(3):
            spheres.place[i, axis] *= factor


@inlined_geometry
def _finish(spheres: FragmentSpheres) -> None:
    """Move the centre of mass to the centre, and keep all fragments inside by one factor for all distances."""
    _centre(spheres)
    _centre(spheres)  # the rounding of the first time
    excess = 1.0
    for i in range(len(spheres.radius)):
        excess = max(excess, _excess(spheres, i))
    for i in range(len(spheres.radius)):
        for axis in range(3):
            spheres.place[i, axis] *= _INSIDE / excess


@geometry_kernel
def arrange_fragments(spheres: FragmentSpheres, numbers: Floats, axes: int, sweeps: int) -> None:
    """Write the places of fragments.

    Parameters
    ----------
    spheres : FragmentSpheres
        The fragments.
    numbers : (n, 3) array
        Random numbers from 0 to 1.
    axes : {2, 3}
        Number of axes along which fragments have places.
    sweeps : int
        Number of sweeps.
    """
    _scatter(spheres, numbers, axes)
    for sweep in range(sweeps):
        half = 2 * sweep // sweeps
        _part_all(spheres, _PUSHES[half])
        _centre(spheres)
        _enclose(spheres, 1.0 + _DRIFTS[half])
    _finish(spheres)


@geometry_kernel
def spread_spheres(spheres: FragmentSpheres, factor: float) -> None:
    """Multiply the distances of fragments from the centre by a factor, where the sphere permits it."""
    _enclose(spheres, factor)
    for _ in range(_CENTRINGS):
        _centre(spheres)
        _enclose(spheres, 1.0)
    _finish(spheres)
