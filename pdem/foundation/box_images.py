"""Images of a periodic box that deforms: where they are, how they move, and which is the nearest.

The images of a particle lie at ``x + k H``, with whole numbers k and the three period vectors H of the box, and move
with ``v + k dH/dt``. Two of the period vectors lie along axes. The third goes across the *gradient axis*, that of the
shear, from one face of the box to the opposite one, and the shear makes it lean along another axis (Lees, Edwards, J.
Phys. C 5 (1972) 1921). Particles stay in the box whose faces are at right angles: who crosses the gradient axis goes on
beside where it has left, with the velocity of the image there.

Kernels get all of this as the rows of one array, `ROWS` by 3; boxes that do not deform have None in its place, for
which kernels are compiled as if there were nothing of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]

(
    ACROSS, ALONG, PERIOD, FREQUENCY, ACROSS_VELOCITY, VELOCITY, TURNS, CENTRE, RATE, _, _, STRETCH, _, _,
) = range(14)  # fmt: skip
"""Rows of the array:

=================================  ===================================================================================
`ACROSS`                           the period vector across the gradient axis [m]
`ALONG`                            on the gradient axis one over its length [1/m], else 0
`PERIOD`, `FREQUENCY`              of the other periodic axes: length [m] and one over it; 0 on all else
`ACROSS_VELOCITY`, `VELOCITY`      how fast the period vectors change [m/s], in the order of `ACROSS` and `PERIOD`
`TURNS`                            which lengths of the box are travelled by one crossing of the gradient axis
`CENTRE`                           the point that stays where it is [m]
`RATE` and two more                gradient of the velocity of the box, the velocity along the first axis first [1/s]
`STRETCH` and two more             by what the box has been deformed since lists were made
=================================  ===================================================================================
"""

ROWS = 14
"""Rows of the array."""


@inlined_geometry
def times(first: int, v: Vector, box: Floats) -> Vector:
    """Return the product of the matrix whose rows begin with `first`, `RATE` or `STRETCH`, and a vector."""
    return (
        box[first, 0] * v[0] + box[first, 1] * v[1] + box[first, 2] * v[2],
        box[first + 1, 0] * v[0] + box[first + 1, 1] * v[1] + box[first + 1, 2] * v[2],
        box[first + 2, 0] * v[0] + box[first + 2, 1] * v[1] + box[first + 2, 2] * v[2],
    )


@inlined_geometry
def _less(v: Vector, across: float, turns: Vector, first: int, second: int, box: Floats) -> Vector:
    """Return a vector without so many period vectors, or their velocities, which stand in two rows."""
    return (
        v[0] - across * box[first, 0] - turns[0] * box[second, 0],
        v[1] - across * box[first, 1] - turns[1] * box[second, 1],
        v[2] - across * box[first, 2] - turns[2] * box[second, 2],
    )


@inlined_geometry
def _crossings(d: Vector, half: float, box: Floats) -> tuple[float, Vector]:
    """Return how many period vectors a way has: across the gradient axis, and then along the axes.

    With a `half` of 0.5 those to the nearest image, with 0 those to the box whose corner the way leads from.
    """
    across = np.floor((d[0] * box[ALONG, 0] + d[1] * box[ALONG, 1] + d[2] * box[ALONG, 2]) + half)
    x, y, z = (
        d[0] - across * box[ACROSS, 0], d[1] - across * box[ACROSS, 1], d[2] - across * box[ACROSS, 2]
    )  # fmt: skip
    turns = (
        np.floor(x * box[FREQUENCY, 0] + half), np.floor(y * box[FREQUENCY, 1] + half),
        np.floor(z * box[FREQUENCY, 2] + half),
    )  # fmt: skip
    return across, turns


@inlined_geometry
def nearest_way(d: Vector, box: Any) -> Vector:
    """Return the way to the nearest image, for that to any."""
    across, turns = _crossings(d, 0.5, box)
    return _less(d, across, turns, ACROSS, PERIOD, box)


@inlined_geometry
def nearest_motion(d: Vector, v: Vector, box: Any) -> tuple[Vector, Vector]:
    """Return way and relative velocity to the nearest image, for those to any."""
    across, turns = _crossings(d, 0.5, box)
    return _less(d, across, turns, ACROSS, PERIOD, box), _less(
        v, across, turns, ACROSS_VELOCITY, VELOCITY, box
    )


@inlined_geometry
def wrapped(x: Vector, v: Vector, lower: Vector, box: Any) -> tuple[Vector, Vector, Vector]:
    """Return place and velocity of the image in the box with a corner, and how many lengths were taken off."""
    across, turns = _crossings((x[0] - lower[0], x[1] - lower[1], x[2] - lower[2]), 0.0, box)
    return (
        _less(x, across, turns, ACROSS, PERIOD, box), _less(v, across, turns, ACROSS_VELOCITY, VELOCITY, box),
        (
            turns[0] + across * box[TURNS, 0], turns[1] + across * box[TURNS, 1],
            turns[2] + across * box[TURNS, 2],
        ),
    )  # fmt: skip


@inlined_geometry
def way_from_reference(x: Vector, reference: Vector, box: Any) -> Vector:
    """Return how far a particle is from where the box alone would have brought it from a reference [m]."""
    a, b, c = times(
        STRETCH,
        (reference[0] - box[CENTRE, 0], reference[1] - box[CENTRE, 1], reference[2] - box[CENTRE, 2]),
        box,
    )
    return nearest_way((x[0] - box[CENTRE, 0] - a, x[1] - box[CENTRE, 1] - b, x[2] - box[CENTRE, 2] - c), box)


@inlined_geometry
def own_velocity(x: Vector, v: Vector, box: Any) -> Vector:
    """Return the velocity of a particle relative to that of the box at its place [m/s]."""
    a, b, c = times(RATE, (x[0] - box[CENTRE, 0], x[1] - box[CENTRE, 1], x[2] - box[CENTRE, 2]), box)
    return v[0] - a, v[1] - b, v[2] - c


@inlined_geometry
def power(a: Vector, b: Vector, box: Any) -> float:
    """Return ``-a . (gradient of the velocity) b``: of a force and a branch, or of a momentum and an own velocity [W].

    Those of all contacts and particles together are what the box delivers.
    """
    x, y, z = times(RATE, b, box)
    return -(a[0] * x + a[1] * y + a[2] * z)
