"""Images of a periodic box that deforms: their positions and velocities, and the search for the nearest image.

The images of a particle are at ``x + k H``, with whole numbers k and the three period vectors H of the box, and move
with ``v + k dH/dt``. Two of the period vectors are parallel to axes. The third vector crosses the *gradient axis*, that
of the shear, from one face of the box to the opposite face, and the shear tilts it along the velocity axis (Lees,
Edwards, J. Phys. C 5 (1972) 1921). Particles stay in the box with faces at right angles: a particle that leaves through
a face across the gradient axis re-enters, shifted, through the opposite face, with the velocity of its image there.

Kernels receive the box as one array, `ROWS` by 3, and read it with `images_in` before their loops. For boxes that do
not deform they receive None, and are compiled without this code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import inlined
from pdem.numerics.vectors import exact_dot3, exact_minus3, row3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector

(
    ACROSS, ALONG, PERIOD, FREQUENCY, ACROSS_VELOCITY, VELOCITY, TURNS, CENTRE, RATE, _, _, STRETCH, _, _, AXES,
) = range(15)  # fmt: skip
"""Rows of the array:

=================================  ===================================================================================
`ACROSS`                           the period vector across the gradient axis [m]
`ALONG`                            on the gradient axis one over its length [1/m], else 0
`PERIOD`, `FREQUENCY`              of the other periodic axes: length [m] and one over it; 0 for all other axes
`ACROSS_VELOCITY`, `VELOCITY`      rates of change of the period vectors [m/s], in the order of `ACROSS` and `PERIOD`
`TURNS`                            lengths of the box that one crossing of the gradient axis adds along each axis
`CENTRE`                           the fixed point of the deformation [m]
`RATE` and two more                gradient of the velocity of the box, the velocity along the first axis first [1/s]
`STRETCH` and two more             deformation of the box since lists were made
`AXES`                             numbers of the gradient axis, the velocity axis, and the third axis
=================================  ===================================================================================
"""

ROWS = 15
"""Rows of the array."""


class Frame(NamedTuple):
    """A box with its axes in the order gradient, velocity, third axis, in which most of its numbers are 0.

    Vectors in this order are called *in the frame*. Columns are brought into this order at no cost.

    Attributes
    ----------
    axes : tuple of 3 uint64
        Numbers of the axes.
    length, inverse : tuple of 3 float
        Lengths of periodic axes [m], and one over the length; 0 for open axes.
    lean : float
        Component of the period vector across the gradient axis along the velocity axis [m].
    centre : tuple of 3 float
        The fixed point of the deformation [m].
    rates, shear : tuple of 3 float, float
        Gradient of the velocity of the box: the rate of each axis along itself, and the rate of the shear [1/s].
    stretches, stretch_lean : tuple of 3 float, float
        Deformation of the box since lists were made: the stretch of each axis, and the shear.
    """

    axes: tuple[Any, Any, Any]
    length: Vector
    inverse: Vector
    lean: float
    centre: Vector
    rates: Vector
    shear: float
    stretches: Vector
    stretch_lean: float


class Images(NamedTuple):
    """The rows of the array as numbers.

    Kernels read them from the array before a loop. Inside a loop that writes to other arrays they would be read again
    for each particle, because the compiler cannot exclude that these arrays overlap.

    Attributes
    ----------
    across, along, period, frequency, across_velocity, velocity, turns : tuple of 3 float
        Rows of the same name.
    frame : Frame
        The box in the order of its axes.
    """

    across: Vector
    along: Vector
    period: Vector
    frequency: Vector
    across_velocity: Vector
    velocity: Vector
    turns: Vector
    frame: Frame


@inlined_geometry
def _frame(box: Floats) -> Frame:
    g, v, o = int(box[AXES, 0]) & 3, int(box[AXES, 1]) & 3, int(box[AXES, 2]) & 3  # masked: not negative
    return Frame(
        (np.uint64(g), np.uint64(v), np.uint64(o)), (box[ACROSS, g], box[PERIOD, v], box[PERIOD, o]),
        (box[ALONG, g], box[FREQUENCY, v], box[FREQUENCY, o]), box[ACROSS, v],
        (box[CENTRE, g], box[CENTRE, v], box[CENTRE, o]),
        (box[RATE + g, g], box[RATE + v, v], box[RATE + o, o]), box[RATE + v, g],
        (box[STRETCH + g, g], box[STRETCH + v, v], box[STRETCH + o, o]), box[STRETCH + v, g],
    )  # fmt: skip


@inlined_geometry
def images_in(box: Any) -> Any:
    """Return the `Images` of an array of rows, or None for None (a box that does not deform)."""
    if box is None:
        return None
    return Images(
        row3(box, ACROSS), row3(box, ALONG), row3(box, PERIOD), row3(box, FREQUENCY), row3(box, ACROSS_VELOCITY),
        row3(box, VELOCITY), row3(box, TURNS), _frame(box),
    )  # fmt: skip


@inlined
def frame3(numbers: Floats, at: int, stride: int, frame: Frame) -> Vector:
    """Return a vector in the frame from columns that are `stride` apart, with the first column at `at`."""
    g, v, o = frame.axes
    return numbers[at + g * stride], numbers[at + v * stride], numbers[at + o * stride]


@inlined_geometry
def _component(v: Vector, axis: int) -> float:
    return v[0] if axis == 0 else (v[1] if axis == 1 else v[2])


@inlined_geometry
def in_frame(v: Vector, frame: Frame) -> Vector:
    """Return a vector in the frame."""
    g, u, o = frame.axes
    return _component(v, g), _component(v, u), _component(v, o)


@inlined
def _less(v: Vector, across: float, turns: Vector, first: Vector, second: Vector) -> Vector:
    """Return a vector minus a number of period vectors, or a velocity minus the velocities of these vectors.

    The numbers are 0, 1 or 2, and the products exact: contraction makes no difference.
    """
    return (
        v[0] - across * first[0] - turns[0] * second[0],
        v[1] - across * first[1] - turns[1] * second[1],
        v[2] - across * first[2] - turns[2] * second[2],
    )


@inlined
def _crossings(d: Vector, half: float, box: Images) -> tuple[float, Vector]:
    """Return the number of period vectors in a displacement: across the gradient axis, and then along the axes.

    With a `half` of 0.5 they lead to the nearest image, with 0 to the box with a corner at the origin of the
    displacement. In each sum at most one product is not 0. So contraction makes no difference with a `half` of 0;
    otherwise it matters only for displacements to two equally near images.
    """
    g, first, f = box.along, box.across, box.frequency
    across = np.floor(half + d[0] * g[0] + d[1] * g[1] + d[2] * g[2])
    x, y, z = d[0] - across * first[0], d[1] - across * first[1], d[2] - across * first[2]
    return across, (np.floor(half + x * f[0]), np.floor(half + y * f[1]), np.floor(half + z * f[2]))


@inlined
def minimum_image_of_box(d: Vector, box: Images) -> Vector:
    """Return the displacement to the nearest image from the displacement to any image."""
    across, turns = _crossings(d, 0.5, box)
    return _less(d, across, turns, box.across, box.period)


@inlined
def nearest_in_frame(d: Vector, frame: Frame) -> Vector:
    """Return the displacement to the nearest image from that to any image, both in the frame."""
    length, inverse = frame.length, frame.inverse
    across = np.floor(0.5 + d[0] * inverse[0])
    along = d[1] - across * frame.lean
    return (
        d[0] - across * length[0], along - np.floor(0.5 + along * inverse[1]) * length[1],
        d[2] - np.floor(0.5 + d[2] * inverse[2]) * length[2],
    )  # fmt: skip


@inlined
def nearest_motion(d: Vector, v: Vector, box: Images) -> tuple[Vector, Vector]:
    """Return displacement and relative velocity to the nearest image, from the values for any image."""
    across, turns = _crossings(d, 0.5, box)
    return _less(d, across, turns, box.across, box.period), _less(v, across, turns, box.across_velocity, box.velocity)


@inlined_geometry
def wrapped(x: Vector, v: Vector, lower: Vector, box: Images) -> tuple[Vector, Vector, Vector]:
    """Return position and velocity of the image in the box with a corner `lower`, and the removed box lengths."""
    across, turns = _crossings((x[0] - lower[0], x[1] - lower[1], x[2] - lower[2]), 0.0, box)
    return (
        _less(x, across, turns, box.across, box.period), _less(v, across, turns, box.across_velocity, box.velocity),
        (
            turns[0] + across * box.turns[0], turns[1] + across * box.turns[1], turns[2] + across * box.turns[2],
        ),
    )  # fmt: skip


@inlined_geometry
def _product(along: Vector, lean: float, v: Vector) -> Vector:
    """Return the product of a matrix that stretches and shears with a vector, both in the frame."""
    return along[0] * v[0], along[1] * v[1] + lean * v[0], along[2] * v[2]


@inlined_geometry
def squared_from_reference(x: Vector, reference: Vector, frame: Frame) -> float:
    """Return the squared displacement of a particle relative to the deformation of the box [m^2].

    Its position and its reference position are in the frame.
    """
    brought = _product(frame.stretches, frame.stretch_lean, exact_minus3(reference, frame.centre))
    d = nearest_in_frame(exact_minus3(exact_minus3(x, frame.centre), brought), frame)
    return exact_dot3(d, d)


@inlined_geometry
def own_velocity(x: Vector, v: Vector, frame: Frame) -> Vector:
    """Return the velocity of a particle relative to the velocity of the box at its position, in the frame [m/s]."""
    return exact_minus3(v, _product(frame.rates, frame.shear, exact_minus3(x, frame.centre)))


@inlined_geometry
def power(a: Vector, b: Vector, frame: Frame) -> float:
    """Return ``-a . (gradient of the velocity) b``: of a force and a branch, or of a momentum and an own velocity [W].

    Both are in the frame. The sum over all contacts and particles is the power that the box delivers.
    """
    return -exact_dot3(a, _product(frame.rates, frame.shear, b))
